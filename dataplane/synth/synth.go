package synth

import (
	"errors"
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/program"
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
	return o
}

func synthesize(g *graph.Graph, opts Options, means []meaning, record *recorder) (*Result, error) {
	apart, wide := map[int]bool{}, map[wideAt]bool{}
	for {
		record.restart()
		w := newWalker(g, means, opts, apart, wide, record)
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
	of    map[int][]int // by node and rule
}

const notCounted = -1

// indexCounters numbers Counter elements and counted rules. A rule for
// both directions of a function has one counter.
func (w *walker) indexCounters() counterIndex {
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
		if m, ok := w.means[n].(counting); ok {
			for _, name := range m.counters(node.Name) {
				c.of[n] = append(c.of[n], number(name))
			}
		}
	}
	return c
}
