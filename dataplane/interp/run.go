package interp

import (
	"fmt"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// maxTTLs is how many values the TTL has. Between two of them a packet passes each input of an element once at most: a
// valid chain has no other circles.
const maxTTLs = 256

// run is the passage of one frame, with all copies and answers. Changes of
// state are made at once and taken back if the packet that made them is dropped.
type run struct {
	c      *Chain
	now    time.Duration
	choose Chooser
	res    Result
	counts []counted
	undo   []change
	why    string // note of the element at work

	// against an engine:
	against bool
	told    []*told
	// subscribers are the engine's that no meter has yet.
	subscribers []Subscriber
	refusals    []Drop   // why NAPTs that made no choice may have refused one
	denied      []string // choices that were not allowed
	gave        []string // NAPTs that made none
}

// counted is a counter's increment, kept apart until the run is accepted.
type counted struct {
	name  string
	bytes int
}

func (c *Chain) newRun(now time.Duration, choose Chooser) *run {
	return &run{c: c, now: now, choose: choose}
}

func (r *run) start(iface int, frame []byte) {
	l := &r.c.links[iface]
	p, reason := l.enter(iface, frame)
	if p == nil {
		r.drop(reason)
		return
	}
	r.walk(p, graph.Edge{To: l.in})
}

// change is how a change of state is taken back.
type change struct {
	back func()
	// stays says that the change does not depend on what becomes of the packet: it is taken back with the run alone.
	stays bool
}

func (r *run) undoable(f func()) { r.undo = append(r.undo, change{back: f}) }

// lasting is for a change that stays when the packet is dropped.
func (r *run) lasting(f func()) { r.undo = append(r.undo, change{f, true}) }

// rollback takes back the changes of state that the packets made since the mark, which are dropped.
func (r *run) rollback(mark int) {
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

// abandon takes back all that the run changed.
func (r *run) abandon() {
	for _, c := range slices.Backward(r.undo) {
		c.back()
	}
	r.undo = nil
}

// accept makes the run count.
func (r *run) accept() {
	for _, n := range r.counts {
		was := r.c.counts[n.name]
		r.c.counts[n.name] = Count{was.Packets + 1, was.Bytes + uint64(n.bytes)}
	}
}

func (r *run) drop(reason string) { r.res.Drops = append(r.res.Drops, Drop{reason}) }

func (r *run) count(name string, p *packet) { r.counts = append(r.counts, counted{name, p.size}) }

// ask looks an entry up from outside. A loose one is found by what it sent alone: by is the entry whose endpoint the packet goes to.
func (r *run) ask(q question, by *entry) *entry {
	e := q.nat.findOutside(q, r.now)
	if e != nil && e.loose && e != by {
		return nil
	}
	return e
}

// insideOf is where the inside address and port of an entry come from: the entry of a NAPT before.
func (r *run) insideOf(e *entry) origins {
	if s := e.source; s != nil && s.nat.live(s, r.now) {
		return origins{src: s, sport: s}
	}
	return origins{}
}

// note says why, if anyone listens.
func (r *run) note(format string, args ...any) {
	if r.c.trace != nil {
		r.why = fmt.Sprintf(format, args...)
	}
}

// step reports that the packet leaves the element by a port; -1: it ends there.
func (r *run) step(n *graph.Node, port int, p *packet) {
	if r.c.trace != nil {
		r.c.trace(Step{Node: n.Name, Port: port, Packet: p.point(), Note: r.why})
		r.why = ""
	}
}

// walk passes a packet through the chain from an input port on. It tells
// whether some copy left or was answered; if none, state is as before.
func (r *run) walk(p *packet, at graph.Edge) (left bool) {
	mark := len(r.undo)
	if left = r.way(p, at); !left {
		r.rollback(mark)
	}
	return left
}

func (r *run) way(p *packet, at graph.Edge) (left bool) {
	for {
		if at.To < 0 {
			r.drop("unwired") // a valid graph has no such way
			return false
		}
		n := &r.c.graph.Nodes[at.To]
		if p.steps++; p.steps > r.c.maxSteps {
			r.drop("loop")
			return false
		}
		out, left := r.c.means[at.To].pass(r, n, p, at.Port)
		if out == ended {
			return left
		}
		r.step(n, out, p)
		at = n.Out[out]
	}
}
