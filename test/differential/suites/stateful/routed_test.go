package stateful

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

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

// TestFlowsOfHostsThatARouterKnowsHaveOneShard has the flows for which such chains are: each packet and each reply passes, whichever of three workers
// has the state.
func TestFlowsOfHostsThatARouterKnowsHaveOneShard(t *testing.T) {
	rig.NeedHarness(t)
	for _, functions := range routed {
		t.Run(functions, func(t *testing.T) {
			g := draw.InOrder("known"+functions, functions)
			r := rig.Started(t, g, 3, rig.PartitionByHost)
			stats, err := r.Engine.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n := len(stats.GetShards()); n != rig.Buckets {
				t.Fatalf("state is cut into %d, want %d", n, rig.Buckets)
			}
			random := rand.New(rand.NewPCG(1, 2))
			for i := range 300 {
				host := netip.AddrPortFrom(draw.Addr4(10, 0, i/200, i%200), uint16(2000+i))
				out := r.Must(t, time.Second, draw.UDP(g, 0, host, netip.AddrPortFrom(draw.Addr4(69, 0, i%7, 1), 53)))
				reply, ok := packets.Reply(random, out.Frame, 0, nil)
				if !ok {
					t.Fatal("no reply")
				}
				if back := r.Must(t, time.Second, draw.Sent{Iface: 1, Frame: reply}); rig.EndsOf(t, back)[1] != host {
					t.Fatalf("the reply to %v went to %v", host, rig.EndsOf(t, back)[1])
				}
				r.Must(t, time.Second, draw.UDP(g, 0, host, netip.AddrPortFrom(draw.Addr4(69, 0, i%7, 1), 53)))
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

// TestTheOrderOfRouterAndFirewallDecidesWhetherStateIsDivided has what docs/sharding.md advises.
func TestTheOrderOfRouterAndFirewallDecidesWhetherStateIsDivided(t *testing.T) {
	rig.NeedHarness(t)
	for path, want := range map[string]int{"rt, fw, nat": rig.Buckets, "rt, busy, fw, nat": rig.Buckets, "fw, rt, nat": 1} {
		t.Run(path, func(t *testing.T) {
			busy := ""
			if strings.Contains(path, "busy") {
				busy = "\n  - {name: busy, connectionLimiter: {maxPerHost: 4000}}"
			}
			p := rig.NewPair(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254}
  functions:
  - {name: fw, firewall: {stateful: true, rules: [{from: Inside, action: Accept}], default: Drop}}
  - name: rt
    router:
      routes:
      - {prefix: 0.0.0.0/0, port: outside, via: 192.0.2.254}
      - {prefix: 10.5.0.0/16, port: inside, via: 10.0.0.2}
  - {name: nat, napt: {pool: [192.0.2.16-192.0.2.23]}}`+busy+`
  path: [inside, `+path+`, outside]
`)
			stats, err := p.Rig.Engine.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n := len(stats.GetShards()); n != want {
				t.Errorf("state is cut into %d, want %d", n, want)
			}
		})
	}
}
