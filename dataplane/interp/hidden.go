package interp

import (
	"cmp"
	"slices"
	"time"
)

// A choice can stay hidden: a packet that a router behind the NAPT answers makes
// a binding, and nobody sees its port; nor where a second NAPT follows. The oracle's own
// choice then is a guess, which ProcessAgainst corrects when the engine's becomes visible:
// a hidden entry may move to any endpoint that it could have had from the start. What
// followed from the old one, the flows of the NAPTs behind, moves along.

// question is a look-up from outside.
type question struct {
	nat    *nat
	at     endpoint
	remote uint32
	port   uint16
	// asker is the choice of this run that the remote is, if it is one: the packet comes from a NAPT's inside.
	asker *made
	// begins says that a packet asks, which may begin a flow; else an error asks about one that there is.
	begins bool
}

// flow is what is known of the flow whose entry answers.
func (q question) flow() flow { return flow{proto: q.at.proto, dst: q.remote, dport: q.port} }

// movable tells whether an entry of the flow could have the endpoint, others' guesses set aside.
func (n *nat) movable(f flow, at endpoint, r *run) bool {
	e := n.holder(f, at, r.now)
	return n.owns(at) && (e == nil || e.hidden)
}

// move gives a hidden entry another endpoint; a hidden entry there takes its old one.
func (n *nat) move(r *run, e *entry, at endpoint) bool {
	if e.out == at {
		return true
	}
	if !e.hidden || !e.wish().fits(at) || !n.movable(e.flow, at, r) {
		return false
	}
	other := n.holder(e.flow, at, r.now)
	if other != nil && !other.wish().fits(e.out) {
		if !n.vacate(r, e.flow, at) {
			return false
		}
		other = nil
	}
	return n.exchange(r, e, other, at)
}

// wish is what is known of a hidden entry's endpoint.
func (e *entry) wish() wish {
	return wish{port: e.pinned, at: endpoint{proto: e.out.proto, port: e.out.port}}
}

// exchange moves e to an endpoint, and other, which holds it (nil: nobody), to e's.
func (n *nat) exchange(r *run, e, other *entry, at endpoint) bool {
	old := e.out
	moved := e.followers(at)
	if other != nil {
		moved = append(moved, other.followers(old)...)
	}
	if !r.rename(moved) {
		return false
	}
	n.evict(r, e.flow, at)
	n.place(e, other, old, at)
	r.undoable(func() { n.place(e, other, at, old) })
	r.moveFlows(e, other, old, at)
	return true
}

// dependent is what another function knows a flow by whose source is an endpoint that nobody has seen: a firewall's flow, a balancer's session.
type dependent interface {
	source() *entry
	take()           // from its table
	put(at endpoint) // into it again, as what it would be with that source
}

// depend notes that a flow which begins comes from a hidden endpoint.
func (r *run) depend(by origins, d dependent) *entry {
	if by.src == nil || by.src != by.sport || by.src.entry == nil || !by.src.entry.hidden {
		return nil
	}
	e := by.src.entry
	e.flows = append(e.flows, d)
	r.undoable(func() { e.flows = e.flows[:len(e.flows)-1] })
	return e
}

// moveFlows has flows whose source moved from one endpoint to another follow; and those whose source, if any, moved the other way.
func (r *run) moveFlows(e, other *entry, from, to endpoint) {
	type moving struct {
		d        dependent
		from, to endpoint
	}
	var all []moving
	for _, m := range []struct {
		e        *entry
		from, to endpoint
	}{{e, from, to}, {other, to, from}} {
		if m.e == nil {
			continue
		}
		for _, d := range m.e.flows {
			if d.source() == m.e {
				all = append(all, moving{d, m.from, m.to})
			}
		}
	}
	for _, m := range all {
		m.d.take()
	}
	for _, m := range all {
		m.d.put(m.to)
	}
	r.undoable(func() {
		for _, m := range all {
			m.d.take()
		}
		for _, m := range all {
			m.d.put(m.from)
		}
	})
}

