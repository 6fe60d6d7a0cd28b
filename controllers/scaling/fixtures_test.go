package scaling

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/balance"
	"github.com/sinter-nfv/sinter/dataplane/load"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

const (
	tick   = 100 * time.Millisecond // of the agent's loop
	period = time.Second            // of the operator's
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// shardsOf are so many shards of a group.
func shardsOf(group string, n int) []shard.ID {
	list := make([]shard.ID, n)
	for i := range list {
		list[i] = shard.ID{Group: group, Number: i}
	}
	return list
}

// world is a chain whose pods and engines do at once what they are told.
type world struct {
	t      reporter
	bounds Bounds
	now    time.Time
	work   map[shard.ID]float64 // wanted
	shards []shard.ID
	noise  func() float64 // factor of what is wanted
	flow   map[shard.ID]load.Flow
	pods   []*worldPod
	scaler *Scaler
	moves  int
	made   int // pods
	// functions are given so much, by as much as the work is
	functions []Function
}

type worldPod struct {
	name, node string
	ready      bool
	cores      int
	owner      map[shard.ID]int
	balancer   *balance.Balancer
	heavy      []load.Elephant
}

func newWorld(t reporter, b Bounds, shards []shard.ID, total float64) *world {
	w := &world{t: t, bounds: b, now: epoch, work: map[shard.ID]float64{}, shards: shards, noise: func() float64 { return 1 }, flow: map[shard.ID]load.Flow{}, scaler: NewScaler(DefaultPolicy)}
	for range b.MinPods {
		w.addPod(true)
	}
	w.set(total)
	for i, shard := range shards {
		w.pods[i*len(w.pods)/len(shards)].owner[shard] = 0
	}
	return w
}

// addPod makes a pod with the lowest name that is free.
func (w *world) addPod(ready bool) {
	n := 0
	for slices.ContainsFunc(w.pods, func(p *worldPod) bool { return p.name == fmt.Sprintf("edge-%d", n) }) {
		n++
	}
	w.made++
	w.pods = append(w.pods, &worldPod{name: fmt.Sprintf("edge-%d", n), node: fmt.Sprintf("n%d", n), ready: ready, cores: w.bounds.MinCores, owner: map[shard.ID]int{}, balancer: balance.New(balance.DefaultPolicy)})
}

// set spreads a load evenly.
func (w *world) set(total float64) {
	for _, shard := range w.shards {
		w.work[shard] = total / float64(len(w.shards))
	}
}

// agents runs a tick of all agents: what was wanted, done and lost, and then the moves.
func (w *world) agents() {
	w.now = w.now.Add(tick)
	for _, p := range w.pods {
		s := p.sample(w)
		d := p.balancer.Step(s, p.cores)
		p.heavy = d.Heavy
		for _, m := range d.Moves {
			if at, ok := p.owner[m.Shard]; !ok || at != m.From || m.To < 0 || m.To >= p.cores || m.From == m.To {
				w.t.Fatalf("%s moves %s from core %d to %d of %d, but it is on %d", p.name, m.Shard, m.From, m.To, p.cores, at)
			}
			p.owner[m.Shard] = m.To
			w.moves++
		}
	}
}

func (w *world) ticks(n int) {
	for range n {
		w.agents()
	}
}

// sample is what the engine measures: no core does more than it can.
func (p *worldPod) sample(w *world) load.Sample {
	s := load.Sample{At: w.now, Cores: make([]load.Core, w.bounds.MaxCores)}
	wanted := make([]float64, w.bounds.MaxCores)
	for _, shard := range w.shards {
		if core, ok := p.owner[shard]; ok {
			work := w.work[shard] * w.noise()
			wanted[core] += work
			s.Shards = append(s.Shards, load.Shard{ID: shard, Core: core, Work: work, Heaviest: w.flow[shard]})
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

// load is what is wanted of each core of a pod.
func (w *world) load(p *worldPod) []float64 {
	load := make([]float64, w.bounds.MaxCores)
	for shard, core := range p.owner {
		load[core] += w.work[shard]
	}
	return load
}

// operator makes a decision and lets it happen.
func (w *world) operator() Decision {
	in := Input{Now: w.now, Bounds: w.bounds, Shards: w.shards, Functions: w.functions}
	for _, p := range w.pods {
		in.Pods = append(in.Pods, Pod{Name: p.name, Node: p.node, Ready: p.ready, Cores: p.cores, Report: p.balancer.Report()})
	}
	d := w.scaler.Decide(in)
	check(w.t, in, d)
	for i, plan := range d.Plans {
		p := w.pods[i]
		p.cores = plan.Cores
		had := p.owner
		p.owner = map[shard.ID]int{}
		for _, shard := range plan.Shards {
			p.owner[shard] = had[shard]
		}
	}
	var kept []*worldPod
	for i, plan := range d.Plans {
		if !plan.Drain || len(in.Pods[i].Report.Shards) > 0 {
			kept = append(kept, w.pods[i])
		}
	}
	w.pods = kept
	for len(w.pods) < d.Pods {
		w.addPod(true)
	}
	return d
}

// reporter is a test of testing or of rapid.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

// check holds for every decision, whatever was seen.
func check(t reporter, in Input, d Decision) {
	t.Helper()
	b := in.Bounds
	if d.Pods < b.MinPods || d.Pods > max(b.MaxPods, len(in.Pods)) {
		t.Fatalf("%d pods, want %d to %d", d.Pods, b.MinPods, b.MaxPods)
	}
	owners := map[shard.ID]string{}
	for i, plan := range d.Plans {
		takes := in.Pods[i].Ready && !plan.Drain
		if takes && (plan.Cores < b.MinCores || plan.Cores > b.MaxCores) {
			t.Fatalf("%s has %d cores, want %d to %d", plan.Pod, plan.Cores, b.MinCores, b.MaxCores)
		}
		if !in.Pods[i].Ready && anyOpen(in, d) && len(plan.Shards) > 0 {
			t.Fatalf("%s should own %d shards, but it is not ready", plan.Pod, len(plan.Shards))
		}
		if plan.Drain && len(plan.Shards) > len(in.Pods[i].Report.Shards) {
			t.Fatalf("%s goes, but is given shards: %d, it had %d", plan.Pod, len(plan.Shards), len(in.Pods[i].Report.Shards))
		}
		for _, shard := range plan.Shards {
			if other, twice := owners[shard]; twice {
				t.Fatalf("%s is owned by %s and by %s", shard, other, plan.Pod)
			}
			if !slices.Contains(in.Shards, shard) {
				t.Fatalf("%s should own %s, which the chain does not have", plan.Pod, shard)
			}
			owners[shard] = plan.Pod
		}
	}
	if anyOpen(in, d) && len(owners) != len(in.Shards) {
		t.Fatalf("%d of %d shards have an owner", len(owners), len(in.Shards))
	}
	planned := 0
	for _, h := range d.Handovers {
		if slices.ContainsFunc(in.Pods, func(p Pod) bool { return p.Name == h.From && p.Ready }) {
			planned++
		}
		if owners[h.Shard] != h.To || h.From == h.To {
			t.Fatalf("handover of %s from %q to %q, but %q should own it", h.Shard, h.From, h.To, owners[h.Shard])
		}
	}
	if planned > DefaultPolicy.Handovers {
		t.Fatalf("%d handovers between ready pods at a time, want at most %d", planned, DefaultPolicy.Handovers)
	}
}

// anyOpen tells whether a pod takes shards.
func anyOpen(in Input, d Decision) bool {
	for i, plan := range d.Plans {
		if in.Pods[i].Ready && !plan.Drain {
			return true
		}
	}
	return false
}

// run lets time pass: agents every tick, the operator every period.
func (w *world) run(d time.Duration) {
	for end := w.now.Add(d); w.now.Before(end); {
		w.agents()
		if w.now.Sub(epoch)%period == 0 {
			w.operator()
		}
	}
}

// uniform noise of so much, up and down.
func uniform(seed uint64, amplitude float64) func() float64 {
	rng := rand.New(rand.NewPCG(seed, 0))
	return func() float64 { return 1 + amplitude*(2*rng.Float64()-1) }
}

func drawSeed(t *rapid.T) uint64 { return uint64(rapid.Uint32().Draw(t, "seed")) }
