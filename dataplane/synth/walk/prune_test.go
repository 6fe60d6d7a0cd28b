package walk

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Leaves are compared with those near them alone, whatever they differ in.
func TestLeavesThatDifferInOneFieldAreNotComparedWithEachOther(t *testing.T) {
	const n = 20_000
	for _, f := range []headerspace.Field{headerspace.Src, headerspace.Dst, headerspace.SPort, headerspace.DPort} {
		t.Run(f.String(), func(t *testing.T) {
			var list leaves
			for i := range uint64(n) {
				v := headerspace.V(i)
				if f == headerspace.Src || f == headerspace.Dst {
					v = address(uint32(i) << 8)
				}
				list = append(list, found{filter: Everything.With(f, headerspace.Single(v))})
			}
			e := earlier{blocks: map[block][]candidate{}}
			if kept := e.prune(list, list[:0], &usage{}); len(kept) != n || e.compared > 4*n {
				t.Errorf("of %d leaves, %d are kept after %d comparisons; want all, and at most 4 comparisons for each", n, len(kept), e.compared)
			}
		})
	}
}

// Pruned leaves are compared with the definition: an earlier leaf that is kept holds all of it.
func TestPrunedIsWhatAnEarlierLeafHolds(t *testing.T) {
	draw := func(t *rapid.T, f headerspace.Field, lo uint64, of func(uint64) headerspace.Value) headerspace.Set {
		a := rapid.Uint64Range(lo, lo+600).Draw(t, f.String())
		b := a + rapid.SampledFrom([]uint64{0, 1, 3, 255, 256, 600}).Draw(t, "more")
		return headerspace.NewSet(headerspace.Interval{Lo: of(a), Hi: of(b)})
	}
	addr := func(n uint64) headerspace.Value { return address(uint32(n)) }
	rapid.Check(t, func(t *rapid.T) {
		var list, want leaves
		for range rapid.IntRange(1, 12).Draw(t, "leaves") {
			p := headerspace.Filter{}
			for _, f := range []headerspace.Field{headerspace.Src, headerspace.Dst, headerspace.SPort, headerspace.DPort} {
				switch {
				case rapid.Bool().Draw(t, "any"):
				case f == headerspace.Src || f == headerspace.Dst:
					p = p.With(f, draw(t, f, 0x0a00ff00, addr))
				default:
					p = p.With(f, draw(t, f, 64_336, headerspace.V)) // up to none
				}
			}
			list = append(list, found{filter: p})
		}
		for _, l := range list {
			held := false
			for _, k := range want {
				held = held || l.filter.SubsetOf(k.filter)
			}
			if !held {
				want = append(want, l)
			}
		}
		kept := prune(list, &usage{})
		if len(kept) != len(want) {
			t.Fatalf("%d leaves are kept, want %d", len(kept), len(want))
		}
		for i := range kept {
			if !kept[i].filter.Equal(want[i].filter) {
				t.Fatalf("leaf %d is %v, want %v", i, kept[i].filter, want[i].filter)
			}
		}
	})
}
