package synth

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"sort"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// span is the IPv4 addresses lo..hi, both included.
type span struct{ lo, hi uint32 }

// spans are disjoint, in ascending order.
type spans []span

// everyAddress is the spans of all addresses.
var everyAddress = spans{{0, ^uint32(0)}}

func (s spans) isEvery() bool { return len(s) == 1 && s[0] == everyAddress[0] }

// intersect is the addresses of both. The result may share memory with s or o.
func (s spans) intersect(o spans) spans {
	switch {
	case len(s) == 0 || o.isEvery():
		return s
	case len(o) == 0 || s.isEvery():
		return o
	case len(s) > len(o):
		s, o = o, s
	}
	var out spans
	for _, a := range s {
		for i := o.from(a.lo); i < len(o) && o[i].lo <= a.hi; i++ {
			out = append(out, span{max(a.lo, o[i].lo), min(a.hi, o[i].hi)})
		}
	}
	return out
}

// from is the index of the first span that ends at addr or behind it.
func (s spans) from(addr uint32) int {
	return sort.Search(len(s), func(i int) bool { return s[i].hi >= addr })
}

// subtract is the addresses of s that o has not.
func (s spans) subtract(o spans) spans {
	var out spans
	for _, a := range s {
		live := true
		for i := o.from(a.lo); live && i < len(o) && o[i].lo <= a.hi; i++ {
			if o[i].lo > a.lo {
				out = append(out, span{a.lo, o[i].lo - 1})
			}
			if live = o[i].hi < a.hi; live {
				a.lo = o[i].hi + 1
			}
		}
		if live {
			out = append(out, a)
		}
	}
	return out
}

// union is the addresses of either.
func (s spans) union(o spans) spans {
	if len(s) == 0 {
		return o
	}
	if len(o) == 0 {
		return s
	}
	all := slices.Concat(s, o)
	slices.SortFunc(all, func(a, b span) int { return compareUint32(a.lo, b.lo) })
	return all.merged()
}

// merged joins sorted spans that overlap or touch, in place.
func (s spans) merged() spans {
	if len(s) == 0 {
		return nil
	}
	out := s[:1]
	for _, a := range s[1:] {
		last := &out[len(out)-1]
		if last.hi != ^uint32(0) && a.lo > last.hi+1 {
			out = append(out, a)
		} else {
			last.hi = max(last.hi, a.hi)
		}
	}
	return out
}

func compareUint32(a, b uint32) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// spansOf is the IPv4 addresses of a set.
func spansOf(s headerspace.Set) spans {
	var out spans
	for _, iv := range s.Intersect(ipv4).Intervals() {
		out = append(out, span{uint32(iv.Lo.Lo), uint32(iv.Hi.Lo)})
	}
	return out
}

// set is the inverse of spansOf.
func (s spans) set() headerspace.Set {
	iv := make([]headerspace.Interval, len(s))
	for i, a := range s {
		iv[i] = headerspace.Interval{Lo: address(a.lo), Hi: address(a.hi)}
	}
	return headerspace.NewSet(iv...)
}

func address(a uint32) headerspace.Value {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], a)
	return headerspace.Addr(netip.AddrFrom4(b))
}

const (
	// noRoute is the index of the route of addresses that no prefix holds.
	noRoute = -1
	// anyRoute stands for all routes in the trace of packets to which it makes no difference.
	anyRoute = -2
)

// fib is a lookup with its longest matches worked out: which addresses go by which route.
type fib struct {
	// order are the IPv4 routes by precedence: the longest first, equal lengths by address.
	order []int
	// filters are the routes' prefixes.
	filters []headerspace.Filter
	// won are the addresses for which each route is the longest match; without are those that no route holds.
	won     []spans
	without spans
	// cells are won and without, by address.
	cells []cell
	rank  []int // of a route, its place in order
}

// cell is neighbouring addresses with one route.
type cell struct {
	span
	route int
}

func newFIB(l element.Lookup) *fib {
	f := &fib{
		filters: make([]headerspace.Filter, len(l.Routes)), won: make([]spans, len(l.Routes)), rank: make([]int, len(l.Routes)),
	}
	for i, r := range l.Routes {
		f.filters[i] = headerspace.Filter{}.With(headerspace.Dst, headerspace.Prefix(r.Prefix))
		if r.Prefix.Addr().Is4() {
			f.order = append(f.order, i)
		}
	}
	f.cells = cellsOf(l.Routes, f.order)
	slices.SortStableFunc(f.order, func(a, b int) int {
		p, q := l.Routes[a].Prefix, l.Routes[b].Prefix
		if p.Bits() != q.Bits() {
			return q.Bits() - p.Bits()
		}
		return p.Masked().Addr().Compare(q.Masked().Addr())
	})
	for i, route := range f.order {
		f.rank[route] = i
	}
	for _, c := range f.cells {
		if c.route == noRoute {
			f.without = append(f.without, c.span)
		} else {
			f.won[c.route] = append(f.won[c.route], c.span)
		}
	}
	return f
}

