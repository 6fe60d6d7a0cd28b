package scaling

import (
	"testing"
	"time"
)

// BenchmarkDecide is the operator's loop, for a chain of 3 pods with 128 shards.
func BenchmarkDecide(b *testing.B) {
	w := chain(b, manyPods(3), 3.5)
	w.run(20 * time.Second)
	in := Input{Now: w.now, Bounds: w.bounds, Shards: w.shards}
	for _, p := range w.pods {
		in.Pods = append(in.Pods, Pod{Name: p.name, Ready: true, Cores: p.cores, Report: p.balancer.Report()})
	}
	for b.Loop() {
		in.Now = in.Now.Add(time.Second)
		w.scaler.Decide(in)
	}
}
