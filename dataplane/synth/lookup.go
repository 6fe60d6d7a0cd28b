package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func init() { register(func(e element.Lookup) meaning { return &lookup{Lookup: e} }) }

type lookup struct {
	element.Lookup
	table *fib // nil: not asked for yet
}

func (l *lookup) fib() *fib {
	if l.table == nil {
		l.table = newFIB(l.Lookup)
	}
	return l.table
}

func (l *lookup) size() int { return len(l.Routes) }

func (l *lookup) ruleName(route int) string {
	switch route {
	case noRoute:
		return "no route"
	case anyRoute:
		return "any route"
	}
	return l.Routes[route].Prefix.String()
}

var opNextHop = newOperation(operation{
	write: func(_ *emitter, _ *leg, o op, says *Leg) *programpb.Op {
		if o.arg != 0 {
			says.Ops = append(says.Ops, "via "+addrText(uint32(o.arg)))
		}
		return &programpb.Op{Op: &programpb.Op_NextHop{NextHop: uint32(o.arg)}}
	},
})

// walk divides the unit by longest match. A packet that comes by a second time as it was would
// come again and again: its way ends in a segment of its own, that begins here and leads to itself, until
// the TTL is used up.
func (l *lookup) walk(w *walker, t *tcu, at arrival) error {
	node := at.node
	if w.again(t, node) {
		return w.cut(t, node, 0)
	}
	if t.fan && t.val[headerspace.Dst].kind == ident {
		return errFan
	}
	cut, err := w.budget.apart(w, t, at, true, func(enough int) int { return l.choices(t, enough) })
	if err != nil {
		return err
	}
	if cut {
		return w.cut(t, node, 0)
	}
	if t.val[headerspace.Dst].kind != ident {
		return l.walkWritten(w, t, node)
	}
	if f := l.fib(); f.choices(t.live, w.fanned) > w.fanned {
		return l.fan(w, t, node)
	}
	return l.walkWays(w, t, node)
}

// walkWays follows t by each route by itself.
func (l *lookup) walkWays(w *walker, t *tcu, node int) error {
	f := l.fib()
	by := f.ways(t.live)
	t.parted = t.parted || len(by) > narrow
	var expired graph.Edge
	var dead ways
	if n := len(by); n > 1 && by[n-1].route != noRoute {
		routes := make([]int32, n)
		for i, v := range by {
			routes[i] = int32(v.route)
		}
		expired, dead = l.expireTogether(w, t, node, l.outs(f, routes))
	}
	for _, v := range by {
		u := t
		if v.route != noRoute {
			p := t.filter.Meet(f.filter(v.route), headerspace.Dst)
			if p.EmptyAt(headerspace.Dst) {
				continue
			}
			u = w.branch(t, p)
		}
		u.live = v.live
		if err := l.take(w, u, node, v.route, v.route); err != nil {
			return err
		}
	}
	return l.expire(w, t, node, expired, dead)
}

// expire follows the packets whose TTL ends at this router to where they are answered.
func (l *lookup) expire(w *walker, t *tcu, node int, to graph.Edge, dead ways) error {
	for i := range dead.n {
		u := w.branch(t, *dead.at(i))
		u.trace = w.step(step{prev: u.trace, node: node, rule: anyRoute})
		if err := w.walk(u, to.To, to.Port, false); err != nil {
			return err
		}
	}
	return nil
}

// expireTogether finds the packets whose TTL ends at this router, if all routes lead to one answer to them: they are
// followed there once, instead of once for each route. t is left with the others.
func (l *lookup) expireTogether(w *walker, t *tcu, node int, outs []int) (to graph.Edge, dead ways) {
	if t.val[headerspace.TTL].kind == constE {
		return to, dead
	}
	for i, out := range outs {
		next := w.g.Nodes[node].Out[out]
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

// take goes on by a route, or without one, which the trace tells as rule.
func (l *lookup) take(w *walker, t *tcu, node, route, rule int) error {
	if route == noRoute {
		return w.follow(t, node, l.NoRoute, rule)
	}
	t.hop = hop{addr: hopAddr(l.Routes[route].Via), set: true}
	return w.follow(t, node, l.Routes[route].Out, rule)
}

// walkWritten is walk for a destination that was written on the way.
func (l *lookup) walkWritten(w *walker, t *tcu, node int) error {
	f := l.fib()
	if to, ok := t.val[headerspace.Dst].set.Only(); ok && t.val[headerspace.Dst].kind == constE {
		route := f.find(uint32(to.Lo))
		return l.take(w, t, node, route, route)
	}
	for _, r := range f.order {
		i := int(r)
		ways, decided := t.match(f.filter(i))
		if !decided {
			return w.undecided(t, node, 0)
		}
		if ways.n == 0 {
			continue
		}
		if err := l.take(w, w.branch(t, ways.first), node, i, i); err != nil {
			return err
		}
		if t.filter.SubsetOf(ways.first) {
			return nil
		}
	}
	return l.take(w, t, node, noRoute, noRoute)
}

// choices estimates from above into how many units the lookup would divide t.
func (l *lookup) choices(t *tcu, enough int) int {
	if t.val[headerspace.Dst].kind != ident {
		return 1
	}
	return l.fib().choices(t.live, enough)
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
