package synth

import (
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// extents are the smallest ranges around a filter's destinations, sources, and ports.
type extents [4]span

func extentsOf(p headerspace.Filter) (x extents, ok bool) {
	for d, f := range [...]headerspace.Field{headerspace.Dst, headerspace.Src, headerspace.DPort, headerspace.SPort} {
		if x[d], ok = extentOf(p, f); !ok {
			return x, false
		}
	}
	return x, true
}

// extentOf is the smallest and largest value of a filter's field, of addresses those of IPv4; ok is false without any.
func extentOf(p headerspace.Filter, f headerspace.Field) (s span, ok bool) {
	address := f == headerspace.Src || f == headerspace.Dst
	switch {
	case p.Any(f) && address:
		return everyAddress[0], true
	case p.Any(f):
		return span{0, uint32(f.Max().Lo)}, true
	}
	set := p.Get(f)
	if address {
		set = set.Intersect(ipv4)
	}
	iv := set.Intervals()
	if len(iv) == 0 {
		return s, false
	}
	return span{uint32(iv[0].Lo.Lo), uint32(iv[len(iv)-1].Hi.Lo)}, true
}

func (x extents) holds(o extents) bool {
	for d := range x {
		if x[d].lo > o[d].lo || x[d].hi < o[d].hi {
			return false
		}
	}
	return true
}

// earlier finds filters that hold a later one. Filters are kept by the smallest aligned blocks that hold their
// addresses and ports, so that only few need be compared: a filter's holder has blocks around its own.
type earlier struct {
	plain  []*found
	fans   []*fan
	blocks map[block][]candidate
	// sizes are the sizes of blocks in use, the smallest first.
	sizes []blockSizes
	// The blocks around the last extents: leaves of one rule follow each other.
	last   extents
	around []block
	// compared is how often two leaves were.
	compared int
}

// blockSizes are indexes into the sizes of blocks: of destinations, sources, and ports.
type blockSizes [4]uint8

// block is an aligned block of addresses and ports.
type block struct {
	sizes blockSizes
	at    [4]uint32
}

type candidate struct {
	extents
	leaf *found
}

// addressBits and portBits are the sizes of blocks in use. A port may be absent, which is a value of its own.
var (
	addressBits = [...]uint8{0, 8, 16, 24, 32}
	portBits    = [...]uint8{0, 8, 17}
)

func bitsOf(dim int) []uint8 {
	if dim < 2 {
		return addressBits[:]
	}
	return portBits[:]
}

// sizesOf are the smallest blocks that hold all of the extents.
func sizesOf(x extents) (s blockSizes) {
	for d, r := range x {
		for i, b := range bitsOf(d) {
			if s[d] = uint8(i); uint64(r.lo)>>b == uint64(r.hi)>>b {
				break
			}
		}
	}
	return s
}

func (s blockSizes) blockOf(x extents) block {
	b := block{sizes: s}
	for d, r := range x {
		b.at[d] = uint32(uint64(r.lo) >> bitsOf(d)[s[d]])
	}
	return b
}

func (s blockSizes) around(o blockSizes) bool {
	return s[0] >= o[0] && s[1] >= o[1] && s[2] >= o[2] && s[3] >= o[3]
}

// holder is a leaf that holds all of a later one's packets; nil: there is none.
func (e *earlier) holder(p headerspace.Filter, x extents) *found {
	if x != e.last || e.around == nil {
		sizes := sizesOf(x)
		e.last, e.around = x, e.around[:0]
		for _, s := range e.sizes {
			if s.around(sizes) {
				e.around = append(e.around, s.blockOf(x))
			}
		}
	}
	for _, b := range e.around {
		for _, c := range e.blocks[b] {
			e.compared++
			if c.holds(x) && p.SubsetOf(c.leaf.filter) {
				return c.leaf
			}
		}
	}
	return e.fanHolder(p)
}

// add notes a leaf that is kept.
func (e *earlier) add(l *found, x extents) {
	sizes := sizesOf(x)
	if !slices.Contains(e.sizes, sizes) {
		at, _ := slices.BinarySearchFunc(e.sizes, sizes, func(a, b blockSizes) int { return slices.Compare(a[:], b[:]) })
		e.sizes, e.around = slices.Insert(e.sizes, at, sizes), nil
	}
	b := sizes.blockOf(x)
	e.blocks[b] = append(e.blocks[b], candidate{x, l})
	e.plain = append(e.plain, l)
}

// prune takes away the leaves that no packet reaches because an earlier one holds
// all of them, and notes for whose sake. The rest moves up in its place.
func prune(list leaves, u *usage) leaves {
	e := earlier{blocks: map[block][]candidate{}}
	return e.prune(list, u)
}

func (e *earlier) prune(list leaves, u *usage) leaves {
	kept := list[:0]
	for _, l := range list {
		if l.fan != nil {
			if e.pruneFan(l.fan, u) {
				e.fans = append(e.fans, l.fan)
				kept = append(kept, l)
			}
			continue
		}
		x, ok := extentsOf(l.filter)
		if !ok { // IPv6 only: no such packet comes in
			continue
		}
		if by := e.holder(l.filter, x); by != nil {
			u.shadow(l.trace, by.trace)
			continue
		}
		u.use(l.trace)
		kept = append(kept, l)
		e.add(&kept[len(kept)-1], x)
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
