package walk

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func init() { Register(func(element.DecTTL) Meaning { return decTTL{} }) }

type decTTL struct{}

var (
	ttlDead  = headerspace.Filter{}.With(headerspace.TTL, headerspace.Range(0, 1))
	ttlAlive = headerspace.Filter{}.With(headerspace.TTL, headerspace.Range(2, 255))
)

func (decTTL) Walk(w *Walker, t *Unit, at Arrival) error {
	alive, _ := t.Match(ttlAlive)
	for i := range alive.N {
		u := w.Branch(t, *alive.At(i))
		switch e := u.val[headerspace.TTL]; e.kind {
		case constE:
			c, _ := e.set.Only()
			u.val[headerspace.TTL] = constant(c.Sub64(1))
		default:
			u.val[headerspace.TTL] = expr{kind: add, delta: e.delta - 1}
		}
		if err := w.Follow(u, at.Node, element.TTLAlive, -1); err != nil {
			return err
		}
	}
	dead, _ := t.Match(ttlDead)
	for i := range dead.N {
		u := w.Branch(t, *dead.At(i))
		if err := w.Follow(u, at.Node, element.TTLExpired, -1); err != nil {
			return err
		}
	}
	return nil
}

var opAddTTL = NewOperation(Operation{
	Write: func(_ *Emitter, o Op, says *Leg) *programpb.Op {
		says.Ops = append(says.Ops, fmt.Sprintf("ttl %+d", o.Arg))
		return &programpb.Op{Op: &programpb.Op_AddTtl{AddTtl: int32(o.Arg)}}
	},
})

func init() {
	Register(func(e element.TTLGuard) Meaning { // one rule: enough TTL
		enough := headerspace.Filter{}.With(headerspace.TTL, headerspace.Range(uint64(e.Min), 255))
		rule := element.Rule{Filters: []headerspace.Filter{enough}, Out: element.GuardPass}
		return &ttlGuard{ruleList{rules: []element.Rule{rule}, deflt: element.GuardFail}}
	})
}

type ttlGuard struct{ list ruleList }

func (g *ttlGuard) Walk(w *Walker, t *Unit, at Arrival) error { return w.classify(t, at, &g.list) }
