package scaling

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/load"
)

// need is the smallest number of cores, of most, on which works can be put beside what they
// have to do anyway, so that none is given more than target, or than the heaviest shard
// alone, which nothing can divide. The works are put heaviest first on the idlest core
// (LPT, which is within 4/3 of the best: Graham 1969). What is next to nothing needs no
// more than one.
func need(works, beside []float64, target float64, most int) int {
	sorted := slices.Sorted(slices.Values(works))
	slices.Reverse(sorted)
	sum := 0.0
	for _, w := range sorted {
		sum += w
	}
	if sum <= load.Slack {
		return 1
	}
	limit := target
	if len(sorted) > 0 {
		limit = max(target, sorted[0]+load.Slack)
	}
	for n := max(1, int(sum/limit)); n < most; n++ {
		if packs(sorted, beside, limit, n) {
			return n
		}
	}
	return max(most, 1)
}

func packs(sorted, beside []float64, limit float64, cores int) bool {
	load := make([]float64, cores)
	copy(load, beside)
	for _, w := range sorted {
		least := 0
		for c := range load {
			if load[c] < load[least] {
				least = c
			}
		}
		if load[least] += w; load[least] > limit {
			return false
		}
	}
	return true
}
