package main

import (
	"time"

	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// world is a chain's pods and cores. Core c is one of pod c/podCores.
type world struct {
	now    time.Duration
	names  []shard.ID
	owner  []int     // core, by shard
	wanted []float64 // cores, by shard, in the last tick
	done   []float64 // the same, as far as it was done
	cores  [maxPods * podCores]core
	ready  []time.Duration // when each pod is, that there is
	moved  counts          // in the last tick
}

// core is what a core did in the last tick, in core seconds.
type core struct {
	wanted, done, lost float64
	waits              float64 // in its queue
	busy               float64 // the part of its time, since the policy asked
}

type counts struct{ within, between int }

func newWorld(l *workload) *world {
	w := &world{names: l.names, owner: make([]int, shards), wanted: make([]float64, shards), done: make([]float64, shards)}
	w.ready = append(w.ready, 0)
	return w
}

// work lets a tick pass.
func (w *world) work(l *workload) {
	w.now += tick
	w.moved = counts{}
	l.next(w.now, w.wanted)
	dt := tick.Seconds()
	for c := range w.cores {
		w.cores[c].wanted = 0
	}
	for i, work := range w.wanted {
		w.cores[w.owner[i]].wanted += work * dt
	}
	for c := range w.cores {
		k := &w.cores[c]
		there := k.waits + k.wanted
		k.done = min(there, dt)
		k.waits = min(there-k.done, queue)
		k.lost = there - k.done - k.waits
		k.busy += k.done
	}
	for i, work := range w.wanted {
		k := &w.cores[w.owner[i]]
		w.done[i] = work
		if k.wanted > 0 {
			w.done[i] *= min(1, k.done/k.wanted)
		}
	}
}

// move hands a shard to another core, which pays for it.
func (w *world) move(shard, to int) {
	from := w.owner[shard]
	switch {
	case from == to:
		return
	case from/podCores == to/podCores:
		w.moved.within++
		w.cores[to].waits += costCore
	default:
		w.moved.between++
		w.cores[to].waits += costPod
	}
	w.owner[shard] = to
}

// isReady tells whether a pod takes packets.
func (w *world) isReady(pod int) bool { return pod < len(w.ready) && w.now >= w.ready[pod] }

// resize orders pods, or ends the last ones.
func (w *world) resize(pods int) {
	for len(w.ready) < pods {
		w.ready = append(w.ready, w.now+podStart)
	}
	w.ready = w.ready[:pods]
}
