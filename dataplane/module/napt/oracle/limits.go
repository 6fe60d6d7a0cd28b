package oracle

import (
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

// use is what a subscriber has of a NAPT, live or not: sessions, and outside ports by protocol.
type use struct {
	sessions int
	ports    map[uint8]int
	over     time.Duration // when the last of those was over that are no longer kept
}

// aMoment is for how long an engine that has just looked for what is over counts what has been over since (docs/elements.md).
const aMoment = 10 * time.Millisecond

// useOf is what the subscriber of an inside address has.
func (n *nat) useOf(inside uint32) *use {
	prefix := inside >> (32 - n.element.Limits.PrefixLen)
	if n.used[prefix] == nil {
		n.used[prefix] = &use{ports: map[uint8]int{}, over: -2 * aMoment}
	}
	return n.used[prefix]
}

// count notes that an entry comes (1) or goes (-1), with all it has.
func (n *nat) count(e *entry, more int) {
	n.countPort(e, more)
	n.countSessions(e, more*len(e.sessions))
}

// countSessions notes that an entry has so many sessions more.
func (n *nat) countSessions(e *entry, more int) {
	n.held += more
	n.useOf(e.flow.Src).sessions += more
}

// countPort notes that an entry comes (1) or goes (-1), with its outside port.
func (n *nat) countPort(e *entry, more int) {
	if !flow.HasPorts(e.flow.Proto) {
		return
	}
	n.useOf(e.flow.Src).ports[e.flow.Proto] += more
	switch homes := n.homes[e.flow.Src]; {
	case more < 0:
		delete(homes, e)
	case homes == nil:
		n.homes[e.flow.Src] = map[*entry]bool{e: true}
	default:
		homes[e] = true
	}
}

// paired tells whether a flow with ports may have an outside address, as far as others of its inside address have one. Loose ones do not:
// the engine has not chosen theirs.
func (n *nat) paired(f flow.Flow, at flow.Endpoint, now time.Duration) bool {
	home, has := n.home(f, now)
	return !has || home == at.Addr
}

// home is the outside address that flows of an inside address have to take.
func (n *nat) home(f flow.Flow, now time.Duration) (addr uint32, has bool) {
	if !n.element.Paired || !flow.HasPorts(f.Proto) {
		return 0, false
	}
	for e := range n.homes[f.Src] {
		if !e.loose && n.live(e, now) {
			return e.out.Addr, true
		}
	}
	return 0, false
}

// rested is until when an endpoint was in use, and whose it was.
type rested struct {
	until time.Duration
	flow  flow.Flow // the entry's key
}

// ended notes that the sessions of an entry that are no longer kept were over at a time, at the latest.
func (n *nat) ended(e *entry, over time.Duration) {
	u := n.useOf(e.flow.Src)
	u.over = max(u.over, over)
	n.rest(e, over)
}

// rest notes that an entry used its endpoint until a time. That of a loose one was never in use.
func (n *nat) rest(e *entry, until time.Duration) {
	if n.element.Quarantine > 0 && flow.HasPorts(e.out.Proto) && !e.loose && until >= n.rests[e.out].until {
		n.rests[e.out] = rested{until, e.flow}
	}
}

// death is when the last session of an entry was over, or will be.
func (n *nat) death(e *entry) time.Duration {
	var last time.Duration
	for _, s := range e.sessions {
		last = max(last, s.end(e.flow.Proto))
	}
	return last
}

// resting tells whether an endpoint was in use a short while ago. One that comes back may have its own again: an engine may not have
// looked at its mapping since.
func (n *nat) resting(f flow.Flow, at flow.Endpoint, now time.Duration) bool {
	if n.element.Quarantine <= 0 || !flow.HasPorts(at.Proto) {
		return false
	}
	last, is := n.rests[at]
	if e := n.outside[n.seat(f, at)]; e != nil && !e.loose && n.death(e) >= last.until {
		last, is = rested{n.death(e), e.flow}, true
	}
	return is && last.flow != f && now-last.until < n.element.Quarantine
}

// Resting are the outside ports (identifiers) of NAPTs that rest where the end of a session is noticed later than it was. Of their bindings node
// and protocol are told.
func Resting(c *pass.Chain, now time.Duration, noticed func(end time.Duration) time.Duration) (out []pass.Session) {
	for _, n := range nats(c) {
		until := map[flow.Endpoint]time.Duration{}
		for at, r := range n.rests {
			until[at] = r.until
		}
		for _, e := range n.inside {
			if flow.HasPorts(e.flow.Proto) && !e.loose && n.element.Quarantine > 0 {
				until[e.out] = max(until[e.out], n.death(e))
			}
		}
		for at, t := range until {
			if t < now && now-noticed(t) < n.element.Quarantine {
				out = append(out, pass.Session{Binding: pass.Binding{Node: n.name, Proto: at.Proto}, Outside: at.AddrPort()})
			}
		}
	}
	return out
}

// limited tells whether a flow's subscriber may have no other session, or, if its entry is new, no other port.
func (n *nat) limited(key flow.Flow, isNew bool, now time.Duration) bool {
	l := n.element.Limits
	if l == (element.SubscriberLimits{}) {
		return false
	}
	u := n.useOf(key.Src)
	over := func() bool {
		return u.sessions >= l.MaxSessions || isNew && flow.HasPorts(key.Proto) && u.ports[key.Proto] >= l.MaxPorts
	}
	if !over() {
		return false
	}
	n.forget(now)
	return over()
}
