package walk

import (
	"cmp"
	"math/bits"
	"net/netip"
	"slices"
	"sort"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

const (
	// noRoute is the index of the route of addresses that no prefix holds.
	noRoute = -1
	// anyRoute stands for all routes in the trace of packets to which it makes no difference.
	anyRoute = -2
	// eachRoute is in the trace of a fan's leaves, for the route of the leaf.
	eachRoute = -3
)

// prefix is an IPv4 prefix.
type prefix struct {
	addr uint32
	bits uint8
}

func prefixOf(p netip.Prefix) prefix {
	s := prefixSpan(p)
	return prefix{s.lo, uint8(p.Bits())}
}

func (p prefix) span() span { return span{p.addr, p.addr | uint32(uint64(1)<<(32-p.bits)-1)} }

func prefixSpan(p netip.Prefix) span {
	lo := IPv4(p.Masked().Addr())
	return span{lo, lo | uint32(uint64(1)<<(32-p.Bits())-1)}
}

// fib is a lookup with its longest matches worked out: which addresses go by which route. A full table has a million
// routes: what is kept for each is a few bytes.
type fib struct {
	routes   []element.Route
	prefixes []prefix // by route
	// order are the IPv4 routes by precedence: the longest first, equal lengths by address. Of routes with one prefix the first alone counts.
	order []int32
	rank  []int32 // of a route, its place in order
	// winners are those of order that are the longest match of some address.
	winners []int32
	// cells cut the address space where the longest match changes.
	cells []cell
	// group numbers, by route, what a packet finds that goes by it: the output and the next hop.
	group []int32
	// groups are the first routes of each group.
	groups  []int32
	filters []*headerspace.Filter // of routes that were walked one by one
}

// cell is neighbouring addresses with one route.
type cell struct {
	span
	route int32
}

// hopGroup is what routes of one group have in common.
type hopGroup struct {
	via netip.Addr
	out int
}

func newFIB(routes []element.Route) *fib {
	n := len(routes)
	f := &fib{routes: routes, prefixes: make([]prefix, n), rank: make([]int32, n), group: make([]int32, n)}
	byAddr := make([]int32, 0, n)
	known := map[hopGroup]int32{}
	for i := range routes {
		r := &routes[i]
		if !r.Prefix.Addr().Is4() {
			continue
		}
		f.prefixes[i] = prefixOf(r.Prefix)
		byAddr = append(byAddr, int32(i))
		is := hopGroup{r.Via, r.Out}
		g, ok := known[is]
		if !ok {
			g = int32(len(f.groups))
			known[is], f.groups = g, append(f.groups, int32(i))
		}
		f.group[i] = g
	}
	before := func(a, b int32) int {
		p, q := f.prefixes[a], f.prefixes[b]
		return cmp.Or(cmp.Compare(p.addr, q.addr), cmp.Compare(p.bits, q.bits))
	}
	if !slices.IsSortedFunc(byAddr, before) { // as a graph's are
		slices.SortStableFunc(byAddr, before)
	}
	f.cells = cellsOf(f.prefixes, byAddr)
	f.order = byLength(f.prefixes, byAddr)
	for i, route := range f.order {
		f.rank[route] = int32(i)
	}
	f.winners, _ = f.chosen(everyAddress)
	return f
}

// byLength orders routes by the lengths of their prefixes, the longest first, and otherwise leaves them as they are.
func byLength(prefixes []prefix, routes []int32) []int32 {
	var at [34]int
	for _, r := range routes {
		at[33-prefixes[r].bits]++
	}
	for i := 1; i < len(at); i++ {
		at[i] += at[i-1]
	}
	out := make([]int32, len(routes))
	for _, r := range routes {
		place := &at[32-prefixes[r].bits]
		out[*place] = r
		*place++
	}
	return out
}

// cellsOf cuts the address space where the longest match changes. The routes are in order of addresses, with shorter prefixes before
// longer ones. Of routes with one prefix the first counts.
func cellsOf(prefixes []prefix, routes []int32) []cell {
	cells := make([]cell, 0, len(routes)+len(routes)/2+1)
	put := func(lo, hi uint32, route int32) { cells = append(cells, cell{span{lo, hi}, route}) }
	around := []cell{{everyAddress[0], noRoute}} // prefixes that hold the address at, the shortest first
	at, over := uint32(0), false                 // over: at is behind the last address
	closeFirst := func() {
		o := around[len(around)-1]
		if !over && at <= o.hi {
			put(at, o.hi, o.route)
			at, over = o.hi+1, o.hi == ^uint32(0)
		}
		around = around[:len(around)-1]
	}
	for _, i := range routes {
		p := prefixes[i].span()
		for around[len(around)-1].hi < p.lo {
			closeFirst()
		}
		top := around[len(around)-1]
		if top.span == p && top.route != noRoute {
			continue
		}
		if !over && at < p.lo {
			put(at, p.lo-1, top.route)
			at = p.lo
		}
		around = append(around, cell{p, i})
	}
	for len(around) > 0 {
		closeFirst()
	}
	return cells
}

// filter is the packets to a route's prefix.
func (f *fib) filter(route int) headerspace.Filter {
	if f.filters == nil {
		f.filters = make([]*headerspace.Filter, len(f.routes))
	}
	if f.filters[route] == nil {
		p := headerspace.Filter{}.With(headerspace.Dst, headerspace.Prefix(f.routes[route].Prefix))
		f.filters[route] = &p
	}
	return *f.filters[route]
}

// cellAt is the index of an address's cell.
func (f *fib) cellAt(addr uint32) int {
	return sort.Search(len(f.cells), func(i int) bool { return f.cells[i].hi >= addr })
}

// find is the route of an address.
func (f *fib) find(addr uint32) int { return int(f.cells[f.cellAt(addr)].route) }

// way is a route, or noRoute, and those of the addresses asked for that go by it.
type way struct {
	route int
	live  spans
}

// Ways divides addresses among the routes, in order of precedence.
func (f *fib) ways(live spans) []way {
	parts := f.parts(live)
	slices.SortStableFunc(parts, func(a, b cell) int { return f.place(a.route) - f.place(b.route) })
	all := make(spans, len(parts))
	var out []way
	for i, first := 0, 0; i < len(parts); i++ {
		all[i] = parts[i].span
		if i+1 == len(parts) || parts[i+1].route != parts[i].route {
			out = append(out, way{int(parts[i].route), all[first : i+1 : i+1]})
			first = i + 1
		}
	}
	return out
}

// each gives addresses cut by route.
func (f *fib) each(live spans, yield func(cell)) {
	for _, a := range live {
		for i := f.cellAt(a.lo); i < len(f.cells) && f.cells[i].lo <= a.hi; i++ {
			yield(cell{span{max(a.lo, f.cells[i].lo), min(a.hi, f.cells[i].hi)}, f.cells[i].route})
		}
	}
}

// parts cuts addresses by route.
func (f *fib) parts(live spans) []cell {
	var out []cell
	f.each(live, func(c cell) { out = append(out, c) })
	return out
}

// chosen are the routes by which addresses go, in order of precedence, and the addresses without a route.
func (f *fib) chosen(live spans) (routes []int32, without spans) {
	taken, n := make([]bool, len(f.routes)), 0
	f.each(live, func(c cell) {
		switch {
		case c.route == noRoute:
			without = append(without, c.span)
		case !taken[c.route]:
			taken[c.route] = true
			n++
		}
	})
	if f.winners != nil && n == len(f.winners) {
		return f.winners, without
	}
	routes = make([]int32, 0, n)
	for _, r := range f.order {
		if taken[r] {
			routes = append(routes, r)
		}
	}
	return routes, without
}

// place orders routes by precedence; behind them all is none.
func (f *fib) place(route int32) int {
	if route == noRoute {
		return len(f.order)
	}
	return int(f.rank[route])
}

// choices estimates from above among how many routes addresses are divided.
func (f *fib) choices(live spans, enough int) int {
	n := 0
	for _, a := range live {
		if n += f.cellAt(a.hi) - f.cellAt(a.lo) + 1; n > enough {
			break
		}
	}
	return n
}

// around calls yield for those of some routes, in order of precedence, whose prefixes hold all of lo..hi, the longest first,
// until it returns false.
func (f *fib) around(routes []int32, lo, hi uint32, yield func(route int32) bool) {
	for n := 32 - bits.Len32(lo^hi); n >= 0; n-- {
		p := prefix{lo &^ uint32(uint64(1)<<(32-n)-1), uint8(n)}
		at, found := slices.BinarySearchFunc(routes, p, func(r int32, p prefix) int {
			q := f.prefixes[r]
			return cmp.Or(cmp.Compare(p.bits, q.bits), cmp.Compare(q.addr, p.addr))
		})
		if found && !yield(routes[at]) {
			return
		}
	}
}
