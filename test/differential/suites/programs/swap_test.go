package programs

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
)

// TestProgramsAreSwappedUnderTrafficAndDecideKnownFlowsAnew changes rules and routes of random chains again and again while flows run: the
// engine's cache is warmed with what the new program decides, by the tests' clock, and sessions live on.
func TestProgramsAreSwappedUnderTrafficAndDecideKnownFlowsAnew(t *testing.T) {
	rig.NeedHarness(t)
	for _, shape := range draw.Shapes {
		if shape.Exhausts {
			continue // which flows have ports is the engine's choice
		}
		t.Run(shape.Name, func(t *testing.T) {
			t.Parallel()
			rig.Engines <- struct{}{}
			defer func() { <-rig.Engines }()
			swaps, told, hits := 0, 0, uint64(0)
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
				swaps, told, hits = swaps+s.Swaps, told+s.Told, hits+s.Hits
			})
			t.Logf("%d swaps, %d of them of backends alone, %d packets of flows that the cache knew", swaps, told, hits)
			if swaps == 0 {
				t.Error("no program was swapped")
			}
			if shape.Name == "balancers in a row" && told == 0 && !testing.Short() {
				t.Error("no backends were changed without a program")
			}
		})
	}
}
