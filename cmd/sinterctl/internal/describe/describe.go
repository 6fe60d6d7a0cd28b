// Package describe puts packet programs into words: the filters, operations
// and outcomes of their classes as people write them.
package describe

import (
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Box is what a box of a table asks of a packet.
func Box(t *programpb.Table, box int) string {
	return Filter(BoxFilter(t, box))
}

// BoxFilter is a box as a packet filter.
func BoxFilter(t *programpb.Table, box int) headerspace.Filter {
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

// Outcome is where a leg of a segment's class ends, in words: how which packets end.
func Outcome(p *programpb.Program, segment int, l *programpb.Leg) string {
	return Ends(p, l, program.Ends(p, segment, l))
}

// Ends puts ends of a leg into words.
func Ends(p *programpb.Program, l *programpb.Leg, ends []program.End) string {
	parts := make([]string, len(ends))
	for i := range ends {
		parts[i] = End(p, l, &ends[i])
		switch {
		case i > 0 && i == len(ends)-1:
			parts[i] = "else " + parts[i]
		case len(ends) > 1:
			parts[i] = ends[i].Words + ": " + parts[i]
		}
	}
	return strings.Join(parts, ", ")
}

// End is an end in words, without the packets that it is of.
func End(p *programpb.Program, l *programpb.Leg, e *program.End) string {
	if e.Drop != "" {
		return "drop: " + e.Drop
	}
	switch o := l.GetOutcome().(type) {
	case *programpb.Leg_Output:
		return p.GetInterfaces()[o.Output].GetName()
	case *programpb.Leg_Generator:
		return "answer: " + e.Answer
	case *programpb.Leg_Segment:
		return "classify again: " + p.GetSegments()[o.Segment].GetName()
	}
	return program.OutcomeText(p, l)
}

// Left are the ends that some packet of the filters comes to.
func Left(ends []program.End, filters []headerspace.Filter) []program.End {
	var out []program.End
	for _, e := range ends {
		if len(e.When) == 0 {
			if len(filters) > 0 {
				out = append(out, e)
			}
			continue
		}
		var rest []headerspace.Filter
		held := false
		for _, f := range filters {
			parts := []headerspace.Filter{f}
			for _, w := range e.When {
				held = held || possible(f.Intersect(w))
				parts = subtract(parts, w)
			}
			rest = append(rest, parts...)
		}
		if held {
			out = append(out, e)
		}
		filters = rest
	}
	return out
}

func possible(f headerspace.Filter) bool {
	_, ok := f.Feasible()
	return ok
}

func subtract(list []headerspace.Filter, f headerspace.Filter) []headerspace.Filter {
	var out []headerspace.Filter
	for _, p := range list {
		for _, q := range p.Subtract(f) {
			if possible(q) {
				out = append(out, q)
			}
		}
	}
	return out
}

// Class is what a class of a segment does, in one line.
func Class(p *programpb.Program, segment int, c *programpb.Class) string {
	return class(p, c, func(l *programpb.Leg) string { return Outcome(p, segment, l) })
}

// ClassOf is Class of the packets of some filters: what happens to none of them is left out.
func ClassOf(p *programpb.Program, segment int, c *programpb.Class, filters []headerspace.Filter) string {
	return class(p, c, func(l *programpb.Leg) string {
		return Ends(p, l, Left(program.Ends(p, segment, l), filters))
	})
}

// Legs are what a class of a segment does to one packet: an operation and an end for each copy.
func Legs(p *programpb.Program, segment int, c *programpb.Class, pkt *headerspace.Packet) []string {
	one := &programpb.Class{Legs: make([]*programpb.Leg, 1)}
	out := make([]string, len(c.GetLegs()))
	for i, l := range c.GetLegs() {
		one.Legs[0] = l
		out[i] = class(p, one, func(l *programpb.Leg) string {
			ends := program.Ends(p, segment, l)
			k := slices.IndexFunc(ends, func(e program.End) bool { return e.Holds(pkt) })
			return End(p, l, &ends[k])
		})
	}
	return out
}

func class(p *programpb.Program, c *programpb.Class, outcome func(*programpb.Leg) string) string {
	legs := make([]string, len(c.GetLegs()))
	for i, l := range c.GetLegs() {
		var parts []string
		for _, op := range l.GetOps() {
			parts = append(parts, program.OpText(p, op))
		}
		legs[i] = strings.Join(append(parts, "→ "+outcome(l)), ", ")
	}
	return strings.Join(legs, "; and ")
}
