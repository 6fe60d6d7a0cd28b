package balance

import (
	"math"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/load"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// fullyBusy is the load of a core from which on packets that a queue had no room for were lost for want of time.
const fullyBusy = 0.9

// continues tells whether two readings are of the same shards and workers, and counted on.
func continues(before, now *controlpb.Stats) bool {
	if engine.Restarted(before, now) || len(before.GetShards()) != len(now.GetShards()) || now.GetNowNs() <= before.GetNowNs() {
		return false
	}
	for i, n := range now.GetShards() {
		if n.GetCycles() < before.GetShards()[i].GetCycles() {
			return false
		}
	}
	return true
}

// loadsOf is what cores and shards did between two readings, for the balancer. The time is the engine's.
func loadsOf(before, now *controlpb.Stats) load.Sample {
	s := load.Sample{At: time.Unix(0, int64(now.GetNowNs()))}
	cycles := make([]float64, len(now.GetWorkers()))
	busy := make([]bool, len(cycles))
	var worked float64 // packets of busy cores
	for i, n := range now.GetWorkers() {
		b := before.GetWorkers()[i]
		c := engine.CoreOf(b, n, 1)
		s.Cores = append(s.Cores, load.Core{Packets: c.Packets, Other: c.Load})
		cycles[i] = float64(n.GetBusyCycles() - b.GetBusyCycles() + n.GetIdleCycles() - b.GetIdleCycles())
		if busy[i] = c.Load >= fullyBusy; busy[i] {
			worked += c.Packets
		}
	}
	for i, n := range now.GetShards() {
		if n.GetPlace() != controlpb.ShardPlace_SHARD_HERE {
			continue // another pod's, or on its way
		}
		l := load.Shard{ID: shard.ID{Group: shard.GroupAll, Number: i}, Core: int(n.GetWorker())}
		if l.Core < len(cycles) && cycles[l.Core] > 0 {
			l.Work = float64(n.GetCycles()-before.GetShards()[i].GetCycles()) / cycles[l.Core]
			s.Cores[l.Core].Other = max(s.Cores[l.Core].Other-l.Work, 0)
		}
		s.Shards = append(s.Shards, l)
	}
	lost := overflowed(before, now)
	for i, n := range now.GetWorkers() {
		s.Cores[i].Lost = engine.PerSecond(before.GetWorkers()[i].GetRxMissed(), n.GetRxMissed(), 1)
		lost -= s.Cores[i].Lost
	}
	if lost > 0 && worked > 0 {
		for i := range s.Cores {
			if busy[i] { // which of them it was, nobody tells
				s.Cores[i].Lost += lost * s.Cores[i].Packets / worked
			}
		}
	}
	return s
}

// overflowed is the packets for which a queue had no room, between two readings.
func overflowed(before, now *controlpb.Stats) float64 {
	sum := func(s *controlpb.Stats) (n uint64) {
		for _, p := range s.GetPorts() {
			n += p.GetRxMissed()
		}
		for _, d := range s.GetDrops() {
			if d.GetKind() == programpb.DropKind_DROP_KIND_LOSS && d.GetReason() == engine.HandoverFull {
				n += d.GetPackets()
			}
		}
		return n
	}
	return engine.PerSecond(sum(before), sum(now), 1)
}

// tooHeavy are the shards that are too heavy for a core.
func tooHeavy(heavy []load.Elephant) shard.Set {
	var set shard.Set
	for _, e := range heavy {
		set.Add(e.Shard.Number)
	}
	return set
}

// thousandths is the work that shards want, by their number, in thousandths of a core, up to the last that wants any.
func thousandths(shards []load.Shard) []int32 {
	last := 0
	for _, l := range shards {
		last = max(last, l.ID.Number+1)
	}
	work := make([]int32, last)
	last = 0
	for _, l := range shards {
		w := int32(math.Round(1000 * min(max(l.Work, 0), mostWork)))
		if work[l.ID.Number] = w; w > 0 {
			last = max(last, l.ID.Number+1)
		}
	}
	return work[:last]
}

// mostWork is the cores that a shard can want by the status' schema.
const mostWork = 64

// others is what cores do beside their shards, in thousandths of a core.
func others(cores []load.Core) []int32 {
	out := make([]int32, len(cores))
	for i, c := range cores {
		out[i] = int32(math.Round(1000 * min(max(c.Other, 0), 1)))
	}
	return out
}

// whole are counts without their fractions.
func whole(counts []float64) []int64 {
	out := make([]int64, len(counts))
	for i, n := range counts {
		out[i] = int64(n)
	}
	return out
}
