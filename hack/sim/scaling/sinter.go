package main

import (
	"fmt"
	"time"

	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/dataplane/balance"
	"github.com/sinter-nfv/sinter/dataplane/load"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// policy scales a chain after each tick.
type policy interface {
	act(*world)
	// working is how many cores are at work.
	working(*world) int
}

// sinter is package scaling: a Balancer per pod and a Scaler.
type sinter struct {
	scaler    *scaling.Scaler
	balancers []*balance.Balancer
	cores     []int
	index     map[shard.ID]int
	told      time.Duration        // when the operator decided
	urgent    bool                 // an agent has said so since
	samples   [maxPods]load.Sample // used again each tick
}

func newSinter(w *world) policy {
	s := &sinter{scaler: scaling.NewScaler(scaling.DefaultPolicy), index: map[shard.ID]int{}}
	for i, name := range w.names {
		s.index[name] = i
	}
	s.fit(1)
	return s
}

var bounds = scaling.Bounds{MinPods: 1, MaxPods: maxPods, MinCores: 1, MaxCores: podCores, Target: target}

// start of the simulation, a time like any other.
var start = time.Unix(0, 0).UTC()

func (s *sinter) act(w *world) {
	if w.now-s.told >= period || s.urgent && w.now-s.told >= pause {
		s.told = w.now
		s.operate(w) // by reports of the tick before
	}
	s.urgent = false
	samples := s.samples[:len(w.ready)]
	for pod := range samples {
		samples[pod].Shards, samples[pod].Cores = samples[pod].Shards[:0], samples[pod].Cores[:0]
	}
	for i, name := range w.names {
		pod := w.owner[i] / podCores
		samples[pod].Shards = append(samples[pod].Shards, load.Shard{ID: name, Core: w.owner[i] % podCores, Work: w.done[i]})
	}
	for pod := range samples {
		if !w.isReady(pod) {
			continue
		}
		samples[pod].At = start.Add(w.now)
		for c := range podCores {
			k := w.cores[pod*podCores+c]
			samples[pod].Cores = append(samples[pod].Cores, load.Core{Packets: packets * k.done, Lost: packets * k.lost})
		}
		d := s.balancers[pod].Step(samples[pod], s.cores[pod])
		s.urgent = s.urgent || d.Urgent
		for _, m := range d.Moves {
			w.move(s.index[m.Shard], pod*podCores+m.To)
		}
	}
}

const pause = 250 * time.Millisecond // the least between urgent reports

const packets = 1e6 // that a core does in a second

func (s *sinter) operate(w *world) {
	in := scaling.Input{Now: start.Add(w.now), Bounds: bounds, Shards: w.names}
	for pod := range w.ready {
		name := fmt.Sprint(pod)
		in.Pods = append(in.Pods, scaling.Pod{Name: name, Node: name, Ready: w.isReady(pod), Cores: s.cores[pod], Report: s.balancers[pod].Report()})
	}
	d := s.scaler.Decide(in)
	for pod, plan := range d.Plans {
		s.cores[pod] = plan.Cores
	}
	arriving := map[string][]load.Shard{}
	for _, h := range d.Handovers {
		i := s.index[h.Shard]
		arriving[h.To] = append(arriving[h.To], load.Shard{ID: h.Shard, Work: w.wanted[i]})
	}
	for pod, plan := range d.Plans {
		for _, m := range s.balancers[pod].Adopt(arriving[plan.Pod], s.cores[pod]) {
			w.move(s.index[m.Shard], pod*podCores+m.To)
		}
	}
	pods := d.Pods
	for pod, p := range in.Pods { // only the last ones can end here
		if len(p.Report.Shards) > 0 {
			pods = max(pods, pod+1)
		}
	}
	w.resize(pods)
	s.fit(pods)
}

// fit has a balancer for each pod.
func (s *sinter) fit(pods int) {
	for len(s.balancers) < pods {
		s.balancers = append(s.balancers, balance.New(balance.DefaultPolicy))
		s.cores = append(s.cores, 1)
	}
	s.balancers, s.cores = s.balancers[:pods], s.cores[:pods]
}

func (s *sinter) working(w *world) int {
	total := 0
	for pod, n := range s.cores {
		if w.isReady(pod) {
			total += n
		}
	}
	return total
}
