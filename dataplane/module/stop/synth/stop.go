// Package synth has the meaning of functions outside of the chain on sets of packets: an outcome by which packets leave for one, and go on in a
// segment when they come back.
package synth

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

func init() { walk.Register(func(e element.Stop) walk.Meaning { return stop{e} }) }

type stop struct{ element.Stop }

// Walk: all that was decided is done before the packet leaves. What comes back is looked up again: the stop may have changed it, or made it.
func (s stop) Walk(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	if err := w.EndRuns(t); err != nil {
		return err
	}
	return w.Leaf(t, at.Node, walk.Outcome{Kind: toStop, Arg: at.Node*element.StopSides + at.Port})
}

// Forks implements walk.Forking: a segment begins behind each side.
func (stop) Forks() int { return element.StopSides }

// Counters implements walk.WithCounters: no leg counts what passes a stop that is down.
func (s stop) Counters(node string) []string {
	if s.WhenDown != element.StopOpen {
		return nil
	}
	return []string{element.BypassCounter(node)}
}

var toStop = walk.NewOutcome(walk.Ending{Forks: true, Write: func(e *walk.Emitter, o walk.Outcome, leg *programpb.Leg) string {
	node, in := o.Arg/element.StopSides, o.Arg%element.StopSides
	s := e.Node(node).Element.(element.Stop)
	out := &programpb.Stop{
		Out: place(e, s.Interfaces[in]), Back: place(e, s.Interfaces[1-in]), Segment: e.Behind(node, 1-in),
	}
	for _, f := range s.Changes {
		out.Writes |= 1 << f
	}
	out.Never = uint32(s.Never)
	switch s.WhenDown {
	case element.StopUnwatched:
	case element.StopClosed:
		out.Down = &programpb.Stop_Drop{Drop: e.Drop(element.DownReason(e.Node(node).Name)).GetChain()}
	case element.StopOpen:
		out.Down = &programpb.Stop_Bypass{Bypass: e.Counter(node, 0)}
	}
	leg.Outcome = &programpb.Leg_Stop{Stop: out}
	return "leave for " + e.Node(node).Name
}})

// place is an interface's in the program.
func place(e *walk.Emitter, name string) uint32 {
	is := func(i graph.Interface) bool { return i.Name == name }
	return uint32(slices.IndexFunc(e.Interfaces(), is))
}

// Redirects implements walk.Redirecting: a stop that changes destinations may send packets to any.
func (s stop) Redirects(on func(port int, to headerspace.Set)) {
	if !slices.Contains(s.Changes, headerspace.Dst) {
		return
	}
	for out := range element.StopSides {
		on(out, walk.Everything.Get(headerspace.Dst))
	}
}

// Leads: packets go through, if the stop lets them.
func (s stop) Leads(h walk.HopTo, in int, on func(walk.HopTo, int)) {
	if s.WhenDown == element.StopOpen {
		h = h.Starting() // the same packet goes on in a segment
	}
	on(h, 1-in)
}
