package pass

import (
	"fmt"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// Run is the passage of one frame, with all copies and answers. Changes of
// state are made at once and taken back if the packet that made them is dropped.
type Run struct {
	Now    time.Duration
	Chain  *Chain
	Result Result
	// Choose, if set, makes the choices of outside addresses and ports.
	Choose Chooser
	counts []counted
	undo   []change
	due    []func()
	why    string // note of the element at work

	// Against says that the run follows an engine's (Follow).
	Against bool
	// Told is what the engine told of what it chose, as far as no element has taken it.
	Told []Told
	// Refusals are drops of the engine's, if elements for which it chose nothing refuse for one of their reasons to begin what they may; nil: they
	// begin it.
	Refusals []Drop
	// Denied are choices of the engine's that were not allowed.
	Denied []string
	// Yielded are the elements that had room, and refused all the same because the engine did.
	Yielded []string
}

// counted is a counter's increment, kept apart until the run is accepted.
type counted struct {
	name  string
	bytes int
}

// change is how a change of state is taken back.
type change struct {
	back func()
	// stays says that the change does not depend on what becomes of the packet: it is taken back with the run alone.
	stays bool
}

// Undoable notes how a change of state is taken back if the packet is dropped.
func (r *Run) Undoable(f func()) { r.undo = append(r.undo, change{back: f}) }

// Lasting is for a change that stays when the packet is dropped.
func (r *Run) Lasting(f func()) { r.undo = append(r.undo, change{f, true}) }

// Leaving is for a change that the packet makes when it leaves or is answered, itself or a copy of it. What it meets until then does not see it.
func (r *Run) Leaving(f func()) { r.due = append(r.due, f) }

// Left makes the changes that wait for a packet to leave or to be answered: it does so now.
func (r *Run) Left() {
	due := r.due
	r.due = nil
	for _, f := range due {
		f()
	}
}

// rollback takes back the changes of state that the packets made since the mark, which are dropped.
func (r *Run) rollback(mark int) {
	var stay []change
	for _, c := range slices.Backward(r.undo[mark:]) {
		if c.stays {
			stay = append(stay, c)
			continue
		}
		c.back()
	}
	slices.Reverse(stay)
	r.undo = append(r.undo[:mark], stay...)
}

// Abandon takes back all that the run changed.
func (r *Run) Abandon() {
	for _, c := range slices.Backward(r.undo) {
		c.back()
	}
	r.undo, r.due = nil, nil
}

// Accept makes the run count.
func (r *Run) Accept() {
	for _, n := range r.counts {
		was := r.Chain.counts[n.name]
		r.Chain.counts[n.name] = Count{was.Packets + 1, was.Bytes + uint64(n.bytes)}
	}
}

// Drop notes that a packet ended.
func (r *Run) Drop(reason string) { r.Result.Drops = append(r.Result.Drops, Drop{reason}) }

// Discard ends a packet's way at a node.
func (r *Run) Discard(n *graph.Node, p *Packet, reason string) {
	r.Note("drop %s", reason)
	r.Step(n, Ended, p)
	r.Drop(reason)
}

// Count adds a packet to a counter.
func (r *Run) Count(name string, p *Packet) { r.counts = append(r.counts, counted{name, p.Size}) }

// Note says why, if anyone listens.
func (r *Run) Note(format string, args ...any) {
	if r.Chain.Trace != nil {
		r.why = fmt.Sprintf(format, args...)
	}
}

// Step reports that the packet leaves the element by a port; -1: it ends there.
func (r *Run) Step(n *graph.Node, port int, p *Packet) {
	if r.Chain.Trace != nil {
		r.Chain.Trace(Step{Node: n.Name, Port: port, Packet: p.point(), Note: r.why})
		r.why = ""
	}
}

// Walk passes a packet through the chain from an input port on. It tells
// whether some copy left or was answered; if none, state is as before.
func (r *Run) Walk(p *Packet, at graph.Edge) (left bool) {
	mark, due := len(r.undo), len(r.due)
	if left = r.way(p, at); left {
		r.Left()
	} else {
		r.rollback(mark)
		r.due = r.due[:min(due, len(r.due))]
	}
	return left
}

func (r *Run) way(p *Packet, at graph.Edge) (left bool) {
	for {
		if at.To < 0 {
			r.Drop("unwired") // a valid graph has no such way
			return false
		}
		n := &r.Chain.Graph.Nodes[at.To]
		if p.Steps++; p.Steps > r.Chain.maxSteps {
			r.Drop("loop")
			return false
		}
		out, left := r.Chain.elements[at.To].Pass(r, n, p, at.Port)
		if out == Ended {
			return left
		}
		r.Step(n, out, p)
		at = n.Out[out]
	}
}
