package telemetry

import (
	"math"

	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// rates are what the engine did between two samples.
type rates struct {
	seconds             float64
	packets, drop, loss float64 // per second
	cores               []engine.Core
}

func ratesOf(before, now *engine.Sample) rates {
	if now == nil {
		return rates{}
	}
	r := rates{cores: make([]engine.Core, len(now.Stats.GetWorkers()))}
	if before == nil {
		return r
	}
	r.seconds = now.At.Sub(before.At).Seconds()
	if r.seconds <= 0 {
		return r
	}
	b, n := before.Stats, now.Stats
	r.packets = engine.PerSecond(received(b), received(n), r.seconds)
	r.drop = engine.PerSecond(dropped(b, false), dropped(n, false), r.seconds)
	r.loss = engine.PerSecond(dropped(b, true), dropped(n, true), r.seconds)
	for i := range r.cores {
		r.cores[i] = engine.CoreOf(b.GetWorkers()[i], n.GetWorkers()[i], r.seconds)
	}
	return r
}

// received is the packets that came in.
func received(s *controlpb.Stats) uint64 {
	var sum uint64
	for _, p := range s.GetPorts() {
		sum += p.GetRxPackets()
	}
	return sum
}

// dropped is the packets that were dropped, or only those that were lost.
func dropped(s *controlpb.Stats, lost bool) uint64 {
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

func percent(part float64) int32 { return int32(math.Round(min(max(part, 0), 1) * 100)) }

func round(x float64) int64 { return int64(math.Round(x)) }
