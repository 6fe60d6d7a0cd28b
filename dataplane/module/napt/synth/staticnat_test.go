package synth_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/synth/testbed"
)

// fixed is a fixed translation of a prefix.
func fixed(inside, outside string) element.StaticNAT {
	return element.StaticNAT{Mappings: []element.StaticMapping{{Inside: netip.MustParsePrefix(inside), Outside: netip.MustParsePrefix(outside)}}}
}

// turned has a row's packets come to an element from outside, and leave it inside.
func turned(g *graph.Graph, name string) *graph.Graph {
	n := slices.IndexFunc(g.Nodes, func(n graph.Node) bool { return n.Name == name })
	for i := range g.Nodes {
		for k, e := range g.Nodes[i].Out {
			if e.To == n {
				g.Nodes[i].Out[k].Port = 1
			}
		}
	}
	out := g.Nodes[n].Out
	out[0], out[1] = out[1], out[0]
	return g
}

// TestAddressesThatLongerRoutesTakeHaveNoLeafBehindAStaticTranslation: two longer routes together
// take the addresses that are translated behind a shorter one. Neither alone covers them, so no
// later step of the synthesis would find that no packet comes there.
func TestAddressesThatLongerRoutesTakeHaveNoLeafBehindAStaticTranslation(t *testing.T) {
	route := func(prefix string, out int) element.Route {
		return element.Route{Prefix: netip.MustParsePrefix(prefix), Out: out}
	}
	legs := func(longer ...element.Route) string {
		routes := append(longer, route("198.51.100.0/24", 0))
		row := testbed.Row(element.Lookup{Routes: routes, Outs: 2, NoRoute: 1}, fixed("192.168.1.4/30", "198.51.100.4/30"))
		got, _ := testbed.LegsFrom(t, turned(row, "static-nat1"))
		return strings.Join(got, "; ")
	}
	const inside = "output b"
	if got := legs(route("198.51.100.4/31", 1)); !strings.Contains(got, inside) {
		t.Errorf("behind one longer route are %q, want packets to hosts inside", got)
	}
	if got := legs(route("198.51.100.4/31", 1), route("198.51.100.6/31", 1)); strings.Contains(got, inside) {
		t.Errorf("packets that a longer route takes reach the hosts inside: %s", got)
	}
}
