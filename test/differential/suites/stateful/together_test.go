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
// they are. No packet needs the state of two. Where devices hash, too; a load balancer's backend is not what they have hashed.
func TestFlowsOfManyFunctionsHaveOneShard(t *testing.T) {
	rig.NeedHarness(t)
	for cut, orders := range map[string][]string{
		rig.PartitionByHost: {
			"fn", "nf", "nb", "bn", "fnb", "nfb", "bfn", "Fn", "nF", "fnf", "fbf", "fb", "BF", "fbnf", "ffffffffff", "ffffnffffb", "cn", "nc", "nC", "cfb", "ncf", "Cb",
			"frn", "crn", "Frn", "frfn", "frnf", "frnb", "frnn", "rfrn", "fcrn", "frcn", "ffrn",
		},
		rig.PartitionByHash: {"fn", "nf", "Fn", "nF", "fnf", "cn", "nC", "fcn", "nn", "rfn", "frn", "crn", "frfn", "frnf", "frnn", "rfrn"},
	} {
		for _, functions := range orders {
			t.Run(cut+", "+functions, func(t *testing.T) {
				t.Parallel()
				haveOneShard(t, functions, cut)
			})
		}
	}
}

func haveOneShard(t *testing.T, functions, cut string) {
	t.Helper()
	rig.Engines <- struct{}{}
	defer func() { <-rig.Engines }()
	r, err := rig.New(draw.InOrder("together"+functions, functions))
	if err != nil {
		t.Fatal(err)
	}
	r.Workers, r.Cut = 3, cut
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := divided(t, r)
	r.Engine.Kill()
	if n != rig.Buckets {
		t.Errorf("state is cut into %d, want %d", n, rig.Buckets)
	}
	if err := r.Drive(t.Context(), 1, rig.Scale(20_000, 6_000), true); err != nil {
		t.Fatalf("%v\n%s", err, rig.Dump(r.Graph))
	}
	if n := r.Stats.Drops[rig.NotOurs]; n > 0 {
		t.Errorf("%d packets needed the state of two workers", n)
	}
}
