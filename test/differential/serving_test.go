package differential

import (
	"net/netip"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// TestBalancersDoWhatTheUnmergedChainDoes runs random chains, each with a load balancer at least, while time goes on between
// packets. A seed by itself:
//
//	SINTER_SEED=17 go test ./test/differential -run 'TestBalancers.*/^17$' -v
func TestBalancersDoWhatTheUnmergedChainDoes(t *testing.T) {
	needHarness(t)
	compared, sessions := 0, 0
	for seed := range seeds(t, "SINTER_BALANCERS", scale(12, 6)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rapid.Custom(func(rt *rapid.T) *rig {
				r, err := newRig(drawChain(rt, shape{name: "balancers", draw: (*drawer).serving}))
				if err != nil {
					rt.Fatal(err)
				}
				return r
			}).Example(int(seed))
			if err := r.drive(t.Context(), seed, 45_000, true); err != nil {
				t.Fatalf("%v\n%s", err, dump(r.g))
			}
			compared += r.stats.packets
			sessions += len(r.oracle.Sessions(0))
		})
	}
	t.Logf("%d packets, %d sessions at the end", compared, sessions)
	if !t.Failed() && sessions == 0 {
		t.Error("no session was made")
	}
}

// TestABalancerBehindANAPTSpreadsWhatTheNAPTShows is SNF's chain: NAPT, firewall, load balancer. Every port that the NAPT chooses is seen.
func TestABalancerBehindANAPTSpreadsWhatTheNAPTShows(t *testing.T) {
	needHarness(t)
	virtual := addr4(172, 31, 1, 1)
	g := inARow(t.Name(), 1, func(b *builder, _ int) (left, right side) {
		left, out := b.napt("nat", element.NAPT{
			Pool: []netip.Addr{addr4(100, 64, 1, 1), addr4(100, 64, 1, 2)}, PortMin: 1024, PortMax: 65535, Timeouts: timeouts, MaxSessions: 1 << 16,
		})
		fw, through := b.through("fw", []element.Element{element.Counter{}}, []element.Element{element.Counter{}})
		b.link(out, fw)
		n := b.add("lb", "balancer", element.Balancer{
			Virtual: []netip.Addr{virtual}, MaxSessions: 1 << 16, Timeouts: timeouts, NoBackend: "no-backend", Full: "full", NoSession: "no-session",
			Backends: []element.Backend{{Addr: addr4(10, 1, 1, 2), Weight: 3}, {Addr: addr4(10, 1, 1, 3), Port: 8080, Weight: 1}},
		})
		at := graph.Edge{To: n, Port: element.BalancerClients}
		b.link(through, side{in: at, outs: []graph.Edge{at}})
		at.Port = element.BalancerBackends
		return left, side{in: at, outs: []graph.Edge{at}}
	})
	r, err := newRig(g)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.drive(t.Context(), 1, 45_000, true); err != nil {
		t.Fatalf("%v\n%s", err, dump(r.g))
	}
	t.Logf("%d packets, %d sessions at the end", r.stats.packets, len(r.oracle.Sessions(0)))
}
