package rig

import (
	"context"
	"fmt"
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
			if r.watched.pass(now, r.Oracle) > 0 {
				m.Down = func(out int) bool { return r.watched.down[r.stops[out].name] }
			}
		}
		p := t.Next()
		if entry.Process(now, p.Iface, p.Frame, nil).Drops[0].Reason != Passed {
			continue
		}
		r.History = append(r.History, Step{Now: now, Packets: []draw.Sent{p}})
		out, err := r.passModel(m, now, p)
		if err != nil {
			return err
		}
		if err := check(m); err != nil {
			return err
		}
		t.Saw(p, out)
	}
	return nil
}

// passModel has model and oracle process a packet, and what comes back of it from stops. It tells what left.
func (r *Rig) passModel(m *model.Model, now time.Duration, p draw.Sent) (out []draw.Sent, err error) {
	todo := trip{Step: Step{Now: now, Packets: []draw.Sent{p}}, theirs: [][]byte{p.Frame}}
	for r.trips = 0; len(todo.Packets) > 0; r.trips++ {
		if r.trips > maxTrips {
			return nil, fmt.Errorf("chain %s at %v: packets have come back from stops %d times", r.Chain, now, maxTrips)
		}
		away := trip{Step: Step{Now: now}}
		for i, p := range todo.Packets {
			seen := m.Process(now, p.Iface, todo.theirs[i])
			if err := r.Compare(context.Background(), now, 0, p, interp.Seen{Result: seen, Told: append(m.Choices(r.naptsOf), m.Subscribers...)}); err != nil {
				return nil, err
			}
			for _, o := range seen.Out {
				if _, stop := r.stops[o.Interface]; !stop {
					out = append(out, draw.Sent{Iface: o.Interface, Frame: o.Frame})
				}
			}
			r.leave(&away, 0, seen)
		}
		todo = away
	}
	return out, nil
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
