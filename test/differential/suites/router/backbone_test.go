package router

import (
	"fmt"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/test/backbone"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/model"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

func TestTheEngineRunsSixteenBackboneRouters(t *testing.T) {
	rig.NeedHarness(t)
	driveBackbone(t, backbone.Tree(t))
}

// A packet is looked up by the firewall where it comes in, by all routers at once, and by the firewall where it leaves.
func TestWaysThroughSixteenBackboneRoutersAreShort(t *testing.T) {
	g := backbone.Tree(t)
	for i := range g.Interfaces {
		draw.Populate(&g.Interfaces[i], i)
	}
	r, err := rig.New(g)
	if err != nil {
		t.Fatal(err)
	}
	entry, m := rig.Gate(g), model.New(r.Result.Program, g.Interfaces)
	most, round := 0, 0
	for a, n := draw.NewAimed(1, g), 0; n < rig.Scale(3_000, 500); n++ {
		p := a.Next()
		if entry.Process(time.Second, p.Iface, p.Frame, nil).Drops[0].Reason != rig.Passed {
			continue
		}
		m.Process(time.Second, p.Iface, p.Frame)
		passes, again := m.Way()
		if again {
			round++
			continue
		}
		most = max(most, passes)
	}
	if most > 3 {
		t.Errorf("a packet that does not go round passes %d segments, want 3 at most", most)
	}
	if round == 0 {
		t.Error("no packet goes round; the backbone has summaries with holes")
	}
}

// Not all that the pairs say together fits: packets pass several look-ups, and answers one for each table.
func TestTheEngineRunsTenPairsOfALargeFirewallAndALargeRouter(t *testing.T) {
	rig.NeedHarness(t)
	driveBackbone(t, backbone.Pairs(t, 10))
}

// Routes with one output are followed together, in each table but the last.
func TestTheEngineRunsRoutersInARow(t *testing.T) {
	rig.NeedHarness(t)
	for _, c := range []struct{ routers, routes int }{{3, 3000}, {12, 500}, {24, 100}} {
		t.Run(fmt.Sprintf("%d routers with %d routes", c.routers, c.routes), func(t *testing.T) {
			driveBackbone(t, backbone.Mixed(t, c.routers, c.routes))
		})
	}
}

// Packets that one router tells apart come together at the next one by two ways. At the last one the next hops show.
func TestTheEngineRunsRoutersWithFirewallsSideBySideBetweenThem(t *testing.T) {
	rig.NeedHarness(t)
	for _, c := range []struct{ routers, routes, rules int }{{1, 1000, 250}, {3, 500, 40}, {6, 200, 4}} {
		t.Run(fmt.Sprintf("%d routers with %d routes, firewalls with %d rules", c.routers, c.routes, c.rules), func(t *testing.T) {
			driveBackbone(t, backbone.Ladder(t, c.routers, c.routes, "acl1_251", c.rules))
		})
	}
}

func driveBackbone(t *testing.T, g *graph.Graph) {
	t.Helper()
	t.Parallel()
	for i := range g.Interfaces {
		draw.Populate(&g.Interfaces[i], i)
	}
	rig.Engines <- struct{}{}
	defer func() { <-rig.Engines }()
	r, err := rig.New(g)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.DriveNetwork(t.Context(), 1, rig.Scale(60_000, 20_000)); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d segments, longest way %d", len(r.Result.Segments), r.Result.Program.GetLongestWay())
}

// The reply of the last router passes as many look-ups as the probe, once more.
func TestEachRouterOfALongChainRepliesToTraceroute(t *testing.T) {
	rig.NeedHarness(t)
	const hops = 6
	g := backbone.Pairs(t, hops)
	for i := range g.Interfaces {
		draw.Populate(&g.Interfaces[i], i)
	}
	r, err := rig.New(g)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.Engine.Kill()
	probes := draw.NewTraffic(1, g, nil)
	for ttl := uint8(1); ttl <= hops; ttl++ {
		probe := draw.Sent{Iface: 0, Frame: probes.Build(0, packets.Fields{
			VLAN: -1, Src: packets.Number(draw.Addr4(10, 0, 0, 7)), Dst: packets.Number(draw.Addr4(8, 8, 8, 8)), TTL: ttl,
			Proto: packets.ProtoUDP, Sport: 40000, Dport: 33434,
		})}
		left, err := r.Run(t.Context(), rig.Step{Now: time.Duration(ttl) * time.Second, Packets: []draw.Sent{probe}})
		if err != nil {
			t.Fatal(err)
		}
		if len(left[0]) != 1 {
			t.Errorf("hop %d: %d replies, want one", ttl, len(left[0]))
			continue
		}
		if f, ok := packets.FieldsOf(left[0][0].Frame); !ok || f.Proto != packets.ProtoICMP || f.Type != 11 {
			t.Errorf("hop %d: got %s, want time exceeded", ttl, packets.Describe(left[0][0].Frame))
		}
	}
}
