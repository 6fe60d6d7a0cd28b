package dispatch

import (
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Fields that a box has as a range, and those that it has as a set.
var (
	spanFields = [...]hs.Field{hs.Dst, hs.Src, hs.SPort, hs.DPort, hs.VLAN, hs.TTL}
	setFields  = [...]hs.Field{hs.Proto, hs.DSCP, hs.Frag, hs.TCPFlags, hs.ICMPType, hs.ICMPCode}
)

const (
	dst, src, sport, dport, vlan, ttl               = 0, 1, 2, 3, 4, 5
	proto, dscp, frag, tcpFlags, icmpType, icmpCode = 0, 1, 2, 3, 4, 5
)

// span is a range of values, both ends included.
type span struct{ lo, hi uint32 }

func (s span) overlaps(t span) bool { return s.lo <= t.hi && t.lo <= s.hi }
func (s span) within(t span) bool   { return t.lo <= s.lo && s.hi <= t.hi }

// full is all values of a field, absence included.
func full(f hs.Field) span {
	switch f {
	case hs.Src, hs.Dst:
		return span{0, ^uint32(0)}
	default:
		return span{0, uint32(f.Max().Lo)}
	}
}

// set is a set of the values of a field of at most eight bits, absence (256) included. Nil: all.
type set []uint64

const setWords = 5

func newSet() set { return make(set, setWords) }

func (s set) has(v uint32) bool { return s == nil || s[v/64]>>(v%64)&1 != 0 }

func (s set) add(lo, hi uint32) {
	for v := lo; v <= hi; v++ {
		s[v/64] |= 1 << (v % 64)
	}
}

func (s set) overlaps(t set) bool {
	if s == nil || t == nil {
		return true
	}
	for i := range s {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

func (s set) within(t set) bool {
	if t == nil {
		return true
	}
	if s == nil {
		return false
	}
	for i := range s {
		if s[i]&^t[i] != 0 {
			return false
		}
	}
	return true
}

func (s set) and(t set) set {
	switch {
	case s == nil:
		return t
	case t == nil:
		return s
	}
	out := newSet()
	for i := range s {
		out[i] = s[i] & t[i]
	}
	return out
}

func (s set) without(t set, f hs.Field) set {
	out := newSet()
	for v := uint32(0); v <= full(f).hi; v++ {
		if s.has(v) && !t.has(v) {
			out.add(v, v)
		}
	}
	return out
}

func (s set) empty() bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return s != nil
}

// trim is the set, nil if it has all values of its field.
func (s set) trim(f hs.Field) set {
	for v := uint32(0); v <= full(f).hi; v++ {
		if !s.has(v) {
			return s
		}
	}
	return nil
}

// box is a product of ranges and sets: a traffic class unit as a program's table has it.
type box struct {
	spans [len(spanFields)]span
	sets  [len(setFields)]set
}

// anything is the box that holds every packet.
func anything() (b box) {
	for i, f := range spanFields {
		b.spans[i] = full(f)
	}
	return b
}

func (b *box) overlaps(c *box) bool {
	for i := range b.spans {
		if !b.spans[i].overlaps(c.spans[i]) {
			return false
		}
	}
	for i := range b.sets {
		if !b.sets[i].overlaps(c.sets[i]) {
			return false
		}
	}
	return true
}

func (b *box) within(c *box) bool {
	for i := range b.spans {
		if !b.spans[i].within(c.spans[i]) {
			return false
		}
	}
	for i := range b.sets {
		if !b.sets[i].within(c.sets[i]) {
			return false
		}
	}
	return true
}

// subtract is the box without what c holds, as disjoint boxes.
func (b box) subtract(c *box) (out []box) {
	if !b.overlaps(c) {
		return []box{b}
	}
	for i := range b.spans {
		s, t := b.spans[i], c.spans[i]
		if s.lo < t.lo {
			piece := b
			piece.spans[i].hi = t.lo - 1
			out = append(out, piece)
			b.spans[i].lo = t.lo
		}
		if s.hi > t.hi {
			piece := b
			piece.spans[i].lo = t.hi + 1
			out = append(out, piece)
			b.spans[i].hi = t.hi
		}
	}
	for i := range b.sets {
		if b.sets[i].within(c.sets[i]) {
			continue
		}
		piece := b
		piece.sets[i] = b.sets[i].without(c.sets[i], setFields[i])
		out = append(out, piece)
		b.sets[i] = b.sets[i].and(c.sets[i])
	}
	return out
}

// unit is a box of a table with its class.
type unit struct {
	box
	class uint32
}

// units reads a table.
func units(t *programpb.Table) []unit {
	dims, words := len(t.GetDims()), (len(t.GetBits())+63)/64
	given := make([]set, len(t.GetBits()))
	for i, b := range t.GetBits() {
		given[i] = newSet()
		for r := 0; r < len(b.GetRanges()); r += 2 {
			given[i].add(b.GetRanges()[r], b.GetRanges()[r+1])
		}
	}
	// Sets are shared between boxes with the same bits.
	shared := map[[2]int]set{}
	out := make([]unit, len(t.GetClasses()))
	for n, class := range t.GetClasses() {
		u := unit{box: anything(), class: class}
		for d, f := range t.GetDims() {
			at := 2 * (n*dims + d)
			u.spans[position(spanFields[:], hs.Field(f))] = span{t.GetBounds()[at], t.GetBounds()[at+1]}
		}
		var last [len(setFields)]int
		for i, b := range t.GetBits() {
			if t.GetRequired()[n*words+i/64]>>(i%64)&1 == 0 {
				continue
			}
			at := position(setFields[:], hs.Field(b.GetField()))
			if u.sets[at] == nil {
				u.sets[at], last[at] = given[i], i
				continue
			}
			key := [2]int{last[at], i}
			if shared[key] == nil {
				shared[key] = u.sets[at].and(given[i])
			}
			u.sets[at] = shared[key]
		}
		out[n] = u
	}
	return out
}

func position(fields []hs.Field, f hs.Field) int {
	for i := range fields {
		if fields[i] == f {
			return i
		}
	}
	panic("dispatch: a table has a field that no box has: " + f.String()) // program.Validate refuses it
}
