package main

import (
	"slices"
	"time"
)

// halving is both baselines: a core above the target gives half of its shards, by
// number, to a new core; two cores that together are below the target by our margin
// become one.
type halving struct {
	every time.Duration
	// half picks the shards that go, of those of a core in the order of their groups.
	half func(list []int) []int
}

// newE2 duplicates the chain and halves the flows: every second shard of each group goes.
func newE2(*world) policy {
	return &halving{every: period, half: func(list []int) []int {
		var half []int
		for i := 1; i < len(list); i += 2 {
			half = append(half, list[i])
		}
		return half
	}}
}

// newMetron splits groups of traffic classes by a factor of two: the second half of the
// classes goes. Its controller looks every 500 ms (8.2.4).
func newMetron(*world) policy {
	return &halving{every: 500 * time.Millisecond, half: func(list []int) []int { return list[(len(list)+1)/2:] }}
}

const margin = 0.75 // as in scaling.DefaultPolicy

func (h *halving) act(w *world) {
	if w.now%h.every != 0 {
		return
	}
	owned := make([][]int, len(w.cores))
	for i, c := range w.owner {
		owned[c] = append(owned[c], i)
	}
	loads := make([]float64, len(w.cores))
	for c := range w.cores {
		loads[c] = w.cores[c].busy / h.every.Seconds()
		w.cores[c].busy = 0
	}
	if !h.split(w, owned, loads) {
		h.merge(w, owned, loads)
	}
}

// split halves every core that is above the target. It tells whether there was one.
func (h *halving) split(w *world, owned [][]int, loads []float64) bool {
	any := false
	for c, list := range slices.Clone(owned) {
		if loads[c] <= target || len(list) < 2 {
			continue
		}
		any = true
		to := h.free(w, owned)
		if to < 0 {
			continue
		}
		owned[to] = h.half(list)
		for _, i := range owned[to] {
			w.move(i, to)
		}
	}
	return any
}

// free is a core without shards. If there is none, a pod is ordered.
func (h *halving) free(w *world, owned [][]int) int {
	for c, list := range owned {
		if len(list) == 0 && w.isReady(c/podCores) {
			return c
		}
	}
	if last := len(w.ready) - 1; w.isReady(last) && len(w.ready) < maxPods {
		w.resize(len(w.ready) + 1)
	}
	return -1
}

// merge joins the two least loaded cores if they are light enough, and ends pods at the
// end that have no shards.
func (h *halving) merge(w *world, owned [][]int, loads []float64) {
	var used []int
	for c, list := range owned {
		if len(list) > 0 {
			used = append(used, c)
		}
	}
	slices.SortStableFunc(used, func(a, b int) int {
		switch {
		case loads[a] < loads[b]:
			return -1
		case loads[a] > loads[b]:
			return 1
		}
		return 0
	})
	if len(used) < 2 || loads[used[0]]+loads[used[1]] >= margin*target {
		return
	}
	into, from := min(used[0], used[1]), max(used[0], used[1])
	for _, i := range owned[from] {
		w.move(i, into)
	}
	last := slices.Max(w.owner) / podCores
	w.resize(last + 1)
}

func (h *halving) working(w *world) int {
	var used [maxPods * podCores]bool
	n := 0
	for _, c := range w.owner {
		if !used[c] {
			used[c] = true
			n++
		}
	}
	return n
}
