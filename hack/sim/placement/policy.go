package main

import (
	"cmp"
	"math/rand/v2"

	"github.com/sinter-nfv/sinter/controllers/placement"
)

// policy picks a node for a request; empty: none fits. All of them see the same nodes
// and use the same preflight.
type policy struct {
	Name   string
	choose func(placement.Nodes, placement.Request, *rand.Rand) (node string, asked int)
}

var (
	twoChoices  = policy{"two random choices", chooseTwo}
	shortList   = policy{"two choices, short list of 2", chooseShortList}
	leastLoaded = policy{"least loaded of all", chooseLeastLoaded}
	oneChoice   = policy{"one random choice", chooseOne}
	firstFit    = policy{"first fit", chooseFirst}

	policies = []policy{twoChoices, shortList, leastLoaded, oneChoice, firstFit}
)

func chooseTwo(nodes placement.Nodes, req placement.Request, rng *rand.Rand) (string, int) {
	return best(placement.Place(nodes, req, rng))
}

func chooseShortList(nodes placement.Nodes, req placement.Request, rng *rand.Rand) (string, int) {
	req.Candidates = 2
	return best(placement.Place(nodes, req, rng))
}

func best(d placement.Decision) (string, int) {
	if !d.Placed() {
		return "", d.Asked
	}
	return d.Candidates[0].Node, d.Asked
}

func chooseLeastLoaded(nodes placement.Nodes, req placement.Request, _ *rand.Rand) (string, int) {
	var least placement.Node
	for i := range nodes.Len() {
		n := nodes.Ask(i)
		if !fits(n, req) {
			continue
		}
		if least.Name == "" || cmp.Or(cmp.Compare(n.Load, least.Load), cmp.Compare(least.FreeCores, n.FreeCores)) < 0 {
			least = n
		}
	}
	return least.Name, nodes.Len()
}

// chooseOne draws until a node fits. It does not remember whom it drew, which costs
// nothing as long as most nodes fit.
func chooseOne(nodes placement.Nodes, req placement.Request, rng *rand.Rand) (string, int) {
	tries := 8 * nodes.Len()
	for asked := 1; asked <= tries; asked++ {
		if n := nodes.Ask(rng.IntN(nodes.Len())); fits(n, req) {
			return n.Name, asked
		}
	}
	return "", tries
}

func chooseFirst(nodes placement.Nodes, req placement.Request, _ *rand.Rand) (string, int) {
	for i := range nodes.Len() {
		if n := nodes.Ask(i); fits(n, req) {
			return n.Name, i + 1
		}
	}
	return "", nodes.Len()
}

func fits(n placement.Node, req placement.Request) bool {
	_, failed := placement.Preflight(n, req)
	return !failed
}
