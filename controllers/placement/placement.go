// Package placement picks the nodes that an instance of a chain may run on, by
// Metron's Algorithm 3: of two nodes drawn at random the less loaded one, if it
// has what the instance needs; else two others. A node that the chain names wins.
//
// The package decides and nothing else: no clock, no I/O, and the same input
// gives the same output. Its short list goes to kube-scheduler as node affinity.
package placement

import (
	"cmp"
	"crypto/sha256"
	"math/rand/v2"
	"slices"
	"strings"
)

// choices is how many nodes are compared at a time. Two balance exponentially
// better than one; three gain only a constant factor (Mitzenmacher).
const choices = 2

// Random is a source for Place that gives the same numbers for the same parts.
// Built from the chain's UID, the instance and the attempt, it makes a repeated
// reconcile repeat its decision, and a new attempt a new one.
func Random(parts ...string) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256([]byte(strings.Join(parts, "\x00")))))
}

// Place decides where an instance may run. It asks no more nodes than it must:
// two, as long as one of them fits.
func Place(nodes Nodes, req Request, rng *rand.Rand) Decision {
	if req.Node != "" {
		return explicit(nodes, req)
	}
	d := Decision{Nodes: nodes.Len()}
	var fit, pair []Node
	take := func() {
		slices.SortStableFunc(pair, req.compare)
		fit, pair = append(fit, pair...), pair[:0]
	}
	for i := range order(nodes, req.Used, rng) {
		n := nodes.Ask(i)
		d.Asked++
		if refusal, failed := Preflight(n, req); failed {
			d.Refusals = append(d.Refusals, refusal)
		} else {
			pair = append(pair, n)
		}
		if d.Asked%choices != 0 {
			continue
		}
		if take(); len(fit) >= max(req.Candidates, 1) {
			break
		}
	}
	take()
	d.Candidates = rank(fit, req)
	return d
}

// explicit checks the node that the chain names, and no other.
func explicit(nodes Nodes, req Request) Decision {
	d := Decision{Nodes: nodes.Len(), Named: req.Node}
	req.Used = nil // the chain's word goes before spreading
	for i := range nodes.Len() {
		if nodes.Name(i) != req.Node {
			continue
		}
		n := nodes.Ask(i)
		d.Asked = 1
		if refusal, failed := Preflight(n, req); failed {
			d.Refusals = []Refusal{refusal}
		} else {
			d.Candidates = rank([]Node{n}, req)
		}
		return d
	}
	d.Refusals = []Refusal{{Node: req.Node, Reason: NodeNotFound, Lack: Lack{"node " + req.Node, "to exist", "no such node"}}}
	return d
}

// compare orders nodes that fit, the better first: without an instance of the
// chain, less loaded, more free cores.
func (r Request) compare(a, b Node) int {
	return cmp.Or(
		cmp.Compare(btoi(r.uses(a.Name)), btoi(r.uses(b.Name))),
		cmp.Compare(a.Load, b.Load),
		cmp.Compare(b.FreeCores, a.FreeCores),
	)
}

func (r Request) uses(node string) bool { return slices.Contains(r.Used, node) }

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rank gives weights from 100 down to 1: as far apart as affinity lets them be,
// because other scores of kube-scheduler are added to them.
func rank(fit []Node, req Request) []Candidate {
	list := make([]Candidate, len(fit))
	for i, n := range fit {
		weight := int32(100)
		if i > 0 {
			weight -= int32(99 * i / (len(fit) - 1))
		}
		list[i] = Candidate{Node: n.Name, Weight: weight, Load: n.Load, FreeCores: n.FreeCores, Used: req.uses(n.Name)}
	}
	return list
}
