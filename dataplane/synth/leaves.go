package synth

import (
	"iter"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// found is a leaf before classes are numbered, or a fan of them.
type found struct {
	filter headerspace.Filter
	legs   []leg
	trace  *step
	fan    *fan
	// class is the leaf's class, shape its filter's place among those that a table is lowered from; -1: not known yet.
	class, shape int32
}

// leaves are a segment's, in the order in which they match first.
type leaves []found

// all gives the leaves. Those of a fan come with their route, and with their destinations, which hold until the next; with the others
// both are absent: their filters say it. It tells whether yield wanted all.
func (s leaves) all(yield func(l *found, route int, to spans) bool) bool {
	for i := range s {
		if s[i].fan == nil {
			if !yield(&s[i], noRoute, nil) {
				return false
			}
		} else if !s[i].fan.each(yield) {
			return false
		}
	}
	return true
}

// filterOf is the filter of a leaf to some destinations, as all gives both.
func (l *found) filterOf(to spans) headerspace.Filter {
	if to == nil || to.isEvery() {
		return l.filter
	}
	return l.filter.With(headerspace.Dst, to.set())
}

// Leaves gives the ways through the segment in priority order: the first whose filter passes the packet decides.
func (s *Segment) Leaves() iter.Seq[Leaf] {
	return func(yield func(Leaf) bool) {
		s.leaves.all(func(l *found, route int, to spans) bool {
			return yield(Leaf{Filter: l.filterOf(to), Class: int(l.class), trace: l.trace, route: route})
		})
	}
}

// NumLeaves is how many there are.
func (s *Segment) NumLeaves() int {
	n := 0
	s.leaves.all(func(*found, int, spans) bool { n++; return true })
	return n
}

// Match finds the leaf that decides a packet in a segment; ok is false for
// packets that cannot exist.
func (s *Segment) Match(pkt *headerspace.Packet) (leaf *Leaf, ok bool) {
	at := spansOf(headerspace.Single(pkt[headerspace.Dst]))
	s.leaves.all(func(l *found, route int, to spans) bool {
		if to != nil && len(to.intersect(at)) == 0 || !l.filter.Contains(pkt) {
			return true
		}
		leaf = &Leaf{Filter: l.filterOf(to), Class: int(l.class), trace: l.trace, route: route}
		return false
	})
	return leaf, leaf != nil
}
