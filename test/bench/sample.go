package main

import (
	"fmt"
	"math"
	"slices"
)

// samples are figures of passes, one each.
type samples []float64

func (s samples) sorted() samples {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

func (s samples) median() float64 {
	s = s.sorted()
	n := len(s)
	if n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[n/2]
}

// interval is where the median of all passes that could be made lies, with a confidence of at least coverage.
type interval struct {
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Coverage float64 `json:"confidence"`
}

func (i interval) String() string { return fmt.Sprintf("%.2f–%.2f", i.Low, i.High) }

// wantCoverage is the confidence of intervals, where there are passes enough: five.
const wantCoverage = 0.90

// interval is the narrowest pair of order statistics, the k-th from below and from above, that has the confidence; with few passes, the lowest and the highest.
// It holds for any distribution: the median lies outside if fewer than k of n passes fall on one side of it, each with a probability of one half.
func (s samples) interval() interval {
	s = s.sorted()
	n := len(s)
	best := interval{s[0], s[n-1], 1 - math.Pow(0.5, float64(n-1))}
	for k := 2; 2*k <= n; k++ {
		outside := 0.0
		for i := range k {
			outside += choose(n, i) * math.Pow(0.5, float64(n-1))
		}
		if 1-outside < wantCoverage {
			break
		}
		best = interval{s[k-1], s[n-k], 1 - outside}
	}
	return best
}

func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}

// over is the quotients of passes that belong together.
func (s samples) over(other samples) samples {
	out := make(samples, len(s))
	for i := range s {
		out[i] = s[i] / other[i]
	}
	return out
}
