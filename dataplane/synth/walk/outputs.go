package walk

import (
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Routers in a row. What a table says of destinations is read again by the next one. If each route were followed by itself, each would pass all
// routers behind: as many ways as routes, times routers. So routes with one output are followed together, with the exact ranges of their
// destinations: what several tables say together is then no more than their sum.

// errHop is returned by the walk of routes with several next hops that came to where the next hop shows. The node is that of their table.
type errHop struct{ node int }

func (e errHop) Error() string {
	return fmt.Sprintf("follow the next hops of node %d one by one", e.node)
}

// part is routes that are followed together, and the destinations that go by them.
type part struct {
	route int32 // one of them; noRoute: there is none
	reads bool  // something behind asks for destinations
	mixed bool  // they have several next hops
	live  spans
}

// numParts is how many parts there may be.
func (l *lookup) numParts() int { return len(l.fib().groups) + l.Outs + 1 }

// partOf is the part of a route: routes go together by output where something behind reads destinations (nil: behind none), otherwise by output and
// next hop.
func (l *lookup) partOf(route int32, reads []bool) int {
	f := l.fib()
	if route == noRoute {
		return l.numParts() - 1
	}
	if out := l.Routes[route].Out; reads != nil && reads[out] {
		return len(f.groups) + out
	}
	return int(f.group[route])
}

// ranges is how many ranges of destinations each part has.
func (l *lookup) ranges(live spans, reads []bool) []int {
	n, last := make([]int, l.numParts()), make([]uint32, l.numParts())
	l.fib().each(live, func(c cell) {
		at := l.partOf(c.route, reads)
		if n[at] == 0 || last[at]+1 != c.lo {
			n[at]++
		}
		last[at] = c.hi
	})
	return n
}

// parts divides destinations. The part with the most ranges is the last: it takes what the others leave, and needs no ranges.
func (l *lookup) parts(live spans, reads []bool) []part {
	f, all := l.fib(), make([]part, l.numParts())
	for at, n := range l.ranges(live, reads) {
		all[at].live = make(spans, 0, n)
	}
	f.each(live, func(c cell) {
		p := &all[l.partOf(c.route, reads)]
		switch n := len(p.live); {
		case n == 0:
			p.route, p.live = c.route, append(p.live, c.span)
			p.reads = c.route != noRoute && reads != nil && reads[l.Routes[c.route].Out]
		case p.live[n-1].hi+1 == c.lo:
			p.live[n-1].hi = c.hi
		default:
			p.live = append(p.live, c.span)
		}
		p.mixed = p.mixed || c.route != noRoute && f.group[c.route] != f.group[p.route]
	})
	all = slices.DeleteFunc(all, func(p part) bool { return len(p.live) == 0 })
	slices.SortStableFunc(all, func(a, b part) int { return len(a.live) - len(b.live) })
	return all
}

// walkOutputs follows t by all routes with one output at once. If those behind which nothing reads destinations have the most ranges, they come last,
// route by route.
func (l *lookup) walkOutputs(w *Walker, t *Unit, node, choices int, reads []bool) error {
	parts := l.parts(t.live, reads)
	last := len(parts) - 1
	others := reads != nil && !parts[last].reads // go by themselves
	for i, p := range parts {
		if others && !p.reads {
			continue
		}
		u := t
		if i < last {
			u = w.Branch(t, t.filter.Meet(headerspace.Filter{}.With(headerspace.Dst, p.live.set()), headerspace.Dst))
		}
		u.live = p.live
		if err := l.takePart(w, u, node, p); err != nil {
			return err
		}
	}
	if !others {
		return nil
	}
	return l.walkOthers(w, t, node, choices, reads)
}

// takePart goes on by the routes of a part.
func (l *lookup) takePart(w *Walker, t *Unit, node int, p part) error {
	if p.route == noRoute {
		return l.take(w, t, node, noRoute, noRoute)
	}
	t.hop = hop{set: true, was: t.hop.was}
	if t.hop.addr = IPv4(l.Routes[p.route].Via); p.mixed {
		t.hop.shared = node + 1
	}
	return w.Follow(t, node, l.Routes[p.route].Out, anyRoute)
}

// walkOthers follows t by the routes behind which nothing reads destinations. The others' are taken already.
func (l *lookup) walkOthers(w *Walker, t *Unit, node, choices int, reads []bool) error {
	f := l.fib()
	read := func(route int) bool { return route != noRoute && reads[l.Routes[route].Out] }
	if choices <= w.fanned {
		return l.takeWays(w, t, node, slices.DeleteFunc(f.ways(t.live), func(v way) bool { return read(v.route) }))
	}
	chosen, without := f.chosen(t.live)
	var routes []int32
	for _, r := range chosen {
		if !read(int(r)) {
			routes = append(routes, r)
		}
	}
	if _, err := l.fan(w, t, node, routes); err != nil {
		return err
	}
	return l.without(w, t, node, without)
}

// spread is how many ranges all parts have, how many the one has that has the most, and which one that is.
func (l *lookup) spread(live spans, reads []bool) (all, most, widest int) {
	for at, n := range l.ranges(live, reads) {
		if all += n; n >= most {
			most, widest = n, at
		}
	}
	return all, most, widest
}

// joint is how many boxes the table makes of t if routes with one output are followed together. others is how many it makes of it otherwise.
func (l *lookup) joint(t *Unit, others int, reads []bool) int {
	all, most, widest := l.spread(t.live, reads)
	if groups := len(l.fib().groups); reads != nil && (widest < groups || widest == l.numParts()-1) {
		return others // what has the most ranges is followed route by route
	}
	return all - most + len(t.filter.Get(headerspace.Dst).Intervals())
}

// fewer tells whether a table behind which nothing reads destinations has much fewer ranges than routes: most of its routes go the same way.
func (l *lookup) fewer(live spans, routes int) bool {
	all, most, _ := l.spread(live, nil)
	return 2*(all-most) <= routes
}
