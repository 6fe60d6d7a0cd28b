// Package walk is the framework for the meaning of elements on sets of packets. It takes traffic class units through a chain, and writes what it
// finds as a packet program. Elements register with it what they do to units, and the operations and outcomes that they have.
package walk

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	contents "github.com/sinter-nfv/sinter/dataplane/fib"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Synthesize makes one packet program of a chain. The same graph and options give
// the same program, byte for byte. It fails when the chain needs
// more than a program can say.
func Synthesize(g *graph.Graph, opts Options) (*Result, error) {
	return synthesize(g, opts.withDefaults(), meaningsOf(g), nil)
}

func (o Options) withDefaults() Options {
	if o.MaxBoxes <= 0 {
		o.MaxBoxes = DefaultMaxBoxes
	}
	if o.Fanned <= 0 {
		o.Fanned = DefaultFanned
	}
	if o.Joined <= 0 {
		o.Joined = DefaultJoined
	}
	return o
}

func synthesize(g *graph.Graph, opts Options, means []Meaning, record *recorder) (*Result, error) {
	apart, wide := map[int]bool{}, wideAt{}
	if record != nil {
		wide = record.wide
	}
	for {
		record.restart()
		w := newWalker(g, means, opts, apart, wide, record)
		err := w.all()
		if errors.Is(err, errAgain) {
			continue // each time with one element more whose choice is always made
		}
		if err != nil {
			return nil, fmt.Errorf("chain %s: %w", g.Chain, err)
		}
		r, err := emit(w)
		if err == nil && w.judge(r) {
			continue // each time with some look-up more kept apart
		}
		if err == nil {
			err = program.Validate(r.Program) // what leaves here, agent and engine take
		}
		if err != nil {
			return nil, fmt.Errorf("chain %s: %w", g.Chain, err)
		}
		return r, nil
	}
}

// counterIndex numbers a chain's counters.
type counterIndex struct {
	names []string
	of    map[int][]int // by node and rule
}

const notCounted = -1

// indexCounters numbers Counter elements and counted rules. A rule for
// both directions of a function has one counter.
func (w *Walker) indexCounters() counterIndex {
	c := counterIndex{of: map[int][]int{}}
	byName := map[string]int{}
	number := func(name string) int {
		if name == "" {
			return notCounted
		}
		i, ok := byName[name]
		if !ok {
			i = len(c.names)
			byName[name] = i
			c.names = append(c.names, name)
		}
		return i
	}
	for n, node := range w.g.Nodes {
		if m, ok := w.means[n].(WithCounters); ok {
			for _, name := range m.Counters(node.Name) {
				c.of[n] = append(c.of[n], number(name))
			}
		}
	}
	return c
}

// Options bound the synthesis.
type Options struct {
	// MaxBoxes is the budget of one classifier: where the product of two
	// functions' rules would pass it, they stay separate look-ups. 0: DefaultMaxBoxes.
	MaxBoxes int
	// Fanned is among how many routes a lookup may divide packets before it is walked for all routes with one output and next hop at once.
	// The program is the same. 0: DefaultFanned.
	Fanned int
	// Joined is among how many routes a lookup may divide packets before all routes with one output are followed at once, where something behind
	// the lookup asks for destinations. 0: DefaultJoined.
	Joined int

	// startOver ends a walk at the first look-up to be kept apart. The program is the same.
	startOver bool
}

// DefaultMaxBoxes keeps synthesis and the classifier's build well under a second for a few functions with 10,000 rules each.
const DefaultMaxBoxes = 1 << 15

// DefaultFanned leaves tables alone of which each route costs nothing.
const DefaultFanned = 64

// DefaultJoined leaves tables alone that people read route by route in a listing.
const DefaultJoined = 64

// Result is a synthesized chain.
type Result struct {
	Program  *programpb.Program
	Segments []*Segment
	Runs     []Run
	Warnings []Warning
	// Cuts are where look-ups stay apart that could be one by what they mean.
	Cuts []Cut
	// Tables are the program's FIBs, which it has by their hashes alone.
	Tables []*contents.Table

	graph *graph.Graph
}

