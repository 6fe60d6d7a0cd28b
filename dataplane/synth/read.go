package synth

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// How a unit passes the elements that read: classifiers and lookups.

// targets are the destinations of a classifier's filters.
type targets struct {
	of   [][]target // by rule and filter
	only []int      // rules with filters that ask for nothing else
}

type target struct {
	spans spans
	// only tells that the filter asks for nothing else.
	only bool
}

func (w *walker) targetsOf(node, n int, rule func(int) (int, []headerspace.Filter)) *targets {
	if t := w.targets[node]; t != nil {
		return t
	}
	t := &targets{of: make([][]target, n)}
	for i := range n {
		_, filters := rule(i)
		t.of[i] = make([]target, len(filters))
		for k, f := range filters {
			t.of[i][k] = target{everyAddress, f.With(headerspace.Dst, headerspace.Full(headerspace.Dst)) == headerspace.Filter{}}
			if !f.Any(headerspace.Dst) {
				t.of[i][k].spans = spansOf(f.Get(headerspace.Dst))
			}
			if n := len(t.only); t.of[i][k].only && (n == 0 || t.only[n-1] != i) {
				t.only = append(t.only, i)
			}
		}
	}
	w.targets[node] = t
	return t
}

// classify takes the unit through an ordered rule list. Order is kept as
// priority: nothing is subtracted but destinations, so that ways which longest matches and rules rule out are not
// followed. Leaves come out in the order in which they match first.
func (w *walker) classify(t *tcu, node int, first bool, n, deflt int, rule func(int) (int, []headerspace.Filter)) error {
	cut, err := w.budget.apart(w, t, node, first, func(int) int { return n })
	if err != nil {
		return err
	}
	if cut {
		return w.cut(t, node, 0)
	}
	if n > cap(w.seg.leaves)-len(w.seg.leaves) {
		w.seg.leaves = slices.Grow(w.seg.leaves, 2*n+n/4) // most rules: enough TTL, and not
	}
	t.parted, t.ruled = t.parted || n > narrow, t.ruled || n > narrow
	to, entered := w.targetsOf(node, n, rule), t.val[headerspace.Dst].kind == ident
	for i := range n {
		out, filters := rule(i)
		for k, f := range filters {
			live := t.live
			if entered {
				if live = live.intersect(to.of[i][k].spans); len(live) == 0 {
					w.taken(node, i, k)
					continue
				}
			}
			ways, decided := t.match(f)
			if !decided {
				return w.undecided(t, node, 0)
			}
			for m := range ways.n {
				p := *ways.at(m)
				if _, possible := p.Feasible(); !possible {
					continue
				}
				u := w.branch(t, p)
				u.live = live
				w.countRule(u, node, i)
				if err := w.follow(u, node, out, i); err != nil {
					return err
				}
			}
			if ways.n == 1 && t.filter.SubsetOf(ways.first) {
				return nil // nothing is left for the rules below
			}
			if entered && to.of[i][k].only {
				t.live = t.live.subtract(to.of[i][k].spans)
			}
		}
	}
	if len(t.live) == 0 {
		return nil
	}
	return w.follow(t, node, deflt, -1)
}

// taken notes which rule above has all destinations of a rule's filter, for which nothing is left.
func (w *walker) taken(node, rule, filter int) {
	to := w.targets[node]
	for _, i := range to.only {
		if i >= rule {
			return
		}
		for _, d := range to.of[i] {
			if d.only && len(to.of[rule][filter].spans.subtract(d.spans)) == 0 {
				w.shadows[[2]int{node, rule}] = i
				return
			}
		}
	}
}

func (w *walker) countRule(t *tcu, node, rule int) {
	if c, ok := w.counters.rule[[2]int{node, rule}]; ok {
		t.count(c)
	}
}

