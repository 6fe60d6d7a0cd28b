package main

import (
	"math/rand/v2"

	"github.com/sinter-nfv/sinter/controllers/placement"
)

// chain is a request, the work that it brings, and where it runs.
type chain struct {
	req  placement.Request
	work float64 // in busy cores
	node int     // -1: refused
}

// workload draws the same chains and departures for every policy.
type workload struct{ rng *rand.Rand }

func newWorkload(seed uint64) workload { return workload{rand.New(rand.NewPCG(seed, 0))} }

// arrival is a chain of 1, 2 or 4 cores, each of them 20 to 90 % busy.
func (w workload) arrival() chain {
	n := []int{1, 1, 1, 1, 1, 2, 2, 2, 4, 4}[w.rng.IntN(10)]
	ch := oneCore()
	ch.req.Cores = n
	ch.work = float64(n) * (0.2 + 0.7*w.rng.Float64())
	return ch
}

// departure picks who leaves of so many: with exponential lifetimes it may be anyone.
func (w workload) departure(chains int) int { return w.rng.IntN(chains) }

// oneCore is a chain with one core, fully busy, and two interfaces.
func oneCore() chain {
	return chain{work: 1, node: -1, req: placement.Request{
		Cores: 1, Memory: gib, Hugepages: placement.Hugepages{PageSize: gib, Bytes: gib}, Aligned: true,
		Interfaces: []placement.Interface{{Name: "inside", Resource: vf}, {Name: "outside", Resource: vf}},
	}}
}

// choices is the policy's own source, so that what it draws does not sway the workload.
func choices(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
