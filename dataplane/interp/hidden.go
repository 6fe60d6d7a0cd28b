package interp

import "slices"

// A choice can stay hidden: a packet that a router behind the NAPT answers makes
// a binding, and nobody sees its port. The oracle's own choice then is a guess, which
// ProcessAgainst corrects when the engine's becomes visible: a hidden entry may
// move to any endpoint that it could have had from the start.

// question is a look-up from outside.
type question struct {
	nat    *nat
	at     endpoint
	remote uint32
	port   uint16
}

// movable tells whether an entry could have the endpoint, others' guesses set aside.
func (n *nat) movable(at endpoint, r *run) bool {
	e := n.outside[at]
	return n.owns(at) && (e == nil || e.hidden || !n.live(e, r.now))
}

// move gives a hidden entry another endpoint; a hidden entry there takes its old one.
func (n *nat) move(r *run, e *entry, at endpoint) bool {
	if e.out == at {
		return true
	}
	if !e.hidden || !n.movable(at, r) {
		return false
	}
	other := n.outside[at]
	if other != nil && !n.live(other, r.now) {
		n.remove(r, other)
		other = nil
	}
	old := e.out
	n.exchange(e, other, old, at)
	r.undoable(func() { n.exchange(e, other, at, old) })
	return true
}

// exchange moves e from one endpoint to another, and other, if any, the other way.
func (n *nat) exchange(e, other *entry, from, to endpoint) {
	delete(n.outside, from)
	if other != nil {
		other.out = from
		n.outside[from] = other
	}
	e.out = to
	n.outside[to] = e
}

// vacate moves a hidden entry away from an endpoint.
func (n *nat) vacate(r *run, at endpoint) bool {
	e := n.outside[at]
	if e == nil || !e.hidden {
		return false
	}
	other, ok := n.choose(at.proto, wish{}, r.now)
	return ok && n.move(r, e, other)
}

// reveal ends the guessing about every entry that the run's frames show.
func (r *run) reveal() {
	for _, o := range r.res.Out {
		for _, m := range []*made{o.by.sport, o.by.dport, o.by.qsport, o.by.qdport} {
			if m != nil && m.entry != nil {
				m.entry.hidden = false
			}
		}
	}
	if len(r.res.Out) > 0 {
		for _, e := range r.matched {
			e.hidden = false
		}
	}
}

// otherGuesses tries whether hidden entries elsewhere explain what was seen of a packet from outside.
func (s *search) otherGuesses(first *run) *run {
	for _, q := range first.asked {
		moves := []func(*run) bool{func(r *run) bool { return q.nat.vacate(r, q.at) }}
		for _, e := range q.nat.hiddenFor(q) {
			moves = append(moves, func(r *run) bool { return q.nat.move(r, e, q.at) })
		}
		for _, move := range moves {
			r := s.c.newRun(s.now, nil, nil)
			if move(r) {
				r.start(s.iface, s.frame)
				if s.done(r) {
					return r
				}
			}
			r.rollback(0)
		}
	}
	return nil
}

// hiddenFor are the hidden entries that change the answer to the question when they move to
// where it asks: those that are one, and, if another entry is there, those that can push it away.
func (n *nat) hiddenFor(q question) []*entry {
	occupied := n.outside[q.at] != nil
	var out []*entry
	for f, e := range n.inside {
		answers := f.dst == q.remote && f.dport == q.port
		if e.hidden && e.out != q.at && f.proto == q.at.proto && (answers || occupied) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *entry) int { return int(a.out.port) - int(b.out.port) })
	return out
}
