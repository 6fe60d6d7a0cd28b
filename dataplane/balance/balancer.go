// Package balance is the agent's loop (100 ms): which core of a pod works on which shard.
//
// It decides and nothing else: no I/O and no clock, for the time is a part of what was
// seen. The same sequence of samples gives the same sequence of decisions.
package balance

import (
	"math"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/load"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// Policy is how a pod's shards are balanced over its cores.
type Policy struct {
	// Smoothing is the time constant of loads.
	Smoothing time.Duration
	// Start and Stop are differences of load, in cores, between two cores: balancing
	// starts above the one and goes on until below the other.
	Start, Stop float64
	// Cost is the core time that any move costs, and Chill how long a shard's work is to
	// be done again after it, because caches are cold. Horizon is how long the gain of a
	// move is trusted to last. Moves that gain less than they cost are not made.
	Cost, Chill, Horizon time.Duration
	// Rest is how long a shard that was moved stays where it is, unless that is a core
	// with more than it can do.
	Rest time.Duration
	// Most is the number of moves per step.
	Most int
	// Heavy is the work from which on a shard is too heavy for a core, if it has it for
	// HeavyFor.
	Heavy    float64
	HeavyFor time.Duration
}

// DefaultPolicy is for a step every 100 ms.
var DefaultPolicy = Policy{
	Smoothing: 200 * time.Millisecond,
	Start:     0.15, Stop: 0.05,
	Cost: time.Millisecond, Chill: 20 * time.Millisecond, Horizon: time.Second,
	Rest: time.Second, Most: 32,
	Heavy: 0.9, HeavyFor: time.Second,
}

// cost is the core seconds that the move of a shard costs.
func (p Policy) cost(work float64) float64 { return p.Cost.Seconds() + p.Chill.Seconds()*work }

// Balancer is the agent's loop for one pod.
type Balancer struct {
	policy Policy
	seen   time.Time
	shards []track
	// going on: the last step left something to do
	active bool
	cores  []load.Core // since the last report
	other  []float64   // work by core that is no shard's, smoothed
}

// track is what is remembered of a shard.
type track struct {
	load.Shard
	work  float64 // wanted, smoothed
	moved time.Time
	heavy time.Time // since when
}

// New starts without a memory.
func New(p Policy) *Balancer { return &Balancer{policy: p} }

// Decision is what a step of the Balancer decided.
type Decision struct {
	Moves []Move
	// Heavy are the shards that are too heavy for a core.
	Heavy []load.Elephant
	// Urgent says that packets are lost for want of cores: the operator is to be told at
	// once.
	Urgent bool
}

// Move hands a shard from one core of the pod to another.
type Move struct {
	Shard    shard.ID
	From, To int
}

// Step decides about a pod of which the first working cores may work. The moves of the
// step before must be done, or given up: the sample says which core owns what.
func (b *Balancer) Step(s load.Sample, working int) Decision {
	b.remember(s)
	plan := newPlan(b.policy, b.shards, b.other, max(len(s.Cores), working), working, s.At)
	plan.settle(0) // what is on cores that are not to work any more
	b.active = plan.rebalance(b.active)
	for _, m := range plan.moves {
		b.shards[m.index].moved = s.At
	}
	return Decision{Moves: plan.list(), Heavy: b.elephants(s.At), Urgent: losing(s)}
}

// Adopt gives shards that come from another pod to the idlest of the working cores; their
// work is known from there. From is -1.
func (b *Balancer) Adopt(arriving []load.Shard, working int) []Move {
	shards := slices.Clone(b.shards)
	for _, l := range arriving {
		l.Core = -1
		shards = append(shards, track{Shard: l, work: l.Work})
	}
	policy := b.policy
	policy.Most = len(shards)
	plan := newPlan(policy, shards, b.other, working, working, b.seen)
	plan.settle(len(b.shards))
	return plan.list()
}

// losing tells whether a core loses packets that others could save.
func losing(s load.Sample) bool {
	for c, core := range s.Cores {
		if core.Lost > 0 && load.Beside(s.Shards, c) > load.Slack {
			return true
		}
	}
	return false
}

// Report is what the operator is to be told. It counts packets from the report before.
func (b *Balancer) Report() load.Report {
	r := load.Report{At: b.seen, Cores: b.cores, Heavy: b.elephants(b.seen)}
	for i := range r.Cores {
		r.Cores[i].Other = b.other[i]
	}
	b.cores = nil
	for _, t := range b.shards {
		l := t.Shard
		l.Work = t.work
		r.Shards = append(r.Shards, l)
	}
	return r
}

// remember takes a sample over.
func (b *Balancer) remember(s load.Sample) {
	weight := 1.0
	if !b.seen.IsZero() {
		passed := max(s.At.Sub(b.seen), 0)
		weight = 1 - math.Exp(-passed.Seconds()/b.policy.Smoothing.Seconds())
	}
	b.seen = s.At
	if len(b.cores) != len(s.Cores) {
		b.cores = make([]load.Core, len(s.Cores))
	}
	steep := weight
	if len(b.other) != len(s.Cores) {
		b.other, steep = make([]float64, len(s.Cores)), 1
	}
	for i, c := range s.Cores {
		b.cores[i].Packets += c.Packets
		b.cores[i].Lost += c.Lost
		b.other[i] += steep * (c.Other - b.other[i])
	}
	b.align(s.Shards)
	for i, l := range s.Shards {
		t := &b.shards[i]
		fresh := t.ID != l.ID
		if fresh {
			*t = track{}
		}
		t.Shard = l
		wanted := s.Demand(l)
		if fresh {
			t.work = wanted
		} else {
			t.work += weight * (wanted - t.work)
		}
		b.policy.weigh(t, s.At)
	}
}

// align brings the memory into the order of the sample. A shard that is new to the pod
// gets a place without memory.
func (b *Balancer) align(shards []load.Shard) {
	same := func(t track, l load.Shard) bool { return t.ID == l.ID }
	if slices.EqualFunc(b.shards, shards, same) {
		return
	}
	known := make(map[shard.ID]track, len(b.shards))
	for _, t := range b.shards {
		known[t.ID] = t
	}
	b.shards = make([]track, len(shards))
	for i, l := range shards {
		t, ok := known[l.ID]
		if !ok {
			t.ID = shard.ID{Number: -1} // no shard's
		}
		b.shards[i] = t
	}
}
