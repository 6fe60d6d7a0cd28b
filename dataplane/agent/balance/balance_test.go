package balance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// simulated is an engine whose shards want work without end, in a time that the test makes.
type simulated struct {
	clock   *clocktesting.FakeClock
	work    []float64 // that each shard wants, in cores
	owner   []uint32
	workers []*controlpb.WorkerStats
	shards  []*controlpb.ShardStats
	read    time.Time
	life    uint64
	loading bool
	down    error
	refuses error
	asked   int
	ordered int // calls of MoveShards
	sampled int // calls of Sample
	packets []*controlpb.TracedPacket
	denies  error // of Sample
	missed  uint64
}

// newSimulated makes an engine with so many cores and shards of the same work, all on the first core.
func newSimulated(cores, shards int, work float64) *simulated {
	e := &simulated{clock: clocktesting.NewFakeClock(time.Unix(1_000_000, 0)), work: slices.Repeat([]float64{work}, shards)}
	e.restart(cores)
	return e
}

// restart is another engine: it counts from zero, and all shards are on the first core.
func (e *simulated) restart(cores int) {
	e.life++
	e.owner = make([]uint32, len(e.work))
	e.workers, e.shards, e.read = nil, nil, e.clock.Now()
	for range cores {
		e.workers = append(e.workers, &controlpb.WorkerStats{})
	}
	for range e.work {
		e.shards = append(e.shards, &controlpb.ShardStats{})
	}
}

func (e *simulated) Loading() bool { return e.loading }

func (e *simulated) Loads(context.Context) (*controlpb.Stats, uint64, error) {
	e.asked++
	if e.down != nil {
		return nil, e.life, e.down
	}
	cycles := float64(e.clock.Since(e.read).Nanoseconds())
	e.read = e.clock.Now()
	stats := &controlpb.Stats{NowNs: uint64(e.read.UnixNano())}
	idle := slices.Repeat([]float64{cycles}, len(e.workers))
	stats.Ports = []*controlpb.PortStats{{Interface: "in", RxMissed: e.missed}}
	for i, s := range e.shards {
		done := uint64(e.work[i] * cycles)
		s.Worker, s.Cycles, s.Packets = e.owner[i], s.Cycles+done, s.Packets+done/100
		e.workers[s.Worker].BusyCycles += done
		e.workers[s.Worker].Packets += done / 100
		idle[s.Worker] -= float64(done)
		stats.Shards = append(stats.Shards, &controlpb.ShardStats{Worker: s.Worker, Cycles: s.Cycles, Packets: s.Packets})
	}
	for i, w := range e.workers {
		w.IdleCycles += uint64(max(idle[i], 0))
		stats.Workers = append(stats.Workers, &controlpb.WorkerStats{Packets: w.Packets, BusyCycles: w.BusyCycles, IdleCycles: w.IdleCycles})
	}
	return stats, e.life, nil
}

func (e *simulated) MoveShards(_ context.Context, moves []*controlpb.ShardMove) ([]time.Duration, error) {
	e.ordered++
	if e.refuses != nil {
		return nil, e.refuses
	}
	for _, m := range moves {
		e.owner[m.GetShard()] = m.GetWorker()
	}
	return slices.Repeat([]time.Duration{30 * time.Microsecond}, len(moves)), nil
}

// on is how many shards a core has.
func (e *simulated) Sample(_ context.Context, want *controlpb.StartTrace) ([]*controlpb.TracedPacket, error) {
	e.sampled++
	if want.GetOneIn() < 2 || want.GetDurationNs() == 0 || want.GetMaxPackets() == 0 {
		return nil, errors.New("a trace of all packets for long")
	}
	return e.packets, e.denies
}

func (e *simulated) on(core uint32) (n int) {
	for _, o := range e.owner {
		if o == core {
			n++
		}
	}
	return n
}

// run has the balancer do its steps for a while.
func (e *simulated) run(t *testing.T, b *Balance, working int, d time.Duration) {
	t.Helper()
	for end := e.clock.Now().Add(d); e.clock.Now().Before(end); {
		e.clock.Step(b.Step(t.Context(), working))
	}
}

func balancer(e *simulated) *Balance { return New(e, false, e.clock, logr.Discard()) }

