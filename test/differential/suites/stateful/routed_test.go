package stateful

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// routed are chains of a router with functions between it and a NAPT that have flows.
var routed = []string{"rfn", "rcn", "rFn", "rfcn", "rcfn", "rffn", "rfnf", "rfnc"}

// TestFunctionsBetweenARouterAndANAPTHaveTheirStateDivided has packets on all ways, also those for which the router has no route to the hosts that they
// come back to. These leave again. Their second flow has a shard of its own: where that is another worker's, they are dropped and counted, and leave no
// trace.
func TestFunctionsBetweenARouterAndANAPTHaveTheirStateDivided(t *testing.T) {
	rig.NeedHarness(t)
	for _, functions := range routed {
		for _, workers := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d workers", functions, workers), func(t *testing.T) {
				t.Parallel()
				r, err := rig.New(draw.InOrder("routed"+functions, functions))
				if err != nil {
					t.Fatal(err)
				}
				r.Workers, r.Cut = workers, rig.PartitionByHost
				rig.DriveInTurn(t, r, rig.Scale(60_000, 15_000))
				if dropped := r.Stats.Drops[rig.NotOurs]; dropped > 0 != (workers > 1) {
					t.Errorf("%d workers drop %d packets as %s", workers, dropped, rig.NotOurs)
				}
			})
		}
	}
}

// answered has a host send a packet and get the reply to it, by whichever interface that packet left. It gives the packet as it left.
func answered(t *testing.T, r *rig.Rig, random *rand.Rand, now time.Duration, host, peer netip.AddrPort) draw.Sent {
	t.Helper()
	out := r.Must(t, now, draw.UDP(r.Graph, 0, host, peer))
	reply, ok := packets.Reply(random, out.Frame, 0, nil)
	if !ok {
		t.Fatal("no reply")
	}
	if back := r.Must(t, now, draw.Sent{Iface: out.Iface, Frame: reply}); rig.EndsOf(t, back)[1] != host {
		t.Fatalf("the reply to %v went to %v", host, rig.EndsOf(t, back)[1])
	}
	return out
}

