package programs

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/model"
	"github.com/sinter-nfv/sinter/test/differential/rig"
)

// TestWhatIsSaidOfAClassIsTrueForEveryPacket has the model, which does what the oracle does, check the ends that sinterctl
// prints of classes.
func TestWhatIsSaidOfAClassIsTrueForEveryPacket(t *testing.T) {
	for _, shape := range draw.Shapes {
		t.Run(shape.Name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				g := draw.Chain(rt, shape)
				r, err := rig.New(g)
				if err != nil {
					rt.Fatalf("%v\n%s", err, rig.Dump(g))
				}
				if err := r.DriveModel(rapid.Uint64().Draw(rt, "traffic seed"), rig.Scale(5_000, 1_000), (*model.Model).EndsAsSaid); err != nil {
					rt.Fatalf("%v\n%s", err, rig.Dump(g))
				}
			})
		})
	}
}
