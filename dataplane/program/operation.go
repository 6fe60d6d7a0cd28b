package program

import (
	"fmt"
	"reflect"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// OpKind sorts operations by what they do.
type OpKind int

// Kinds of operations.
const (
	Write OpKind = iota // writes a header field
	State               // looks a flow up
	Route               // notes a next hop
	Note                // counts
)

// operation is a row of the table of operations: all that Go has to know of one. What it does to a packet is the
// engine's (operation/ there).
type operation struct {
	kind  OpKind
	check func(v validator, at string, o *programpb.Op) error
	text  func(p *Program, o *programpb.Op) string
	// unless are the reasons under which a packet may be dropped, for what no header says; nil: there are none.
	unless func(p *Program, o *programpb.Op) []string
	// ttl tells whether it lowers the TTL, or raises or sets it; nil: neither.
	ttl func(o *programpb.Op) (lowers, raises bool)
	// leaves notes what is known of the packet behind it; nil: no more than before.
	leaves func(x *exit, o *programpb.Op)
}

// operations are by the type of Op's member.
var operations = map[reflect.Type]operation{
	reflect.TypeFor[*programpb.Op_Set](): {
		kind:  Write,
		check: func(_ validator, at string, o *programpb.Op) error { return setField(at, o.GetSet()) },
		text: func(_ *Program, o *programpb.Op) string {
			f := o.GetSet().GetField()
			return fmt.Sprintf("%s := %s", headerspace.Field(f), valueText(f, o.GetSet().GetValue()))
		},
		ttl: func(o *programpb.Op) (lowers, raises bool) {
			return false, o.GetSet().GetField() == programpb.Field_TTL
		},
		leaves: func(x *exit, o *programpb.Op) { x.set(o.GetSet()) },
	},
	reflect.TypeFor[*programpb.Op_AddTtl](): {
		kind: Write,
		check: func(_ validator, at string, o *programpb.Op) error {
			if n := o.GetAddTtl(); n < -255 || n > 255 {
				return fmt.Errorf("%s: add_ttl is %d, want -255..255", at, n)
			}
			return nil
		},
		text: func(_ *Program, o *programpb.Op) string { return fmt.Sprintf("ttl %+d", o.GetAddTtl()) },
		ttl:  func(o *programpb.Op) (lowers, raises bool) { return o.GetAddTtl() < 0, o.GetAddTtl() > 0 },
	},
	reflect.TypeFor[*programpb.Op_NextHop](): {
		kind:  Route,
		check: func(validator, string, *programpb.Op) error { return nil },
		text: func(_ *Program, o *programpb.Op) string {
			if o.GetNextHop() == 0 {
				return "on-link"
			}
			return "via " + address(o.GetNextHop()).String()
		},
		leaves: func(x *exit, o *programpb.Op) { x.hop, x.via = true, o.GetNextHop() != 0 },
	},
	reflect.TypeFor[*programpb.Op_StateForward](): {
		kind: State,
		check: func(v validator, at string, o *programpb.Op) error {
			return index(at, "state_forward", o.GetStateForward(), len(v.p.GetRuns()))
		},
		text: func(p *Program, o *programpb.Op) string {
			return "translate " + p.GetRuns()[o.GetStateForward()].GetName()
		},
		unless: func(p *Program, o *programpb.Op) []string {
			reasons := []string{"nat-exhausted", "nat-unsupported"}
			if i := p.GetRuns()[o.GetStateForward()].GetSubscribers(); i > 0 {
				reasons = append(reasons, p.GetReasons()[p.GetSubscribers()[i-1].GetReason()])
			}
			return reasons
		},
	},
	reflect.TypeFor[*programpb.Op_Count](): {
		kind: Note,
		check: func(v validator, at string, o *programpb.Op) error {
			return index(at, "count", o.GetCount(), len(v.p.GetCounters()))
		},
		text: func(p *Program, o *programpb.Op) string { return "count " + p.GetCounters()[o.GetCount()] },
	},
}

func operationOf(o *programpb.Op) (operation, bool) {
	row, ok := operations[reflect.TypeOf(o.GetOp())]
	return row, ok
}

// OpText is an operation of a program in words.
func OpText(p *Program, o *programpb.Op) string {
	row, ok := operationOf(o)
	if !ok {
		return fmt.Sprint(o)
	}
	return row.text(p, o)
}

// OpKindOf is what kind an operation is.
func OpKindOf(o *programpb.Op) OpKind {
	row, _ := operationOf(o)
	return row.kind
}

func valueText(f programpb.Field, v uint32) string {
	switch {
	case f == programpb.Field_SRC || f == programpb.Field_DST:
		return address(v).String()
	case f == programpb.Field_VLAN && v == 4096:
		return "none"
	}
	return fmt.Sprint(v)
}