// cellsOf cuts the address space where the longest match changes. Of routes with one prefix the first counts.
func cellsOf(routes []element.Route, v4 []int) []cell {
	byStart := slices.Clone(v4)
	slices.SortStableFunc(byStart, func(a, b int) int {
		p, q := routes[a].Prefix, routes[b].Prefix
		if d := p.Masked().Addr().Compare(q.Masked().Addr()); d != 0 {
			return d
		}
		return p.Bits() - q.Bits()
	})
	var cells []cell
	put := func(lo, hi uint32, route int) { cells = append(cells, cell{span{lo, hi}, route}) }
	type open struct {
		span
		route int
	}
	around := []open{{everyAddress[0], noRoute}} // prefixes that hold the address at, the shortest first
	at, over := uint32(0), false                 // over: at is behind the last address
	advance := func(to uint32) {
		if !over && at < to {
			put(at, to-1, around[len(around)-1].route)
			at = to
		}
	}
	closeFirst := func() {
		o := around[len(around)-1]
		if !over && at <= o.hi {
			put(at, o.hi, o.route)
			at, over = o.hi+1, o.hi == ^uint32(0)
		}
		around = around[:len(around)-1]
	}
	for _, i := range byStart {
		p := prefixSpan(routes[i].Prefix)
		for around[len(around)-1].hi < p.lo {
			closeFirst()
		}
		if top := around[len(around)-1]; top.span == p && top.route != noRoute {
			continue
		}
		advance(p.lo)
		around = append(around, open{p, i})
	}
	for len(around) > 0 {
		closeFirst()
	}
	return cells
}

func prefixSpan(p netip.Prefix) span {
	lo := hopAddr(p.Masked().Addr())
	return span{lo, lo | uint32(uint64(1)<<(32-p.Bits())-1)}
}

// find is the route of an address.
func (f *fib) find(addr uint32) int {
	return f.cells[sort.Search(len(f.cells), func(i int) bool { return f.cells[i].hi >= addr })].route
}

// way is a route, or noRoute, and those of the addresses asked for that go by it.
type way struct {
	route int
	live  spans
}

// ways divides addresses among the routes, in order of precedence.
func (f *fib) ways(live spans) []way {
	if live.isEvery() {
		out := make([]way, 0, len(f.order)+1)
		for _, r := range f.order {
			if len(f.won[r]) > 0 {
				out = append(out, way{r, f.won[r]})
			}
		}
		if len(f.without) > 0 {
			out = append(out, way{noRoute, f.without})
		}
		return out
	}
	parts := f.parts(live)
	slices.SortStableFunc(parts, func(a, b cell) int { return f.place(a.route) - f.place(b.route) })
	all := make(spans, len(parts))
	var out []way
	for i, first := 0, 0; i < len(parts); i++ {
		all[i] = parts[i].span
		if i+1 == len(parts) || parts[i+1].route != parts[i].route {
			out = append(out, way{parts[i].route, all[first : i+1 : i+1]})
			first = i + 1
		}
	}
	return out
}

// parts cuts addresses by route.
func (f *fib) parts(live spans) []cell {
	var out []cell
	for _, a := range live {
		for i := sort.Search(len(f.cells), func(i int) bool { return f.cells[i].hi >= a.lo }); i < len(f.cells) && f.cells[i].lo <= a.hi; i++ {
			out = append(out, cell{span{max(a.lo, f.cells[i].lo), min(a.hi, f.cells[i].hi)}, f.cells[i].route})
		}
	}
	return out
}

// place orders routes by precedence; behind them all is none.
func (f *fib) place(route int) int {
	if route == noRoute {
		return len(f.order)
	}
	return f.rank[route]
}

// choices estimates from above among how many routes addresses are divided.
func (f *fib) choices(live spans, enough int) int {
	n := 0
	for _, a := range live {
		i := sort.Search(len(f.cells), func(i int) bool { return f.cells[i].hi >= a.lo })
		j := sort.Search(len(f.cells), func(i int) bool { return f.cells[i].hi >= a.hi })
		if n += j - i + 1; n > enough {
			break
		}
	}
	return n
}
