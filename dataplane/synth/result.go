// Package synth turns a chain graph into one packet program: traffic classes are
// found by a depth-first walk from every entry (SNF, Algorithms 1 and 2), with
// the writes of all functions on the way composed into one operation per class.
package synth

import (
	"fmt"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Options bound the synthesis.
type Options struct {
	// MaxBoxes is the budget of one classifier: where the product of two
	// functions' rules would pass it, they stay separate look-ups. 0: DefaultMaxBoxes.
	MaxBoxes int
	// Fanned is among how many routes a lookup may divide packets before it is walked for all routes with one output and next hop at once.
	// The program is the same. 0: DefaultFanned.
	Fanned int
}

// DefaultMaxBoxes keeps synthesis and the classifier's build well under a second.
const DefaultMaxBoxes = 1 << 15

// DefaultFanned leaves tables alone of which each route costs nothing.
const DefaultFanned = 64

// Result is a synthesized chain.
type Result struct {
	Program  *programpb.Program
	Segments []*Segment
	Runs     []Run
	Warnings []Warning

	graph *graph.Graph
}

// Warning is a finding that does not stop the chain from working.
type Warning struct {
	// Node is the element concerned, Rule its rule; either may be empty.
	Node, Rule string
	Message    string
}

func (w Warning) String() string {
	where := w.Node
	if w.Rule != "" {
		where += " rule " + w.Rule
	}
	return where + ": " + w.Message
}

// Segment is one classification and what follows from it.
type Segment struct {
	Name    string
	Classes []Class

	leaves leaves
}

// Leaf is one traffic class unit: a filter, and the class of packets that it belongs to.
type Leaf struct {
	Filter headerspace.Filter
	// Class is the index of the class in its segment.
	Class int
	trace *step
	route int // of a fan's leaf
}

// Class is all packets of a segment with one operation and outcome.
type Class struct {
	// Legs is what is done; more than one for copies.
	Legs []Leg
	// Boxes is the number of classifier boxes of packets with enough TTL.
	Boxes int
}

// Leg is one composed operation and its outcome, for people.
type Leg struct {
	Ops      []string
	Outcome  string
	Counters []string
}

func (l Leg) String() string {
	if len(l.Ops) == 0 {
		return l.Outcome
	}
	return strings.Join(l.Ops, ", ") + " → " + l.Outcome
}

// Run is NAPTs in a row that became one translation.
type Run struct {
	Name  string   // as in the program
	NAPTs []string // node names, in order
	Table string   // the state table: the last NAPT
}

// Step is one element on a packet's way.
type Step struct {
	Node string
	// Out is the output port taken, Rule the rule or route that decided.
	Out  int
	Rule string
}

func (s Step) String() string {
	if s.Rule != "" {
		return fmt.Sprintf("%s[%s]", s.Node, s.Rule)
	}
	return s.Node
}

// Trace is the way of a leaf's packets through the elements that were merged.
func (r *Result) Trace(l *Leaf) []Step {
	var out []Step
	for s := l.trace; s != nil; s = s.prev {
		node, rule := r.graph.Nodes[s.node], s.rule
		if rule == eachRoute {
			rule = l.route
		}
		out = append(out, Step{Node: node.Name, Out: s.out, Rule: ruleName(node.Element, rule)})
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}
