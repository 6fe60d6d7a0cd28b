package limits

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	connlimit "github.com/sinter-nfv/sinter/dataplane/module/connlimit/oracle"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/model"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestConnectionLimitersDoWhatTheUnmergedChainDoes runs random chains, each with a limiter of connections at least, while time goes on between
// packets. A seed by itself:
//
//	SINTER_SEED=17 go test ./test/differential/suites/limits -run 'TestConnectionLimiters.*/^17$' -v
func TestConnectionLimitersDoWhatTheUnmergedChainDoes(t *testing.T) {
	rig.NeedHarness(t)
	chains, compared, states, refused := 0, 0, map[string]int{}, map[string]uint64{}
	for seed := range rig.Seeds(t, "SINTER_CONNECTIONS", rig.Scale(12, 6)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rapid.Custom(func(rt *rapid.T) *rig.Rig {
				r, err := rig.New(draw.Chain(rt, draw.Bounded))
				if err != nil {
					rt.Fatal(err)
				}
				return r
			}).Example(int(seed))
			if err := r.Drive(t.Context(), seed, 45_000, true); err != nil {
				t.Fatalf("%v\n%s", err, rig.Dump(r.Graph))
			}
			chains++
			compared += r.Stats.Packets
			for _, c := range connlimit.ConnectionsOf(r.Oracle.Chain, 0) {
				states[c.State]++
			}
			refusals(r, refused)
		})
	}
	t.Logf("%d packets; connections at the end: %v; refused: %v", compared, states, refused)
	if chains > 1 { // not a seed by itself
		wantRefusals(t, refused)
	}
}

// TestTheProgramDoesWhatConnectionLimitersDo needs no engine: it runs the same chains' programs by the model.
func TestTheProgramDoesWhatConnectionLimitersDo(t *testing.T) {
	refused := map[string]uint64{}
	rapid.Check(t, func(rt *rapid.T) {
		g := draw.Chain(rt, draw.Bounded)
		r, err := rig.New(g)
		if err != nil {
			rt.Fatalf("%v\n%s", err, rig.Dump(g))
		}
		unchecked := func(*model.Model) error { return nil }
		if err := r.DriveModel(rapid.Uint64().Draw(rt, "traffic seed"), rig.Scale(20_000, 4_000), unchecked); err != nil {
			rt.Fatalf("%v\n%s", err, rig.Dump(g))
		}
		refusals(r, refused)
	})
	wantRefusals(t, refused)
}

// refusals adds how many connections limiters refused, by the end of the reason.
func refusals(r *rig.Rig, to map[string]uint64) {
	for _, n := range r.Graph.Nodes {
		if e, ok := n.Element.(element.ConnLimit); ok {
			to["limit"] += r.Stats.Drops[e.PerHost.Reason]
			to["full"] += r.Stats.Drops[e.Full]
		}
	}
}

func wantRefusals(t *testing.T, refused map[string]uint64) {
	t.Helper()
	if !t.Failed() && (refused["limit"] == 0 || refused["full"] == 0) {
		t.Errorf("connections are refused so often: %v; the chains want some of both", refused)
	}
}

// TestTheProgramDoesWhatLimitersInEveryPlaceDo has them before and behind functions that keep state of the same flows.
func TestTheProgramDoesWhatLimitersInEveryPlaceDo(t *testing.T) {
	for _, functions := range places {
		t.Run(functions, func(t *testing.T) {
			r, err := rig.New(tightly(draw.InOrder("places"+functions, functions), 7))
			if err != nil {
				t.Fatal(err)
			}
			unchecked := func(*model.Model) error { return nil }
			if err := r.DriveModel(1, rig.Scale(20_000, 6_000), unchecked); err != nil {
				t.Fatalf("%v\n%s", err, rig.Dump(r.Graph))
			}
			wantLimited(t, r)
		})
	}
}

// TestLimitersInEveryPlaceDoWhatTheUnmergedChainDoes is the same in the engine.
func TestLimitersInEveryPlaceDoWhatTheUnmergedChainDoes(t *testing.T) {
	rig.NeedHarness(t)
	for _, functions := range places {
		t.Run(functions, func(t *testing.T) {
			r, err := rig.New(tightly(draw.InOrder("places"+functions, functions), 7))
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Drive(t.Context(), 1, rig.Scale(40_000, 10_000), true); err != nil {
				t.Fatalf("%v\n%s", err, rig.Dump(r.Graph))
			}
			wantLimited(t, r)
		})
	}
}

// places are where limiters of connections are, in words of draw.InOrder.
var places = []string{"c", "C", "cn", "nc", "nC", "cnc", "ncn", "cf", "fc", "Fc", "fC", "cfn", "nfc", "cb", "bc", "Cb", "Bc", "cC", "cc"}

