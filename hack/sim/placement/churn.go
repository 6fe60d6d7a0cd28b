package main

import (
	"slices"
	"time"
)

// churnResult is how a policy does while chains come and go.
type churnResult struct {
	Policy  string
	Samples []sample
	Asked   []float64 // nodes, per placement
	Times   []float64 // ns, per placement
	Refused int
}

// sample is the balance of true load over nodes after so many arrivals.
type sample struct {
	Arrivals  int
	Peak      float64 // max/mean
	Deviation float64
}

const samples = 200 // per run

// churn fills a cluster, then replaces chains one by one. Loads are reported
// every period arrivals, at 1 at once.
func churn(s sizes, p policy, period int, clock func() time.Duration) churnResult {
	c, w, rng := newCluster(s.Nodes, period == 1), newWorkload(s.Seed), choices(s.Seed)
	res := churnResult{Policy: p.Name}
	var chains []chain
	every := max(1, s.Turnover/samples)
	for arrivals := 1; arrivals <= s.Chains+s.Turnover; arrivals++ {
		measured := arrivals - s.Chains
		if measured > 0 {
			i := w.departure(len(chains))
			if gone := chains[i]; gone.node >= 0 {
				c.put(gone.node, gone, -1)
			}
			chains = slices.Delete(chains, i, i+1)
		}
		ch := w.arrival()
		began := clock()
		name, asked := p.choose(c.nodes, ch.req, rng)
		took := clock() - began
		if name != "" {
			ch.node = c.index[name]
			c.put(ch.node, ch, 1)
		}
		chains = append(chains, ch)
		if arrivals%period == 0 {
			c.report()
		}
		if measured <= 0 {
			continue
		}
		res.Asked = append(res.Asked, float64(asked))
		res.Times = append(res.Times, float64(took.Nanoseconds()))
		if name == "" {
			res.Refused++
		}
		if measured%every == 0 {
			res.Samples = append(res.Samples, sample{measured, slices.Max(c.load) / mean(c.load), deviation(c.load)})
		}
	}
	return res
}
