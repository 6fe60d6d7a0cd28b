package rig

import (
	"context"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/model"
)

// DriveModel compares the model with the oracle, and has it checked after each packet.
func (r *Rig) DriveModel(seed uint64, n int, check func(*model.Model) error) error {
	t := draw.NewTraffic(seed, r.Graph, r.Result.Program)
	r.Reset()
	entry := Gate(r.Graph)
	m := model.New(r.Result.Program, r.Graph.Interfaces)
	now := time.Second
	for i := range n {
		if i%Batch == 0 {
			now += Pause(t.Rand)
		}
		p := t.Next()
		if entry.Process(now, p.Iface, p.Frame, nil).Drops[0].Reason != Passed {
			continue
		}
		r.History = append(r.History, Step{now, []draw.Sent{p}})
		seen := m.Process(now, p.Iface, p.Frame)
		if err := r.Compare(context.Background(), now, 0, p, interp.Seen{Result: seen, Told: append(m.Choices(r.naptsOf), m.Subscribers...)}); err != nil {
			return err
		}
		if err := check(m); err != nil {
			return err
		}
		var out []draw.Sent
		for _, o := range seen.Out {
			out = append(out, draw.Sent{Iface: o.Interface, Frame: o.Frame})
		}
		t.Saw(p, out)
	}
	return nil
}

// Passed is where a gate ends.
const Passed = "passed"

// Gate is a chain of nothing but its interfaces' checks.
func Gate(g *graph.Graph) *interp.Chain {
	only := &graph.Graph{Interfaces: g.Interfaces, Nodes: slices.Clone(g.Nodes)}
	end := len(only.Nodes)
	only.Nodes = append(only.Nodes, graph.Node{Name: Passed, Element: element.Discard{Reason: Passed}})
	for _, f := range g.Interfaces {
		only.Nodes[f.In].Out = []graph.Edge{{To: end}}
	}
	return interp.New(only, interp.Options{})
}