func TestWhatShardsOfOneCoreWantIsToldWhereOtherPodsCouldHaveThem(t *testing.T) {
	for _, shared := range []bool{false, true} {
		e := newSimulated(1, 128, 0.5/128)
		b := balancer(e)
		b.shared = shared
		e.run(t, b, 1, 20*time.Second)
		sum := int32(0)
		for _, w := range b.State().Work {
			sum += w
		}
		if shared && (sum < 450 || sum > 550) || !shared && sum != 0 {
			t.Errorf("shared %t: shards are said to want %d thousandths of a core", shared, sum)
		}
		if e.asked > 25 || e.ordered > 0 {
			t.Errorf("shared %t: in 20 s the engine was asked %d times, %d times to move shards", shared, e.asked, e.ordered)
		}
	}
}

func TestTheLoadOfOneCoreSpreadsOverAllWithinASecond(t *testing.T) {
	e := newSimulated(4, 128, 0.9/128)
	b := balancer(e)
	e.run(t, b, 0, time.Second)
	for core := range uint32(4) {
		if n := e.on(core); n < 24 || n > 40 {
			t.Errorf("core %d has %d shards of 128, want about 32", core, n)
		}
	}
	moved := b.Moves.Done.Load()
	e.run(t, b, 0, 10*time.Second)
	if more := b.Moves.Done.Load() - moved; more > 0 || moved < 80 {
		t.Errorf("%d moves in the first second, %d in the ten after it, want about 96 and none", moved, more)
	}
	if s := b.State(); s.Working != 4 || s.Failed != nil || s.Heavy.Len() > 0 {
		t.Errorf("state: %+v, want 4 working cores and nothing wrong", s)
	}
}

func TestShardsLeaveCoresThatAreNotToWork(t *testing.T) {
	e := newSimulated(4, 128, 0.4/128)
	b := balancer(e)
	e.run(t, b, 0, 2*time.Second)
	e.run(t, b, 1, 2*time.Second)
	if n := e.on(0); n != 128 {
		t.Errorf("the only working core has %d shards, want all", n)
	}
}

func TestWhatCannotBeBalancedIsLeftAloneAndAskedForOnceASecond(t *testing.T) {
	for name, e := range map[string]*simulated{
		"one core":              newSimulated(1, 128, 0.9/128),
		"state of one shard":    newSimulated(2, 1, 0.9),
		"no state":              newSimulated(2, 0, 0),
		"an engine that is not": newSimulated(2, 128, 0.9/128),
	} {
		if strings.Contains(name, "is not") {
			e.down = engine.ErrNone
		}
		b := balancer(e)
		e.run(t, b, 0, 10*time.Second)
		if e.ordered != 0 || e.asked != 10 || b.State().Working != 0 {
			t.Errorf("%s: asked %d times, %d orders, %+v; want 10, none, and nothing balanced", name, e.asked, e.ordered, b.State())
		}
	}
}

func TestAfterARestartTheBalancerBeginsAnew(t *testing.T) {
	e := newSimulated(2, 64, 0.6/64)
	b := balancer(e)
	e.run(t, b, 0, 3*time.Second)
	e.down = engine.ErrNone
	e.run(t, b, 0, 3*time.Second)
	if b.State().Working != 0 {
		t.Errorf("without an engine: %+v", b.State())
	}
	e.down = nil
	e.restart(2)
	e.run(t, b, 0, time.Second+balanceIdle)
	if n := e.on(1); n < 24 {
		t.Errorf("core 1 of the new engine has %d shards of 64", n)
	}
	e.restart(2) // so fast that no request failed
	before := e.ordered
	e.clock.Step(b.Step(t.Context(), 0))
	if e.ordered != before {
		t.Error("counters of two engines were compared")
	}
}

func TestWhileAProgramIsLoadedTheEngineIsNotAsked(t *testing.T) {
	e := newSimulated(2, 64, 0.6/64)
	b := balancer(e)
	e.loading = true
	e.run(t, b, 0, time.Second)
	if e.asked != 0 {
		t.Errorf("asked %d times", e.asked)
	}
	e.loading = false
	e.run(t, b, 0, time.Second)
	e.work = slices.Repeat([]float64{0.6 / 32}, 32) // another program, with fewer shards
	e.owner, e.shards = make([]uint32, 32), e.shards[:32]
	e.run(t, b, 0, time.Second)
	if n := e.on(1); n < 12 {
		t.Errorf("core 1 has %d shards of the new program's 32", n)
	}
}

