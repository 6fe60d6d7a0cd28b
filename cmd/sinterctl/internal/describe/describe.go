// Package describe puts packet programs into words: the filters, operations
// and outcomes of their classes as people write them.
package describe

import (
	"fmt"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Box is what a box of a table asks of a packet.
func Box(t *programpb.Table, box int) string {
	return Filter(boxFilter(t, box))
}

// boxFilter is a box as a packet filter.
func boxFilter(t *programpb.Table, box int) headerspace.Filter {
	var f headerspace.Filter
	dims := t.GetDims()
	for d, dim := range dims {
		at := 2 * (box*len(dims) + d)
		f = f.And(headerspace.Field(dim), rangeOf(dim, t.GetBounds()[at], t.GetBounds()[at+1]))
	}
	words := (len(t.GetBits()) + 63) / 64
	for i, b := range t.GetBits() {
		if t.GetRequired()[box*words+i/64]>>(i%64)&1 == 1 {
			f = f.And(headerspace.Field(b.GetField()), bitSet(b))
		}
	}
	return f
}

func bitSet(b *programpb.BitSet) headerspace.Set {
	var s headerspace.Set
	for i := 0; i+1 < len(b.GetRanges()); i += 2 {
		s = s.Union(rangeOf(b.GetField(), b.GetRanges()[i], b.GetRanges()[i+1]))
	}
	return s
}

func rangeOf(f programpb.Field, lo, hi uint32) headerspace.Set {
	if f != programpb.Field_SRC && f != programpb.Field_DST {
		return headerspace.Range(uint64(lo), uint64(hi))
	}
	if lo == 0 && hi == ^uint32(0) {
		return headerspace.Full(headerspace.Field(f))
	}
	return headerspace.AddrRange(addr(lo), addr(hi))
}

// OpKind sorts operations as the picture of a program colours them.
type OpKind int

// Kinds of operations.
const (
	Write OpKind = iota // writes a header field
	State               // looks a flow up
	Route               // notes a next hop
	Note                // counts
)

// Op is an operation in words.
func Op(p *programpb.Program, op *programpb.Op) (string, OpKind) {
	switch o := op.GetOp().(type) {
	case *programpb.Op_Set:
		return fmt.Sprintf("%s := %s", headerspace.Field(o.Set.GetField()), value(o.Set.GetField(), o.Set.GetValue())), Write
	case *programpb.Op_AddTtl:
		return fmt.Sprintf("ttl %+d", o.AddTtl), Write
	case *programpb.Op_NextHop:
		if o.NextHop == 0 {
			return "on-link", Route
		}
		return "via " + addr(o.NextHop).String(), Route
	case *programpb.Op_StateForward:
		return "translate " + p.GetRuns()[o.StateForward].GetName(), State
	case *programpb.Op_Count:
		return "count " + p.GetCounters()[o.Count], Note
	}
	return fmt.Sprint(op), Write
}

func value(f programpb.Field, v uint32) string {
	switch {
	case f == programpb.Field_SRC || f == programpb.Field_DST:
		return addr(v).String()
	case f == programpb.Field_VLAN && v == 4096:
		return "none"
	}
	return fmt.Sprint(v)
}

// Outcome is where a leg ends, in words.
func Outcome(p *programpb.Program, l *programpb.Leg) string {
	switch o := l.GetOutcome().(type) {
	case *programpb.Leg_Output:
		return p.GetInterfaces()[o.Output].GetName()
	case *programpb.Leg_Drop:
		return "drop: " + Reason(p, o.Drop)
	case *programpb.Leg_Generator:
		g := p.GetGenerators()[o.Generator]
		return "answer: " + answerText(g)
	case *programpb.Leg_Segment:
		return "classify again: " + p.GetSegments()[o.Segment].GetName()
	case *programpb.Leg_StateReturn:
		return "translate back " + p.GetTables()[o.StateReturn].GetName()
	}
	return "nothing"
}

// answerText is what a generator sends, in words.
func answerText(g *programpb.Generator) string {
	switch g.GetKind() {
	case programpb.Generator_ECHO_REPLY:
		return "echo reply to a ping, else drop: local"
	case programpb.Generator_LOCAL_HOST:
		return "as a host without services (echo reply, port or protocol unreachable, TCP reset)"
	case programpb.Generator_REJECT:
		return "TCP reset, other packets ICMP 3/13, by " + g.GetName()
	}
	return fmt.Sprintf("ICMP %d/%d by %s", g.GetType(), g.GetCode(), g.GetName())
}

// Reason is a drop reason's name.
func Reason(p *programpb.Program, d *programpb.Drop) string {
	if c, ok := d.GetReason().(*programpb.Drop_Chain); ok {
		return p.GetReasons()[c.Chain]
	}
	return BuiltinReason(d.GetBuiltin())
}

// BuiltinReason is the name that users see of a reason that the engine gives.
func BuiltinReason(r programpb.DropReason) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(r.String(), "DROP_"), "_", "-"))
}

// Class is what a class does, in one line.
func Class(p *programpb.Program, c *programpb.Class) string {
	legs := make([]string, len(c.GetLegs()))
	for i, l := range c.GetLegs() {
		var parts []string
		for _, op := range l.GetOps() {
			s, _ := Op(p, op)
			parts = append(parts, s)
		}
		legs[i] = strings.Join(append(parts, "→ "+Outcome(p, l)), ", ")
	}
	return strings.Join(legs, "; and ")
}
