package main

import "testing"

func TestAPassCountsIfTheBaselineIsNearItsBest(t *testing.T) {
	q := quiet{}
	for i, c := range []struct {
		traffic          string
		cycles           float64
		counts, restarts bool
	}{
		{"a", 80, true, false}, // the first one: nothing better is known
		{"a", 87, true, false},
		{"a", 89, false, false},
		{"b", 120, true, false}, // of other packets
		{"a", 75, true, false},  // better, and those before it still near
		{"a", 83, false, false},
		{"a", 53, true, true},
		{"a", 80, false, false},
		{"b", 131, true, false},
	} {
		if counts, restarts := q.judge("5tswap", c.traffic, c.cycles); counts != c.counts || restarts != c.restarts {
			t.Errorf("pass %d: counts %v, restarts %v; want %v, %v", i, counts, restarts, c.counts, c.restarts)
		}
	}
	if counts, _ := q.judge("io", "a", 90); !counts {
		t.Error("another mode has a best of its own")
	}
}