// place moves e from one endpoint to another, and other, if any, the other way.
func (n *nat) place(e, other *entry, from, to endpoint) {
	delete(n.outside, n.seatOf(e))
	if other != nil {
		other.out = from
		n.outside[n.seatOf(other)] = other
	}
	e.out = to
	n.outside[n.seatOf(e)] = e
}

// vacate moves a hidden entry away from where an entry of the flow would go, to a free endpoint.
func (n *nat) vacate(r *run, f flow, at endpoint) bool {
	e := n.holder(f, at, r.now)
	if e == nil || !e.hidden {
		return false
	}
	tries := n.size()
	if e.pinned {
		tries = len(n.pool)
	}
	for range tries {
		if free, ok := n.choose(e.flow, e.wish(), r.now); !ok {
			return false
		} else if n.move(r, e, free) {
			return true
		}
	}
	return false
}

// displace makes room for a flow at the endpoint that the engine shows for it: a hidden
// entry of another flow there moves to a free one, or if there is none, nowhere.
func (n *nat) displace(r *run, f flow, at endpoint) {
	if n.vacate(r, f, at) {
		return
	}
	if e := n.holder(f, at, r.now); e != nil && e.hidden {
		n.exchange(r, e, nil, n.nowhere(e.out))
	}
}

// nowhere is a fresh endpoint in 0.0.0.0/8, which no pool has and no packet comes from or goes to. It
// stands for one that is not known. The port stays.
func (n *nat) nowhere(was endpoint) endpoint {
	n.displaced++
	return endpoint{was.proto, n.displaced & 0xffffff, was.port}
}

// renamed is an entry on its way to another flow.
type renamed struct {
	e  *entry
	to flow
}

// follow notes that the flow of an entry comes from the endpoint that another NAPT has
// chosen in this run.
func (r *run) follow(e *entry, by origins) {
	if by.src == nil || by.src != by.sport || e.source == by.src.entry {
		return
	}
	source, was := by.src.entry, e.source
	e.source, source.behind = source, append(source.behind, e)
	r.undoable(func() { e.source, source.behind = was, source.behind[:len(source.behind)-1] })
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
		there := c.e.nat.find(c.to, r.now)
		if there != nil && !slices.ContainsFunc(all, func(c renamed) bool { return c.e == there }) {
			return false
		}
	}
	back := make([]renamed, len(all))
	for i, c := range all {
		back[i] = renamed{c.e, c.e.flow}
		if old := c.e.nat.inside[c.to]; old != nil && !c.e.nat.live(old, r.now) {
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
	}
	for _, c := range all {
		c.e.flow = c.to
		c.e.nat.inside[c.to] = c.e
	}
}

// reveal ends the guessing about every entry that the run's frames show, and about the port of one of which they show that alone.
func (r *run) reveal() {
	for _, o := range r.res.Out {
		b := &o.by
		for _, shown := range [][2]*made{{b.sport, b.src}, {b.dport, b.dst}, {b.qsport, b.qsrc}, {b.qdport, b.qdst}} {
			if m := shown[0]; m != nil && m.entry != nil {
				m.entry.pinned = true
				m.entry.hidden = m.entry.hidden && shown[1] != m
			}
		}
	}
	if len(r.res.Out) > 0 {
		for _, e := range r.matched {
			e.hidden = false
		}
	}
}

// guesses tells whether the run's way hangs on hidden choices: a classifier read one, or a look-up from outside would find another one.
func (r *run) guesses() bool {
	hidden := func(m *made) bool { return m.entry == nil || m.entry.hidden }
	if slices.ContainsFunc(r.read, hidden) {
		return true
	}
	return slices.ContainsFunc(r.asked, func(q question) bool {
		if e := q.nat.findOutside(q, r.now); e != nil {
			return e.hidden
		}
		return len(q.nat.hiddenFor(q, r.now)) > 0
	})
}

