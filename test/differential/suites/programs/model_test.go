package programs

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/model"
	"github.com/sinter-nfv/sinter/test/differential/rig"
)

// TestTheProgramDoesWhatTheUnmergedChainDoes needs no engine: the program is run by the model.
func TestTheProgramDoesWhatTheUnmergedChainDoes(t *testing.T) {
	for _, shape := range draw.Shapes {
		t.Run(shape.Name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				g := draw.Chain(rt, shape)
				r, err := rig.New(g)
				if err != nil {
					rt.Fatalf("%v\n%s", err, rig.Dump(g))
				}
				unchecked := func(*model.Model) error { return nil }
				if err := r.DriveModel(rapid.Uint64().Draw(rt, "traffic seed"), rig.Scale(20_000, 2_000), unchecked); err != nil {
					rt.Fatalf("%v\n%s", err, rig.Dump(g))
				}
			})
		})
	}
}
