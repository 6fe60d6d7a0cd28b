package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	register(func(e element.TTLGuard) meaning { // one rule: enough TTL
		enough := headerspace.Filter{}.With(headerspace.TTL, headerspace.Range(uint64(e.Min), 255))
		rule := element.Rule{Filters: []headerspace.Filter{enough}, Out: element.GuardPass}
		return &ttlGuard{ruleList{rules: []element.Rule{rule}, deflt: element.GuardFail}}
	})
}

type ttlGuard struct{ list ruleList }

func (g *ttlGuard) walk(w *walker, t *tcu, at arrival) error { return w.classify(t, at, &g.list) }
