package main

import (
	"math"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

var policies = []struct {
	Name  string
	start func(*world) policy
}{
	{"Sinter", newSinter},
	{"E2: duplicate, halve", newE2},
	{"Metron: factor two", newMetron},
}

// outcome is one chain under one policy.
type outcome struct {
	working, owned, needed float64 // core seconds
	wanted, lost           float64 // core seconds of work
	moved                  counts
	changes                int     // of the number of working cores
	regrets                int     // growths within a minute after a fall
	copies                 float64 // groups per working core, times ticks
	ticks                  int
	bins                   []bin
	reaction               time.Duration // from the onset of load to the end of loss
}

// bin is a stretch of time, for plots.
type bin struct{ working, needed, wanted, lost float64 }

// run scales a chain by a policy through a trace.
func run(t trace, s sizes, chain int, begin func(*world) policy) outcome {
	l := newLoad(t, s, chain)
	w := newWorld(l)
	p := begin(w)
	var o outcome
	var fell time.Duration
	before := p.working(w)
	calm := t.Onset
	for w.now < s.Length {
		w.work(l)
		p.act(w)
		wanted, lost := 0.0, 0.0
		for c := range w.cores {
			wanted += w.cores[c].wanted
			lost += w.cores[c].lost
		}
		now := p.working(w)
		o.bin(w.now, now, wanted, lost)
		if t.Onset > 0 && w.now > t.Onset && lost > 0 && w.now-calm <= period {
			calm = w.now
		}
		if w.now > warmUp {
			o.count(w, l, now, wanted, lost)
			if now != before {
				o.changes++
			}
			if now > before && fell > 0 && w.now-fell < time.Minute {
				o.regrets++
			}
		}
		if now < before {
			fell = w.now
		}
		before = now
	}
	o.reaction = calm - t.Onset
	return o
}

func (o *outcome) count(w *world, l *workload, working int, wanted, lost float64) {
	dt := tick.Seconds()
	o.ticks++
	o.working += float64(working) * dt
	o.owned += float64(len(w.ready)*podCores) * dt
	o.needed += max(1, math.Ceil(wanted/dt/target)) * dt
	o.wanted += wanted
	o.lost += lost
	o.moved.within += w.moved.within
	o.moved.between += w.moved.between
	if o.ticks%10 == 0 { // is slow to count, and changes little
		o.copies += 10 * copies(w, l) / float64(working)
	}
}

// copies is how many groups the cores work on, in sum.
func copies(w *world, l *workload) float64 {
	seen := map[[2]int]bool{}
	for i, c := range w.owner {
		seen[[2]int{c, i * l.groups / shards}] = true
	}
	return float64(len(seen))
}

func (o *outcome) bin(now time.Duration, working int, wanted, lost float64) {
	i := int((now - tick) / unitPlots)
	if i == len(o.bins) {
		o.bins = append(o.bins, bin{})
	}
	b := &o.bins[i]
	share := tick.Seconds() / unitPlots.Seconds()
	b.working += float64(working) * share
	b.needed += max(1, math.Ceil(wanted/tick.Seconds()/target)) * share
	b.wanted += wanted
	b.lost += lost
}

// result is a trace under a policy, over all chains.
type result struct {
	Trace   string `json:"trace"`
	Policy  string `json:"policy"`
	Chains  int    `json:"chains"`
	Seconds int    `json:"seconds_per_chain"`
	// per chain and hour
	CoreHours  float64 `json:"core_hours_at_work"`
	OwnedHours float64 `json:"core_hours_owned"`
	NeedHours  float64 `json:"core_hours_needed"`
	// percent of what was wanted, of all chains and of the one that lost more than 95 % of them
	Lost   float64 `json:"lost_percent"`
	Lost95 float64 `json:"lost_percent_p95_chain"`
	// per chain and minute
	Within  float64 `json:"moves_within_pods_per_minute"`
	Between float64 `json:"moves_between_pods_per_minute"`
	Changes float64 `json:"changes_of_cores_per_minute"`
	Regrets float64 `json:"growths_within_a_minute_of_a_fall_per_minute"`
	Copies  float64 `json:"groups_per_core"`
	// seconds from the onset of load to the end of loss; 0 where a trace has no onset
	Reaction   float64 `json:"reaction_seconds_median"`
	Reaction95 float64 `json:"reaction_seconds_p95"`

	first []bin // of the chain that plots show
	all   []bin // sums over all chains
}

// simulate runs all traces under all policies.
func simulate(s sizes) []result {
	var list []result
	for _, t := range traces {
		for _, p := range policies {
			outcomes := make([]outcome, s.Chains)
			var g errgroup.Group
			g.SetLimit(runtime.GOMAXPROCS(0))
			for chain := range outcomes {
				g.Go(func() error {
					outcomes[chain] = run(t, s, chain, p.start)
					return nil
				})
			}
			_ = g.Wait() // nothing can fail
			list = append(list, sum(t, p.Name, s, outcomes))
		}
	}
	return list
}

// sum is in the order of chains, so that it comes out the same every time.
func sum(t trace, name string, s sizes, outcomes []outcome) result {
	measured := s.Length - warmUp
	n := float64(len(outcomes))
	hours, minutes := n*measured.Hours(), n*measured.Minutes()
	r := result{Trace: t.Name, Policy: name, Chains: s.Chains, Seconds: int(measured.Seconds()), first: outcomes[0].bins, all: make([]bin, len(outcomes[0].bins))}
	var wanted, lost float64
	var losses, reactions []float64
	for _, o := range outcomes {
		r.CoreHours += o.working / 3600 / hours
		r.OwnedHours += o.owned / 3600 / hours
		r.NeedHours += o.needed / 3600 / hours
		wanted += o.wanted
		lost += o.lost
		losses = append(losses, 100*o.lost/o.wanted)
		r.Within += float64(o.moved.within) / minutes
		r.Between += float64(o.moved.between) / minutes
		r.Changes += float64(o.changes) / minutes
		r.Regrets += float64(o.regrets) / minutes
		r.Copies += o.copies / float64(o.ticks) / n
		reactions = append(reactions, o.reaction.Seconds())
		for i, b := range o.bins {
			a := &r.all[i]
			a.working, a.needed, a.wanted, a.lost = a.working+b.working, a.needed+b.needed, a.wanted+b.wanted, a.lost+b.lost
		}
	}
	slices.Sort(losses)
	slices.Sort(reactions)
	r.Lost, r.Lost95 = 100*lost/wanted, quantile(losses, 0.95)
	if t.Onset > 0 {
		r.Reaction, r.Reaction95 = quantile(reactions, 0.5), quantile(reactions, 0.95)
	}
	return r
}

// quantile of sorted values, by nearest rank.
func quantile(sorted []float64, q float64) float64 {
	rank := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(rank, 0), len(sorted)-1)]
}
