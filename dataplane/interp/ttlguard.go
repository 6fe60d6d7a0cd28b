package interp

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func init() {
	register(func(_ *Chain, _ string, e element.TTLGuard) meaning { return ttlGuard{e} })
}

type ttlGuard struct{ element.TTLGuard }

func (g ttlGuard) pass(_ *run, _ *graph.Node, p *packet, _ int) (int, bool) {
	if p.ip[8] < g.Min {
		return element.GuardFail, false
	}
	return element.GuardPass, false
}
