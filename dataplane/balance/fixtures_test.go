package balance

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/load"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

const tick = 100 * time.Millisecond // of the agent's loop

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// shardsOf are so many shards of a group.
func shardsOf(group string, n int) []shard.ID {
	list := make([]shard.ID, n)
	for i := range list {
		list[i] = shard.ID{Group: group, Number: i}
	}
	return list
}

// world is a pod whose engine does at once what it is told.
type world struct {
	t      reporter
	now    time.Time
	work   map[shard.ID]float64 // wanted
	shards []shard.ID
	noise  func() float64 // factor of what is wanted
	flow   map[shard.ID]load.Flow
	pod    *agent
	moves  int
}

type agent struct {
	owns     int // cores
	cores    int // that work
	owner    map[shard.ID]int
	balancer *Balancer
	heavy    []load.Elephant
}

// reporter is a test of testing or of rapid.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newWorld(t reporter, cores int, shards []shard.ID) *world {
	w := &world{
		t: t, now: epoch, work: map[shard.ID]float64{}, shards: shards, noise: func() float64 { return 1 }, flow: map[shard.ID]load.Flow{},
		pod: &agent{owns: cores, cores: cores, owner: map[shard.ID]int{}, balancer: New(DefaultPolicy)},
	}
	for _, id := range shards {
		w.pod.owner[id] = 0
	}
	return w
}

// pod is a world whose shards want so much.
func pod(t reporter, cores int, works ...float64) (*world, *agent) {
	w := newWorld(t, cores, shardsOf("web", len(works)))
	for i, work := range works {
		w.work[w.shards[i]] = work
	}
	return w, w.pod
}

// agents runs a tick of the agent: what was wanted, done and lost, and then the moves.
func (w *world) agents() {
	w.now = w.now.Add(tick)
	d := w.pod.balancer.Step(w.sample(), w.pod.cores)
	w.pod.heavy = d.Heavy
	for _, m := range d.Moves {
		if at, ok := w.pod.owner[m.Shard]; !ok || at != m.From || m.To < 0 || m.To >= w.pod.cores || m.From == m.To {
			w.t.Fatalf("%s moves from core %d to %d of %d, but it is on %d", m.Shard, m.From, m.To, w.pod.cores, at)
		}
		w.pod.owner[m.Shard] = m.To
		w.moves++
	}
}

// sample is what the engine measures: no core does more than it can.
func (w *world) sample() load.Sample {
	s := load.Sample{At: w.now, Cores: make([]load.Core, w.pod.owns)}
	wanted := make([]float64, w.pod.owns)
	for _, id := range w.shards {
		if core, ok := w.pod.owner[id]; ok {
			work := w.work[id] * w.noise()
			wanted[core] += work
			s.Shards = append(s.Shards, load.Shard{ID: id, Core: core, Work: work, Heaviest: w.flow[id]})
		}
	}
	const packets = 1e5 // that a core does in a tick
	for i := range s.Shards {
		l := &s.Shards[i]
		l.Work /= max(1, wanted[l.Core])
	}
	for c, work := range wanted {
		s.Cores[c] = load.Core{Packets: packets * min(work, 1), Lost: packets * max(0, work-1)}
	}
	return s
}

// load is what is wanted of each core.
func (w *world) load() []float64 {
	load := make([]float64, w.pod.owns)
	for id, core := range w.pod.owner {
		load[core] += w.work[id]
	}
	return load
}

// uniform noise of so much, up and down.
func uniform(seed uint64, amplitude float64) func() float64 {
	rng := rand.New(rand.NewPCG(seed, 0))
	return func() float64 { return 1 + amplitude*(2*rng.Float64()-1) }
}

func drawSeed(t *rapid.T) uint64 { return uint64(rapid.Uint32().Draw(t, "seed")) }

// BenchmarkStep is the agent's loop, with 128 shards on 4 cores.
func BenchmarkStep(b *testing.B) {
	works := make([]float64, shard.Count)
	for i := range works {
		works[i] = 2.0 / shard.Count
	}
	w, p := pod(b, 4, works...)
	w.ticks(100)
	s := w.sample()
	for b.Loop() {
		s.At = s.At.Add(tick)
		p.balancer.Step(s, p.cores)
	}
}
