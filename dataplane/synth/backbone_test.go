package synth_test

import (
	"runtime"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/test/backbone"
)

func TestSixteenBackboneRoutersAreSynthesizedInFiveSecondsAndAGigabyte(t *testing.T) {
	g := backbone.Tree(t)
	const limit = 22 // a third above what it takes; it took 4.3 s where a yardstick takes 0.27 s
	r, took := synthesizeTimed(t, g, limit)
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
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
	t.Logf("%.1f yardsticks, %d MB of the system, %d segments, %d boxes, %d bytes, longest way %d, %d warnings", took, memory.Sys>>20, len(r.Segments), boxes, len(b),
		r.Program.LongestWay, len(r.Warnings))
	if memory.Sys > 1<<30 {
		t.Errorf("the process took %d MB from the system, at most 1024 are allowed", memory.Sys>>20)
	}
	if took > limit {
		t.Errorf("synthesis took %.1f yardsticks, at most %d are allowed", took, limit)
	}
}
