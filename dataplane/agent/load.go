package agent

import (
	"math"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// rates are what the engine did between two samples.
type rates struct {
	seconds             float64
	packets, drop, loss float64 // per second
	cores               []core
}

// core is what a worker did between two samples.
type core struct {
	load            float64 // part of its time
	cyclesPerPacket float64
	packets         float64 // per second
}

func ratesOf(before, now *Sample) rates {
	if now == nil {
		return rates{}
	}
	r := rates{cores: make([]core, len(now.Stats.GetWorkers()))}
	if before == nil {
		return r
	}
	r.seconds = now.At.Sub(before.At).Seconds()
	if r.seconds <= 0 {
		return r
	}
	b, n := before.Stats, now.Stats
	r.packets = perSecond(received(b), received(n), r.seconds)
	r.drop = perSecond(dropped(b, false), dropped(n, false), r.seconds)
	r.loss = perSecond(dropped(b, true), dropped(n, true), r.seconds)
	for i := range r.cores {
		r.cores[i] = coreOf(b.GetWorkers()[i], n.GetWorkers()[i], r.seconds)
	}
	return r
}

func coreOf(b, n *programpb.WorkerStats, seconds float64) core {
	busy := float64(n.GetBusyCycles() - b.GetBusyCycles())
	idle := float64(n.GetIdleCycles() - b.GetIdleCycles())
	packets := float64(n.GetPackets() - b.GetPackets())
	c := core{packets: packets / seconds}
	if busy+idle > 0 {
		c.load = busy / (busy + idle)
	}
	if packets > 0 {
		c.cyclesPerPacket = busy / packets
	}
	return c
}

// perSecond is a counter's growth; one that began anew has not grown.
func perSecond(before, now uint64, seconds float64) float64 {
	if now < before {
		return 0
	}
	return float64(now-before) / seconds
}

// received is the packets that came in.
func received(s *programpb.Stats) uint64 {
	var sum uint64
	for _, p := range s.GetPorts() {
		sum += p.GetRxPackets()
	}
	return sum
}

// dropped is the packets that were dropped, or only those that were lost.
func dropped(s *programpb.Stats, lost bool) uint64 {
	var sum uint64
	for _, d := range s.GetDrops() {
		switch d.GetKind() {
		case programpb.DropKind_DROP_KIND_CONSUMED:
		case programpb.DropKind_DROP_KIND_LOSS:
			sum += d.GetPackets()
		default:
			if !lost {
				sum += d.GetPackets()
			}
		}
	}
	for _, p := range s.GetPorts() {
		sum += p.GetRxMissed()
	}
	return sum
}

// advanced tells whether every worker did rounds between two samples, which they do every few microseconds. Without a
// program they stand still.
func advanced(before, now *Sample) bool {
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

func percent(part float64) int32 { return int32(math.Round(min(max(part, 0), 1) * 100)) }

func round(x float64) int64 { return int64(math.Round(x)) }

// settled is how long after a load the numbers are of the new program alone.
const settled = sampleWindow * time.Second
