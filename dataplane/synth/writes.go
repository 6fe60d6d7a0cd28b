package synth

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func init() { register(func(element.DecTTL) meaning { return decTTL{} }) }

type decTTL struct{}

var (
	ttlDead  = headerspace.Filter{}.With(headerspace.TTL, headerspace.Range(0, 1))
	ttlAlive = headerspace.Filter{}.With(headerspace.TTL, headerspace.Range(2, 255))
)

func (decTTL) walk(w *walker, t *tcu, at arrival) error {
	alive, _ := t.match(ttlAlive)
	for i := range alive.n {
		u := w.branch(t, *alive.at(i))
		switch e := u.val[headerspace.TTL]; e.kind {
		case constE:
			c, _ := e.set.Only()
			u.val[headerspace.TTL] = constant(c.Sub64(1))
		default:
			u.val[headerspace.TTL] = expr{kind: add, delta: e.delta - 1}
		}
		if err := w.follow(u, at.node, element.TTLAlive, -1); err != nil {
			return err
		}
	}
	dead, _ := t.match(ttlDead)
	for i := range dead.n {
		u := w.branch(t, *dead.at(i))
		if err := w.follow(u, at.node, element.TTLExpired, -1); err != nil {
			return err
		}
	}
	return nil
}

var opAddTTL = newOperation(operation{
	write: func(_ *emitter, _ *leg, o op, says *Leg) *programpb.Op {
		says.Ops = append(says.Ops, fmt.Sprintf("ttl %+d", o.arg))
		return &programpb.Op{Op: &programpb.Op_AddTtl{AddTtl: int32(o.arg)}}
	},
})

func init() {
	register(func(e element.TTLGuard) meaning { // one rule: enough TTL
		enough := headerspace.Filter{}.With(headerspace.TTL, headerspace.Range(uint64(e.Min), 255))
		rule := element.Rule{Filters: []headerspace.Filter{enough}, Out: element.GuardPass}
		return &ttlGuard{ruleList{rules: []element.Rule{rule}, deflt: element.GuardFail}}
	})
}

type ttlGuard struct{ list ruleList }

func (g *ttlGuard) walk(w *walker, t *tcu, at arrival) error { return w.classify(t, at, &g.list) }

func init() { register(func(e element.SetField) meaning { return setField{e} }) }

type setField struct{ element.SetField }

func (s setField) walk(w *walker, t *tcu, at arrival) error {
	t.set(s.Field, s.Value)
	return w.follow(t, at.node, 0, -1)
}

func (s setField) leads(h hopTo, _ int, on func(hopTo, int)) {
	if s.Field == headerspace.Dst {
		to := uint32(s.Value.Lo)
		h.written = &to
	}
	on(h, 0)
}

func (s setField) turn(t *tcu, packets []headerspace.Filter, _ int) ([]headerspace.Filter, bool) {
	t.set(s.Field, s.Value)
	return packets, true
}

func (s setField) sources() spans {
	if s.Field != headerspace.Src {
		return nil
	}
	return spans{{uint32(s.Value.Lo), uint32(s.Value.Lo)}}
}

// set writes a constant. A stripped tag is stripped before a new one is put on: the old one's
// priority does not come back.
func (t *tcu) set(f headerspace.Field, c headerspace.Value) {
	if f == headerspace.VLAN && t.val[f].kind == constE {
		t.settle()
	}
	t.val[f] = constant(c)
}

var opSet = newOperation(operation{
	write: func(_ *emitter, _ *leg, o op, says *Leg) *programpb.Op {
		says.Ops = append(says.Ops, setText(o))
		return &programpb.Op{Op: &programpb.Op_Set{
			Set: &programpb.SetField{Field: programpb.Field(o.field), Value: uint32(o.arg)},
		}}
	},
})

func setText(o op) string {
	if o.field == headerspace.Src || o.field == headerspace.Dst {
		return fmt.Sprintf("%s := %s", o.field, addrText(uint32(o.arg)))
	}
	if absent, _ := o.field.Absent(); o.field == headerspace.VLAN && uint64(o.arg) == absent.Lo {
		return "strip vlan"
	}
	return fmt.Sprintf("%s := %d", o.field, o.arg)
}
