package interp

import (
	"maps"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

// use is what a subscriber has of a NAPT, live or not: sessions, and outside ports by protocol.
type use struct {
	sessions int
	ports    map[uint8]int
}

// useOf is what the subscriber of an inside address has.
func (n *nat) useOf(inside uint32) *use {
	prefix := inside >> (32 - n.element.Limits.PrefixLen)
	if n.used[prefix] == nil {
		n.used[prefix] = &use{ports: map[uint8]int{}}
	}
	return n.used[prefix]
}

// countSessions notes that an entry has so many sessions more.
func (n *nat) countSessions(e *entry, more int) {
	n.held += more
	n.useOf(e.flow.src).sessions += more
}

// countPort notes that an entry comes (1) or goes (-1), with its outside port.
func (n *nat) countPort(e *entry, more int) {
	if !hasPorts(e.flow.proto) {
		return
	}
	n.useOf(e.flow.src).ports[e.flow.proto] += more
	switch homes := n.homes[e.flow.src]; {
	case more < 0:
		delete(homes, e)
	case homes == nil:
		n.homes[e.flow.src] = map[*entry]bool{e: true}
	default:
		homes[e] = true
	}
}

// paired tells whether a flow with ports may have an outside address, as far as others of its inside address have one.
func (n *nat) paired(f flow, at endpoint, now time.Duration) bool {
	if !n.element.Paired || !hasPorts(f.proto) {
		return true
	}
	for e := range n.homes[f.src] {
		if n.live(e, now) {
			return e.out.addr == at.addr
		}
	}
	return true
}

// rest notes that an endpoint was used until a time.
func (n *nat) rest(at endpoint, until time.Duration) {
	if n.element.Quarantine > 0 && hasPorts(at.proto) {
		n.rests[at] = max(n.rests[at], until)
	}
}

// death is when the last session of an entry was over, or will be.
func (n *nat) death(e *entry) time.Duration {
	var last time.Duration
	for _, s := range e.sessions {
		last = max(last, s.last+n.timeout(e, s))
	}
	return last
}

// resting tells whether an endpoint was in use a short while ago.
func (n *nat) resting(f flow, at endpoint, now time.Duration) bool {
	until, rested := n.rests[at]
	if e := n.outside[n.seat(f, at)]; e != nil && n.element.Quarantine > 0 {
		until, rested = max(until, n.death(e)), true
	}
	return rested && now-until < n.element.Quarantine
}

// Resting are the outside ports (identifiers) of NAPTs that rest, or did until as long ago. Of their bindings node and protocol are told.
func (c *Chain) Resting(now, ago time.Duration) (out []Session) {
	for _, n := range c.nats() {
		until := maps.Clone(n.rests)
		for _, e := range n.inside {
			if hasPorts(e.flow.proto) && n.element.Quarantine > 0 {
				until[e.out] = max(until[e.out], n.death(e))
			}
		}
		for at, t := range until {
			if t < now && now-t < n.element.Quarantine+ago {
				out = append(out, Session{Binding: Binding{Node: n.name, Proto: at.proto}, Outside: at.addrPort()})
			}
		}
	}
	return out
}

// limited tells whether a flow's subscriber may have no other session, or, if its entry is new, no other port.
func (n *nat) limited(key flow, isNew bool, now time.Duration) bool {
	l := n.element.Limits
	if l == (element.SubscriberLimits{}) {
		return false
	}
	u := n.useOf(key.src)
	over := func() bool {
		return u.sessions >= l.MaxSessions || isNew && hasPorts(key.proto) && u.ports[key.proto] >= l.MaxPorts
	}
	if !over() {
		return false
	}
	n.forget(now)
	return over()
}