// tightly gives each host a few connections alone.
func tightly(g *graph.Graph, connections int) *graph.Graph {
	for i, n := range g.Nodes {
		if e, ok := n.Element.(element.ConnLimit); ok {
			e.PerHost.MaxSessions = connections
			g.Nodes[i].Element = e
		}
	}
	return g
}

func wantLimited(t *testing.T, r *rig.Rig) {
	t.Helper()
	refused := map[string]uint64{}
	if refusals(r, refused); refused["limit"] == 0 {
		t.Errorf("no connection was refused: %v", r.Stats.Drops)
	}
}

// TestLimitsOfConnectionsChangeUnderTraffic swaps programs with other limits and hosts.
func TestLimitsOfConnectionsChangeUnderTraffic(t *testing.T) {
	rig.NeedHarness(t)
	swaps, refused := 0, map[string]uint64{}
	rapid.Check(t, func(rt *rapid.T) {
		g := draw.Chain(rt, draw.Bounded)
		r, err := rig.New(g)
		if err != nil {
			rt.Fatal(err)
		}
		s := rig.Swapper{Rig: r, First: g, Loaded: g, Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))}
		if err := s.Drive(t.Context(), rig.Scale(16_000, 6_000)); err != nil {
			rt.Fatalf("after %d swaps: %v\n%s", s.Swaps, err, rig.Dump(r.Graph))
		}
		swaps += s.Swaps
		refusals(r, refused)
	})
	t.Logf("%d swaps; refused: %v", swaps, refused)
	if !t.Failed() && (swaps == 0 || refused["limit"] == 0) {
		t.Errorf("%d swaps, refused: %v; the test wants some of both", swaps, refused)
	}
}

// limitedTo is a chain in which each host may have so many connections, and all together so many.
func limitedTo(host, all int) string {
	return fmt.Sprintf(`  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254}
  functions:
  - {name: cl, connectionLimiter: {maxPerHost: %d, maxConnections: %d}}
  - {name: nat, napt: {pool: [192.0.2.9]}}
  path: [inside, cl, nat, outside]
`, host, all)
}

// knock is a SYN of a host's connection.
func knock(host string, sport uint16) packets.IPv4 {
	p := draw.IP(host, "8.8.8.8")
	p.Proto, p.Payload = packets.ProtoTCP, packets.TCP(p.Src, p.Dst, sport, 80, packets.SYN, 1000, nil, nil)
	return p
}

// opens has a host begin connections from ports, and gives how many get through.
func opens(p *rig.Pair, host string, first, n uint16) (through int) {
	p.Helper()
	for i := range n {
		if strings.HasPrefix(p.Send("inside", knock(host, first+i)), "outside: ") {
			through++
		}
	}
	return through
}

func wantsOpen(p *rig.Pair, host string, first, n uint16, want int) {
	p.Helper()
	if got := opens(p, host, first, n); got != want {
		p.Errorf("%d of %d connections of %s get through, want %d", got, n, host, want)
	}
}

func TestEachHostHasAsManyConnectionsAsItMayThroughTheEngine(t *testing.T) {
	p := rig.NewPair(t, limitedTo(20, 50))
	wantsOpen(p, "10.0.0.2", 1000, 30, 20)
	wantsOpen(p, "10.0.0.3", 1000, 30, 20)
	wantsOpen(p, "10.0.0.4", 1000, 30, 10) // there is no room for more
	wantsOpen(p, "10.0.0.2", 1000, 20, 20) // known
	if want := (map[string]uint64{"cl/limit": 20, "cl/full": 20}); p.Rig.Stats.Drops["cl/limit"] != want["cl/limit"] || p.Rig.Stats.Drops["cl/full"] != want["cl/full"] {
		t.Errorf("%v, want %v", p.Rig.Stats.Drops, want)
	}
	p.Now += time.Hour
	wantsOpen(p, "10.0.0.4", 2000, 30, 20)
	if err := p.Rig.Finish(t.Context(), p.Now); err != nil {
		t.Error(err)
	}
	if err := p.Rig.Forget(t.Context(), p.Now); err != nil {
		t.Error(err)
	}
}

func TestConnectionsBeyondALowerLimitOutliveTheProgram(t *testing.T) {
	p := rig.NewPair(t, limitedTo(20, 50))
	wantsOpen(p, "10.0.0.2", 1000, 20, 20)
	if err := p.Rig.Become(t.Context(), rig.Compile(t, limitedTo(5, 50))); err != nil {
		t.Fatal(err)
	}
	wantsOpen(p, "10.0.0.2", 1000, 20, 20)
	wantsOpen(p, "10.0.0.2", 2000, 5, 0)
	wantsOpen(p, "10.0.0.3", 1000, 20, 5)
	if err := p.Rig.Become(t.Context(), rig.Compile(t, limitedTo(22, 50))); err != nil {
		t.Fatal(err)
	}
	wantsOpen(p, "10.0.0.2", 2000, 5, 2)
	if err := p.Rig.Finish(t.Context(), p.Now); err != nil {
		t.Error(err)
	}
}
