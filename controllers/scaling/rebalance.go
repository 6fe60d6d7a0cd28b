package scaling

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/load"
)

// uneven is how much more than the mean a pod must have for shards to leave it: below
// that they would follow noise.
const uneven = 1.1

// rebalance takes from pods that have too much, down to the mean. An empty pod is a reason
// as well: it was made to share. What was begun is brought to its end.
func (h *placement) rebalance(over map[*home]bool, begun bool) {
	total := 0.0
	for _, pod := range h.open {
		total += pod.load
		begun = begun || len(pod.groups) == 0
	}
	fair := total / float64(len(h.open))
	byLoad := slices.Clone(h.open)
	slices.SortStableFunc(byLoad, func(a, b *home) int { return cmp.Compare(b.load, a.load) })
	for _, from := range byLoad {
		if !begun && !over[from] || from.load <= uneven*fair {
			continue
		}
		for _, to := range slices.Backward(byLoad) {
			if excess := min(from.load-fair, fair-to.load); excess > load.Slack {
				h.shift(from, to, excess)
			}
		}
	}
}

// shift hands over about so much load: whole groups that make up at least half of it, or
// that are on the other pod too, then the heaviest shards of as few groups as do.
func (h *placement) shift(from, to *home, excess float64) {
	for _, group := range from.byLoad(to) {
		least := excess / 2
		if to.has(group) {
			least = load.Slack
		}
		if work := loadOf(from.groups[group]); work < least || work > excess+load.Slack {
			continue
		}
		for _, l := range from.heaviest(group) {
			if h.left == 0 {
				return
			}
			excess -= l.Work
			h.hand(l, from, to)
		}
	}
	for _, group := range from.byLoad(to) {
		for _, l := range from.heaviest(group) {
			if excess <= load.Slack || h.left == 0 {
				return
			}
			if l.Work > 0 && l.Work <= excess {
				excess -= l.Work
				h.hand(l, from, to)
			}
		}
	}
}

// byLoad are the names of a pod's groups, those that the other pod has first, then the
// heaviest first.
func (h *home) byLoad(other *home) []string {
	return slices.SortedFunc(maps.Keys(h.groups), func(a, b string) int {
		first := 0
		if other != nil {
			first = -boolCompare(other.has(a), other.has(b))
		}
		return cmp.Or(first, cmp.Compare(loadOf(h.groups[b]), loadOf(h.groups[a])), cmp.Compare(a, b))
	})
}

func loadOf(list []load.Shard) float64 {
	work := 0.0
	for _, l := range list {
		work += l.Work
	}
	return work
}
