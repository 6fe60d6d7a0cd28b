package telemetry

import (
	"math"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

// burstBounds are the upper bounds of burst times, in seconds: 256 ns doubled up to 16.8 ms. They are the same on every
// machine, so that histograms of several can be added.
var burstBounds = func() []float64 {
	bounds := make([]float64, 17)
	for i := range bounds {
		bounds[i] = math.Ldexp(256e-9, i)
	}
	return bounds
}()

// bursts is a worker's histogram of burst times. The engine counts by powers of two of cycles; a bound
// that falls into such a bucket takes its part of it by the logarithm. The part never changes, so that
// counts only grow.
func bursts(w *controlpb.WorkerStats) (count uint64, sum float64, buckets map[float64]uint64) {
	hz := float64(w.GetTscHz())
	if hz == 0 {
		return 0, 0, nil
	}
	for _, n := range w.GetLatency() {
		count += n
	}
	buckets = make(map[float64]uint64, len(burstBounds))
	for _, bound := range burstBounds {
		at := math.Log2(bound * hz) // in buckets
		var below uint64
		for i, n := range w.GetLatency() {
			part := min(max(at-float64(i), 0), 1)
			below += uint64(float64(n) * part)
		}
		buckets[bound] = below
	}
	return count, float64(w.GetBusyCycles()) / hz, buckets
}

// quantile is the time in seconds below which a part of all bursts stayed, of two samples' worth of a worker.
func quantile(q float64, before, now *controlpb.WorkerStats) float64 {
	at, ok := control.Quantile(q, before.GetLatency(), now.GetLatency())
	if !ok || now.GetTscHz() == 0 {
		return 0
	}
	return math.Exp2(at) / float64(now.GetTscHz())
}

// passage is the histogram of the time that packets take through a blackbox.
func passage(w *controlpb.WireStats) (count uint64, sum float64, buckets map[float64]uint64) {
	times := w.GetTimes()
	buckets = make(map[float64]uint64, len(times))
	for i, n := range times {
		count += n
		if i < len(times)-1 {
			buckets[control.WireTime(float64(i+1))] = count
		}
	}
	return count, float64(w.GetTimeNs()) / 1e9, buckets
}
