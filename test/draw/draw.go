// Package draw draws chains for tests and benchmarks.
package draw

import "math/rand/v2"

// Router stands for a router in a row.
const Router = "router"

// Lengths of a row, in firewalls.
const (
	Shortest = 2
	Longest  = 10
)

// Row is a row of firewalls, each by the name of its set, with routers between some of them.
func Row(rng *rand.Rand, sets []string) []string {
	var row []string
	for i := range Shortest + rng.IntN(Longest-Shortest+1) {
		if i > 0 && rng.IntN(3) == 0 {
			row = append(row, Router)
		}
		row = append(row, sets[rng.IntN(len(sets))])
	}
	return row
}
