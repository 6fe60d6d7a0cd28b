// Package load is what a pod's cores do and what shards want, as the agent measures it
// and as it reports it to the operator.
//
// Work is counted in cores: 1 is all the time of a core, busy or wanted.
package load

import (
	"time"

	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// Sample is what a pod did of late.
type Sample struct {
	At     time.Time
	Shards []Shard // those that the pod owns
	Cores  []Core  // all that the pod owns, counted from 0
}

// Shard is a shard, its owner and its load.
type Shard struct {
	ID   shard.ID
	Core int     // that owns it
	Work float64 // done for it, in cores
	// Heaviest is the heaviest flow of the shard.
	Heaviest Flow
}

// Flow is a flow that was seen among samples of a shard's packets; zero: none is known.
type Flow struct {
	Name  string  // as people know it: "tcp 10.0.0.7:443 > 192.0.2.1:50123"
	Share float64 // of the shard's work, from 0 to 1
}

// Core is the packets of a core since the sample before, and its work beside shards.
type Core struct {
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
func (c Core) demand() float64 {
	if c.Lost <= 0 {
		return 1
	}
	if c.Packets <= 0 {
		return hides
	}
	return min((c.Packets+c.Lost)/c.Packets, hides)
}

// Demand is the work that was wanted for a shard.
func (s Sample) Demand(l Shard) float64 {
	if l.Core < 0 || l.Core >= len(s.Cores) {
		return l.Work
	}
	return l.Work * s.Cores[l.Core].demand()
}

// Slack is how much more than its heaviest shard a core may have: next to nothing,
// which is not worth a core of its own.
const Slack = 0.02

// Beside is the work that a core has beside that for its heaviest shard: what could be
// done elsewhere.
func Beside(shards []Shard, core int) float64 {
	heaviest, rest := 0.0, 0.0
	for _, l := range shards {
		if l.Core == core {
			rest += min(l.Work, heaviest)
			heaviest = max(l.Work, heaviest)
		}
	}
	return rest
}

// Report is what a pod's agent tells the operator.
type Report struct {
	At     time.Time
	Shards []Shard // with the work wanted, smoothed; of a pod that is not ready those that it last had
	Cores  []Core  // since the report before
	Heavy  []Elephant
}
