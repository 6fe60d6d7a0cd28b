package stateful

import (
	"net/netip"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
)

// TestBalancersDoWhatTheUnmergedChainDoes runs random chains, each with a load balancer at least, while time goes on between
// packets. A seed by itself:
//
//	SINTER_SEED=17 go test ./test/differential/suites/stateful -run 'TestBalancers.*/^17$' -v
func TestBalancersDoWhatTheUnmergedChainDoes(t *testing.T) {
	rig.NeedHarness(t)
	compared, sessions := 0, 0
	for seed := range rig.Seeds(t, "SINTER_BALANCERS", rig.Scale(12, 6)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rapid.Custom(func(rt *rapid.T) *rig.Rig {
				r, err := rig.New(draw.Chain(rt, draw.Shape{Name: "balancers", Draw: (*draw.Drawer).Serving}))
				if err != nil {
					rt.Fatal(err)
				}
				return r
			}).Example(int(seed))
			if err := r.Drive(t.Context(), seed, 45_000, true); err != nil {
				t.Fatalf("%v\n%s", err, rig.Dump(r.Graph))
			}
			compared += r.Stats.Packets
			sessions += len(r.Oracle.Sessions(0))
		})
	}
	t.Logf("%d packets, %d sessions at the end", compared, sessions)
	if !t.Failed() && sessions == 0 {
		t.Error("no session was made")
	}
}

// TestABalancerBehindANAPTSpreadsWhatTheNAPTShows is SNF's chain: NAPT, firewall, load balancer. Every port that the NAPT chooses is seen.
func TestABalancerBehindANAPTSpreadsWhatTheNAPTShows(t *testing.T) {
	rig.NeedHarness(t)
	virtual := draw.Addr4(172, 31, 1, 1)
	g := draw.InARow(t.Name(), 1, func(b *draw.Builder, _ int) (left, right draw.Side) {
		left, out := b.NAPT("nat", element.NAPT{
			Pool:    []netip.Addr{draw.Addr4(100, 64, 1, 1), draw.Addr4(100, 64, 1, 2)},
			PortMin: 1024, PortMax: 65535, Timeouts: draw.Timeouts, MaxSessions: 1 << 16,
		})
		fw, through := b.Through("fw", []element.Element{element.Counter{}}, []element.Element{element.Counter{}})
		b.Link(out, fw)
		n := b.Add("lb", "balancer", element.Balancer{
			Virtual: []netip.Addr{virtual}, MaxSessions: 1 << 16, Timeouts: draw.Timeouts, NoBackend: "no-backend", Full: "full", NoSession: "no-session",
			Backends: []element.Backend{{Addr: draw.Addr4(10, 1, 1, 2), Weight: 3}, {Addr: draw.Addr4(10, 1, 1, 3), Port: 8080, Weight: 1}},
		})
		at := graph.Edge{To: n, Port: element.BalancerClients}
		b.Link(through, draw.Side{In: at, Outs: []graph.Edge{at}})
		at.Port = element.BalancerBackends
		return left, draw.Side{In: at, Outs: []graph.Edge{at}}
	})
	r, err := rig.New(g)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Drive(t.Context(), 1, 45_000, true); err != nil {
		t.Fatalf("%v\n%s", err, rig.Dump(r.Graph))
	}
	t.Logf("%d packets, %d sessions at the end", r.Stats.Packets, len(r.Oracle.Sessions(0)))
}
