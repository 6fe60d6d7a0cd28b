package synth

import (
	"errors"
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/program"
)

// Synthesize makes one packet program of a chain. The same graph and options give
// the same program, byte for byte. It fails when the chain needs
// more than a program can say.
func Synthesize(g *graph.Graph, opts Options) (*Result, error) {
	limit := opts.MaxBoxes
	if limit <= 0 {
		limit = DefaultMaxBoxes
	}
	apart, wide := map[int]bool{}, map[wideAt]bool{}
	for {
		w := newWalker(g, limit, apart, wide)
		err := w.all()
		if errors.Is(err, errAgain) {
			continue // each time with one NAPT more set apart
		}
		if err != nil {
			return nil, fmt.Errorf("chain %s: %w", g.Chain, err)
		}
		r, err := emit(w)
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
	node  map[int]int    // Counter nodes
	rule  map[[2]int]int // counted rules of Classifier nodes
}

// indexCounters numbers Counter elements and counted rules. A rule that stands
// in both directions of a function has one counter.
func indexCounters(g *graph.Graph) counterIndex {
	c := counterIndex{node: map[int]int{}, rule: map[[2]int]int{}}
	byName := map[string]int{}
	number := func(name string) int {
		i, ok := byName[name]
		if !ok {
			i = len(c.names)
			byName[name] = i
			c.names = append(c.names, name)
		}
		return i
	}
	for n, node := range g.Nodes {
		switch e := node.Element.(type) {
		case element.Counter:
			c.node[n] = number(node.Name)
		case element.Classifier:
			for i, r := range e.Rules {
				if r.Count {
					c.rule[[2]int{n, i}] = number(r.Name)
				}
			}
		}
	}
	return c
}

// ruleName names the rule of an element by its index, -1 being the default.
func ruleName(e element.Element, rule int) string {
	switch e := e.(type) {
	case element.Classifier:
		if rule < 0 {
			return "default"
		}
		return e.Rules[rule].Name
	case element.Lookup:
		switch rule {
		case noRoute:
			return "no route"
		case anyRoute:
			return "any route"
		}
		return e.Routes[rule].Prefix.String()
	}
	return ""
}
