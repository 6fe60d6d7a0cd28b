package stops

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/model"
	"github.com/sinter-nfv/sinter/test/differential/rig"
)

// shapes are chains with a stop at least.
var shapes = []draw.Shape{draw.Stopped, draw.StoppedHub}

// TestStopsDoWhatTheUnmergedChainDoes runs random chains with functions outside of them, with random declarations: they drop packets, write fields that they
// declare and, at times, others, send some twice, some back, and some under an address of their own, and are down at times; flows go past some after a few packets; some are replicas, which share flows; others get copies. What the engine finds by checking
// some of the packets is exact. A seed by itself:
//
//	SINTER_SEED=17 go test ./test/differential/suites/stops -run 'TestStops.*/^17$' -v
func TestStopsDoWhatTheUnmergedChainDoes(t *testing.T) {
	rig.NeedHarness(t)
	var down, bypassed, after, shared, checked, lies, copies uint64 // packets
	for _, shape := range shapes {
		for seed := range rig.Seeds(t, "SINTER_STOPS", rig.Scale(12, 6)) {
			t.Run(shape.Name+"/"+strconv.FormatUint(seed, 10), func(t *testing.T) {
				r := rapid.Custom(func(rt *rapid.T) *rig.Rig {
					r, err := rig.New(draw.Chain(rt, shape))
					if err != nil {
						rt.Fatal(err)
					}
					return r
				}).Example(int(seed))
				if err := r.Drive(t.Context(), seed, 30_000, true); err != nil {
					t.Fatalf("%v\n%s", err, rig.Dump(r.Graph))
				}
				checked, lies, copies = checked+r.Stats.Checked, lies+r.Stats.Lies, copies+r.Copies()
				for name, n := range r.Oracle.Counters() {
					if strings.Contains(name, "/"+draw.AfterPackets) {
						after += n.Packets
					}
					if strings.Contains(name, "/"+draw.Shared) {
						shared += n.Packets
					}
				}
				for _, n := range r.Graph.Nodes {
					down += r.Stats.Drops[element.DownReason(n.Name)]
					bypassed += r.Oracle.Counters()[element.BypassCounter(n.Name)].Packets
				}
			})
		}
	}
	t.Logf("%d packets were dropped at stops that were down, and %d went past them; %d went past stops that had let enough of their flows through; "+
		"%d passed replicas; %d were checked, and %d of them were changed against a declaration; %d copies left", down, bypassed, after, shared, checked, lies, copies)
	if down == 0 || bypassed == 0 || after == 0 || shared == 0 || checked == 0 || lies == 0 || copies == 0 {
		t.Error("want packets of each sort")
	}
}

// TestPacketsAtStopsGoOnInTheNextProgram changes rules and routes of such chains while functions hold packets.
func TestPacketsAtStopsGoOnInTheNextProgram(t *testing.T) {
	rig.NeedHarness(t)
	for _, shape := range shapes {
		t.Run(shape.Name, func(t *testing.T) {
			swaps, held := 0, 0
			rapid.Check(t, func(rt *rapid.T) {
				g := draw.Chain(rt, shape)
				r, err := rig.New(g)
				if err != nil {
					rt.Fatal(err)
				}
				s := rig.Swapper{Rig: r, First: g, Loaded: g, Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))}
				if err := s.Drive(t.Context(), rig.Scale(8_000, 3_000)); err != nil {
					rt.Fatalf("after %d swaps: %v\n%s", s.Swaps, err, rig.Dump(r.Graph))
				}
				swaps, held = swaps+s.Swaps, held+s.Held
			})
			t.Logf("%d packets were at stops during %d swaps", held, swaps)
			if swaps == 0 || held == 0 {
				t.Error("want packets at stops, and swaps")
			}
		})
	}
}

// TestTheProgramDoesWhatStopsDo needs no engine: it runs such chains' programs by the model.
func TestTheProgramDoesWhatStopsDo(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape.Name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				g := draw.Chain(rt, shape)
				r, err := rig.New(g)
				if err != nil {
					rt.Fatalf("%v\n%s", err, rig.Dump(g))
				}
				unchecked := func(*model.Model) error { return nil }
				if err := r.DriveModel(rapid.Uint64().Draw(rt, "traffic seed"), rig.Scale(20_000, 4_000), unchecked); err != nil {
					rt.Fatalf("%v\n%s", err, rig.Dump(g))
				}
			})
		})
	}
}
