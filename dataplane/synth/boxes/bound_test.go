package boxes_test

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/synth/boxes"
)

// every has n values with a gap behind each.
func every(n int) headerspace.Set {
	iv := make([]headerspace.Interval, n)
	for i := range iv {
		iv[i] = headerspace.Interval{Lo: headerspace.V(uint64(2 * i)), Hi: headerspace.V(uint64(2 * i))}
	}
	return headerspace.NewSet(iv...)
}

// Counted before they are made: 2³² boxes would be 200 GB.
func TestAShapeOfTooManyBoxesIsRefusedBeforeTheyAreMade(t *testing.T) {
	var f headerspace.Filter
	for _, field := range []headerspace.Field{headerspace.SPort, headerspace.DPort, headerspace.TTL, headerspace.VLAN} {
		n := 256
		if field == headerspace.TTL {
			n = 128
		}
		f = f.With(field, every(n))
	}
	shapes := []boxes.Shape{{Filter: f, Class: 0}, {Filter: headerspace.Filter{}, Class: 1}}
	const want = "boxes in the chain's classifiers"
	order := func(yield func(int, []boxes.Range) bool) { _ = yield(0, nil) && yield(1, nil) }
	if _, _, err := boxes.Table(shapes, order, []int32{1, 1}, 2, boxes.Most); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a table: %v, want %q", err, want)
	}
	var none *boxes.Lowered
	whole := func(shapes, out []boxes.Shape) []boxes.Shape { return append(out, shapes...) }
	if _, _, err := none.Again(shapes, nil, 2, boxes.Most, whole); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a table that is lowered again: %v, want %q", err, want)
	}
}
