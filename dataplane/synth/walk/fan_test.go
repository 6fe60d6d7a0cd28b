package walk_test

import (
	"net/netip"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/synth/testbed"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

// TestARuleBehindARouterIsNotCalledIdle has a look-up with a second one behind it, before which destinations decide, and a firewall on its other
// branch. The leaves of the second do not stand for those of the firewall, whose rule takes packets.
func TestARuleBehindARouterIsNotCalledIdle(t *testing.T) {
	route := func(prefix string, out int) element.Route {
		return element.Route{Prefix: netip.MustParsePrefix(prefix), Out: out}
	}
	lookup := func(routes ...element.Route) element.Lookup {
		return element.Lookup{Routes: routes, Outs: 3, NoRoute: 2}
	}
	byHost := headerspace.Filter{}.With(headerspace.Dst, headerspace.Prefix(netip.MustParsePrefix("10.0.1.1/32")))
	expedited := headerspace.Filter{}.With(headerspace.DSCP, headerspace.Of(46))
	g := testbed.Row(
		lookup(route("10.0.0.0/16", 0), route("0.0.0.0/0", 1)),
		element.Classifier{Rules: []element.Rule{{Name: "host", Filters: []headerspace.Filter{byHost}, Out: 1}}, Outs: 2},
		lookup(route("10.0.0.0/24", 0), route("10.0.2.0/24", 1), route("0.0.0.0/0", 0)),
	)
	n := len(g.Nodes)
	g.Nodes = append(g.Nodes, graph.Node{
		Name: "fw", Function: "fw", Out: []graph.Edge{{To: g.Interfaces[1].Out}, {To: g.Interfaces[1].Out}},
		Element: element.Classifier{Rules: []element.Rule{{Name: "ef", Filters: []headerspace.Filter{expedited}, Out: 1}}, Outs: 2},
	})
	// The rule takes no packet that comes in by b.
	g.Nodes = append(g.Nodes, graph.Node{Name: "plain", Function: "fw", Out: []graph.Edge{{To: n}}, Element: element.SetField{Field: headerspace.DSCP}})
	g.Nodes[g.Interfaces[1].In].Out[0] = graph.Edge{To: n + 1}
	for i := range g.Nodes {
		if g.Nodes[i].Name == "lookup0" {
			g.Nodes[i].Out[1] = graph.Edge{To: n}
		}
	}
	r, err := walk.Synthesize(g, walk.Options{Fanned: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.Warnings {
		if w.Node == "fw" {
			t.Errorf("%s: %s: %s", w.Node, w.Rule, w.Message)
		}
	}
}
