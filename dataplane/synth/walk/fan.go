package walk

import (
	"cmp"
	"errors"
	"slices"
	"sort"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// errFan is returned by the walk of a fan that came to where destinations decide.
var errFan = errors.New("destinations decide here")

// ByDst fails if t is walked for all routes of a group, and has the destinations that its packets entered with: these must not decide then.
func (t *Unit) ByDst() error {
	if t.fan && t.val[headerspace.Dst].kind == ident {
		return errFan
	}
	return nil
}

// fan is the leaves behind a large table of routes, where what comes after the table is the same for all routes with one output and next
// hop. It stands among the leaves for those of each route in turn, which are alike but for their destinations. So a full table costs a
// few bytes for each route.
type fan struct {
	fib    *fib
	routes []int32 // in order of precedence
	// dst are the destinations of the packets that came to the table, given those of all packets that come to the segment.
	dst, given spans
	// of are the leaves of a route, by its group; their filters say nothing of destinations.
	of [][]found
	// gone are leaves that no packet reaches.
	gone map[fanLeaf]bool
}

// fanLeaf is a leaf of a fan: the place of its route, and of the leaf among the route's.
type fanLeaf struct{ at, leaf int }

// to is the destinations of a route's leaves, in buf: none if no packet has them, all if each packet of the segment has one of them.
func (f *fan) to(route int32, buf spans) spans {
	p := f.fib.prefixes[route].span()
	if f.dst.isEvery() {
		return append(buf[:0], p)
	}
	buf = buf[:0]
	for i := f.dst.from(p.lo); i < len(f.dst) && f.dst[i].lo <= p.hi; i++ {
		buf = append(buf, span{max(p.lo, f.dst[i].lo), min(p.hi, f.dst[i].hi)})
	}
	if slices.Equal(buf, f.given) {
		return append(buf[:0], everyAddress...)
	}
	return buf
}

// each gives the fan's leaves as leaves.all does.
func (f *fan) each(yield func(l *found, route int, to spans) bool) bool {
	var buf spans
	for at, route := range f.routes {
		leaves := f.of[f.fib.group[route]]
		if len(leaves) == 0 {
			continue
		}
		if buf = f.to(route, buf); len(buf) == 0 {
			continue
		}
		for i := range leaves {
			if f.gone != nil && f.gone[fanLeaf{at, i}] {
				continue
			}
			if !yield(&leaves[i], int(route), buf) {
				return false
			}
		}
	}
	return true
}

// mark is how far a walk has come.
type mark struct {
	extent extent
	leaves int
	budget budget
}

func (w *Walker) mark() mark {
	m := mark{w.extent(), len(w.seg.leaves), w.budget}
	m.budget.visits = slices.Clone(m.budget.visits)
	return m
}

// back forgets what was walked since the mark.
func (w *Walker) back(m mark) {
	m.budget.unsure, m.budget.vain = true, w.budget.vain
	w.forget(m.extent)
	w.seg.leaves, w.budget = w.seg.leaves[:m.leaves], m.budget
}

// division is how a large table divides a unit.
type division struct {
	t       Unit // the unit as it goes on
	without spans
	end     expiry
	reads   []bool // outputs behind which destinations decide; nil: there is none
	boxes   int
	walked  bool // the routes are followed already, by a fan
	joined  bool // those with one output are to be followed together
}

// walkMany follows t through a large table: all routes with one output and next hop together, if destinations decide nothing behind the table; all
// routes with one output, if they do; each route by itself, where even that shows.
func (l *lookup) walkMany(w *Walker, t *Unit, at Arrival, choices int) error {
	defer w.log.mute()() // leaves move
	began, was := w.mark(), *t
	d, err := l.divide(w, t, at.Node, choices)
	if err != nil {
		return err
	}
	if !d.walked && !d.joined {
		return l.walkEach(w, t, at)
	}
	why, err := w.budget.apart(w, t, at, asked{table: true, ways: func(int) (n, boxes int) { return d.boxes, d.boxes }})
	if err != nil {
		return err
	}
	if why.reason != cutUntold {
		w.back(began)
		w.budget.see(at.Node)
		return w.cut(t, at.Node, 0, why)
	}
	*t = d.t
	if d.walked {
		err = l.without(w, t, at.Node, d.without)
	} else {
		err = l.walkOutputs(w, t, at.Node, choices, d.reads)
	}
	if errors.Is(err, errHop{at.Node}) {
		w.back(began)
		*t = was
		return l.walkEach(w, t, at)
	}
	if err != nil {
		return err
	}
	return l.expire(w, t, at.Node, d.end)
}

// divide finds out how t is to be followed.
func (l *lookup) divide(w *Walker, t *Unit, node, choices int) (*division, error) {
	d := &division{t: *t, boxes: choices}
	var routes []int32
	routes, d.without = l.fib().chosen(t.live)
	d.t.parted = t.parted || len(routes) > narrow || len(routes) == narrow && len(d.without) > 0
	d.t.routed = t.routed || len(routes) > mostRoutes
	if len(d.without) == 0 && len(routes) > 1 {
		d.end = l.expireTogether(w, &d.t, node, l.outs(routes))
	}
	began := w.mark()
	var err error
	if d.reads, err = l.fan(w, &d.t, node, routes); err != nil {
		return nil, err
	}
	if d.joined = choices > w.joined && (d.reads != nil || l.fewer(t.live, len(routes))); d.joined {
		d.boxes = l.joint(t, choices, d.reads)
	}
	if d.walked = d.reads == nil && !d.joined && choices > w.fanned; !d.walked {
		w.back(began)
	}
	return d, nil
}

// Without follows those of t's packets that no route is for.
func (l *lookup) without(w *Walker, t *Unit, node int, live spans) error {
	if len(live) == 0 {
		return nil
	}
	t.live = live
	return l.take(w, t, node, noRoute, noRoute)
}

// fan follows t by some routes, once for each group. If destinations decide something behind outputs, it tells which these are, and what it found is
// good for nothing.
func (l *lookup) fan(w *Walker, t *Unit, node int, routes []int32) (reads []bool, err error) {
	f := l.fib()
	out := &fan{
		fib: f, routes: routes, dst: spansOf(t.filter.Get(headerspace.Dst)), given: spansOf(w.seg.given.Get(headerspace.Dst)),
		of: make([][]found, len(f.groups)),
	}
	walked := make([]bool, len(f.groups))
	for _, r := range routes {
		g, to := f.group[r], l.Routes[r].Out
		if walked[g] || reads != nil && reads[to] {
			continue
		}
		walked[g] = true
		u := w.Branch(t, t.filter)
		u.fan = true
		m := w.mark()
		err := l.take(w, u, node, int(r), eachRoute)
		switch {
		case errors.Is(err, errFan):
			w.back(m)
			if reads == nil {
				reads = make([]bool, l.Outs)
			}
			reads[to] = true
		case err != nil:
			return nil, err
		}
		out.of[g] = w.cutOff(m.leaves)
	}
	w.seg.leaves = append(w.seg.leaves, found{fan: out})
	return reads, nil
}

// cutOff takes the leaves since the n-th away.
func (w *Walker) cutOff(n int) leaves {
	out := slices.Clone(w.seg.leaves[n:])
	w.seg.leaves = w.seg.leaves[:n]
	return out
}

// outs are the outputs by which routes go.
func (l *lookup) outs(routes []int32) []int {
	var out []int
	for _, r := range routes {
		if o := l.Routes[r].Out; !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// holds tells whether a leaf of the fan, that of a group with an index, holds all packets to some destinations.
func (f *fan) holds(group, leaf int, to spans) bool {
	if len(to) == 0 || len(to.subtract(f.dst)) > 0 {
		return false
	}
	held := false
	f.fib.around(f.routes, to[0].lo, to[len(to)-1].hi, func(r int32) bool {
		if int(f.fib.group[r]) == group {
			held = f.gone == nil || !f.gone[fanLeaf{f.place(r), leaf}]
		}
		return !held
	})
	return held
}

// place is a route's in routes.
func (f *fan) place(route int32) int {
	at, _ := slices.BinarySearchFunc(f.routes, f.fib.rank[route], func(r, rank int32) int { return int(f.fib.rank[r] - rank) })
	return at
}

// fanHolder is a leaf of an earlier fan that holds all of a later leaf's packets; nil: there is none.
func (e *earlier) fanHolder(p headerspace.Filter) *found {
	if len(e.fans) == 0 {
		return nil
	}
	bare := p.Without(headerspace.Dst)
	for _, f := range e.fans {
		for g := range f.of {
			for i := range f.of[g] {
				if bare.SubsetOf(f.of[g][i].filter) && f.holds(g, i, spansOf(p.Get(headerspace.Dst))) {
					return &f.of[g][i]
				}
			}
		}
	}
	return nil
}

// pruneFan takes away the leaves of a fan that earlier leaves hold. It tells whether some are left.
func (e *earlier) pruneFan(f *fan, u *usage) bool {
	for g, list := range f.of {
		kept := list[:0]
		for _, l := range list {
			if _, ok := extentsOf(l.filter); !ok { // IPv6 only
				continue
			}
			if by := slices.IndexFunc(kept, func(k found) bool { return l.filter.SubsetOf(k.filter) }); by >= 0 {
				u.shadow(l.trace, kept[by].trace)
				continue
			}
			above := e.above(&l)
			if by := slices.IndexFunc(above, func(h holder) bool { return len(f.dst.subtract(h.dst)) == 0 }); by >= 0 {
				u.shadow(l.trace, above[by].trace)
				continue
			}
			kept = append(kept, l)
			e.pruneEach(f, fanGroup{g, len(kept) - 1}, &l, above, u)
		}
		f.of[g] = kept
	}
	unmet := map[*found]bool{}
	for _, list := range f.of {
		for i := range list {
			unmet[&list[i]] = true
		}
	}
	some := false
	f.each(func(l *found, _ int, _ spans) bool {
		some = true
		if unmet[l] {
			delete(unmet, l)
			u.use(l.trace)
		}
		return len(unmet) > 0
	})
	return some
}

// holder is an earlier leaf that holds a later one but for destinations, and its own.
type holder struct {
	dst   spans
	trace *step
}

// above are the earlier leaves, those of fans apart, that hold a leaf but for destinations.
func (e *earlier) above(l *found) []holder {
	var out []holder
	for _, k := range e.plain {
		if l.filter.SubsetOf(k.filter.Without(headerspace.Dst)) {
			out = append(out, holder{spansOf(k.filter.Get(headerspace.Dst)), k.trace})
		}
	}
	return out
}

// fanGroup is one leaf of each route of a group.
type fanGroup struct{ group, leaf int }

// pruneEach takes a leaf away from the routes for which an earlier one holds it.
func (e *earlier) pruneEach(f *fan, is fanGroup, l *found, above []holder, u *usage) {
	var fans []*fan
	var leaves []fanGroup // of fans
	for _, k := range e.fans {
		for g := range k.of {
			for i := range k.of[g] {
				if l.filter.SubsetOf(k.of[g][i].filter) {
					fans, leaves = append(fans, k), append(leaves, fanGroup{g, i})
				}
			}
		}
	}
	if len(above) == 0 && len(fans) == 0 {
		return
	}
	c := newCover(above)
	var buf spans
	for at, r := range f.routes {
		if int(f.fib.group[r]) != is.group {
			continue
		}
		buf = f.to(r, buf)
		by := c.holder(buf)
		for i := 0; by == nil && i < len(fans); i++ {
			if fans[i].holds(leaves[i].group, leaves[i].leaf, buf) {
				by = fans[i].of[leaves[i].group][leaves[i].leaf].trace
			}
		}
		if by != nil {
			if f.gone == nil {
				f.gone = map[fanLeaf]bool{}
			}
			f.gone[fanLeaf{at, is.leaf}] = true
			u.shadow(l.trace, by)
		}
	}
}

// cover finds among holders one that has all of some destinations.
type cover struct {
	holders []holder
	spans   spans   // theirs, in order of where they begin
	reach   []int   // up to each, the one that ends last
	of      []int32 // the holder of each
}

func newCover(holders []holder) *cover {
	c := &cover{holders: holders}
	type owned struct {
		span
		of int32
	}
	var all []owned
	for i, h := range holders {
		for _, s := range h.dst {
			all = append(all, owned{s, int32(i)})
		}
	}
	slices.SortFunc(all, func(a, b owned) int { return cmp.Or(compareUint32(a.lo, b.lo), int(a.of-b.of)) })
	for i, s := range all {
		c.spans, c.of = append(c.spans, s.span), append(c.of, s.of)
		if i > 0 && c.spans[c.reach[i-1]].hi >= s.hi {
			c.reach = append(c.reach, c.reach[i-1])
		} else {
			c.reach = append(c.reach, i)
		}
	}
	return c
}

// holder is the trace of a holder of all destinations; nil: there is none.
func (c *cover) holder(to spans) *step {
	if len(to) == 0 {
		return nil
	}
	i := sort.Search(len(c.spans), func(i int) bool { return c.spans[i].lo > to[0].lo }) - 1
	if i < 0 || c.spans[c.reach[i]].hi < to[0].hi {
		return nil
	}
	if len(to) == 1 {
		return c.holders[c.of[c.reach[i]]].trace
	}
	for _, h := range c.holders { // several ranges have to be one holder's
		if len(to.subtract(h.dst)) == 0 {
			return h.trace
		}
	}
	return nil
}
