package control

import "math"

// Quantile is where in a histogram a part q of all values is, in buckets: 2.5 is in the middle of the third one. Counts only grow, and what an
// earlier sample has of them is left out (nil: none). False: there are no values.
func Quantile(q float64, before, now []uint64) (float64, bool) {
	counts := make([]uint64, len(now))
	var sum uint64
	for i, n := range now {
		counts[i] = n
		if i < len(before) && n >= before[i] {
			counts[i] -= before[i]
		}
		sum += counts[i]
	}
	if sum == 0 {
		return 0, false
	}
	rank := q * float64(sum)
	for i, n := range counts {
		if n > 0 && rank <= float64(n) {
			return float64(i) + rank/float64(n), true
		}
		rank -= float64(n)
	}
	return float64(len(counts)), true
}

// WireTime is how many seconds a place in the histogram of WireStats.times is.
func WireTime(place float64) float64 { return math.Exp2(place-1) / 1e6 }
