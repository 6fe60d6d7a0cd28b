package walk

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func init() { Register(func(e element.SetField) Meaning { return setField{e} }) }

type setField struct{ element.SetField }

func (s setField) Walk(w *Walker, t *Unit, at Arrival) error {
	t.set(s.Field, s.Value)
	return w.Follow(t, at.Node, 0, -1)
}

func (s setField) Leads(h HopTo, _ int, on func(HopTo, int)) {
	if s.Field == headerspace.Dst {
		to := uint32(s.Value.Lo)
		h.written = &to
	}
	on(h, 0)
}

func (s setField) turn(t *Unit, packets []headerspace.Filter, _ int) ([]headerspace.Filter, bool) {
	t.set(s.Field, s.Value)
	return packets, true
}

func (s setField) Sources() headerspace.Set {
	if s.Field != headerspace.Src {
		return headerspace.Set{}
	}
	return headerspace.Single(s.Value)
}

// set writes a constant. A stripped tag is stripped before a new one is put on: the old one's
// priority does not come back.
func (t *Unit) set(f headerspace.Field, c headerspace.Value) {
	if f == headerspace.VLAN && t.val[f].kind == constE {
		t.settle()
	}
	t.val[f] = constant(c)
}

var opSet = NewOperation(Operation{
	Write: func(_ *Emitter, o Op, says *Leg) *programpb.Op {
		says.Ops = append(says.Ops, setText(o))
		return &programpb.Op{Op: &programpb.Op_Set{
			Set: &programpb.SetField{Field: programpb.Field(o.field), Value: uint32(o.Arg)},
		}}
	},
})

func setText(o Op) string {
	if o.field == headerspace.Src || o.field == headerspace.Dst {
		return fmt.Sprintf("%s := %s", o.field, addrText(uint32(o.Arg)))
	}
	if absent, _ := o.field.Absent(); o.field == headerspace.VLAN && uint64(o.Arg) == absent.Lo {
		return "strip vlan"
	}
	return fmt.Sprintf("%s := %d", o.field, o.Arg)
}
