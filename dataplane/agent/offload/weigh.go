package offload

import (
	"time"

	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
)

// Rules are chosen again by measured traffic where room is short, and the classes' shares have changed by so much.
const (
	weighPeriod = 30 * time.Second
	weighLeast  = 1000 // packets
	weighMoved  = 0.2
)

// weigh takes what the interface's classes had so far as their weights. What has had nothing is not worth nothing.
func (p *port) weigh(d *Dispatch) {
	p.weighed = d.clock.Now()
	p.weights = d.measure(p)
}

// measure is the packets of the classes of a port's segment, and one each; nil if too few are known.
func (d *Dispatch) measure(p *port) []uint64 {
	stats := d.classes()
	if stats == nil || engine.HashOf(stats) != d.program.Hash {
		return nil
	}
	segment := d.program.GetInterfaces()[p.index].GetSegment()
	weights, sum := make([]uint64, len(d.program.GetSegments()[segment].GetClasses())), uint64(0)
	for i := range weights {
		weights[i] = 1
	}
	for _, c := range stats.GetClasses() {
		if c.GetSegment() == segment && int(c.GetClass()) < len(weights) {
			weights[c.GetClass()] += c.GetPackets()
			sum += c.GetPackets()
		}
	}
	if sum < weighLeast {
		return nil
	}
	return weights
}

// outweighed tells whether another choice of rules may save much more.
func (d *Dispatch) outweighed(p *port, now time.Time) bool {
	if now.Sub(p.weighed) < weighPeriod || 2*len(p.plan.Rules) < p.caps.Rules {
		return false
	}
	p.weighed = now
	return distance(p.weights, d.measure(p)) > weighMoved
}

// distance is the part of the weight that lies elsewhere.
func distance(a, b []uint64) float64 {
	if len(b) == 0 {
		return 0
	}
	if len(a) != len(b) {
		return 1
	}
	share := func(w []uint64) []float64 {
		sum, out := 0.0, make([]float64, len(w))
		for _, x := range w {
			sum += float64(x)
		}
		for i, x := range w {
			out[i] = float64(x) / sum
		}
		return out
	}
	x, y, d := share(a), share(b), 0.0
	for i := range x {
		d += max(x[i]-y[i], 0)
	}
	return d
}