func TestMovesThatFailAreTriedAgainAfterGrowingPauses(t *testing.T) {
	e := newSimulated(2, 64, 0.6/64)
	e.refuses = errors.New("engine refused move shards: move: shard 5, there are 1")
	b := balancer(e)
	e.run(t, b, 0, 7*time.Second)
	if e.ordered != 3 || b.Moves.Failed.Load() != 3 { // at 0.1, 1.2, 3.3 and 7.4 s
		t.Errorf("%d orders, %d counted as failed; want 3 in 7 s", e.ordered, b.Moves.Failed.Load())
	}
	if !errors.Is(b.State().Failed, e.refuses) {
		t.Errorf("state: %v", b.State().Failed)
	}
	e.run(t, b, 0, time.Hour)
	if e.ordered > 70 {
		t.Errorf("%d orders in an hour, want about one a minute", e.ordered)
	}
	e.refuses = nil
	e.run(t, b, 0, maxMovePause+time.Second)
	if n := e.on(1); n < 24 || b.State().Failed != nil {
		t.Errorf("the engine moves shards again, and core 1 has %d of 64; %v", n, b.State().Failed)
	}
}

func TestAShardThatIsTooHeavyIsNamed(t *testing.T) {
	e := newSimulated(2, 8, 0.01)
	e.work[5] = 0.95
	b := balancer(e)
	e.run(t, b, 0, 3*time.Second)
	if got := b.State().Heavy; got != shard.Of(5) {
		t.Fatalf("too heavy are %v, want shard 5", got)
	}
	if e.on(e.owner[5]) != 1 {
		t.Errorf("shard 5 shares core %d with %d others", e.owner[5], e.on(e.owner[5])-1)
	}
	e.work[5] = 0.1
	e.run(t, b, 0, 3*time.Second)
	if got := b.State().Heavy; got.Len() != 0 {
		t.Errorf("too heavy are %v, want none any more", got)
	}
}

func TestTheOperatorIsToldWhatShardsWantAndWhatCoresLost(t *testing.T) {
	e := newSimulated(2, 8, 0.02)
	e.work[3], e.work[6], e.work[7] = 0.3, 0.004, 0
	b := balancer(e)
	e.run(t, b, 1, 2*time.Second)
	if got, want := b.State().Work, []int32{20, 20, 20, 300, 20, 20, 4}; !slices.Equal(got, want) {
		t.Errorf("shards want %v thousandths of a core, want %v: the last one wants nothing", got, want)
	}
	if s := b.State(); !slices.Equal(s.Lost, []int64{0, 0}) || s.Urgent != 0 {
		t.Errorf("without loss: lost %v, urgent %d times", s.Lost, s.Urgent)
	}
	heard := func() bool {
		select {
		case <-b.Hurry():
			return true
		default:
			return false
		}
	}
	lose := func(working int) {
		e.missed += 500
		e.clock.Step(b.Step(t.Context(), working))
	}
	e.work[3] = 0.85 // with the others, all of a core
	e.run(t, b, 1, time.Second)
	lose(1)
	lose(1)
	if s := b.State(); !slices.Equal(s.Lost, []int64{1000, 0}) || s.Urgent != 2 || !heard() {
		t.Errorf("lost %v, urgent %d times; want 1000 packets by core 0 in two urgent steps", s.Lost, s.Urgent)
	}
	e.run(t, b, 2, time.Second)
	e.work[1], e.work[2] = 0.45, 0.45
	lose(2)
	if s := b.State(); s.Urgent != 2 || heard() {
		t.Errorf("urgent %d times, want 2: no core is left that could help", s.Urgent)
	}
	e.restart(2)
	e.run(t, b, 2, time.Second)
	if s := b.State(); len(s.Lost) != 2 || s.Lost[0] != 0 || s.Urgent != 2 {
		t.Errorf("another engine: lost %v, urgent %d times; want none, and 2 as before", s.Lost, s.Urgent)
	}
}
