// Package scaling decides which core works on which shard, and how many cores and pods
// a chain has. Balancer is the agent's loop (100 ms): shards between the cores of a
// pod. Scaler is the operator's loop (seconds): cores per pod, pods, and shards
// between pods.
//
// The package decides and nothing else: no I/O and no clock, for the time is a part of
// what was seen. The same sequence of inputs gives the same sequence of decisions.
//
// Work is counted in cores: 1 is all the time of a core, busy or wanted.
package scaling

import (
	"cmp"
	"fmt"
	"time"
)

// Shard is a shard of a group of traffic classes: what is dispatched, owned and moved
// as one.
type Shard struct {
	Group  string
	Number int
}

// String is "group/number".
func (s Shard) String() string { return fmt.Sprintf("%s/%d", s.Group, s.Number) }

func (s Shard) compare(o Shard) int {
	return cmp.Or(cmp.Compare(s.Group, o.Group), cmp.Compare(s.Number, o.Number))
}

// Sample is what a pod did of late.
type Sample struct {
	At     time.Time
	Shards []ShardLoad // those that the pod owns
	Cores  []CoreLoad  // all that the pod owns, counted from 0
}

// ShardLoad is a shard, its owner and its load.
type ShardLoad struct {
	Shard Shard
	Core  int     // that owns it
	Work  float64 // done for it, in cores
	// Heaviest is the heaviest flow of the shard.
	Heaviest Flow
}

// Flow is a flow that was seen among samples of a shard's packets; zero: none is known.
type Flow struct {
	Name  string  // as people know it: "tcp 10.0.0.7:443 > 192.0.2.1:50123"
	Share float64 // of the shard's work, from 0 to 1
}

// CoreLoad is the packets of a core since the sample before, and its work beside shards.
type CoreLoad struct {
	Packets float64 // worked on
	Lost    float64 // for want of time: what its queue had no room for
	// Other is the work that was done for no shard of the core, in cores: packets that
	// it receives for other cores, or that meet no state. No move takes it away.
	Other float64
}

// hides is how much more than the work done may have been wanted. What a core that
// drowns could have done is not known better than that.
const hides = 4

// demand is the work that was wanted for each of the core's shards, by the work done: a
// core that loses packets did less than it should have.
func (c CoreLoad) demand() float64 {
	if c.Lost <= 0 {
		return 1
	}
	if c.Packets <= 0 {
		return hides
	}
	return min((c.Packets+c.Lost)/c.Packets, hides)
}

// demand is the work that was wanted for a shard.
func (s Sample) demand(l ShardLoad) float64 {
	if l.Core < 0 || l.Core >= len(s.Cores) {
		return l.Work
	}
	return l.Work * s.Cores[l.Core].demand()
}

// beside is the work that a core has beside that for its heaviest shard: what could be
// done elsewhere.
func beside(shards []ShardLoad, core int) float64 {
	heaviest, rest := 0.0, 0.0
	for _, l := range shards {
		if l.Core == core {
			rest += min(l.Work, heaviest)
			heaviest = max(l.Work, heaviest)
		}
	}
	return rest
}
