package walk

import (
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	contents "github.com/sinter-nfv/sinter/dataplane/fib"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func init() { Register(func(e element.Lookup) Meaning { return &lookup{Lookup: e} }) }

type lookup struct {
	element.Lookup
	table   *fib                 // nil: not asked for yet
	numbers []headerspace.Filter // of a table by content: the packets of each number of a next hop
}

func (l *lookup) fib() *fib {
	if l.table == nil {
		l.table = newFIB(slices.Collect(l.All()))
	}
	return l.table
}

func (l *lookup) size() int {
	if l.Table != nil {
		return len(l.Table.Hops)
	}
	return len(l.Routes)
}

func (l *lookup) ruleName(route int) string {
	switch route {
	case noRoute:
		return "no route"
	case anyRoute:
		return "any route"
	}
	if l.Table != nil {
		hop := l.Table.Hops[hopRule-route]
		if !hop.Via.IsValid() {
			return fmt.Sprintf("routes to %d", hop.Out)
		}
		return "routes via " + hop.Via.String()
	}
	return l.Routes[route].Prefix.String()
}

var opNextHop = NewOperation(Operation{
	Write: func(_ *Emitter, o Op, says *Leg) *programpb.Op {
		if o.Arg != 0 {
			says.Ops = append(says.Ops, "via "+addrText(uint32(o.Arg)))
		}
		return &programpb.Op{Op: &programpb.Op_NextHop{NextHop: uint32(o.Arg)}}
	},
})

// Walk divides the unit by longest match. A packet that comes by a second time as it was would
// come again and again: its way ends in a segment of its own, that begins here and leads to itself, until
// the TTL is used up.
func (l *lookup) Walk(w *Walker, t *Unit, at Arrival) error {
	node := at.Node
	if w.again(t, node) || !at.first && w.endsAnswers(t, l) {
		return w.cut(t, node, 0, cutting{})
	}
	if err := t.ByDst(); err != nil {
		return err
	}
	if l.Table == nil && t.val[headerspace.Dst].kind == ident {
		if n := l.fib().choices(t.live, max(w.budget.left, w.budget.tables, w.fanned, w.joined)); n > min(w.fanned, w.joined) && !w.budget.keeps(w, node, n) {
			return l.walkMany(w, t, at, n)
		}
	}
	return l.walkEach(w, t, at)
}

// walkEach follows t by each route, or each next hop of a table by content.
func (l *lookup) walkEach(w *Walker, t *Unit, at Arrival) error {
	node := at.Node
	why, err := w.budget.apart(w, t, at, asked{table: l.Table == nil, ways: func(enough int) (n, boxes int) {
		n = l.choices(t, enough)
		return n, n
	}})
	if err != nil {
		return err
	}
	if why.reason != cutUntold {
		return w.cut(t, node, 0, why)
	}
	if t.val[headerspace.Dst].kind != ident {
		return l.walkWritten(w, t, node)
	}
	if l.Table != nil {
		return l.walkTable(w, t, node)
	}
	return l.walkWays(w, t, node)
}

// walkWays follows t by each route by itself.
func (l *lookup) walkWays(w *Walker, t *Unit, node int) error {
	by := l.fib().ways(t.live)
	t.parted = t.parted || len(by) > narrow
	var end expiry
	if n := len(by); n > 1 && by[n-1].route != noRoute {
		routes := make([]int32, n)
		for i, v := range by {
			routes[i] = int32(v.route)
		}
		end = l.expireTogether(w, t, node, l.outs(routes))
	}
	if err := l.takeWays(w, t, node, by); err != nil {
		return err
	}
	return l.expire(w, t, node, end)
}

// takeWays goes on by each of some routes, and then without one.
func (l *lookup) takeWays(w *Walker, t *Unit, node int, by []way) error {
	for _, v := range by {
		u := t
		if v.route != noRoute {
			p := t.filter.Meet(l.fib().filter(v.route), headerspace.Dst)
			if p.EmptyAt(headerspace.Dst) {
				continue
			}
			u = w.Branch(t, p)
		}
		u.live = v.live
		if err := l.take(w, u, node, v.route, v.route); err != nil {
			return err
		}
	}
	return nil
}

// expiry is the packets whose TTL ends at a router, and where they are answered.
type expiry struct {
	to   graph.Edge
	dead Ways
}

// expire follows the packets whose TTL ends at this router to where they are answered.
func (l *lookup) expire(w *Walker, t *Unit, node int, end expiry) error {
	for i := range end.dead.N {
		u := w.Branch(t, *end.dead.At(i))
		u.trace = w.step(step{prev: u.trace, node: node, rule: anyRoute})
		if err := w.walk(u, end.to.To, end.to.Port, false); err != nil {
			return err
		}
	}
	return nil
}

// expireTogether finds the packets whose TTL ends at this router, if all routes lead to one answer to them: they are
// followed there once, instead of once for each route. t is left with the others.
func (l *lookup) expireTogether(w *Walker, t *Unit, node int, outs []int) (end expiry) {
	if t.val[headerspace.TTL].kind == constE {
		return end
	}
	for i, out := range outs {
		next := w.g.Nodes[node].Out[out]
		if next.To < 0 {
			return end
		}
		ttl := &w.g.Nodes[next.To]
		if _, ok := ttl.Element.(element.DecTTL); !ok || i > 0 && ttl.Out[element.TTLExpired] != end.to {
			return end
		}
		if end.to = ttl.Out[element.TTLExpired]; end.to.To < 0 {
			return end
		}
	}
	if alive, _ := t.Match(ttlAlive); alive.N == 1 {
		end.dead, _ = t.Match(ttlDead)
		t.filter = alive.first
	}
	return end
}

// take goes on by a route, or without one, which the trace tells as rule.
func (l *lookup) take(w *Walker, t *Unit, node, route, rule int) error {
	if route == noRoute {
		return w.Follow(t, node, l.NoRoute, rule)
	}
	t.hop = hop{addr: IPv4(l.Routes[route].Via), set: true, was: t.hop.was}
	return w.Follow(t, node, l.Routes[route].Out, rule)
}

// walkWritten is walk for a destination that was written on the way.
func (l *lookup) walkWritten(w *Walker, t *Unit, node int) error {
	e := t.val[headerspace.Dst]
	if l.Table != nil {
		if e.kind != constE {
			return w.Undecided(t, node, 0)
		}
		to, _ := e.set.Only()
		return l.takeNumber(w, t, node, l.Table.Table().At(uint32(to.Lo)))
	}
	f := l.fib()
	if e.kind == constE {
		to, _ := e.set.Only()
		route := f.find(uint32(to.Lo))
		return l.take(w, t, node, route, route)
	}
	if e.kind == add && len(f.order) > large { // rather read what was written than try each
		return w.Undecided(t, node, 0)
	}
	for _, r := range f.order {
		i := int(r)
		ways, decided := t.Match(f.filter(i))
		if !decided {
			return w.Undecided(t, node, 0)
		}
		if ways.N == 0 {
			continue
		}
		if err := l.take(w, w.Branch(t, ways.first), node, i, i); err != nil {
			return err
		}
		if t.filter.SubsetOf(ways.first) {
			return nil
		}
	}
	return l.take(w, t, node, noRoute, noRoute)
}

// choices estimates from above into how many units the lookup would divide t.
func (l *lookup) choices(t *Unit, enough int) int {
	if t.val[headerspace.Dst].kind != ident {
		return 1
	}
	if l.Table != nil {
		return len(l.Table.Numbers())
	}
	return l.fib().choices(t.live, enough)
}

// hopRule is the rule in the trace of packets to the first next hop of a table by content; those to the next ones are below.
const hopRule = eachRoute - 1

// takeNumber goes on by the next hop that has a number, or without one.
func (l *lookup) takeNumber(w *Walker, t *Unit, node int, number uint16) error {
	if number == 0 {
		return w.Follow(t, node, l.NoRoute, noRoute)
	}
	to := l.Table.Hops[number-1]
	t.hop = hop{addr: IPv4(to.Via), set: true, was: t.hop.was}
	return w.Follow(t, node, to.Out, hopRule-int(number-1))
}

// walkTable follows t by each next hop of a table by content. Which packets take it is not said by prefixes, but by what the table has for
// their destinations (headerspace.Route): which that is depends on the table alone, and the way not on it. A segment has one such table.
func (l *lookup) walkTable(w *Walker, t *Unit, node int) error {
	numbers := l.Table.Numbers()
	if len(numbers) == 1 {
		return l.takeNumber(w, t, node, numbers[0])
	}
	if other := w.contents(); other != nil && other != l.Table.Table() {
		return w.decideLater(t, node, 0, cutting{reason: CutSecondTable})
	}
	w.seg.lookup = node + 1
	t.parted = t.parted || len(numbers) > narrow
	var end expiry
	if numbers[0] != 0 {
		var outs []int
		for _, n := range numbers {
			outs = append(outs, l.Table.Hops[n-1].Out)
		}
		slices.Sort(outs)
		end = l.expireTogether(w, t, node, slices.Compact(outs))
	}
	for _, n := range numbers {
		p := t.filter.Meet(l.filterOf(n), headerspace.Route)
		if p.EmptyAt(headerspace.Route) {
			continue
		}
		if err := l.takeNumber(w, w.Branch(t, p), node, n); err != nil {
			return err
		}
	}
	return l.expire(w, t, node, end)
}

// ruleOf is the rule of steps by which packets to an address go.
func (l *lookup) ruleOf(addr uint32) int {
	if l.Table == nil {
		return l.fib().find(addr)
	}
	if number := l.Table.Table().At(addr); number > 0 {
		return hopRule - int(number-1)
	}
	return noRoute
}

// filterOf is the packets of a number.
func (l *lookup) filterOf(number uint16) headerspace.Filter {
	for n := len(l.numbers); n <= int(number); n++ {
		l.numbers = append(l.numbers, headerspace.Filter{}.With(headerspace.Route, headerspace.Of(uint64(n))))
	}
	return l.numbers[number]
}

// contents is the table by content in which the segment looks destinations up; nil: there is none.
func (w *Walker) contents() *contents.Table {
	if w.seg.lookup == 0 {
		return nil
	}
	return w.means[w.seg.lookup-1].(*lookup).Table.Table()
}

// again tells whether the unit passed this lookup before with all of its fields but the TTL as they are now.
// Nothing that decides its way has changed since, so it goes round.
func (w *Walker) again(t *Unit, node int) bool {
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
