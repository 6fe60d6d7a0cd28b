package synth_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/synth/testbed"
)

// TestAPacketWithoutAFlowKeepsTheNextHopOfItsRoute has a look-up before a direct load balancer. Only what is of a flow gets a backend as next hop,
// which is known at run time alone: a datagram with a broken header does not.
func TestAPacketWithoutAFlowKeepsTheNextHopOfItsRoute(t *testing.T) {
	every, idle := netip.MustParsePrefix("0.0.0.0/0"), element.Timeouts{TCP: time.Hour, TCPTransitory: time.Minute, UDP: time.Minute}
	g := testbed.Row(
		element.Lookup{Routes: []element.Route{{Prefix: every, Via: netip.MustParseAddr("192.168.1.9"), Out: 0}}, Outs: 2, NoRoute: 1},
		element.Balancer{
			Virtual: []netip.Addr{netip.MustParseAddr("203.0.113.80")}, Direct: true, MaxSessions: 1000, Timeouts: idle,
			Backends: []element.Backend{{Addr: netip.MustParseAddr("192.168.1.11"), Weight: 1}},
		},
	)
	n := slices.IndexFunc(g.Nodes, func(n graph.Node) bool { return n.Name == "balancer1" })
	for i := range g.Nodes {
		for k, e := range g.Nodes[i].Out {
			if e.To == n {
				g.Nodes[i].Out[k].Port = element.BalancerClients
			}
		}
	}
	g.Nodes[n].Out[element.BalancerBackends] = graph.Edge{To: g.Interfaces[1].Out}
	legs, _ := testbed.LegsFrom(t, g)
	for _, want := range []string{"via 192.168.1.9, balance (balancer1) → output b", "via 192.168.1.9 → output b"} {
		if !slices.Contains(legs, want) {
			t.Errorf("got %q, want %q among them", legs, want)
		}
	}
}
