// Package scaling is the operator's loop (seconds): how many cores each pod of a chain
// works with, how many pods there are, and which pod has which shard. Package balance
// is the agent's loop: which core of a pod.
//
// It decides and nothing else: no I/O and no clock, for the time is a part of what was
// seen. The same sequence of inputs gives the same sequence of decisions.
package scaling

import (
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/load"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// Policy is how a chain is scaled.
type Policy struct {
	// Margin times the target is the load that cores must stay below for one of them to
	// be given up. Between the two nothing changes.
	Margin float64
	// Cores and Pods damp the two numbers.
	Cores, Pods Damping
	// Loss is the part of a core's packets that may be lost without alarm.
	Loss float64
	// Brink is the load that a core still bears when a node is lost.
	Brink float64
	// Handovers is how many shards may be handed from pod to pod by one decision: the
	// entries of a shard are copied. Those of a pod that is lost do not count.
	Handovers int
	// Stale is the age from which on a report does not allow to give anything up. An
	// agent may be silent for minutes if nothing changes.
	Stale time.Duration
}

// DefaultPolicy is for a decision every second, and at every report that is urgent.
var DefaultPolicy = Policy{
	Margin: 0.75,
	Cores:  Damping{Window: 15 * time.Second, CoolDown: 2 * time.Second},
	Pods:   Damping{Rise: time.Second, Window: 2 * time.Minute, CoolDown: 30 * time.Second},
	Loss:   1e-4,
	Brink:  0.95,

	Handovers: 16,
	Stale:     6 * time.Minute,
}

// Input is all that a decision depends on.
type Input struct {
	Now    time.Time
	Bounds Bounds
	Shards []shard.ID // of all groups of the chain
	Pods   []Pod      // by their number; the last ones go first
	// Functions that run beside the engines and whose capacity is known.
	Functions []Function
	// Hold says that shards are not to leave pods that work, for now: others are on their way, say.
	Hold bool
}

// Pod is a data-plane pod.
type Pod struct {
	Name, Node string // empty node: not placed yet
	// Ready to take packets. A pod that was ready and is not has lost its state.
	Ready  bool
	Cores  int // that work
	Report load.Report
}

// Decision is what should be.
type Decision struct {
	// Pods is how many there should be: those that are wanted, and those beyond that still
	// have shards. Which of these are the first to have none is not said.
	Pods int
	// Plans are for the pods of the input, in their order.
	Plans []PodPlan
	// Handovers are the shards that change their pod.
	Handovers []Handover
	// Changes are worth an event, Findings a condition: their words stay as long as they hold.
	Changes, Findings []Note
	// Again is after what time to decide again though nothing new was reported; 0: not
	// before a report.
	Again time.Duration
}

// wake has the decision made again after a time, if not sooner.
func (d *Decision) wake(after time.Duration) {
	if after > 0 && (d.Again == 0 || after < d.Again) {
		d.Again = after
	}
}

// PodPlan is what a pod should do.
type PodPlan struct {
	Pod    string
	Cores  int        // that work, the first ones of those that it owns
	Shards []shard.ID // that it owns, ordered
	Drain  bool       // it goes when it has handed its shards over
}

// Handover moves a shard between pods. From is empty if nobody had it.
type Handover struct {
	Shard    shard.ID
	From, To string
}

// Scaler is the operator's loop for one chain. A new one, after a restart, has
// forgotten the window: it gives nothing up before it is full again.
type Scaler struct {
	policy Policy
	pods   stabilizer
	cores  map[string]*stabilizer
	// rebalancing: the last decision left handovers to do
	rebalancing bool
}

// NewScaler starts without a memory.
func NewScaler(p Policy) *Scaler {
	return &Scaler{policy: p, pods: stabilizer{damping: p.Pods}, cores: map[string]*stabilizer{}}
}

// Decide says how many cores and pods there should be, and which pod has which shards.
func (s *Scaler) Decide(in Input) Decision {
	var d Decision
	whole := in.withFunctions()
	wanted := s.decidePods(in, whole, &d)
	keep := wanted
	if slices.ContainsFunc(in.Pods[:min(keep, len(in.Pods))], func(p Pod) bool { return !p.Ready }) {
		keep = len(in.Pods) // nothing is drained while one is missing
	}
	h, works := s.placement(whole, keep), in.works()
	d.Pods = wanted
	for i, p := range in.Pods {
		if i >= wanted && len(p.Report.Shards) > 0 {
			d.Pods++
		}
		plan := PodPlan{Pod: p.Name, Cores: p.Cores, Shards: h.homes[i].list(), Drain: i >= keep}
		if p.Ready && !plan.Drain {
			plan.Cores = s.decideCores(in, p, h.homes[i].works(works), &d)
		}
		d.Plans = append(d.Plans, plan)
	}
	d.Handovers = h.handovers()
	s.forget(in.Pods)
	return d
}

// decidePods gives how many pods there should be, by the whole load: that of functions, too.
func (s *Scaler) decidePods(in, whole Input, d *Decision) int {
	b := in.Bounds
	works := worksOf(whole.Pods)
	if s.pods.count == 0 {
		s.pods.start(in.Now, min(max(len(in.Pods), b.MinPods), b.MaxPods))
	}
	before := s.pods.count
	least := podsFor(whole, works, b.Target, s.policy.Brink)
	r := reading{
		atLeast: max(least, b.MinPods),
		enough:  max(podsFor(whole, works, b.Target*s.policy.Margin, s.policy.Brink*s.policy.Margin), b.MinPods),
		alarm:   s.crowded(whole),
		least:   b.MinPods,
		most:    b.MaxPods,
		hold:    s.stale(in),
	}
	r.needed = least
	after := s.pods.next(in.Now, r)
	d.wake(s.pods.again())
	d.notePods(in, s.pods, before, after, r, sum(works))
	d.noteFunctions(in, &s.pods)
	return after
}

// decideCores gives how many cores of a pod should work.
func (s *Scaler) decideCores(in Input, p Pod, works []float64, d *Decision) int {
	b := in.Bounds
	st := s.cores[p.Name]
	if st == nil {
		st = &stabilizer{damping: s.policy.Cores}
		st.start(in.Now, max(p.Cores, 1))
		s.cores[p.Name] = st
	}
	before := st.count
	others := p.others()
	needed := need(works, others, b.Target, b.MaxCores)
	r := reading{
		needed:  needed,
		atLeast: max(needed, b.MinCores),
		enough:  max(need(works, others, b.Target*s.policy.Margin, b.MaxCores), b.MinCores),
		alarm:   s.losing(p),
		least:   b.MinCores,
		most:    b.MaxCores,
		hold:    s.stale(in),
	}
	after := st.next(in.Now, r)
	d.wake(st.again())
	if r.alarm {
		d.wake(s.policy.Cores.CoolDown)
	}
	wanted, limit := sum(works)+sum(others), b.Target*float64(after)
	switch {
	case r.alarm || wanted > limit:
		st.short = true
	case wanted <= relief*limit:
		st.short = false
	}
	d.noteCores(in, p, *st, before, after, r, wanted)
	return after
}

// relief is the part of what a pod bears at the target below which it is not short of cores
// any more: what is said of it must not follow noise.
const relief = 0.9

// others is what the working cores have to do beside their shards.
func (p Pod) others() []float64 {
	var list []float64
	for _, c := range p.Report.Cores[:min(p.Cores, len(p.Report.Cores))] {
		list = append(list, c.Other)
	}
	return list
}

// losing tells whether a pod loses packets that more cores could save. A core that has
// but one shard with work is not helped by others.
func (s *Scaler) losing(p Pod) bool {
	for c, core := range p.Report.Cores {
		if core.Lost <= s.policy.Loss*(core.Packets+core.Lost) {
			continue
		}
		if load.Beside(p.Report.Shards, c) > load.Slack {
			return true
		}
	}
	return false
}

// drowns tells whether a pod loses packets though all its cores work, the last of them
// for long enough to have helped.
func (s *Scaler) drowns(in Input, p Pod) bool {
	st := s.cores[p.Name]
	return p.Cores >= in.Bounds.MaxCores && s.losing(p) && (st == nil || st.mayGrow(in.Now))
}

// crowded tells whether a pod drowns, and no other one has room.
func (s *Scaler) crowded(in Input) bool {
	room := in.Bounds.Target * s.policy.Margin * float64(in.Bounds.MaxCores)
	crowded := false
	for _, p := range in.Pods {
		if !p.Ready {
			return false // help is on its way
		}
		if s.drowns(in, p) {
			crowded = true
		} else if sum(worksOf([]Pod{p})) < room {
			return false
		}
	}
	return crowded
}

// stale tells whether a report is too old to give something up by it.
func (s *Scaler) stale(in Input) bool {
	return slices.ContainsFunc(in.Pods, func(p Pod) bool { return p.Ready && in.Now.Sub(p.Report.At) > s.policy.Stale })
}

// forget drops what is remembered of pods that are gone.
func (s *Scaler) forget(pods []Pod) {
	for name := range s.cores {
		if !slices.ContainsFunc(pods, func(p Pod) bool { return p.Name == name }) {
			delete(s.cores, name)
		}
	}
}

// podsFor is how many pods can do works with cores below target, and bear at the brink
// to lose the nodes that must be bearable.
func podsFor(in Input, works []float64, target, brink float64) int {
	b := in.Bounds
	cores := need(works, nil, target, b.MaxPods*b.MaxCores)
	n := (cores + b.MaxCores - 1) / b.MaxCores
	for wanted := sum(works); n < b.MaxPods && !survives(in, n, wanted, brink); {
		n++
	}
	return n
}

// survives tells whether n pods, less those on the nodes that have most of them, can do
// what is wanted. Pods that are not placed yet are taken to get nodes of their own.
func survives(in Input, n int, wanted, brink float64) bool {
	by := map[string]int{}
	for i := range n {
		node := ""
		if i < len(in.Pods) {
			node = in.Pods[i].Node
		}
		if node == "" {
			node = "\x00" + string(rune(i))
		}
		by[node]++
	}
	var counts []int
	for _, c := range by {
		counts = append(counts, c)
	}
	slices.Sort(counts)
	left := n
	for _, c := range counts[max(0, len(counts)-in.Bounds.LoseNodes):] {
		left -= c
	}
	return in.Bounds.LoseNodes == 0 || float64(left*in.Bounds.MaxCores)*brink >= wanted
}

// worksOf is what pods have to do: each shard, and what each core does beside its shards, which is no other pod's to do.
func worksOf(pods []Pod) []float64 {
	var works []float64
	for _, p := range pods {
		for _, l := range p.Report.Shards {
			works = append(works, l.Work)
		}
		if p.Ready {
			works = append(works, p.others()...)
		}
	}
	return works
}

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}
