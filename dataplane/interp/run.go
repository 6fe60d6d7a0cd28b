package interp

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
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
	wishes map[string][]wish // per NAPT, for its choices in order; for ProcessAgainst
	// again says that a flow whose entry has expired gets the same endpoint, if that is free: where the next NAPT's entry lives on, an
	// engine that keeps one for both goes on with it.
	again  bool
	wide   bool // what is chosen freely is far from what was chosen before
	res    Result
	counts []counted
	undo   []change

	made    []*made          // choices, in order
	asked   []question       // look-ups from outside, in order
	matched []*entry         // what they found
	makers  map[*entry]*made // entries of this run
	read    []*made          // whose address or port some classification saw
	why     string           // note of the element at work
}

// counted is a counter's increment, kept apart until the run is accepted.
type counted struct {
	name  string
	bytes int
}

// made is a choice that a NAPT made in this run.
type made struct {
	nat    *nat
	flow   flow      // the entry's key
	of     flow      // that it is made for
	by     origins   // where the flow's own source comes from
	entry  *entry    // made, or kept though its endpoint is a guess
	denied *endpoint // wished for, but not allowed
	gaveUp bool      // was wished to find none
	added  bool      // it is a session more of an entry: no endpoint is chosen
}

// origins tell which of this run's choices the packet shows, and where.
type origins struct{ src, sport, dst, dport, qsrc, qsport, qdst, qdport *made }

func (c *Chain) newRun(now time.Duration, choose Chooser, wishes map[string][]wish) *run {
	return &run{c: c, now: now, choose: choose, wishes: wishes, makers: map[*entry]*made{}}
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
	r.reveal()
	r.res.Guessed = r.guesses()
	for _, n := range r.counts {
		was := r.c.counts[n.name]
		r.c.counts[n.name] = Count{was.Packets + 1, was.Bytes + uint64(n.bytes)}
	}
}

func (r *run) drop(reason string) { r.res.Drops = append(r.res.Drops, Drop{reason}) }

func (r *run) count(name string, p *packet) { r.counts = append(r.counts, counted{name, p.size}) }

// chosen asks for the choice of a new entry. A reason means that it gets none.
func (r *run) chosen(m *made) (at endpoint, reason string) {
	n := m.nat
	r.made = append(r.made, m)
	if n.limited(m.flow, true, r.now) {
		return endpoint{}, n.element.Limits.Reason
	}
	var w wish
	if r.choose == nil || !hasPorts(m.flow.proto) {
		w = r.nextWish(m)
	}
	if w.refused != "" {
		return endpoint{}, w.refused
	}
	if !n.full(r.now) {
		if at, ok := r.choice(m, w); ok {
			return at, ""
		}
	}
	return endpoint{}, element.ReasonNATExhausted
}

// choice is the endpoint of a new entry, for which there is room.
func (r *run) choice(m *made, w wish) (endpoint, bool) {
	n := m.nat
	if !hasPorts(m.flow.proto) {
		return n.byAddress(m.flow, r.now)
	}
	if r.choose != nil {
		toEndpoint := func(a netip.AddrPort) endpoint { return endpoint{m.flow.proto, num(a.Addr()), a.Port()} }
		allowed := func(a netip.AddrPort) bool { return a.Addr().Is4() && n.allowed(m.flow, toEndpoint(a), r.now) }
		a, ok := r.choose(n.binding(m.of), allowed)
		if !ok || !allowed(a) {
			return endpoint{}, false
		}
		return toEndpoint(a), true
	}
	if w.addr && w.port {
		n.displace(r, m.flow, w.at)
	}
	if old := n.inside[m.flow]; r.again && old != nil && w == (wish{at: w.at}) && n.allowed(m.flow, old.out, r.now) {
		return old.out, true
	}
	if r.wide {
		n.cursor[m.flow.proto] += int(float64(n.size()) * (math.Sqrt2 - 1))
	}
	at, ok := n.choose(m.flow, w, r.now)
	if !ok && (w.addr || w.port) {
		m.denied = &w.at
		return n.choose(m.flow, wish{}, r.now)
	}
	return at, ok
}

// nextWish is what ProcessAgainst wishes for the choice.
func (r *run) nextWish(m *made) (w wish) {
	if ws := r.wishes[m.nat.name]; len(ws) > 0 {
		w, r.wishes[m.nat.name] = ws[0], ws[1:]
	}
	w.at.proto = m.flow.proto
	m.gaveUp = w.refused != ""
	return w
}

// guessed gives ProcessAgainst a say about an entry that is used and whose endpoint is a guess. An
// entry that was displaced takes a place again, if one is free.
func (r *run) guessed(e *entry, by origins) {
	if !e.hidden || r.makers[e] != nil {
		return
	}
	n, m := e.nat, &made{nat: e.nat, flow: e.flow, of: e.flow, by: by, entry: e}
	r.made, r.makers[e] = append(r.made, m), m
	r.undoable(func() { delete(r.makers, e) })
	w := r.nextWish(m)
	if e.pinned && !w.port {
		w.port, w.at.port = true, e.out.port
	}
	switch {
	case w.addr && w.port:
		if !n.move(r, e, w.at) {
			m.denied = &w.at
		}
	case !n.owns(e.out) || !w.fits(e.out):
		if at, ok := n.choose(e.flow, w, r.now); ok {
			n.move(r, e, at)
		} else if w.addr || w.port {
			m.denied = &w.at
		}
	}
}

// ask looks an entry up from outside. An answer to a packet that this run sent there (by
// its choice) proves nothing about the choice.
func (r *run) ask(q question, by *made) *entry {
	e := q.nat.findOutside(q, r.now)
	if by == nil {
		r.asked = append(r.asked, q)
		if e != nil {
			r.matched = append(r.matched, e)
			r.undoable(func() { r.matched = r.matched[:len(r.matched)-1] })
		}
	}
	return e
}

// insideOf is where the inside address and port of an entry come from: choices of this
// run, or a guess of an earlier one. If the guess is corrected, the entry follows.
func (r *run) insideOf(e *entry) origins {
	if s := e.source; s != nil && s.hidden && s.nat.live(s, r.now) {
		r.guessed(s, r.insideOf(s))
		return origins{src: r.makers[s], sport: r.makers[s]}
	}
	if m := r.makers[e]; m != nil {
		return origins{src: m.by.src, sport: m.by.sport}
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

// reads notes that a classification sees choices of this run.
func (r *run) reads(choices ...*made) {
	for _, m := range choices {
		if m != nil && !slices.Contains(r.read, m) {
			r.read = append(r.read, m)
		}
	}
}
