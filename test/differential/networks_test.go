package differential

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestTheEngineRunsNetworksOfRoutersWithLoops runs random networks, each in a subtest named after its seed. To run one, say 17:
//
//	SINTER_SEED=17 go test ./test/differential -run 'TestTheEngineRunsNetworks.*/^17$' -v
//
// SINTER_NETWORKS is the number of networks; make networks runs 400.
func TestTheEngineRunsNetworksOfRoutersWithLoops(t *testing.T) {
	needHarness(t)
	for seed := range seeds(t, "SINTER_NETWORKS", scale(20, 6)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			engines <- struct{}{}
			defer func() { <-engines }()
			n := drawNetwork(seed)
			g := n.graph(t)
			r, err := newRig(g)
			if err != nil {
				t.Fatalf("%v: %v", n, err)
			}
			if err := r.driveNetwork(t.Context(), seed, scale(8_000, 3_000)); err != nil {
				var m *mismatch
				if errors.As(err, &m) {
					reportSmallest(t, r, m)
				}
				t.Fatalf("%v: %v", n, err)
			}
			t.Logf("%v: %d segments, %d of %d packets left, drops %v", n, len(r.res.Segments), r.stats.left, r.stats.packets, r.stats.drops)
		})
	}
}

// TestLoopsThatPacketsTakeAreInTheWarnings has the oracle look for packets that pass a lookup a third time.
func TestLoopsThatPacketsTakeAreInTheWarnings(t *testing.T) {
	loops := 0
	for seed := range seeds(t, "SINTER_NETWORKS", scale(15, 15)) {
		n := drawNetwork(seed)
		g := n.graph(t)
		r, err := newRig(g)
		if err != nil {
			t.Fatalf("seed %d, %v: %v", seed, n, err)
		}
		warned := slices.ContainsFunc(r.res.Warnings, func(w synth.Warning) bool { return strings.Contains(w.Message, "go round") })
		p, ok := loopingPacket(newAimed(seed, g), 300)
		if ok && !warned {
			t.Errorf("seed %d, %v: no warning of a loop, but this packet that enters by if%d goes round:\n%s", seed, n, p.iface, packets.Describe(p.frame))
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
func loopingPacket(a *aimed, tries int) (sent, bool) {
	passed := map[string]int{}
	most := 0
	c := interp.New(a.g, interp.Options{Trace: func(s interp.Step) {
		if strings.HasSuffix(s.Node, "/lookup") {
			passed[s.Node]++
			most = max(most, passed[s.Node])
		}
	}})
	for range tries {
		p := a.next()
		clear(passed)
		most = 0
		c.Process(time.Second, p.iface, p.frame, nil)
		if most > 3 { // an answer may pass once more
			return p, true
		}
	}
	return sent{}, false
}

// String is the network's size.
func (n *network) String() string {
	routes := 0
	for _, r := range n.routers {
		routes += len(r.spec.Routes)
	}
	return fmt.Sprintf("%d routers, %d routes, %d firewalls, %d interfaces", len(n.routers), routes, n.walls, len(n.edges))
}

// graph builds the chain as the compiler does for users.
func (n *network) graph(t *testing.T) *graph.Graph {
	t.Helper()
	g, findings := graph.Build(n.chain("network"), graph.Inputs{})
	if findings.HasErrors() {
		t.Fatalf("%v: %v", n, findings)
	}
	for i := range g.Interfaces {
		populate(&g.Interfaces[i], i)
	}
	return g
}

// driveNetwork runs packets that are aimed at the bounds of the routes.
func (r *rig) driveNetwork(ctx context.Context, seed uint64, packets int) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	defer r.engine.kill()
	t := newAimed(seed, r.g)
	now := time.Second
	var err error
	for r.stats.packets < packets && err == nil {
		now += pause(t.Rand)
		s := step{now: now}
		for range batch {
			s.packets = append(s.packets, t.next())
		}
		var left [][]sent
		left, err = r.run(ctx, s)
		for i := range left {
			t.saw(s.packets[i], left[i])
			if len(left[i]) > 0 {
				r.stats.left++
			}
		}
	}
	if err == nil {
		err = r.finish(ctx, now)
	}
	if err == nil {
		err = r.engine.stop()
	}
	r.count(err)
	return err
}

// aimed is traffic to the first and the last address of every route, and to those just outside: all places where what the
// tables say together may change, holes and loops among them.
type aimed struct {
	*traffic
	at    []uint32
	shots int
}

func newAimed(seed uint64, g *graph.Graph) *aimed {
	a := &aimed{traffic: newTraffic(seed, g, nil)}
	for _, n := range g.Nodes {
		l, ok := n.Element.(element.Lookup)
		if !ok {
			continue
		}
		for _, r := range l.Routes {
			first := packets.Number(r.Prefix.Addr())
			last := first | uint32(uint64(1)<<(32-r.Prefix.Bits())-1)
			a.at = append(a.at, first-1, first, last, last+1)
		}
	}
	slices.Sort(a.at)
	a.at = slices.Compact(a.at)
	a.Shuffle(len(a.at), func(i, j int) { a.at[i], a.at[j] = a.at[j], a.at[i] })
	return a
}

func (a *aimed) next() sent {
	if a.IntN(3) == 0 {
		return a.traffic.next()
	}
	iface := a.IntN(len(a.g.Interfaces))
	f := packets.Fields{
		VLAN: -1, Src: a.source(iface), Dst: a.at[a.shots%len(a.at)], TTL: aimedTTL(a.Rand),
		Proto: []uint8{packets.ProtoTCP, packets.ProtoUDP, packets.ProtoUDP, packets.ProtoICMP}[a.IntN(4)],
		Sport: uint16(a.usual(hs.SPort)), Dport: uint16(a.usual(hs.DPort)), Flags: a.flags(),
		Type: 8, ICMPRest: a.Uint32(),
	}
	if a.IntN(40) == 0 {
		f.Frag = a.IntN(3)
	}
	a.shots++
	return sent{iface, a.build(iface, f)}
}

// source is a host on the interface's link, one at a bound of what rules and routes tell sources
// by, or any that a route leads to.
func (a *aimed) source(iface int) uint32 {
	if p := a.g.Interfaces[iface].Prefix; a.IntN(3) > 0 {
		return packets.Number(p.Masked().Addr()) + 2 + a.Uint32N(uint32(1)<<(32-p.Bits())-3)
	}
	if told := a.values[hs.Src]; len(told) > 0 && a.IntN(2) == 0 {
		return uint32(told[a.IntN(len(told))])
	}
	return a.at[a.IntN(len(a.at))]
}

// aimedTTL is enough for the way, about as much as it, or too little.
func aimedTTL(r *rand.Rand) uint8 {
	switch r.IntN(4) {
	case 0:
		return uint8(1 + r.IntN(10))
	case 1:
		return 255
	case 2:
		return uint8(2 + r.IntN(40))
	}
	return 64
}

// TestAnswersGoRoundWhereNoPacketDoes pings a router from a source whose replies go round, though what enters for that source is
// discarded: the program's longest way counts them.
func TestAnswersGoRoundWhereNoPacketDoes(t *testing.T) {
	needHarness(t)
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
	for i, p := range realPrefixes()[:3_000] { // so many that each router is a look-up of its own
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
	populate(&g.Interfaces[0], 0)
	r, err := newRig(g)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("longest way %d", r.res.Program.GetLongestWay())
	if err := r.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.engine.kill()
	a := newAimed(1, g)
	ping := packets.Fields{VLAN: -1, Src: 0x0a090101, Dst: 0x0a060001, TTL: 64, Proto: packets.ProtoICMP, Type: 8}
	if _, err := r.run(t.Context(), step{now: time.Second, packets: []sent{{0, a.build(0, ping)}}}); err != nil {
		t.Errorf("longest way %d: %v", r.res.Program.GetLongestWay(), err)
	}
}
