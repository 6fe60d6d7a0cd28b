package main

// quiet knows the fewest cycles that a baseline took in the run, by its mode and the traffic. A pass in which it takes many more says more of the machine, on
// which other work runs, than of the chain.
type quiet map[string]float64

const (
	// noise is how many times as much as at its best a baseline may cost in a pass that counts.
	noise = 1.1
	// busyTries is how many passes may be given up in a row of measurements, for each that is wanted.
	busyTries = 3
)

// judge tells whether a pass with that baseline counts, and whether those before it count no longer.
func (q quiet) judge(mode, traffic string, cycles float64) (counts, restarts bool) {
	key := mode + " " + traffic
	best, known := q[key]
	if !known || cycles < best {
		q[key] = cycles
	}
	return !known || cycles <= noise*best, known && noise*cycles < best
}
