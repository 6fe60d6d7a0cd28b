package wiring_test

import (
	"net/netip"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/wiring"
)

// TestUntaggedPacketsAreNotCountedForTheirFlows has a stop with elements that count behind both of its sides, behind one, and behind none.
func TestUntaggedPacketsAreNotCountedForTheirFlows(t *testing.T) {
	const stop, inside, outside, passedInside, passedOutside = 0, 1, 2, 3, 4
	for name, k := range map[string]struct{ out, want [element.StopSides]int }{
		"both": {[element.StopSides]int{passedInside, passedOutside}, [element.StopSides]int{inside, outside}},
		"one":  {[element.StopSides]int{inside, passedOutside}, [element.StopSides]int{inside, outside}},
		"none": {[element.StopSides]int{inside, -1}, [element.StopSides]int{inside, -1}},
	} {
		to := func(n int) []wiring.Edge { return []wiring.Edge{{To: n}} }
		g := wiring.Graph{Nodes: []wiring.Node{
			stop:          {Name: "ips", Function: "ips", Element: element.Stop{Interfaces: [element.StopSides]string{"a", "b"}}},
			inside:        {Name: "inside", Element: element.Counter{}, Out: to(-1)},
			outside:       {Name: "outside", Element: element.Counter{}, Out: to(-1)},
			passedInside:  {Name: "ips/passed-outside", Element: element.Passed{FromOutside: true}, Out: to(inside)},
			passedOutside: {Name: "ips/passed-inside", Element: element.Passed{}, Out: to(outside)},
		}}
		for _, n := range k.out {
			g.Nodes[stop].Out = append(g.Nodes[stop].Out, wiring.Edge{To: n})
		}
		g.AddWires(stop, [element.StopSides]netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")})
		for side, wire := range []string{"a", "b"} {
			for _, n := range g.Nodes {
				if n.Name == wire+"/untagged" && n.Out[0].To != k.want[side] {
					t.Errorf("%s: what comes in untagged by %s goes to node %d, want %d", name, wire, n.Out[0].To, k.want[side])
				}
			}
			if g.Nodes[stop].Out[side].To != k.out[side] {
				t.Errorf("%s: the stop's output %d was changed", name, side)
			}
		}
	}
}
