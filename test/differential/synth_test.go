package differential

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	napt "github.com/sinter-nfv/sinter/dataplane/module/napt/oracle"
)

// TestTheProgramDoesWhatTheUnmergedChainDoes needs no engine: the program is run by the model.
func TestTheProgramDoesWhatTheUnmergedChainDoes(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				g := drawChain(rt, shape)
				r, err := newRig(g)
				if err != nil {
					rt.Fatalf("%v\n%s", err, dump(g))
				}
				unchecked := func(*model) error { return nil }
				if err := r.driveModel(rapid.Uint64().Draw(rt, "traffic seed"), scale(20_000, 2_000), unchecked); err != nil {
					rt.Fatalf("%v\n%s", err, dump(g))
				}
			})
		})
	}
}

// driveModel compares the model with the oracle, and has it checked after each packet.
func (r *rig) driveModel(seed uint64, n int, check func(*model) error) error {
	t := newTraffic(seed, r.g, r.res.Program)
	r.reset()
	entry := gate(r.g)
	m := newModel(r.res.Program, r.g.Interfaces)
	now := time.Second
	for i := range n {
		if i%batch == 0 {
			now += pause(t.Rand)
		}
		p := t.next()
		if entry.Process(now, p.iface, p.frame, nil).Drops[0].Reason != passed {
			continue
		}
		r.history = append(r.history, step{now, []sent{p}})
		seen := m.process(now, p.iface, p.frame)
		if err := r.compare(context.Background(), now, 0, p, interp.Seen{Result: seen, Told: append(m.choices(r.naptsOf), m.subscribers...)}); err != nil {
			return err
		}
		if err := check(m); err != nil {
			return err
		}
		var out []sent
		for _, o := range seen.Out {
			out = append(out, sent{o.Interface, o.Frame})
		}
		t.saw(p, out)
	}
	return nil
}

// choices are what the model's NAPTs chose for the present frame; naptsOf are those of a run.
func (m *model) choices(naptsOf func(run string) []string) (list []interp.Told) {
	for _, b := range m.made {
		napts := naptsOf(m.p.GetRuns()[b.run].GetName())
		list = append(list, napt.Choice{NAPTs: napts, Proto: b.proto, Inside: b.inside, Outside: b.out, Remote: b.remote})
	}
	return list
}

// passed is where a gate ends.
const passed = "passed"

// gate is a chain of nothing but its interfaces' checks.
func gate(g *graph.Graph) *interp.Chain {
	only := &graph.Graph{Interfaces: g.Interfaces, Nodes: slices.Clone(g.Nodes)}
	end := len(only.Nodes)
	only.Nodes = append(only.Nodes, graph.Node{Name: passed, Element: element.Discard{Reason: passed}})
	for _, f := range g.Interfaces {
		only.Nodes[f.In].Out = []graph.Edge{{To: end}}
	}
	return interp.New(only, interp.Options{})
}
