package main

import "time"

// quiet knows what the machine does while nobody else uses it: the fewest cycles of a probe, which the replay device makes between bursts, and the fewest of a
// baseline, by its mode and the traffic. What takes many more says more of the machine, on which other work runs, than of the chain.
type quiet struct {
	probe     float64
	baselines map[string]float64
}

const (
	// noise is how many times as much as at its best a baseline may take in a pass that counts.
	noise = 1.1
	// probeNoise is that of a probe, which repeats better. A neighbour that works a little makes it take 8 % more, and packets 15 %.
	probeNoise = 1.05
	// patience is how long each program waits for quiet moments, as long as they are known.
	patience = 3 * time.Second
	// quietBursts are as many as a median needs.
	quietBursts = 500
	// busyTries is how many passes may be given up in a row of measurements, for each that is wanted.
	busyTries = 3
)

// limit is what a quick probe takes at most, in TSC cycles. As long as none is known, no probe is quick.
func (q *quiet) limit() int { return max(int(probeNoise*q.probe), 1) }

// on has a device tell quiet moments apart, and wait for them.
func (q *quiet) on(r replay) replay {
	r.quiet = q.limit()
	if q.probe > 0 {
		r.patience = patience
	}
	return r
}

// beside is on for a device that runs beside another: it does not wait, as a core that waits leaves the memory to the other.
func (q *quiet) beside(r replay) replay {
	r = q.on(r)
	r.patience = 0
	return r
}

// learn notes what a run's quickest probes took. Whether that is so much less than was known that no run before it counts. The quickest
// hundredth is taken, so that one strange value is not believed.
func (q *quiet) learn(d *deviceReport) (restarts bool) {
	if d.Probes.Values == 0 || q.probe > 0 && d.Probes.P1 >= q.probe {
		return false
	}
	restarts = q.probe > 0 && probeNoise*d.Probes.P1 < q.probe
	q.probe = d.Probes.P1
	return restarts
}

// judge tells whether a pass with that baseline counts, and whether those before it count no longer. Work on other cores, which the probes do not tell, takes
// its share of the memory's bandwidth and of the last-level cache.
func (q *quiet) judge(mode, traffic string, cycles float64) (counts, restarts bool) {
	key := mode + " " + traffic
	best, known := q.baselines[key]
	if !known || cycles < best {
		q.baselines[key] = cycles
	}
	return !known || cycles <= noise*best, known && noise*cycles < best
}

// keepQuiet has the cycles be those of quiet moments, if there were enough.
func (d *deviceReport) keepQuiet() {
	if d.Quiet.Values >= quietBursts {
		d.Cycles = d.Quiet
		return
	}
	d.busy = d.Probes.Values > 0
}
