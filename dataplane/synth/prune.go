package synth

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// hull is a filter's extent in the address fields.
type hull struct{ srcLo, srcHi, dstLo, dstHi uint32 }

func hullOf(p headerspace.Filter) (h hull, ok bool) {
	var a, b bool
	h.srcLo, h.srcHi, a = v4Extent(p, headerspace.Src)
	h.dstLo, h.dstHi, b = v4Extent(p, headerspace.Dst)
	return h, a && b
}

// v4Extent is the smallest and largest IPv4 address in a filter's field; ok is false without any.
func v4Extent(p headerspace.Filter, f headerspace.Field) (lo, hi uint32, ok bool) {
	if p.Any(f) {
		return 0, ^uint32(0), true
	}
	s := p.Get(f).Intersect(ipv4).Intervals()
	if len(s) == 0 {
		return 0, 0, false
	}
	return uint32(s[0].Lo.Lo), uint32(s[len(s)-1].Hi.Lo), true
}

func (h hull) holds(o hull) bool {
	return h.dstLo <= o.dstLo && h.dstHi >= o.dstHi && h.srcLo <= o.srcLo && h.srcHi >= o.srcHi
}

// earlier finds filters that hold a later one. Filters are kept by the smallest
// aligned blocks that hold their destinations and sources, so that only few need
// be compared: a filter's holder has blocks around its own.
type earlier struct {
	leaves []found                   // those before, by index
	blocks map[block]map[block]*list // by destination, by source
	// The lists around the last hull: leaves of one rule follow each other.
	last   hull
	around []*list
	home   *list
}

// list is the filters at home in one block of destinations and one of sources.
type list struct{ candidates []candidate }

// block is an aligned block of 1<<bits addresses.
type block struct{ bits, addr uint32 }

type candidate struct {
	hull
	index int
}

// blockBits are the sizes of blocks in use.
var blockBits = [...]uint32{0, 8, 16, 24, 32}

// smallest is the first of blockBits at which lo and hi fall into one block.
func smallest(lo, hi uint32) int {
	for i, b := range blockBits {
		if lo>>b == hi>>b {
			return i
		}
	}
	return len(blockBits) - 1
}

func blockOf(size int, addr uint32) block { return block{blockBits[size], addr >> blockBits[size]} }

// add notes the filter of the leaf that is the i-th if it is kept, and returns the index of an earlier one that
// holds it wholly, else -1. Only filters that are not held are kept.
func (e *earlier) add(i int, p headerspace.Filter, h hull) (by int) {
	if h != e.last || e.home == nil {
		e.find(h)
	}
	for _, l := range e.around {
		for _, c := range l.candidates {
			if c.holds(h) && p.SubsetOf(e.leaves[c.index].filter) {
				return c.index
			}
		}
	}
	e.home.candidates = append(e.home.candidates, candidate{h, i})
	return -1
}

// find finds the lists in which a holder of the hull can be; its home is made if there is none.
func (e *earlier) find(h hull) {
	dst, src := smallest(h.dstLo, h.dstHi), smallest(h.srcLo, h.srcHi)
	home := blockOf(dst, h.dstLo)
	if e.blocks[home] == nil {
		e.blocks[home] = map[block]*list{}
	}
	if inner := blockOf(src, h.srcLo); e.blocks[home][inner] == nil {
		e.blocks[home][inner] = &list{}
	}
	e.last, e.home, e.around = h, e.blocks[home][blockOf(src, h.srcLo)], e.around[:0]
	for d := dst; d < len(blockBits); d++ {
		inner := e.blocks[blockOf(d, h.dstLo)]
		if inner == nil {
			continue
		}
		for s := src; s < len(blockBits); s++ {
			if l := inner[blockOf(s, h.srcLo)]; l != nil {
				e.around = append(e.around, l)
			}
		}
	}
}

// prune takes away the leaves that no packet reaches because an earlier one holds
// all of them, and notes for whose sake. The rest moves up in its place.
func prune(leaves []found, u *usage) []found {
	e := earlier{leaves: leaves, blocks: map[block]map[block]*list{}}
	kept := leaves[:0]
	for _, l := range leaves {
		h, ok := hullOf(l.filter)
		if !ok { // IPv6 only: no such packet comes in
			continue
		}
		if by := e.add(len(kept), l.filter, h); by >= 0 {
			u.shadow(l.trace, kept[by].trace)
			continue
		}
		u.use(l.trace)
		kept = append(kept, l)
	}
	return kept
}

// usage notes which classifier rules decide some packet.
type usage struct {
	used map[int][]bool
	by   map[[2]int]int // a pruned rule: the rule of the same classifier that took its packets
	w    *walker
}

func (u *usage) use(s *step) {
	for ; s != nil; s = s.prev {
		c, ok := u.w.means[s.node].(*classifier)
		if !ok {
			continue
		}
		if u.used[s.node] == nil {
			u.used[s.node] = make([]bool, len(c.Rules))
		}
		if s.rule >= 0 {
			u.used[s.node][s.rule] = true
		}
	}
}

func (u *usage) shadow(loser, winner *step) {
	for s := loser; s != nil; s = s.prev {
		if _, ok := u.w.means[s.node].(*classifier); !ok || s.rule < 0 {
			continue
		}
		for o := winner; o != nil; o = o.prev {
			if o.node == s.node && o.rule >= 0 && o.rule < s.rule {
				u.by[[2]int{s.node, s.rule}] = o.rule
			}
		}
	}
}

// warnings are the rules of functions that no packet can ever reach.
func (u *usage) warnings() []Warning {
	var out []Warning
	for n, node := range u.w.g.Nodes {
		c, ok := u.w.means[n].(*classifier)
		if !ok || node.Function == "" || u.used[n] == nil {
			continue
		}
		for i, used := range u.used[n] {
			if used || c.Rules[i].Name == "" {
				continue
			}
			msg := "never decides a packet: rules above it, or functions before it, take all that it could match"
			if by, ok := u.by[[2]int{n, i}]; ok {
				msg = fmt.Sprintf("never decides a packet: rule %s above it takes all that it could match", c.Rules[by].Name)
			}
			out = append(out, Warning{Node: node.Name, Rule: c.Rules[i].Name, Message: msg})
		}
	}
	return out
}
