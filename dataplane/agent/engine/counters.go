package engine

import (
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// Core is what a worker did between two samples.
type Core struct {
	Load            float64 // part of its time
	CyclesPerPacket float64
	Packets         float64 // per second
}

// CoreOf is a worker between two samples that are so many seconds apart.
func CoreOf(b, n *controlpb.WorkerStats, seconds float64) Core {
	busy := float64(n.GetBusyCycles() - b.GetBusyCycles())
	idle := float64(n.GetIdleCycles() - b.GetIdleCycles())
	packets := float64(n.GetPackets() - b.GetPackets())
	c := Core{Packets: packets / seconds}
	if busy+idle > 0 {
		c.Load = busy / (busy + idle)
	}
	if packets > 0 {
		c.CyclesPerPacket = busy / packets
	}
	return c
}

// HandoverFull is the engine's reason for packets that found the way to another core full.
const HandoverFull = "handover-full"

// PerSecond is a counter's growth; one that was reset has not grown.
func PerSecond(before, now uint64, seconds float64) float64 {
	if now < before {
		return 0
	}
	return float64(now-before) / seconds
}

// Restarted tells whether counters were reset.
func Restarted(before, now *controlpb.Stats) bool {
	if len(before.GetWorkers()) != len(now.GetWorkers()) {
		return true
	}
	for i, w := range now.GetWorkers() {
		if b := before.GetWorkers()[i]; w.GetPackets() < b.GetPackets() || w.GetBusyCycles() < b.GetBusyCycles() {
			return true
		}
	}
	return false
}

// Advanced tells whether every worker did rounds between two samples, which they do every few microseconds. Without a
// program they stand still.
func Advanced(before, now *Sample) bool {
	if before == nil || before.Hash() == "" || len(before.Stats.GetWorkers()) != len(now.Stats.GetWorkers()) {
		return true // nothing to compare
	}
	for i, n := range now.Stats.GetWorkers() {
		b := before.Stats.GetWorkers()[i]
		if n.GetBusyCycles() == b.GetBusyCycles() && n.GetIdleCycles() == b.GetIdleCycles() {
			return false
		}
	}
	return true
}

// Owned are the shards of each worker.
func Owned(s *controlpb.Stats) []shard.Set {
	shards := make([]shard.Set, len(s.GetWorkers()))
	for i, one := range s.GetShards() {
		if w := int(one.GetWorker()); w < len(shards) && IsHere(one) {
			shards[w].Add(i)
		}
	}
	return shards
}

// IsHere tells whether the engine has a shard, be it that it is giving it away.
func IsHere(s *controlpb.ShardStats) bool {
	return s.GetPlace() == controlpb.ShardPlace_SHARD_HERE || s.GetPlace() == controlpb.ShardPlace_SHARD_GIVING
}
