package interp

import (
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

// NAPTs that follow each other directly may be one to an engine: then only the last one chooses an endpoint for a flow, and no packet
// ever shows what the others would have chosen. The oracle gives their entries an endpoint that is loose: it stands for any that the
// NAPT could have chosen. Only what the entry's own flow leads to is sent there. It gives way to an engine's choice, and what follows
// from it, the flows of the functions behind, moves along. If the engine makes a choice for the flow after all, that is its endpoint.

// settle notes where an entry's flow comes from. A loose one gets the endpoint that the engine has chosen for it by now, if it has; so does
// one whose endpoint the engine may have forgotten.
func (r *run) settle(e *entry, f flow, by *entry) {
	r.follow(e, by)
	if c := r.choiceOf(e.nat, f, by); c != nil && (e.loose || r.forgotten(e, f.remote(), c)) {
		c.taken = true
		r.moveTo(e, c.outside(f.proto))
	}
}

// forgotten tells whether the engine may have ended the session for which it chose an entry's endpoint, and a flow lives on. Only packets
// that something behind the NAPT answers use that session; those that go on use the one of this NAPT and others behind, which may have ended
// since.
func (r *run) forgotten(e *entry, to remote, c *told) bool {
	s := e.sessions[to]
	if s == nil || len(s.behind) == 0 {
		return false
	}
	t := r.c.shortest(c.NAPTs)
	t.TCP = min(t.TCP, t.TCPTransitory)
	return r.now-e.chosen > timeoutOf(t, e.flow.proto, &tcpState{})
}

// moveTo gives an entry an endpoint that the engine has chosen.
func (r *run) moveTo(e *entry, at endpoint) {
	n := e.nat
	if at != e.out {
		n.vacate(r, e.flow, at)
		if !n.allowed(e.flow, at, r.now) {
			r.deny(n, e.flow, at)
			return
		}
		if !n.move(r, e, at) {
			r.deny(n, e.flow, at)
			return
		}
	}
	loose, chosen := e.loose, e.chosen
	e.loose, e.chosen = false, r.now
	r.undoable(func() { e.loose, e.chosen = loose, chosen })
}

// vacate moves a loose entry away from where an entry of the flow goes.
func (n *nat) vacate(r *run, f flow, at endpoint) {
	e := n.outside[n.seat(f, at)]
	if e == nil || !e.loose || !n.live(e, r.now) {
		return
	}
	free, ok := n.choose(e.flow, r.now)
	if !ok {
		free = n.nowhere(e.flow)
	}
	n.move(r, e, free)
}

// move gives a loose entry a free endpoint. False: a flow that follows from it would be one that there is already.
func (n *nat) move(r *run, e *entry, at endpoint) bool {
	old := e.out
	if !r.rename(e.followers(at)) {
		return false
	}
	n.evict(r, e.flow, at)
	n.place(e, old, at)
	r.undoable(func() { n.place(e, at, old) })
	r.moveFlows(e, old, at)
	return true
}

func (n *nat) place(e *entry, from, to endpoint) {
	e.out = from
	delete(n.outside, n.seatOf(e))
	e.out = to
	n.outside[n.seatOf(e)] = e
}

// nowhere stands for an endpoint of a pool all of which are taken, as they may be where an engine takes none: a free one with a port that is
// none of the pool's, or if there is none either, in 0.0.0.0/8.
func (n *nat) nowhere(f flow) endpoint {
	for range 1 << 16 {
		n.displaced++
		at := endpoint{f.proto, n.pool[int(n.displaced>>16)%len(n.pool)], uint16(n.displaced)}
		if at.port != 0 && !n.owns(at) && n.outside[n.seat(f, at)] == nil {
			return at
		}
	}
	n.displaced++
	return endpoint{f.proto, n.displaced & 0xffffff, f.sport}
}

// ---- what follows from an endpoint ----

// dependent is what another function knows a flow by whose source is a loose endpoint: a firewall's flow, a balancer's session.
type dependent interface {
	source() *entry
	take()           // from its table
	put(at endpoint) // into it again, as what it would be with that source
}

// depend notes that a flow which begins comes from a loose endpoint.
func (r *run) depend(by origins, d dependent) *entry {
	e := by.from()
	if e == nil || !e.loose {
		return nil
	}
	e.flows = append(e.flows, d)
	r.undoable(func() { e.flows = e.flows[:len(e.flows)-1] })
	return e
}

// moveFlows has flows whose source moved from one endpoint to another follow.
func (r *run) moveFlows(e *entry, from, to endpoint) {
	var all []dependent
	for _, d := range e.flows {
		if d.source() == e {
			all = append(all, d)
		}
	}
	move := func(to endpoint) {
		for _, d := range all {
			d.take()
		}
		for _, d := range all {
			d.put(to)
		}
	}
	move(to)
	r.undoable(func() { move(from) })
}

// follow notes that the flow of an entry comes from the endpoint of another NAPT's entry.
func (r *run) follow(e, source *entry) {
	was := e.source
	if source == nil || source == was {
		return
	}
	e.source, source.behind = source, append(source.behind, e)
	r.undoable(func() { e.source, source.behind = was, source.behind[:len(source.behind)-1] })
}

// renamed is an entry on its way to another flow.
type renamed struct {
	e  *entry
	to flow
}

// followers are the entries whose flows come from e's endpoint, and what they become if it moves.
func (e *entry) followers(at endpoint) []renamed {
	var out []renamed
	for _, b := range e.behind {
		if b.source == e && b.nat.inside[b.flow] == b {
			to := b.flow
			to.src, to.sport = at.addr, at.port
			out = append(out, renamed{b, to})
		}
	}
	return out
}

// rename gives entries other flows, unless one of these has a live entry that stays.
func (r *run) rename(all []renamed) bool {
	for _, c := range all {
		if there := c.e.nat.find(c.to, r.now); there != nil && there != c.e {
			return false
		}
	}
	back := make([]renamed, len(all))
	for i, c := range all {
		back[i] = renamed{c.e, c.e.flow}
		if old := c.e.nat.inside[c.to]; old != nil && old != c.e {
			c.e.nat.remove(r, old)
		}
	}
	rename(all)
	r.undoable(func() { rename(back) })
	return true
}

func rename(all []renamed) {
	for _, c := range all {
		delete(c.e.nat.inside, c.e.flow)
		c.e.nat.count(c.e, -1)
	}
	for _, c := range all {
		c.e.flow = c.to
		c.e.nat.inside[c.to] = c.e
		c.e.nat.count(c.e, 1)
	}
}

// origins are the entries, if any, whose endpoint the packet has for a source, a destination, or what it quotes.
type origins struct{ src, sport, dst, dport, qsrc, qsport, qdst, qdport *entry }

// from is the entry whose endpoint the packet has for its source; nil: none.
func (o origins) from() *entry {
	if o.src != o.sport {
		return nil
	}
	return o.src
}

// ---- one session of several NAPTs ----

// NAPTs in a row may have one session to an engine (docs/elements.md, "napt"). It is the session of the last of them, but ends with the
// shortest of their timeouts. A packet that something between them answers may use the last one's session and not those before. They are
// the engine's one session as well, so they live as long.

// join makes a new session one with those of other NAPTs for which an engine made one.
func (r *run) join(e *entry, to remote, s *session) {
	f := e.flow
	f.dst, f.dport = to.addr, to.port
	for _, c := range r.told {
		at := slices.Index(c.NAPTs, e.nat.name)
		if at < 0 || !c.isFor(at, f, e.source) {
			continue
		}
		if at < len(c.NAPTs)-1 {
			if c.session != nil { // the packet comes from outside
				s.behind = []*session{c.session}
			}
			continue
		}
		if at := c.outside(f.proto); !c.taken && at != e.out {
			r.deny(e.nat, f, at)
		}
		c.session, c.taken = s, true
		s.timeouts = r.c.shortest(c.NAPTs)
		for from := e.source; from != nil && at > 0; from, at = from.source, at-1 {
			if before := from.sessions[to]; before != nil {
				r.hold(before, s, f.proto)
			}
		}
	}
}

// hold has a session live at least as long as one behind.
func (r *run) hold(s, behind *session, proto uint8) {
	was := s.behind
	s.behind = slices.DeleteFunc(slices.Clone(was), func(o *session) bool { return !o.lives(proto, r.now) })
	s.behind = append(s.behind, behind)
	r.undoable(func() { s.behind = was })
}

// shortest are the shortest timeouts of NAPTs.
func (c *Chain) shortest(napts []string) element.Timeouts {
	const ever = time.Duration(1<<63 - 1)
	t := element.Timeouts{TCP: ever, TCPTransitory: ever, UDP: ever, ICMP: ever}
	for _, n := range c.nats() {
		if o := n.element.Timeouts; slices.Contains(napts, n.name) {
			t = element.Timeouts{
				TCP: min(t.TCP, o.TCP), TCPTransitory: min(t.TCPTransitory, o.TCPTransitory), UDP: min(t.UDP, o.UDP), ICMP: min(t.ICMP, o.ICMP),
			}
		}
	}
	return t
}

// lives tells whether a session of a protocol does.
func (s *session) lives(proto uint8, now time.Duration) bool { return now <= s.end(proto) }

// end is the last moment at which a session of a protocol lives if nothing uses it.
func (s *session) end(proto uint8) time.Duration {
	end := s.last + timeoutOf(s.timeouts, proto, &s.tcp)
	for _, b := range s.behind {
		end = max(end, b.end(proto))
	}
	return end
}
