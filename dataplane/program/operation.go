package program

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

func init() {
	rule.RegisterOperation[*programpb.Op_Set](rule.Operation{
		Kind:  rule.Write,
		Check: func(_ *programpb.Program, at string, o *programpb.Op) error { return setField(at, o.GetSet()) },
		Text: func(_ *programpb.Program, o *programpb.Op) string {
			f := o.GetSet().GetField()
			return fmt.Sprintf("%s := %s", headerspace.Field(f), rule.ValueText(f, o.GetSet().GetValue()))
		},
		TTL: func(o *programpb.Op) (lowers, raises bool) {
			return false, o.GetSet().GetField() == programpb.Field_TTL
		},
		Leaves: func(_ *programpb.Program, x *rule.Exit, o *programpb.Op) { leaveSet(x, o.GetSet()) },
	})
	rule.RegisterOperation[*programpb.Op_AddTtl](rule.Operation{
		Kind: rule.Write,
		Check: func(_ *programpb.Program, at string, o *programpb.Op) error {
			if n := o.GetAddTtl(); n < -255 || n > 255 {
				return fmt.Errorf("%s: add_ttl is %d, want -255..255", at, n)
			}
			return nil
		},
		Text: func(_ *programpb.Program, o *programpb.Op) string { return fmt.Sprintf("ttl %+d", o.GetAddTtl()) },
		TTL:  func(o *programpb.Op) (lowers, raises bool) { return o.GetAddTtl() < 0, o.GetAddTtl() > 0 },
	})
	rule.RegisterOperation[*programpb.Op_NextHop](rule.Operation{
		Kind:  rule.Route,
		Check: func(*programpb.Program, string, *programpb.Op) error { return nil },
		Text: func(_ *programpb.Program, o *programpb.Op) string {
			if o.GetNextHop() == 0 {
				return "on-link"
			}
			return "via " + rule.Address(o.GetNextHop()).String()
		},
		Leaves: func(_ *programpb.Program, x *rule.Exit, o *programpb.Op) { x.Hop, x.Via = true, o.GetNextHop() != 0 },
		Hops:   func(_ *programpb.Program, o *programpb.Op) []uint32 { return []uint32{o.GetNextHop()} },
	})
	rule.RegisterOperation[*programpb.Op_Count](rule.Operation{
		Kind: rule.Note,
		Check: func(p *programpb.Program, at string, o *programpb.Op) error {
			return rule.Index(at, "count", o.GetCount(), len(p.GetCounters()))
		},
		Text: func(p *programpb.Program, o *programpb.Op) string { return "count " + p.GetCounters()[o.GetCount()] },
	})
}

func setField(at string, s *programpb.SetField) error {
	limit := FieldMax(s.GetField())
	switch s.GetField() {
	case programpb.Field_VLAN, programpb.Field_SRC, programpb.Field_DST, programpb.Field_DSCP, programpb.Field_TTL:
		return rule.AtMost(at, "set "+s.GetField().String(), s.GetValue(), limit)
	case programpb.Field_SPORT, programpb.Field_DPORT: // a port cannot be made absent
		return rule.AtMost(at, "set "+s.GetField().String(), s.GetValue(), limit-1)
	default:
		return fmt.Errorf("%s: field %s cannot be set: want VLAN, SRC, DST, DSCP, TTL, SPORT or DPORT", at, s.GetField())
	}
}

// leaveSet notes what is known behind an operation that sets a field.
func leaveSet(x *rule.Exit, s *programpb.SetField) {
	switch s.GetField() {
	case programpb.Field_DST:
		a := rule.Address(s.GetValue())
		x.Dst = &a
	case programpb.Field_VLAN:
		v := headerspace.V(uint64(s.GetValue()))
		x.VLAN = &v
	default:
	}
}

// OpKind sorts operations by what they do.
type OpKind = rule.OpKind

// Kinds of operations.
const (
	Write = rule.Write // writes a header field
	State = rule.State // looks a flow up
	Route = rule.Route // notes a next hop
	Note  = rule.Note  // counts
)

// OpText is an operation of a program in words.
func OpText(p *Program, o *programpb.Op) string {
	known, ok := rule.OperationOf(o)
	if !ok {
		return fmt.Sprint(o)
	}
	return known.Text(p, o)
}

// OpKindOf is what kind an operation is.
func OpKindOf(o *programpb.Op) OpKind {
	known, _ := rule.OperationOf(o)
	return known.Kind
}
