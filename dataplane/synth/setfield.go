package synth

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

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
