package rig

import (
	"cmp"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/fib"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/test/packets"
)

// tabled is a chain whose lookups have their routes in tables, however few these are.
func tabled(g *graph.Graph) *graph.Graph {
	out := *g
	out.Nodes = slices.Clone(g.Nodes)
	shared := map[*element.Route]*element.Table{} // as a router's ports share theirs
	for i := range out.Nodes {
		l, ok := out.Nodes[i].Element.(element.Lookup)
		if !ok || len(l.Routes) == 0 {
			continue
		}
		if shared[&l.Routes[0]] == nil {
			shared[&l.Routes[0]] = tableOf(l.Routes)
		}
		l.Table, l.Routes = shared[&l.Routes[0]], nil
		out.Nodes[i].Element = l
	}
	return &out
}

// tableOf numbers next hops from the last one on, so that numbers and origins differ.
func tableOf(routes []element.Route) *element.Table {
	t := &element.Table{}
	for _, r := range routes {
		t.Hops = append(t.Hops, element.Hop{Via: r.Via, Out: r.Out})
	}
	slices.SortFunc(t.Hops, func(a, b element.Hop) int { return cmp.Or(cmp.Compare(b.Out, a.Out), b.Via.Compare(a.Via)) })
	t.Hops = slices.Compact(t.Hops)
	var numbers []uint16
	var list []fib.Route
	for i, r := range routes {
		numbers = append(numbers, uint16(1+slices.Index(t.Hops, element.Hop{Via: r.Via, Out: r.Out})))
		list = append(list, fib.Route{Addr: packets.Number(r.Prefix.Masked().Addr()), Bits: uint8(r.Prefix.Bits()), Origin: uint16(i)})
	}
	t.Routes = fib.NewRoutes(numbers, list)
	return t
}

// NewInTables is New for a chain whose routes are in tables for the engine, or not.
func NewInTables(g *graph.Graph, inTables bool) (*Rig, error) {
	if !inTables {
		return NewFrom(g, g)
	}
	r, err := NewFrom(g, tabled(g))
	if err == nil {
		r.tabled = true
	}
	return r, err
}
