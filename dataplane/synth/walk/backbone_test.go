package walk_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/test/backbone"
)

func TestSixteenBackboneRoutersAreSynthesizedInFiveSecondsAndAGigabyte(t *testing.T) {
	g := backbone.Tree(t)
	const limit = 22 // a third above what it takes; it took 4.3 s where a yardstick takes 0.27 s
	r, took := synthesizeTimed(t, g, limit)
	boxes := 0
	for i := range r.Segments {
		p := r.Program.Segments[i]
		t.Logf("%s: %d leaves, %d classes, %d + %d boxes, floor %d", p.Name, r.Segments[i].NumLeaves(), len(p.Classes),
			len(p.Table.Classes), len(p.Low.GetClasses()), p.TtlFloor)
		boxes += len(p.Table.Classes) + len(p.Low.GetClasses())
	}
	b, err := program.Encode(r.Program)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d segments, %d boxes, %d bytes, longest way %d, %d warnings", len(r.Segments), boxes, len(b),
		r.Program.LongestWay, len(r.Warnings))
	if took.grown > 1<<30 {
		t.Errorf("the process grew by %d MB, at most 1024 are allowed", took.grown>>20)
	}
	if took.yardsticks > limit {
		t.Errorf("synthesis took %.1f yardsticks, at most %d are allowed", took.yardsticks, limit)
	}
}