// Graph is what was synthesized.
func (r *Result) Graph() *graph.Graph { return r.graph }

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
	table  *contents.Table // what leaves ask for (headerspace.Route); nil: they do not
}

// Leaf is one traffic class unit: a filter, and the class of packets that it belongs to.
type Leaf struct {
	Filter headerspace.Filter
	// Class is the index of the class in its segment.
	Class int
	trace *step
	route int   // of a fan's leaf
	to    spans // the destination of the packet that it was looked for, if it was
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

// Run is elements in a row that choose sources, and became one choice.
type Run struct {
	Name  string   // as in the program
	Nodes []string // their names, in order
	Table string   // the state table: the last one's
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

// Trace is the way of a leaf's packets through the elements that were merged. Of one that Match found, the routes are those of the packet.
func (r *Result) Trace(l *Leaf) []Step {
	var out []Step
	for s := l.trace; s != nil; s = s.prev {
		node, rule := r.graph.Nodes[s.node], s.rule
		switch {
		case rule == eachRoute:
			rule = l.route
		case rule == anyRoute && len(l.to) == 1:
			rule = meaningOf(node.Element).(*lookup).ruleOf(l.to[0].lo)
		}
		out = append(out, Step{Node: node.Name, Out: s.out, Rule: ruleName(node.Element, rule)})
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// found is a leaf before classes are numbered, or a fan of them.
type found struct {
	filter headerspace.Filter
	legs   []leg
	trace  *step
	cuts   *cutting
	fan    *fan
	// class is the leaf's class, shape its filter's place among those that a table is lowered from; -1: not known yet.
	class, shape int32
	at           int32 // its place among the segment's before some were taken away
}

// leaves are a segment's, in the order in which they match first.
type leaves []found

// all gives the leaves. Those of a fan come with their route, and with their destinations, which hold until the next; with the others
// both are absent: their filters say it. It tells whether yield wanted all.
func (s leaves) all(yield func(l *found, route int, to spans) bool) bool {
	for i := range s {
		if s[i].fan == nil {
			if !yield(&s[i], noRoute, nil) {
				return false
			}
		} else if !s[i].fan.each(yield) {
			return false
		}
	}
	return true
}

// filterOf is the filter of a leaf to some destinations, as all gives both.
func (l *found) filterOf(to spans) headerspace.Filter {
	if to == nil || to.isEvery() {
		return l.filter
	}
	return l.filter.With(headerspace.Dst, to.set())
}

// Leaves gives the ways through the segment in priority order: the first whose filter passes the packet decides.
func (s *Segment) Leaves() iter.Seq[Leaf] {
	return func(yield func(Leaf) bool) {
		s.leaves.all(func(l *found, route int, to spans) bool {
			return yield(Leaf{Filter: l.filterOf(to), Class: int(l.class), trace: l.trace, route: route})
		})
	}
}

// NumLeaves is how many there are.
func (s *Segment) NumLeaves() int {
	n := 0
	s.leaves.all(func(*found, int, spans) bool { n++; return true })
	return n
}

// Match finds the leaf that decides a packet in a segment; ok is false for
// packets that cannot exist.
func (s *Segment) Match(pkt *headerspace.Packet) (leaf *Leaf, ok bool) {
	at := spansOf(headerspace.Single(pkt[headerspace.Dst]))
	if s.table != nil && len(at) > 0 {
		known := *pkt
		known[headerspace.Route] = headerspace.V(uint64(s.table.At(at[0].lo)))
		pkt = &known
	}
	s.leaves.all(func(l *found, route int, to spans) bool {
		if to != nil && len(to.intersect(at)) == 0 || !l.filter.Contains(pkt) {
			return true
		}
		leaf = &Leaf{Filter: l.filterOf(to), Class: int(l.class), trace: l.trace, route: route, to: at}
		return false
	})
	return leaf, leaf != nil
}