// TestFlowsOfHostsThatARouterKnowsHaveOneShard has the flows for which such chains are: each packet and each reply passes, whichever of three workers
// has the state.
func TestFlowsOfHostsThatARouterKnowsHaveOneShard(t *testing.T) {
	rig.NeedHarness(t)
	for _, functions := range routed {
		t.Run(functions, func(t *testing.T) {
			g := draw.InOrder("known"+functions, functions)
			r := rig.Started(t, g, 3, rig.PartitionByHost)
			if n := divided(t, r); n != rig.Buckets {
				t.Fatalf("state is cut into %d, want %d", n, rig.Buckets)
			}
			random := rand.New(rand.NewPCG(1, 2))
			for i := range 300 {
				host := netip.AddrPortFrom(draw.Addr4(10, 0, i/200, i%200), uint16(2000+i))
				answered(t, r, random, time.Second, host, netip.AddrPortFrom(draw.Addr4(69, 0, i%7, 1), 53))
				r.Must(t, time.Second, draw.UDP(g, 0, host, netip.AddrPortFrom(draw.Addr4(69, 0, i%7, 1), 53)))
			}
			if err := r.Finish(t.Context(), time.Second); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestHostsInsideTalkThroughAFirewallInFrontOfTheRouter has flows that pass the functions in front of the router twice, and others that leave by the
// NAPT: each packet passes, whichever of three workers has the state.
func TestHostsInsideTalkThroughAFirewallInFrontOfTheRouter(t *testing.T) {
	rig.NeedHarness(t)
	for _, functions := range []string{"frn", "Frn", "crn", "fcrn", "frfn", "frnn"} {
		t.Run(functions, func(t *testing.T) {
			g := draw.InOrder("inside"+functions, functions)
			r := rig.Started(t, g, 3, rig.PartitionByHost)
			if n := divided(t, r); n != rig.Buckets {
				t.Fatalf("state is cut into %d, want %d", n, rig.Buckets)
			}
			random := rand.New(rand.NewPCG(1, 2))
			for i := range 300 {
				host := netip.AddrPortFrom(draw.Addr4(10, 0, i/200, i%200), uint16(2000+i))
				peer, back := netip.AddrPortFrom(draw.Addr4(10, 3, i%7, 1), 53), 0
				if i%3 == 0 {
					peer, back = netip.AddrPortFrom(draw.Addr4(69, 0, i%7, 1), 53), 1
				}
				if out := answered(t, r, random, time.Second, host, peer); out.Iface != back {
					t.Fatalf("the packet to %v leaves by %d, want %d", peer, out.Iface, back)
				}
			}
			if err := r.Finish(t.Context(), time.Second); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFunctionsThatHaveFlowsAroundARouterDoWhatTheUnmergedChainDoes draws chains of a router and up to five other functions in any order. A seed by itself:
//
//	SINTER_SEED=17 go test ./test/differential/suites/stateful -run 'AroundARouter.*/^17$' -v
func TestFunctionsThatHaveFlowsAroundARouterDoWhatTheUnmergedChainDoes(t *testing.T) {
	rig.NeedHarness(t)
	for seed := range rig.Seeds(t, "SINTER_ROUTED", rig.Scale(100, 25)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			functions := []byte("r")
			for range 1 + random.IntN(5) {
				if f := "fFcCnbB"[random.IntN(7)]; !bytes.ContainsAny(functions, "bB") || f != 'b' && f != 'B' {
					functions = append(functions, f)
				}
			}
			random.Shuffle(len(functions), func(i, j int) { functions[i], functions[j] = functions[j], functions[i] })
			r, err := rig.New(draw.InOrder(fmt.Sprintf("routed%d%s", seed, functions), string(functions)))
			if err != nil {
				t.Fatal(err)
			}
			r.Cut = []string{rig.PartitionByHost, rig.PartitionByHash}[random.IntN(2)]
			if err := r.Drive(t.Context(), seed, 8000, true); err != nil {
				t.Fatalf("%s, by %s, %d workers: %v", functions, r.Cut, r.Workers, err)
			}
		})
	}
}

// ordered is a chain of these functions, as users write it.
func ordered(path, napt string) string {
	functions := map[string]string{
		"fw":   "firewall: {stateful: true, rules: [{from: Inside, action: Accept}], default: Drop}",
		"busy": "connectionLimiter: {maxPerHost: 4000}",
		"rt":   "router: {routes: [{prefix: 0.0.0.0/0, port: outside, via: 192.0.2.254}, {prefix: 10.5.0.0/16, port: inside, via: 10.0.0.2}]}",
		"nat":  "napt: {pool: [192.0.2.16-192.0.2.23]" + napt + "}",
	}
	text := `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254}
  path: [inside, ` + path + `, outside]
  functions:
`
	for name := range strings.SplitSeq(path, ", ") {
		text += "  - {name: " + name + ", " + functions[name] + "}\n"
	}
	return text
}

// divided is into how many parts an engine has cut its state.
func divided(t *testing.T, r *rig.Rig) int {
	t.Helper()
	stats, err := r.Engine.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(stats.GetShards())
}

// TestStateIsDividedInWhicheverOrderRouterAndFirewallAre has what docs/sharding.md says. Flows of shared mappings are of their host's shard.
func TestStateIsDividedInWhicheverOrderRouterAndFirewallAre(t *testing.T) {
	rig.NeedHarness(t)
	const shared = ", mapping: EndpointIndependent"
	for _, c := range []struct {
		path, napt string
		want       int
	}{
		{"rt, fw, nat", "", rig.Buckets},
		{"rt, busy, fw, nat", "", rig.Buckets},
		{"fw, rt, nat", "", rig.Buckets},
		{"busy, fw, rt, nat", "", rig.Buckets},
		{"rt, fw, nat", shared, rig.Buckets},
		{"fw, rt, nat", shared, 1},
	} {
		t.Run(c.path+c.napt, func(t *testing.T) {
			if n := divided(t, rig.NewPair(t, ordered(c.path, c.napt)).Rig); n != c.want {
				t.Errorf("state is cut into %d, want %d", n, c.want)
			}
		})
	}
}

// swapped is a chain that others take the place of.
type swapped struct {
	*testing.T
	*rig.Rig
	random *rand.Rand
	now    time.Duration
	ports  map[netip.AddrPort]netip.AddrPort // of hosts
}

// pass has hosts send, and a server reply. Each keeps its port. The state is cut into so many.
func (s *swapped) pass(want int) {
	s.Helper()
	if n := divided(s.T, s.Rig); n != want {
		s.Errorf("state is cut into %d, want %d", n, want)
	}
	for i := range 50 {
		host, server := netip.AddrPortFrom(draw.Addr4(10, 0, 0, 10+i%40), uint16(2000+i)), netip.MustParseAddrPort("192.0.2.254:53")
		port := rig.EndsOf(s.T, answered(s.T, s.Rig, s.random, s.now, host, server))[0]
		if had, ok := s.ports[host]; ok && had != port {
			s.Fatalf("%v has %v now, and had %v", host, port, had)
		}
		s.ports[host] = port
	}
}

func (s *swapped) become(path string) {
	s.Helper()
	if err := s.Become(s.Context(), rig.Compile(s.T, ordered(path, ""))); err != nil {
		s.Fatal(err)
	}
}

// rest has all sessions end.
func (s *swapped) rest() {
	s.Helper()
	s.now += time.Hour
	for range 100 { // each finds the ends of a part of them
		s.now += time.Second
		if _, err := s.Rig.Run(s.Context(), rig.Step{Now: s.now}); err != nil {
			s.Fatal(err)
		}
	}
	clear(s.ports)
}

// TestSessionsOutliveARouterBehindTheFirewall has programs whose NAPTs would tell shards otherwise. They go on as before while they have sessions, whose
// ports are their shards'. All state is one worker's then if the new program's cannot be told so.
func TestSessionsOutliveARouterBehindTheFirewall(t *testing.T) {
	rig.NeedHarness(t)
	const byHost, byEnds = "fw, nat", "fw, rt, nat"
	for _, c := range []struct {
		first, second string
		want          int // with the second, while there are sessions of the first
		again         int // the other way round
	}{
		{byHost, byEnds, 1, rig.Buckets},
		{byEnds, byHost, rig.Buckets, 1},
		{byEnds, "rt, fw, nat", rig.Buckets, 1},
	} {
		t.Run(c.first+" to "+c.second, func(t *testing.T) {
			r := rig.Compile(t, ordered(c.first, ""))
			r.Workers, r.Cut = 3, rig.PartitionByHost
			if err := r.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(r.Engine.Kill)
			s := swapped{T: t, Rig: r, random: rand.New(rand.NewPCG(1, 2)), now: time.Second, ports: map[netip.AddrPort]netip.AddrPort{}}
			s.pass(rig.Buckets)
			s.become(c.second)
			s.pass(c.want)
			s.become(c.first)
			s.pass(rig.Buckets)
			s.rest()
			s.become(c.second)
			s.pass(rig.Buckets)
			s.become(c.first)
			s.pass(c.again)
			if err := r.Finish(t.Context(), s.now); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAFirewallsFlowsAreFoundWhenTheNAPTTellsShardsOtherwise has flows of hosts inside alone, so that the NAPT is free to: they go to their new shards.
func TestAFirewallsFlowsAreFoundWhenTheNAPTTellsShardsOtherwise(t *testing.T) {
	rig.NeedHarness(t)
	compile := func(path string) *rig.Rig {
		return rig.Compile(t, strings.Replace(ordered(path, ""), "default: Drop", "default: Accept", 1))
	}
	r := compile("fw, rt, nat")
	r.Workers, r.Cut = 3, rig.PartitionByHost
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Engine.Kill)
	const flows = 50
	known := func() { // each flow twice, as it came in from either side
		t.Helper()
		if n := divided(t, r); n != rig.Buckets {
			t.Errorf("state is cut into %d, want %d", n, rig.Buckets)
		}
		fw := slices.IndexFunc(r.Result.Program.GetTables(), func(s *programpb.StateTable) bool { return s.GetName() == "fw/flows" })
		list, err := r.Engine.Sessions(t.Context(), uint32(fw), 10*flows)
		if err != nil || len(list) != 2*flows {
			t.Errorf("the firewall knows %d flows, %v, want %d", len(list), err, 2*flows)
		}
	}
	send := func() {
		t.Helper()
		for i := range flows {
			host, peer := netip.AddrPortFrom(draw.Addr4(10, 0, 0, 10+i), uint16(2000+i)), netip.AddrPortFrom(draw.Addr4(10, 5, 0, 1+i), 53)
			r.Must(t, time.Second, draw.UDP(r.Graph, 0, host, peer))
		}
	}
	send()
	known()
	if err := r.Become(t.Context(), compile("fw, nat")); err != nil {
		t.Fatal(err)
	}
	send()
	known()
}
