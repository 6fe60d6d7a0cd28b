package walk

import (
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// extents are the smallest ranges around a filter's destinations, sources, and ports.
type extents [4]span

var extentFields = [...]headerspace.Field{headerspace.Dst, headerspace.Src, headerspace.DPort, headerspace.SPort}

func extentsOf(p headerspace.Filter) (x extents, ok bool) {
	for d, f := range extentFields {
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

func (x extents) overlaps(o extents) bool {
	for d := range x {
		if x[d].lo > o[d].hi || x[d].hi < o[d].lo {
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
	// fates are noted if somebody wants to know.
	fates *fates
}

func (e *earlier) note(fate int32, x extents) {
	if e.fates != nil {
		e.fates.of, e.fates.extents = append(e.fates.of, fate), append(e.fates.extents, x)
	}
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
	return e.prune(list, list[:0], u)
}

// prune puts the leaves that are kept into a list, which is empty. It may be the same memory.
func (e *earlier) prune(list, kept leaves, u *usage) leaves {
	for i := range list {
		l := list[i]
		l.at = int32(i)
		if l.fan != nil {
			if e.pruneFan(l.fan, u) {
				e.fans = append(e.fans, l.fan)
				kept = append(kept, l)
			}
			continue
		}
		x, ok := extentsOf(l.filter)
		if !ok { // IPv6 only: no such packet comes in
			e.note(fateNone, x)
			continue
		}
		if by := e.holder(l.filter, x); by != nil {
			u.shadow(l.trace, by.trace)
			e.note(by.at, x)
			continue
		}
		u.use(l.trace)
		e.note(fateKept, x)
		kept = append(kept, l)
		e.add(&kept[len(kept)-1], x)
	}
	return kept
}

// usage notes which classifier rules decide some packet.
type usage struct {
	used [][]bool       // by node, of classifiers
	come []bool         // by node: some packets come there
	by   map[[2]int]int // a pruned rule: the rule of the same classifier that took its packets
	w    *Walker
}

func newUsage(w *Walker) *usage {
	u := &usage{used: make([][]bool, len(w.means)), come: make([]bool, len(w.means)), by: w.shadows, w: w}
	for n, m := range w.means {
		if c, ok := m.(*classifier); ok {
			u.used[n] = make([]bool, len(c.Rules))
		}
	}
	return u
}

func (u *usage) use(s *step) {
	for ; s != nil; s = s.prev {
		u.come[s.node] = true
		if s.rule >= 0 && s.rule < len(u.used[s.node]) {
			u.used[s.node][s.rule] = true
		}
	}
}

func (u *usage) shadow(loser, winner *step) {
	for s := loser; s != nil; s = s.prev {
		if u.used[s.node] == nil || s.rule < 0 {
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
		if !ok || node.Function == "" || !u.come[n] {
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

// fates are what became of each leaf of a segment.
type fates struct {
	of      []int32   // the leaf that holds it, or one of those below
	extents []extents // of those that packets can have
}

const (
	fateKept int32 = -1
	fateNone int32 = -2 // no packet comes in that the leaf is for
)

const (
	// maxFresh is how many new leaves are compared with all others, one by one.
	maxFresh = 64
	// maxSearches is how many leaves have their holders searched for among all others.
	maxSearches = 512
)

// pruned are the segment's leaves that some packet reaches; see prune.
func (s *segment) pruned(u *usage) leaves {
	if s.log != nil && slices.ContainsFunc(s.leaves, func(l found) bool { return l.fan != nil }) {
		s.log.done = false // what fans hold changes from here on: the next version walks them again
	}
	if s.log == nil || !s.log.done {
		return prune(s.leaves, u)
	}
	s.log.kept = &keptLeaves{}
	if a := newPruneAgain(s.log); a != nil && a.all() {
		s.log.kept.fates = a.fates
		return a.keep(u)
	}
	n := len(s.leaves)
	e := earlier{blocks: map[block][]candidate{}, fates: &s.log.kept.fates}
	e.fates.of, e.fates.extents = make([]int32, 0, n), make([]extents, 0, n)
	return e.prune(s.leaves, make(leaves, 0, n), u)
}

// pruneAgain finds which leaves hold others by what was found of the version before.
type pruneAgain struct {
	fates
	list   leaves
	was    []int32
	before *fates
	now    []int32 // of leaves before, their place in list; -1: they are gone
	fresh  []int32 // new leaves that are kept
	left   int     // searches
}

// newPruneAgain is nil if there is no version before, or too much is new.
func newPruneAgain(l *walkLog) *pruneAgain {
	if l.before == nil || l.before.kept == nil {
		return nil
	}
	a := &pruneAgain{list: l.leaves, was: l.was, before: &l.before.kept.fates, left: maxSearches}
	a.now = make([]int32, len(a.before.of))
	for i := range a.now {
		a.now[i] = -1
	}
	fresh := 0
	for i, o := range a.was {
		if o < 0 {
			fresh++
		} else {
			a.now[o] = int32(i)
		}
	}
	if fresh > maxFresh {
		return nil
	}
	a.of, a.extents = make([]int32, len(a.list)), make([]extents, len(a.list))
	return a
}

// all finds the fates of all leaves, in order; false: it would take too long.
func (a *pruneAgain) all() bool {
	for i := range a.list {
		o := a.was[i]
		if o >= 0 {
			a.extents[i] = a.before.extents[o]
			if fate := a.before.of[o]; fate == fateNone {
				a.of[i] = fateNone
				continue
			} else if !a.isHeldAnew(i, fate) {
				a.of[i] = fateKept
				if fate >= 0 {
					a.of[i] = a.now[fate]
				}
				continue
			}
		} else if x, ok := extentsOf(a.list[i].filter); ok {
			a.extents[i] = x
		} else {
			a.of[i] = fateNone
			continue
		}
		if a.left--; a.left < 0 {
			return false
		}
		if a.of[i] = a.search(i); o < 0 && a.of[i] == fateKept {
			a.fresh = append(a.fresh, int32(i))
		}
	}
	return true
}

// isHeldAnew tells whether a leaf with a fate may have another one now: its holder is gone, or a new leaf holds it.
func (a *pruneAgain) isHeldAnew(i int, fate int32) bool {
	if fate >= 0 && (a.now[fate] < 0 || a.of[a.now[fate]] != fateKept) {
		return true
	}
	return slices.ContainsFunc(a.fresh, func(f int32) bool { return a.holds(f, i) })
}

func (a *pruneAgain) holds(holder int32, i int) bool {
	return a.extents[holder].holds(a.extents[i]) && a.list[i].filter.SubsetOf(a.list[holder].filter)
}

// search is the leaf that holds another: of several, the one that earlier.holder finds.
func (a *pruneAgain) search(i int) int32 {
	best, size := fateKept, blockSizes{}
	for k := range int32(i) {
		if a.of[k] != fateKept || !a.holds(k, i) {
			continue
		}
		if s := sizesOf(a.extents[k]); best == fateKept || slices.Compare(s[:], size[:]) < 0 {
			best, size = k, s
		}
	}
	return best
}

// Keep is the leaves that are kept, and notes what became of the others.
func (a *pruneAgain) keep(u *usage) leaves {
	kept := make(leaves, 0, len(a.list))
	for i := range a.list {
		switch by := a.of[i]; by {
		case fateNone:
		case fateKept:
			u.use(a.list[i].trace)
			kept = append(kept, a.list[i])
			kept[len(kept)-1].at = int32(i)
		default:
			u.shadow(a.list[i].trace, a.list[by].trace)
		}
	}
	return kept
}