// lookup divides the unit by longest match. A packet that comes by a second time as it was would
// come again and again: its way ends in a segment of its own, that begins here and leads to itself, until
// the TTL is used up.
func (w *walker) lookup(t *tcu, node int, first bool, l element.Lookup) error {
	if w.again(t, node) {
		return w.cut(t, node, 0)
	}
	f := w.fibOf(node, l)
	cut, err := w.budget.apart(w, t, node, first, func(enough int) int { return w.choices(t, f, enough) })
	if err != nil {
		return err
	}
	if cut {
		return w.cut(t, node, 0)
	}
	if t.val[headerspace.Dst].kind != ident {
		return w.lookupWritten(t, node, l, f)
	}
	by := f.ways(t.live)
	t.parted = t.parted || len(by) > narrow
	expired, dead := w.expireTogether(t, node, l, by)
	for _, v := range by {
		u := t
		if v.route != noRoute {
			p := t.filter.Meet(f.filters[v.route], headerspace.Dst)
			if p.EmptyAt(headerspace.Dst) {
				continue
			}
			u = w.branch(t, p)
		}
		u.live = v.live
		if err := w.takeRoute(u, node, l, v.route); err != nil {
			return err
		}
	}
	for i := range dead.n {
		u := w.branch(t, *dead.at(i))
		u.trace = w.step(step{prev: u.trace, node: node, rule: anyRoute})
		if err := w.walk(u, expired.To, expired.Port, false); err != nil {
			return err
		}
	}
	return nil
}

// expireTogether finds the packets whose TTL ends at this router, if all routes lead to one answer to them: they are
// followed there once, instead of once for each route. t is left with the others.
func (w *walker) expireTogether(t *tcu, node int, l element.Lookup, by []way) (to graph.Edge, dead ways) {
	if len(by) < 2 || t.val[headerspace.TTL].kind == constE {
		return to, dead
	}
	for i, v := range by {
		if v.route == noRoute {
			return to, dead
		}
		next := w.g.Nodes[node].Out[l.Routes[v.route].Out]
		if next.To < 0 {
			return to, dead
		}
		ttl := &w.g.Nodes[next.To]
		if _, ok := ttl.Element.(element.DecTTL); !ok || i > 0 && ttl.Out[element.TTLExpired] != to {
			return to, dead
		}
		if to = ttl.Out[element.TTLExpired]; to.To < 0 {
			return to, dead
		}
	}
	if alive, _ := t.match(ttlAlive); alive.n == 1 {
		dead, _ = t.match(ttlDead)
		t.filter = alive.first
	}
	return to, dead
}

// takeRoute goes on by a route, or without one.
func (w *walker) takeRoute(t *tcu, node int, l element.Lookup, route int) error {
	if route == noRoute {
		return w.follow(t, node, l.NoRoute, -1)
	}
	t.hop = hop{addr: hopAddr(l.Routes[route].Via), set: true}
	return w.follow(t, node, l.Routes[route].Out, route)
}

// lookupWritten is lookup for a destination that was written on the way.
func (w *walker) lookupWritten(t *tcu, node int, l element.Lookup, f *fib) error {
	if to, ok := t.val[headerspace.Dst].set.Only(); ok && t.val[headerspace.Dst].kind == constE {
		return w.takeRoute(t, node, l, f.find(uint32(to.Lo)))
	}
	for _, i := range f.order {
		ways, decided := t.match(f.filters[i])
		if !decided {
			return w.undecided(t, node, 0)
		}
		if ways.n == 0 {
			continue
		}
		if err := w.takeRoute(w.branch(t, ways.first), node, l, i); err != nil {
			return err
		}
		if t.filter.SubsetOf(ways.first) {
			return nil
		}
	}
	return w.takeRoute(t, node, l, noRoute)
}

// choices estimates from above into how many units a lookup would divide t.
func (w *walker) choices(t *tcu, f *fib, enough int) int {
	if t.val[headerspace.Dst].kind != ident {
		return 1
	}
	return f.choices(t.live, enough)
}

func (w *walker) fibOf(node int, l element.Lookup) *fib {
	f := w.fibs[node]
	if f == nil {
		f = newFIB(l)
		w.fibs[node] = f
	}
	return f
}

// again tells whether the unit passed this lookup before with all of its fields but the TTL as they are now.
// Nothing that decides its way has changed since, so it goes round.
func (w *walker) again(t *tcu, node int) bool {
	now := t.val
	now[headerspace.TTL] = expr{}
	for v := t.lookups; v != nil; v = v.prev {
		if v.node == node && sameFields(v.val, &now) {
			return true
		}
	}
	t.lookups = &visit{t.lookups, node, t.share(now)}
	return false
}

func sameFields(a, b *exprs) bool {
	for f := range a {
		if !sameExpr(a[f], b[f]) {
			return false
		}
	}
	return true
}
