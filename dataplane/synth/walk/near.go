package walk

import (
	"math/bits"
	"slices"
	"sort"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// outline is what tells most pairs of filters with no packet in common apart at little cost.
type outline struct {
	extents
	protocols uint64 // of protocol n the bit n%64
}

func (o *outline) meets(other *outline) bool {
	return o.protocols&other.protocols != 0 && o.overlaps(other.extents)
}

// appendNear appends the rules that may pass some packet of a unit, as far as outlines tell. Of a long list behind another one they are few: most
// pairs of rules have no packet in common.
func (l *ruleList) appendNear(near []int32, t *Unit) []int32 {
	unit, list := t.outline(), l.allOutlines()
	if l.index == nil {
		for i := range list {
			if list[i].meets(&unit) {
				near = append(near, int32(i))
			}
		}
		return near
	}
	for w, some := range l.index.around(&unit.extents) {
		for ; some != 0; some &= some - 1 {
			if i := w*64 + bits.TrailingZeros64(some); list[i].meets(&unit) {
				near = append(near, int32(i))
			}
		}
	}
	return near
}

// matched is what passes a rule's filter of a unit's packets.
type matched struct {
	ways    Ways // those that packets can have
	decided bool
	all     bool // all of the unit's packets pass
}

// against matches the unit with a filter of a rule.
func (t *Unit) against(f headerspace.Filter) matched {
	found, decided := t.Match(f)
	m := matched{decided: decided, all: found.N == 1 && t.filter.SubsetOf(found.first)}
	for i := range found.N {
		if _, possible := found.At(i).Feasible(); possible {
			m.ways.Add(*found.At(i))
		}
	}
	return m
}

// Ways is into how many units rules near a unit divide it, and how many boxes these are, of which more than enough need not be counted. What it finds of
// each filter of the rules in turn, as far as it counts, is appended to found.
func (l *ruleList) ways(t *Unit, near []int32, enough int, found []matched) (n, boxes int, _ []matched) {
	for _, r := range near {
		for _, f := range l.rules[r].Filters {
			m := t.against(f)
			found = append(found, m)
			n += m.ways.N
			for i := range m.ways.N {
				boxes += t.ranges(m.ways.At(i))
			}
			if boxes > enough || m.all { // nothing is left for the rules below
				return n, boxes, found
			}
		}
	}
	return n, boxes, found
}

// ranges is in how many ranges of t's destinations a filter lies, which is a part of t's. Of a unit with one range it is one: ranges of a rule's own are
// no product.
func (t *Unit) ranges(p *headerspace.Filter) int {
	if len(t.filter.Get(headerspace.Dst).Intervals()) == 1 {
		return 1
	}
	return len(p.Get(headerspace.Dst).Intervals())
}

// Ranges is in how many ranges the unit's destinations lie.
func (t *Unit) Ranges() int { return t.ranges(&t.filter) }

// outline is that of a unit's packets as they are here. Fields that were written may have any value.
func (t *Unit) outline() outline {
	o := outline{protocols: allProtocols}
	for d, f := range extentFields {
		o.extents[d] = span{0, ^uint32(0)}
		if t.val[f].kind == ident {
			o.extents[d], _ = extentOf(t.filter, f)
		}
	}
	if t.val[headerspace.Proto].kind == ident {
		o.protocols = protocolsOf(t.filter)
	}
	return o
}

const allProtocols = ^uint64(0)

func protocolsOf(p headerspace.Filter) (bits uint64) {
	if p.Any(headerspace.Proto) {
		return allProtocols
	}
	for _, iv := range p.Get(headerspace.Proto).Intervals() {
		for n := iv.Lo.Lo; n <= iv.Hi.Lo; n++ {
			bits |= 1 << (n % 64)
		}
	}
	return bits
}

// allOutlines are those of each rule, with all of its filters in it. A long list gets its index with them.
func (l *ruleList) allOutlines() []outline {
	if l.outlines != nil {
		return l.outlines
	}
	l.outlines = make([]outline, len(l.rules))
	for i, r := range l.rules {
		o := &l.outlines[i]
		for d, f := range extentFields {
			x := span{^uint32(0), 0}
			for _, p := range r.Filters {
				if s, ok := extentOf(p, f); ok {
					x.lo, x.hi = min(x.lo, s.lo), max(x.hi, s.hi)
				}
			}
			o.extents[d] = x
		}
		for _, p := range r.Filters {
			o.protocols |= protocolsOf(p)
		}
	}
	if len(l.rules) > large {
		l.index = newOutlineIndex(l.outlines)
	}
	return l.outlines
}

// outlineIndex finds the rules of a long list whose extents may overlap others. A rule does if, in each dimension, it begins no later than they end,
// and ends no earlier than they begin. The rules that do either are known as sets of bits, for some ends and beginnings.
type outlineIndex struct {
	begins, ends [len(extents{})]ranking
	found        []uint64
}

// ranking is rules in the order of a number.
type ranking struct {
	numbers []uint32
	stride  int
	// first are the rules with the first stride, 2 x stride, ... numbers.
	first [][]uint64
}

func newOutlineIndex(list []outline) *outlineIndex {
	x := &outlineIndex{found: make([]uint64, (len(list)+63)/64)}
	for d := range x.begins {
		x.begins[d] = newRanking(list, func(o *outline) uint32 { return o.extents[d].lo })
		x.ends[d] = newRanking(list, func(o *outline) uint32 { return ^o.extents[d].hi }) // the last one first
	}
	return x
}

func newRanking(list []outline, number func(*outline) uint32) ranking {
	order := make([]int32, len(list))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return compareUint32(number(&list[a]), number(&list[b])) })
	r := ranking{stride: (len(list) + 63) / 64}
	set := make([]uint64, (len(list)+63)/64)
	for k, i := range order {
		r.numbers = append(r.numbers, number(&list[i]))
		set[i/64] |= 1 << (i % 64)
		if (k+1)%r.stride == 0 {
			r.first = append(r.first, slices.Clone(set))
		}
	}
	return r
}

// upTo takes away rules with larger numbers, but for some of them.
func (r *ranking) upTo(number uint32, rules []uint64) {
	n := sort.Search(len(r.numbers), func(i int) bool { return r.numbers[i] > number })
	if n == len(r.numbers) {
		return
	}
	if at := (n + r.stride - 1) / r.stride; at == 0 {
		clear(rules)
	} else if at <= len(r.first) {
		for w, some := range r.first[at-1] {
			rules[w] &= some
		}
	}
}

// around is the rules that may overlap extents, one bit each, and some others. It holds until the next call.
func (x *outlineIndex) around(o *extents) []uint64 {
	for w := range x.found {
		x.found[w] = ^uint64(0)
	}
	if n := len(x.begins[0].numbers) % 64; n > 0 {
		x.found[len(x.found)-1] = 1<<n - 1
	}
	for d := range x.begins {
		x.begins[d].upTo(o[d].hi, x.found)
		x.ends[d].upTo(^o[d].lo, x.found)
	}
	return x.found
}
