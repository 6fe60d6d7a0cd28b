package oracle

import (
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

// NAPTs that follow each other directly may be one to an engine: then only the last one chooses an endpoint for a flow, and no packet
// ever shows what the others would have chosen. The oracle gives their entries an endpoint that is loose: it stands for any that the
// NAPT could have chosen. Only what the entry's own flow leads to is sent there. It gives way to an engine's choice, and what follows
// from it, the flows of the functions behind, moves along. If the engine makes a choice for the flow after all, that is its endpoint.

// settle notes where an entry's flow comes from. A loose one gets the endpoint that the engine has chosen for it by now, if it has; so does
// one whose endpoint the engine may have forgotten.
func (r *run) settle(e *entry, f flow.Flow, by *entry) {
	r.follow(e, by)
	if c := r.choiceOf(e.nat, f, by); c != nil && (e.loose || r.forgotten(e, remoteOf(f), c)) {
		c.taken = true
		r.moveTo(e, c.outside(f.Proto))
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
	t := shortest(r.Chain, c.NAPTs)
	t.TCP = min(t.TCP, t.TCPTransitory)
	return r.Now-e.chosen > flow.Timeout(t, e.flow.Proto, &flow.TCP{})
}

// moveTo gives an entry an endpoint that the engine has chosen.
func (r *run) moveTo(e *entry, at flow.Endpoint) {
	n := e.nat
	if at != e.out {
		n.vacate(r, e.flow, at)
		if !n.allowed(e.flow, at, r.Now) {
			r.deny(n, e.flow, at)
			return
		}
		if !n.move(r, e, at) {
			r.deny(n, e.flow, at)
			return
		}
	}
	loose, chosen := e.loose, e.chosen
	e.loose, e.chosen = false, r.Now
	r.Undoable(func() { e.loose, e.chosen = loose, chosen })
}

// vacate moves a loose entry away from where an entry of the flow goes.
func (n *nat) vacate(r *run, f flow.Flow, at flow.Endpoint) {
	e := n.outside[n.seat(f, at)]
	if e == nil || !e.loose || !n.live(e, r.Now) {
		return
	}
	free, ok := n.choose(e.flow, r.Now)
	if !ok {
		free = n.nowhere(e.flow)
	}
	n.move(r, e, free)
}

// move gives a loose entry a free endpoint. False: a flow that follows from it would be one that there is already.
func (n *nat) move(r *run, e *entry, at flow.Endpoint) bool {
	old := e.out
	if !r.rename(e.followers(at)) {
		return false
	}
	n.evict(r, e.flow, at)
	n.place(e, old, at)
	r.Undoable(func() { n.place(e, at, old) })
	r.moveFlows(e, old, at)
	return true
}

func (n *nat) place(e *entry, from, to flow.Endpoint) {
	e.out = from
	delete(n.outside, n.seatOf(e))
	e.out = to
	n.outside[n.seatOf(e)] = e
}

// nowhere stands for an endpoint of a pool all of which are taken, as they may be where an engine takes none: a free one with a port that is
// none of the pool's, or if there is none either, in 0.0.0.0/8.
func (n *nat) nowhere(f flow.Flow) flow.Endpoint {
	for range 1 << 16 {
		n.displaced++
		at := flow.Endpoint{Proto: f.Proto, Addr: n.pool[int(n.displaced>>16)%len(n.pool)], Port: uint16(n.displaced)}
		if at.Port != 0 && !n.owns(at) && n.outside[n.seat(f, at)] == nil {
			return at
		}
	}
	n.displaced++
	return flow.Endpoint{Proto: f.Proto, Addr: n.displaced & 0xffffff, Port: f.Sport}
}

// ask looks an entry up from outside. A loose one is found by what it sent alone: by is the entry whose endpoint the packet goes to.
func (r *run) ask(q question, by *entry) *entry {
	e := q.nat.findOutside(q, r.Now)
	if e != nil && e.loose && e != by {
		return nil
	}
	return e
}

// insideOf is where the inside address and port of an entry come from: the entry of a NAPT before.
func (r *run) insideOf(e *entry) pass.Origins {
	if s := e.source; s != nil && s.nat.live(s, r.Now) {
		return pass.Origins{Src: s, Sport: s}
	}
	return pass.Origins{}
}

// ---- what follows from an endpoint ----

// Loose implements pass.Origin.
func (e *entry) Loose() bool { return e.loose }

// Depend implements pass.Origin.
func (e *entry) Depend(r *pass.Run, d pass.Dependent) {
	e.flows = append(e.flows, d)
	r.Undoable(func() { e.flows = e.flows[:len(e.flows)-1] })
}

// asEntry is the entry that a field comes from; nil: none.
func asEntry(o pass.Origin) *entry {
	e, _ := o.(*entry)
	return e
}

// originOf is the entry whose endpoint a packet has for its source; nil: none.
func originOf(p *pass.Packet) *entry { return asEntry(p.By.From()) }

// moveFlows has flows whose source moved from one endpoint to another follow.
func (r *run) moveFlows(e *entry, from, to flow.Endpoint) {
	var all []pass.Dependent
	for _, d := range e.flows {
		if d.Origin() == e {
			all = append(all, d)
		}
	}
	move := func(to flow.Endpoint) {
		for _, d := range all {
			d.Take()
		}
		for _, d := range all {
			d.Put(to)
		}
	}
	move(to)
	r.Undoable(func() { move(from) })
}

// follow notes that the flow of an entry comes from the endpoint of another NAPT's entry.
func (r *run) follow(e, source *entry) {
	was := e.source
	if source == nil || source == was {
		return
	}
	e.source, source.behind = source, append(source.behind, e)
	r.Undoable(func() { e.source, source.behind = was, source.behind[:len(source.behind)-1] })
}

// renamed is an entry on its way to another flow.
type renamed struct {
	e  *entry
	to flow.Flow
}

// followers are the entries whose flows come from e's endpoint, and what they become if it moves.
func (e *entry) followers(at flow.Endpoint) []renamed {
	var out []renamed
	for _, b := range e.behind {
		if b.source == e && b.nat.inside[b.flow] == b {
			to := b.flow
			to.Src, to.Sport = at.Addr, at.Port
			out = append(out, renamed{b, to})
		}
	}
	return out
}

// rename gives entries other flows, unless one of these has a live entry that stays.
func (r *run) rename(all []renamed) bool {
	for _, c := range all {
		if there := c.e.nat.find(c.to, r.Now); there != nil && there != c.e {
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
	r.Undoable(func() { rename(back) })
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

// ---- one session of several NAPTs ----

// NAPTs in a row may have one session to an engine (docs/elements.md, "napt"). It is the session of the last of them, but ends with the
// shortest of their timeouts. A packet that something between them answers may use the last one's session and not those before. They are
// the engine's one session as well, so they live as long.

// join makes a new session one with those of other NAPTs for which an engine made one.
func (r *run) join(e *entry, to remote, s *session) {
	f := e.flow
	f.Dst, f.Dport = to.addr, to.port
	for _, c := range r.told() {
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
		if at := c.outside(f.Proto); !c.taken && at != e.out {
			r.deny(e.nat, f, at)
		}
		c.session, c.taken = s, true
		s.timeouts = shortest(r.Chain, c.NAPTs)
		for from := e.source; from != nil && at > 0; from, at = from.source, at-1 {
			if before := from.sessions[to]; before != nil {
				r.hold(before, s, f.Proto)
			}
		}
	}
}

// hold has a session live at least as long as one behind.
func (r *run) hold(s, behind *session, proto uint8) {
	was := s.behind
	s.behind = slices.DeleteFunc(slices.Clone(was), func(o *session) bool { return !o.lives(proto, r.Now) })
	s.behind = append(s.behind, behind)
	r.Undoable(func() { s.behind = was })
}

// shortest are the shortest timeouts of NAPTs.
func shortest(c *pass.Chain, napts []string) element.Timeouts {
	const ever = time.Duration(1<<63 - 1)
	t := element.Timeouts{TCP: ever, TCPTransitory: ever, UDP: ever, ICMP: ever}
	for _, n := range nats(c) {
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
	end := s.last + flow.Timeout(s.timeouts, proto, &s.tcp)
	for _, b := range s.behind {
		end = max(end, b.end(proto))
	}
	return end
}