// otherGuesses tries whether hidden entries elsewhere explain what was seen of a packet from outside.
func (s *search) otherGuesses(first *run) *run {
	for _, q := range first.asked {
		moves := []func(*run) bool{func(r *run) bool { return q.nat.vacate(r, q.flow(), q.at) }}
		for _, e := range q.nat.hiddenFor(q, s.now) {
			moves = append(moves, func(r *run) bool { return q.nat.move(r, e, q.at) })
		}
		for _, move := range moves {
			r := s.c.newRun(s.now, nil, nil)
			if move(r) {
				s.start(r)
				if s.done(r) {
					return r
				}
			}
			r.abandon()
		}
	}
	return nil
}

// otherSources tries whether a hidden entry is elsewhere than where another NAPT's entries come from, which were taken to follow it: when
// a flow's entry has expired, what it had behind may live on, and a new one may go on with that or not.
func (s *search) otherSources(first *run) *run {
	for _, m := range first.made {
		e := m.entry
		if e == nil || !e.hidden || m.nat.inside[m.flow] != e {
			continue // made in the run, which was taken back
		}
		desert := func(r *run) { m.nat.desert(r, e) }
		r := s.runAfter(desert, nil, false)
		if s.done(r) {
			return r
		}
		r.abandon()
		if r = s.runAfter(desert, s.learn(r), false); s.done(r) {
			return r
		}
		r.abandon()
	}
	return nil
}

// desert gives a hidden entry a free endpoint, and leaves what comes from its old one there.
func (n *nat) desert(r *run, e *entry) {
	at, ok := n.choose(e.flow, e.wish(), r.now)
	if !ok {
		return
	}
	behind, from := e.behind, e.out
	e.abandon(r)
	n.evict(r, e.flow, at)
	n.place(e, nil, from, at)
	was := e.left
	e.left = &left{from, behind}
	r.undoable(func() {
		n.place(e, nil, at, from)
		e.left = was
	})
}

// abandon leaves what is behind an entry to itself.
func (e *entry) abandon(r *run) {
	behind := e.behind
	e.behind = nil
	for _, b := range behind {
		if b.source == e {
			b.source = nil
			r.undoable(func() { b.source = e })
		}
	}
	r.undoable(func() { e.behind = behind })
}

// left is where a hidden entry was before it was taken to be elsewhere, and what it had behind there.
type left struct {
	at     endpoint
	behind []*entry
}

// returns tries whether a hidden entry is where it was before otherSources took it elsewhere: that explained a packet, but not this one.
func (s *search) returns(first *run) *run {
	for _, m := range first.made {
		e := m.entry
		if e == nil || !e.hidden || e.left == nil || m.nat.inside[m.flow] != e {
			continue
		}
		r := s.runAfter(func(r *run) { m.nat.comeBack(r, e) }, nil, true)
		if s.done(r) {
			return r
		}
		r.abandon()
	}
	return nil
}

// comeBack gives a hidden entry the endpoint that it left, if that is free, with what is still behind it there.
func (n *nat) comeBack(r *run, e *entry) {
	was, out := e.left, e.out
	if !n.allowed(e.flow, was.at, r.now) {
		return
	}
	e.abandon(r)
	n.evict(r, e.flow, was.at)
	n.place(e, nil, out, was.at)
	e.left = nil
	for _, b := range was.behind {
		if b.source == nil {
			b.source, e.behind = e, append(e.behind, b)
			r.undoable(func() { b.source = nil })
		}
	}
	r.undoable(func() {
		n.place(e, nil, was.at, out)
		e.left = was
	})
}

// hiddenFor are the hidden entries that change the answer to the question when they move to
// where it asks: those that are one, and, if another entry is there, those that can push it away (with port
// overlapping these are the same).
func (n *nat) hiddenFor(q question, now time.Duration) []*entry {
	occupied := !n.overlaps && hasPorts(q.at.proto) && n.holder(q.flow(), q.at, now) != nil
	var out []*entry
	for _, e := range n.inside {
		if e.hidden && e.out != q.at && e.flow.proto == q.at.proto && (occupied || n.answers(e, q, now)) && n.live(e, now) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.out.addr, b.out.addr), cmp.Compare(a.out.port, b.out.port))
	})
	return out
}
