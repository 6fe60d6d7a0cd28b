package walk

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// AddTo adds to a field of which it is known that the sum is one of its values.
func (w *Walker) AddTo(t *Unit, node int, f headerspace.Field, by int64) error {
	if by == 0 {
		return nil
	}
	switch e := t.val[f]; e.kind {
	case ident:
		t.val[f] = expr{kind: add, delta: by}
		if only, ok := t.filter.Get(f).Only(); ok { // one value becomes one value
			t.val[f] = constant(moved(only, by))
		}
	case add:
		t.val[f] = expr{}
		if e.delta+by != 0 {
			t.val[f] = expr{kind: add, delta: e.delta + by}
		}
	case constE:
		c, _ := e.set.Only()
		t.val[f] = constant(moved(c, by))
	case choice, virtual:
		return w.Act(t, node, Op{Kind: opAdd, field: f, Arg: by}, []headerspace.Field{f}, map[headerspace.Field]headerspace.Set{f: e.set.PullBack(f, -by)})
	}
	return nil
}

func moved(v headerspace.Value, by int64) headerspace.Value {
	if by < 0 {
		return v.Sub64(uint64(-by))
	}
	return v.Add64(uint64(by))
}

// opAddTo is the operation that adds to a field.
func opAddTo(f headerspace.Field) OpKind {
	if f == headerspace.TTL {
		return opAddTTL
	}
	return opAdd
}

var opAdd = NewOperation(Operation{
	Write: func(_ *Emitter, o Op, says *Leg) *programpb.Op {
		says.Ops = append(says.Ops, addedText(o))
		value := uint32(o.Arg)
		if o.field == headerspace.SPort || o.field == headerspace.DPort {
			value = uint32(uint16(o.Arg))
		}
		return &programpb.Op{Op: &programpb.Op_Add{Add: &programpb.SetField{Field: programpb.Field(o.field), Value: value}}}
	},
})

// addedText says what is added to a field; addresses by the number of the first one's octets.
func addedText(o Op) string {
	if o.field != headerspace.Src && o.field != headerspace.Dst {
		return fmt.Sprintf("%s %+d", o.field, o.Arg)
	}
	sign, by := "+", uint32(o.Arg)
	if o.Arg < 0 {
		sign, by = "-", uint32(-o.Arg)
	}
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], by)
	return fmt.Sprintf("%s %s %s", o.field, sign, netip.AddrFrom4(b))
}
