package control

import (
	"math"
	"testing"
)

func TestAQuantileIsAPlaceBetweenBuckets(t *testing.T) {
	for name, c := range map[string]struct {
		q           float64
		before, now []uint64
		want        float64
	}{
		"half of one bucket":                    {0.5, nil, []uint64{0, 0, 10}, 2.5},
		"the end of a bucket":                   {0.5, nil, []uint64{5, 5}, 1},
		"buckets without values are passed":     {0.75, nil, []uint64{5, 0, 0, 5}, 3.5},
		"what was there before is left out":     {0.5, []uint64{1000, 0}, []uint64{1000, 4}, 1.5},
		"a histogram that began again is whole": {0.5, []uint64{1000, 9}, []uint64{0, 8}, 1.5},
		"all of it":                             {1, nil, []uint64{1, 2, 3}, 3},
	} {
		if got, ok := Quantile(c.q, c.before, c.now); !ok || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: got %v, %t, want %v", name, got, ok, c.want)
		}
	}
	if _, ok := Quantile(0.5, []uint64{3}, []uint64{3}); ok {
		t.Error("there is a quantile of no values")
	}
}

func TestATimeAtAFunctionIsBetweenPowersOfTwoOfMicroseconds(t *testing.T) {
	for place, want := range map[float64]float64{1: 1e-6, 2: 2e-6, 2.5: math.Sqrt2 * 2e-6, 21: 1.048576} {
		if got := WireTime(place); math.Abs(got-want) > 1e-12 {
			t.Errorf("place %v is %v s, want %v", place, got, want)
		}
	}
}
