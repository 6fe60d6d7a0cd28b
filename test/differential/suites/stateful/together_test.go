package stateful

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
)

// TestStatefulFunctionsTogetherDoWhatTheUnmergedChainDoes runs random chains of up to ten stateful functions of all kinds, while time goes on
// between packets. A seed by itself:
//
//	SINTER_SEED=17 go test ./test/differential/suites/stateful -run 'Together.*/^17$' -v
func TestStatefulFunctionsTogetherDoWhatTheUnmergedChainDoes(t *testing.T) {
	rig.NeedHarness(t)
	compared := 0
	for seed := range rig.Seeds(t, "SINTER_TOGETHER", rig.Scale(12, 3)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rapid.Custom(func(rt *rapid.T) *rig.Rig {
				r, err := rig.New(draw.Chain(rt, draw.Shape{Name: "together", Draw: (*draw.Drawer).Together}))
				if err != nil {
					rt.Fatal(err)
				}
				return r
			}).Example(int(seed))
			if err := r.Drive(t.Context(), seed, 30_000, true); err != nil {
				t.Fatalf("%v\n%s", err, rig.Dump(r.Graph))
			}
			compared += r.Stats.Packets
		})
	}
	t.Logf("%d packets", compared)
}

// TestFlowsOfManyFunctionsHaveOneShard has three workers: all that stateful functions know of a flow is of one, in both directions, in whichever order
// they are. No packet needs the state of two.
func TestFlowsOfManyFunctionsHaveOneShard(t *testing.T) {
	rig.NeedHarness(t)
	for _, functions := range []string{"fn", "nf", "nb", "bn", "fnb", "nfb", "bfn", "Fn", "nF", "fnf", "fbf", "fb", "BF", "fbnf", "ffffffffff", "ffffnffffb", "cn", "nc", "nC", "cfb", "ncf", "Cb", "frn", "crn", "Frn", "frfn", "frnf", "frnb", "frnn", "rfrn", "fcrn", "frcn", "ffrn"} {
		t.Run(functions, func(t *testing.T) {
			r, err := rig.New(draw.InOrder("together"+functions, functions))
			if err != nil {
				t.Fatal(err)
			}
			r.Workers, r.Cut = 3, rig.PartitionByHost
			if err := r.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			stats, err := r.Engine.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r.Engine.Kill()
			if n := len(stats.GetShards()); n != rig.Buckets {
				t.Errorf("state is cut into %d, want %d", n, rig.Buckets)
			}
			if err := r.Drive(t.Context(), 1, rig.Scale(20_000, 10_000), true); err != nil {
				t.Fatalf("%v\n%s", err, rig.Dump(r.Graph))
			}
			if n := r.Stats.Drops[rig.NotOurs]; n > 0 {
				t.Errorf("%d packets needed the state of two workers", n)
			}
		})
	}
}
