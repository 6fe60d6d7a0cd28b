package placement

import (
	"iter"
	"math/rand/v2"
	"slices"
)

// order yields the nodes' indices in random order, each once, those in used last.
// It is a Fisher–Yates shuffle that remembers only what it moved, so it costs what
// is drawn and not what there is.
func order(nodes Nodes, used []string, rng *rand.Rand) iter.Seq[int] {
	return func(yield func(int) bool) {
		moved := map[int]int{}
		at := func(i int) int {
			if j, ok := moved[i]; ok {
				return j
			}
			return i
		}
		var last []int
		for left := nodes.Len(); left > 0; left-- {
			slot := rng.IntN(left)
			drawn := at(slot)
			moved[slot] = at(left - 1)
			if slices.Contains(used, nodes.Name(drawn)) {
				last = append(last, drawn)
			} else if !yield(drawn) {
				return
			}
		}
		for _, i := range last {
			if !yield(i) {
				return
			}
		}
	}
}
