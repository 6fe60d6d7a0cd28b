package balance

import (
	"fmt"
	"math"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// readings are of an engine with two cores of which the first owns shard 0 and the second shard 1, one of 1,000 cycles after
// the other.
func readings() (before, now *controlpb.Stats) {
	before = &controlpb.Stats{
		NowNs:   1e9,
		Workers: []*controlpb.WorkerStats{{}, {}},
		Shards:  []*controlpb.ShardStats{{Worker: 0}, {Worker: 1}},
		Ports:   []*controlpb.PortStats{{Interface: "in"}},
	}
	now = &controlpb.Stats{
		NowNs:   2e9,
		Workers: []*controlpb.WorkerStats{{Packets: 300, BusyCycles: 700, IdleCycles: 300}, {Packets: 100, BusyCycles: 400, IdleCycles: 600}},
		Shards:  []*controlpb.ShardStats{{Worker: 0, Cycles: 500}, {Worker: 1, Cycles: 400}},
		Ports:   []*controlpb.PortStats{{Interface: "in"}},
	}
	return before, now
}

func TestWorkOfShardsAndWhatCoresDoBesideIt(t *testing.T) {
	s := loadsOf(readings())
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: got %g, want %g", what, got, want)
		}
	}
	near("work of shard 0", s.Shards[0].Work, 0.5)
	near("work of shard 1", s.Shards[1].Work, 0.4)
	near("other work of core 0", s.Cores[0].Other, 0.2)
	near("other work of core 1", s.Cores[1].Other, 0)
	near("packets of core 0", s.Cores[0].Packets, 300)
	if s.Shards[0].Core != 0 || s.Shards[1].Core != 1 {
		t.Errorf("owners: %d and %d, want 0 and 1", s.Shards[0].Core, s.Shards[1].Core)
	}
}

func TestPacketsThatFindNoRoomAreLostByTheCoresThatHaveNoTime(t *testing.T) {
	for name, c := range map[string]struct {
		busy [2]uint64 // cycles of 1,000
		want [2]float64
		told [2]uint64 // of the device's 50, by queue
	}{
		"by the one that is fully busy":                           {[2]uint64{950, 400}, [2]float64{80, 0}, [2]uint64{}},
		"by both, as they have packets":                           {[2]uint64{950, 900}, [2]float64{60, 20}, [2]uint64{}},
		"by none if both have time: it was a burst's":             {[2]uint64{700, 400}, [2]float64{0, 0}, [2]uint64{}},
		"by the one whose queue was full, and the rest as before": {[2]uint64{950, 400}, [2]float64{30, 50}, [2]uint64{0, 50}},
		"by the one whose queue was full, whatever time it has":   {[2]uint64{700, 400}, [2]float64{40, 10}, [2]uint64{40, 10}},
	} {
		t.Run(name, func(t *testing.T) {
			before, now := readings()
			for i, w := range now.GetWorkers() {
				w.BusyCycles, w.IdleCycles, w.RxMissed = c.busy[i], 1000-c.busy[i], c.told[i]
			}
			now.Ports[0].RxMissed = 50
			now.Drops = []*controlpb.DropStats{{Reason: engine.HandoverFull, Kind: programpb.DropKind_DROP_KIND_LOSS, Packets: 30}, {Reason: engine.HandoverFull, Kind: programpb.DropKind_DROP_KIND_DECISION, Packets: 1000}}
			s := loadsOf(before, now)
			if got := [2]float64{s.Cores[0].Lost, s.Cores[1].Lost}; got != c.want {
				t.Errorf("lost %g, want %g", got, c.want)
			}
		})
	}
}

func TestReadingsThatDoNotContinueEachOtherAreTold(t *testing.T) {
	for name, change := range map[string]func(before, now *controlpb.Stats){
		"a restarted engine":          func(before, _ *controlpb.Stats) { before.Workers[0].Packets = 1e6 },
		"a program with fewer shards": func(_, now *controlpb.Stats) { now.Shards = now.Shards[:1] },
		"a shard that counts again":   func(before, _ *controlpb.Stats) { before.Shards[1].Cycles = 401 },
		"no time went by":             func(before, now *controlpb.Stats) { now.NowNs = before.NowNs },
	} {
		before, now := readings()
		change(before, now)
		if continues(before, now) {
			t.Errorf("%s: the readings are compared", name)
		}
	}
	if before, now := readings(); !continues(before, now) {
		t.Error("readings of one engine are not compared")
	}
}

func TestTheBalancerLeavesShardsAloneThatAreNotHere(t *testing.T) {
	stats := func(now uint64) *controlpb.Stats {
		return &controlpb.Stats{
			NowNs:   now,
			Workers: []*controlpb.WorkerStats{{BusyCycles: now, IdleCycles: now}},
			Shards:  []*controlpb.ShardStats{{}, {Place: controlpb.ShardPlace_SHARD_AWAY}, {Cycles: now}},
		}
	}
	sample := loadsOf(stats(1000), stats(2000))
	if len(sample.Shards) != 2 || sample.Shards[1].ID.Number != 2 {
		t.Errorf("shards: %v, want 0 and 2", sample.Shards)
	}
	if work := thousandths(sample.Shards); fmt.Sprint(work) != "[0 0 500]" {
		t.Errorf("work: %v, want half a core for shard 2", work)
	}
}
