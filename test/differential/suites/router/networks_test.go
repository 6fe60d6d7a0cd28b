package router

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestTheEngineRunsNetworksOfRoutersWithLoops runs random networks, each in a subtest named after its seed. To run one, say 17:
//
//	SINTER_SEED=17 go test ./test/differential/suites/router -run 'TestTheEngineRunsNetworks.*/^17$' -v
//
// SINTER_NETWORKS is the number of networks; make networks runs 400.
func TestTheEngineRunsNetworksOfRoutersWithLoops(t *testing.T) {
	rig.NeedHarness(t)
	for seed := range rig.Seeds(t, "SINTER_NETWORKS", rig.Scale(20, 6)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			rig.Engines <- struct{}{}
			defer func() { <-rig.Engines }()
			n := draw.NewNetwork(seed)
			g := n.Graph(t)
			r, err := rig.New(g)
			if err != nil {
				t.Fatalf("%v: %v", n, err)
			}
			if err := r.DriveNetwork(t.Context(), seed, rig.Scale(8_000, 3_000)); err != nil {
				var m *rig.Mismatch
				if errors.As(err, &m) {
					rig.ReportSmallest(t, r, m)
				}
				t.Fatalf("%v: %v", n, err)
			}
			t.Logf("%v: %d segments, %d of %d packets left, drops %v", n, len(r.Result.Segments), r.Stats.Left, r.Stats.Packets, r.Stats.Drops)
		})
	}
}

// TestLoopsThatPacketsTakeAreInTheWarnings has the oracle look for packets that pass a lookup a third time.
func TestLoopsThatPacketsTakeAreInTheWarnings(t *testing.T) {
	loops := 0
	for seed := range rig.Seeds(t, "SINTER_NETWORKS", rig.Scale(15, 15)) {
		n := draw.NewNetwork(seed)
		g := n.Graph(t)
		r, err := rig.New(g)
		if err != nil {
			t.Fatalf("seed %d, %v: %v", seed, n, err)
		}
		warned := slices.ContainsFunc(r.Result.Warnings, func(w synth.Warning) bool { return strings.Contains(w.Message, "go round") })
		p, ok := loopingPacket(draw.NewAimed(seed, g), 300)
		if ok && !warned {
			t.Errorf("seed %d, %v: no warning of a loop, but this packet that enters by if%d goes round:\n%s",
				seed, n, p.Iface, packets.Describe(p.Frame))
		}
		if ok {
			loops++
		}
	}
	if loops < 5 {
		t.Errorf("only %d networks had a loop", loops)
	}
}

// loopingPacket is one of so many aimed packets that goes round in the unmerged chain.
func loopingPacket(a *draw.Aimed, tries int) (draw.Sent, bool) {
	passed := map[string]int{}
	most := 0
	c := interp.New(a.Graph, interp.Options{Trace: func(s interp.Step) {
		if strings.HasSuffix(s.Node, "/lookup") {
			passed[s.Node]++
			most = max(most, passed[s.Node])
		}
	}})
	for range tries {
		p := a.Next()
		clear(passed)
		most = 0
		c.Process(time.Second, p.Iface, p.Frame, nil)
		if most > 3 { // an answer may pass once more
			return p, true
		}
	}
	return draw.Sent{}, false
}

// TestAnswersGoRoundWhereNoPacketDoes pings a router from a source whose replies go round, though what enters for that source is
// discarded: the program's longest way counts them.
func TestAnswersGoRoundWhereNoPacketDoes(t *testing.T) {
	rig.NeedHarness(t)
	routes := func(address v1alpha1.Address, list ...v1alpha1.Route) v1alpha1.FunctionKinds {
		return v1alpha1.FunctionKinds{Router: &v1alpha1.Router{
			Address: address, Routes: list, Ports: []v1alpha1.RouterPort{{Name: "inside"}, {Name: "outside"}},
		}}
	}
	chain := &v1alpha1.ServiceChain{}
	chain.Name = "answers"
	chain.Spec = v1alpha1.ServiceChainSpec{
		Interfaces: []v1alpha1.Interface{{Name: "in", Address: "10.1.0.1/24", MTU: 1500, Gateway: "10.1.0.2"}},
		Functions: []v1alpha1.Function{
			{Name: "a", FunctionKinds: routes("", v1alpha1.Route{Prefix: "10.9.0.0/16", Type: v1alpha1.RouteDiscard}, v1alpha1.Route{Prefix: "0.0.0.0/0", Port: "outside"})},
			{Name: "b", FunctionKinds: routes("10.6.0.1", v1alpha1.Route{Prefix: "10.9.0.0/16", Port: "outside"}, v1alpha1.Route{Prefix: "10.1.0.0/24", Port: "inside"})},
			{Name: "c", FunctionKinds: routes("10.7.0.1", v1alpha1.Route{Prefix: "10.9.0.0/16", Port: "inside"})},
		},
		Links: []v1alpha1.Link{{From: "in", To: "a.inside"}, {From: "a.outside", To: "b.inside"}, {From: "b.outside", To: "c.inside"}},
	}
	for i, p := range draw.RealPrefixes()[:3_000] { // so many that each router is a look-up of its own
		for j := range chain.Spec.Functions {
			out := v1alpha1.Route{Prefix: v1alpha1.Prefix(p.String()), Port: "outside"}
			if i%3 == j || j == 2 {
				out = v1alpha1.Route{Prefix: out.Prefix, Type: []v1alpha1.RouteType{v1alpha1.RouteDiscard, v1alpha1.RouteProhibit}[i%2]}
			}
			r := chain.Spec.Functions[j].Router
			r.Routes = append(r.Routes, out)
		}
	}
	g, findings := graph.Build(chain, graph.Inputs{})
	if findings.HasErrors() {
		t.Fatal(findings)
	}
	draw.Populate(&g.Interfaces[0], 0)
	r, err := rig.New(g)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("longest way %d", r.Result.Program.GetLongestWay())
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.Engine.Kill()
	a := draw.NewAimed(1, g)
	ping := packets.Fields{VLAN: -1, Src: 0x0a090101, Dst: 0x0a060001, TTL: 64, Proto: packets.ProtoICMP, Type: 8}
	if _, err := r.Run(t.Context(), rig.Step{Now: time.Second, Packets: []draw.Sent{{Iface: 0, Frame: a.Build(0, ping)}}}); err != nil {
		t.Errorf("longest way %d: %v", r.Result.Program.GetLongestWay(), err)
	}
}
