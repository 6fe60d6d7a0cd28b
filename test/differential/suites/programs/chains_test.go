package programs

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
)

func TestTheEngineDoesWhatTheUnmergedChainDoes(t *testing.T) {
	rig.NeedHarness(t)
	for _, shape := range draw.Shapes {
		t.Run(shape.Name, func(t *testing.T) {
			t.Parallel()
			rig.Engines <- struct{}{}
			defer func() { <-rig.Engines }()
			var failed *rig.Rig // the last failing chain is the smallest that rapid found
			var why *rig.Mismatch
			defer func() {
				if why != nil {
					rig.ReportSmallest(t, failed, why)
				}
			}()
			rapid.Check(t, func(rt *rapid.T) {
				g := draw.Chain(rt, shape)
				seed := rapid.Uint64().Draw(rt, "traffic seed")
				r, err := rig.New(g)
				if err != nil {
					rt.Fatal(err)
				}
				r.Exhausts = shape.Exhausts
				if err := r.Drive(t.Context(), seed, rig.Scale(100_000, 30_000), why == nil); err != nil {
					var m *rig.Mismatch
					if errors.As(err, &m) {
						failed, why = r, m
					}
					rt.Fatalf("%v\n%s", err, rig.Dump(g))
				}
			})
		})
	}
}
