package walk

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/boxes"
	"github.com/sinter-nfv/sinter/dataplane/synth/trees"
)

// Several look-ups may fit one, which still costs more than they do one after the other: rules that are wide in all fields have many packets in
// common, and a walk through their product meets many boxes. The trees that the engine would make of the product tell.

const (
	// lookupSteps is what a further look-up costs beside its walk, as keys are made again: measured, about 60 cycles, where a step takes 10.
	lookupSteps = 6
	// routeSteps is what a look-up in a table of routes or mappings costs.
	routeSteps = 2
	// multiple is how many times as many boxes as rules a table has that is judged. One of less has walks of about the sum at worst.
	multiple = 1.5
	// dearer is how many times as many steps a walk may take on average, and a look-up's more, dearest how many times as many at most. Of less the steps
	// do not tell surely that it costs more.
	dearer, dearest = 1.25, 1.5
	// longSteps is up to how many steps the longest walk does not matter.
	longSteps = 128
	// grown is how many times as many boxes a table may have as when it was judged, before it is judged again.
	grown = 1.25
)

// judge keeps look-ups apart that take more steps together than one after the other. It tells whether there are any.
func (w *Walker) judge(r *Result) (again bool) {
	for i, s := range w.segments {
		table, list := r.Program.GetSegments()[i].GetTable(), r.Segments[i].leaves
		if n := len(table.GetClasses()); s.start.kind == startAnswer || s.start.kind == startAnswerCut || w.record.knows(s.start, n) || !w.multiplies(list, n) {
			continue
		}
		one, apart := trees.Of(table, false), w.walksApart(list)
		if one.Steps > dearer*apart.Steps+lookupSteps || one.Longest > max(int(dearest*float64(apart.Longest)), longSteps) {
			if node := w.last(s); node >= 0 {
				w.wide.keep(s.place(), keptApart{node, one, apart})
				again = true
				continue
			}
		}
		w.record.know(s.start, len(table.GetClasses()))
	}
	return again
}

// knows tells whether a segment's table was judged when it had about as many boxes.
func (r *recorder) knows(s start, boxes int) bool {
	return r != nil && float64(boxes) <= grown*float64(r.fine[s])
}

func (r *recorder) know(s start, boxes int) {
	if r != nil {
		r.fine[s] = boxes
	}
}

// multiplies tells whether a segment's table of so many boxes is of several look-ups, and much more than their sum.
func (w *Walker) multiplies(list leaves, boxes int) bool {
	merged, most := false, 0
	list.sample(func(l *found) {
		lookups, rules := 0, 0
		w.lookups(l, func(node int) {
			lookups++
			rules += w.rules(node)
		})
		merged, most = merged || lookups > 1, max(most, rules)
	})
	return merged && float64(boxes) > multiple*float64(most)
}

// walksApart is what walks through the look-ups of a segment would take one after the other: on average over its leaves, and at most.
func (w *Walker) walksApart(list leaves) (apart trees.Walk) {
	n := 0
	list.sample(func(l *found) {
		steps, longest := -float64(lookupSteps), -lookupSteps // one look-up there is in any case
		w.lookups(l, func(node int) {
			own := w.ownWalk(node)
			steps, longest = steps+own.Steps+lookupSteps, longest+own.Longest+lookupSteps
		})
		n++
		apart.Steps += max(0, steps)
		apart.Longest = max(apart.Longest, longest)
	})
	apart.Steps /= float64(max(n, 1))
	return apart
}

// lookups gives the nodes on a leaf's way that divide packets into many ways, the last one first.
func (w *Walker) lookups(l *found, do func(node int)) {
	for x := l.trace; x != nil; x = x.prev {
		if w.divides(x.node) {
			do(x.node)
		}
	}
}

// sample gives about a thousand leaves that stand for all.
func (s leaves) sample(do func(l *found)) {
	for at, stride := 0, max(1, len(s)/1024); at < len(s); at += stride {
		s[at : at+1].each(do)
	}
}

// each gives the leaves of a list, those of a fan once for all routes of a group.
func (s leaves) each(do func(l *found)) {
	for i := range s {
		if s[i].fan == nil {
			do(&s[i])
			continue
		}
		for _, of := range s[i].fan.of {
			leaves(of).each(do)
		}
	}
}

// ownWalk is the walk through a node's rules, routes or mappings by themselves.
func (w *Walker) ownWalk(node int) trees.Walk {
	if c, ok := w.means[node].(*classifier); ok {
		return c.list.ownWalk()
	}
	return trees.Walk{Steps: routeSteps, Longest: routeSteps}
}

// ownWalk is that through a table of the list alone.
func (l *ruleList) ownWalk() trees.Walk {
	if l.own == nil {
		l.own = new(trees.Walk)
		if t, err := tableOf(l.rules); err == nil { // else the list alone has too many boxes, and so has what it is a part of
			*l.own = trees.Of(t, false)
		}
	}
	return *l.own
}

// tableOf is a table of rules.
func tableOf(rules []element.Rule) (*programpb.Table, error) {
	var shapes []boxes.Shape
	for _, r := range rules {
		for _, f := range r.Filters {
			shapes = append(shapes, boxes.Shape{Filter: f.Intersect(Everything).Given(Everything).Simplify()})
		}
	}
	shapes = append(shapes, boxes.Shape{})
	order := func(yield func(int, []boxes.Range) bool) {
		for i := range shapes {
			if !yield(i, nil) {
				return
			}
		}
	}
	t, _, err := boxes.Table(boxes.CommonPackets(shapes).Narrow(shapes, nil), order, make([]int32, len(shapes)), 1, boxes.Most)
	return t, err
}

// last is the look-up of a segment that the walk came to last, behind others; -1: there is none that could be kept apart. So those that stay are
// the longest part from its beginning that is worth it.
func (w *Walker) last(s *segment) int {
	node := -1
	for i := len(s.seen) - 1; i >= 0; i-- {
		if n := s.seen[i]; w.divides(n) && w.wide.of(s.place(), n) == nil {
			if node >= 0 {
				return node
			}
			node = n
		}
	}
	return -1
}
