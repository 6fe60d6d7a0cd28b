package telemetry

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

func TestBurstBucketsOnlyGrowAndNeverExceedTheCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &controlpb.WorkerStats{
			TscHz:   rapid.Uint64Range(1e9, 5e9).Draw(t, "hz"),
			Latency: rapid.SliceOfN(rapid.Uint64Range(0, 1<<40), 0, 40).Draw(t, "latency"),
		}
		count, _, before := bursts(w)
		last := uint64(0)
		for _, bound := range burstBounds {
			if n := before[bound]; n < last || n > count {
				t.Fatalf("bucket to %g s has %d, the one below %d, all have %d", bound, n, last, count)
			}
			last = before[bound]
		}
		for i := range w.Latency {
			w.Latency[i] += rapid.Uint64Range(0, 100).Draw(t, "more")
		}
		_, _, after := bursts(w)
		for bound, n := range before {
			if after[bound] < n {
				t.Fatalf("bucket to %g s fell from %d to %d", bound, n, after[bound])
			}
		}
	})
}

func TestBurstsFallIntoTheBucketOfTheirTime(t *testing.T) {
	// 2^12 … 2^13 cycles at 2^31 Hz are 1.9 … 3.8 µs.
	w := &controlpb.WorkerStats{TscHz: 1 << 31, Latency: make([]uint64, 13), BusyCycles: 1 << 31}
	w.Latency[12] = 1000
	count, sum, buckets := bursts(w)
	if count != 1000 || sum != 1 {
		t.Errorf("count %d, sum %g s; want 1000 and 1", count, sum)
	}
	if n := buckets[burstBounds[2]]; n != 0 { // 1.0 µs
		t.Errorf("%d bursts of less than 1 µs, want none", n)
	}
	if n := buckets[burstBounds[3]]; n < 90 || n > 110 { // 2.0 µs: the logarithm's tenth
		t.Errorf("%d bursts of less than 2 µs, want about 100", n)
	}
	if n := buckets[burstBounds[4]]; n != 1000 { // 4.1 µs
		t.Errorf("%d bursts of less than 4 µs, want all", n)
	}
}

func TestQuantilesAreOfTheBurstsBetweenTwoSamples(t *testing.T) {
	before := &controlpb.WorkerStats{TscHz: 1e9, Latency: []uint64{5, 1000}}
	now := &controlpb.WorkerStats{TscHz: 1e9, Latency: []uint64{5, 1000, 0, 90, 0, 10}}
	for q, want := range map[float64]float64{
		0.5:   math.Exp2(3+50.0/90) / 1e9,
		0.9:   16e-9,
		0.99:  math.Exp2(5.9) / 1e9,
		0.999: math.Exp2(5.99) / 1e9,
	} {
		if got := quantile(q, before, now); math.Abs(got-want) > 1e-12 {
			t.Errorf("quantile %g: %g s, want %g", q, got, want)
		}
	}
	if got := quantile(0.5, now, now); got != 0 {
		t.Errorf("no bursts: %g s, want 0", got)
	}
}
