package differential

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/fib"
	"github.com/sinter-nfv/sinter/dataplane/graph"
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
		list = append(list, fib.Route{Addr: number(r.Prefix.Masked().Addr()), Bits: uint8(r.Prefix.Bits()), Origin: uint16(i)})
	}
	t.Routes = fib.NewRoutes(numbers, list)
	return t
}

// TestRoutesInTablesDecideAsThoseInLists runs random chains whose routes are in tables by content against the oracle, which has them in lists. Rules
// and routes change while flows run: the engine makes the new tables of the old ones, and each must have the hash that the compiler says.
func TestRoutesInTablesDecideAsThoseInLists(t *testing.T) {
	needHarness(t)
	drawn := shapes
	drawn = append(slices.Clone(drawn), shape{name: "networks"})
	for _, shape := range drawn {
		if shape.exhausts {
			continue // which flows have ports is the engine's choice
		}
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			engines <- struct{}{}
			defer func() { <-engines }()
			swaps, tables := 0, 0
			rapid.Check(t, func(rt *rapid.T) {
				var g *graph.Graph
				if shape.name == "networks" {
					g = drawNetwork(rapid.Uint64Range(0, 1<<20).Draw(rt, "network")).graph(t)
				} else {
					g = drawChain(rt, shape)
				}
				r, err := newRigOf(g, true)
				if err != nil {
					rt.Fatal(err)
				}
				s := swapper{rig: r, first: g, Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))}
				if err := s.drive(t.Context(), scale(8_000, 3_000)); err != nil {
					rt.Fatalf("after %d swaps: %v\n%s", s.swaps, err, dump(r.g))
				}
				swaps, tables = swaps+s.swaps, tables+len(r.res.Tables)
			})
			t.Logf("%d swaps, %d tables", swaps, tables)
		})
	}
}
