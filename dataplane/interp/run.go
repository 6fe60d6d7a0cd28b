package interp

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
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
	undo   []func()

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
	flow   flow
	by     origins   // where the flow's own source comes from
	entry  *entry    // made, or kept though its endpoint is a guess
	denied *endpoint // wished for, but not allowed
	gaveUp bool      // was wished to find none
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

func (r *run) undoable(f func()) { r.undo = append(r.undo, f) }

// rollback takes back the changes of state since the mark.
func (r *run) rollback(mark int) {
	for len(r.undo) > mark {
		r.undo[len(r.undo)-1]()
		r.undo = r.undo[:len(r.undo)-1]
	}
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

// chosen asks for the choice of a new entry.
func (r *run) chosen(m *made) (endpoint, bool) {
	n := m.nat
	r.made = append(r.made, m)
	if n.full(r.now) {
		return endpoint{}, false
	}
	if !hasPorts(m.flow.proto) {
		if w := r.nextWish(m); w.exhausted {
			return endpoint{}, false
		}
		return n.byAddress(m.flow, r.now)
	}
	if r.choose != nil {
		toEndpoint := func(a netip.AddrPort) endpoint { return endpoint{m.flow.proto, num(a.Addr()), a.Port()} }
		allowed := func(a netip.AddrPort) bool { return a.Addr().Is4() && n.allowed(m.flow, toEndpoint(a), r.now) }
		a, ok := r.choose(n.binding(m.flow), allowed)
		if !ok || !allowed(a) {
			return endpoint{}, false
		}
		return toEndpoint(a), true
	}
	w := r.nextWish(m)
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
	m.gaveUp = w.exhausted
	return w
}

// guessed gives ProcessAgainst a say about an entry that is used and whose endpoint is a guess. An
// entry that was displaced takes a place again, if one is free.
func (r *run) guessed(e *entry, by origins) {
	if !e.hidden || r.makers[e] != nil {
		return
	}
	n, m := e.nat, &made{nat: e.nat, flow: e.flow, by: by, entry: e}
	r.made, r.makers[e] = append(r.made, m), m
	r.undoable(func() { delete(r.makers, e) })
	w := r.nextWish(m)
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
		n, made := &r.c.graph.Nodes[at.To], &r.c.nodes[at.To]
		if p.steps++; p.steps > r.c.maxSteps {
			r.drop("loop")
			return false
		}
		out, left := r.element(n, made, p, at.Port)
		if out == ended {
			return left
		}
		r.step(n, out, p)
		at = n.Out[out]
	}
}

// ended is the output of an element by which a packet does not go on.
const ended = -1

// element has an element do its part, and gives the output by which the packet goes on; ended: it does not.
func (r *run) element(n *graph.Node, made *node, p *packet, in int) (out int, left bool) {
	switch e := n.Element.(type) {
	case element.Input:
	case element.Output:
		return ended, r.output(n, made.link, p)
	case element.Classifier:
		out = r.classify(n, made.classifier, p)
	case element.Lookup:
		out = r.route(e, made.lookup, p)
	case element.DecTTL:
		out = decTTL(p)
	case element.TTLGuard:
		out = element.GuardPass
		if p.ip[8] < e.Min {
			out = element.GuardFail
		}
	case element.SetField:
		p.set(e.Field, constant(e))
	case element.CheckIPHeader:
		out = element.CheckGood // Entry let no other in
	case element.Counter:
		r.count(n.Name, p)
	case element.Tee:
		for i := range e.Outs {
			r.step(n, i, p)
			if r.walk(p.copy(), n.Out[i]) {
				left = true
			}
		}
		return ended, left
	case element.Discard:
		r.discard(n, p, e.Reason)
		return ended, false
	case element.ICMPError:
		r.answer(n, p, icmpError(p, e.Type, e.Code, 0, r.errorSource(e, p), answerTTL), n.Out[0])
		return ended, true
	case element.EchoResponder:
		r.echo(n, p)
		return ended, true
	case element.LocalHost:
		r.localHost(n, p)
		return ended, true
	case element.Reject:
		r.reject(n, p)
		return ended, true
	case element.NAPT:
		if reason := r.translate(made.nat, p, in); reason != "" {
			r.discard(n, p, reason)
			return ended, false
		}
		out = 1 - in
	default:
		panic(fmt.Sprintf("interp: no semantics for element %T of node %s", e, n.Name))
	}
	return out, false
}

// discard ends a packet's way at a node.
func (r *run) discard(n *graph.Node, p *packet, reason string) {
	r.note("drop %s", reason)
	r.step(n, -1, p)
	r.drop(reason)
}

// decTTL takes one off a packet's TTL, and gives the output for what is left.
func decTTL(p *packet) int {
	if p.ip[8] <= 1 {
		return element.TTLExpired
	}
	p.ip[8]--
	return element.TTLAlive
}

func (r *run) classify(n *graph.Node, c *classifier, p *packet) int {
	if c.byChoice {
		r.reads(p.by.src, p.by.sport, p.by.dst, p.by.dport)
	}
	i := c.match(p)
	if i < 0 {
		r.note("no rule matches")
		return c.fallback
	}
	rule := &c.rules[i]
	r.note("rule %s", rule.Name)
	if rule.Count {
		r.count(rule.Name, p)
	}
	return rule.Out
}

func (r *run) route(e element.Lookup, l *lookup, p *packet) int {
	r.reads(p.by.dst)
	rt, ok := l.find(dstOf(p.ip))
	if !ok {
		r.note("no route")
		return e.NoRoute
	}
	p.via = rt.Via
	if rt.Via.IsValid() {
		r.note("route %v via %v", rt.Prefix, rt.Via)
	} else {
		r.note("route %v", rt.Prefix)
	}
	return rt.Out
}

// constant is what a set-field writes.
func constant(e element.SetField) uint32 {
	if e.Field == headerspace.Src || e.Field == headerspace.Dst {
		return num(headerspace.AsAddr(e.Value))
	}
	return uint32(e.Value.Lo)
}

// reads notes that a classification sees choices of this run.
func (r *run) reads(choices ...*made) {
	for _, m := range choices {
		if m != nil && !slices.Contains(r.read, m) {
			r.read = append(r.read, m)
		}
	}
}
