package oracle

import (
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
)

// remote is the outside end of a flow; its port is 0 for ICMP queries and for protocols without ports.
type remote struct {
	addr uint32
	port uint16
}

// session is one flow of a mapping.
type session struct {
	last     time.Duration
	tcp      flow.TCP
	timeouts element.Timeouts
	// behind are sessions of NAPTs behind which are one with this to an engine: this one lives as long as any of them (loose.go).
	behind []*session
}

// remoteOf is where a flow from inside goes.
func remoteOf(f flow.Flow) remote { return remote{f.Dst, f.Dport} }

// key is what of a flow from inside tells its mapping: all of it, or less where the mapping does not depend on the rest.
func (n *nat) key(f flow.Flow) flow.Flow {
	if !flow.HasPorts(f.Proto) {
		return f
	}
	switch n.element.Mapping {
	case element.EndpointIndependent:
		f.Dst, f.Dport = 0, 0
	case element.AddressDependent:
		f.Dport = 0
	case element.AddressAndPortDependent:
	}
	return f
}

// sessionOf is the live session of an entry with a remote; nil: none.
func (n *nat) sessionOf(e *entry, to remote, now time.Duration) *session {
	if s := e.sessions[to]; s != nil && s.lives(e.flow.Proto, now) {
		return s
	}
	return nil
}

// session is the live session of a flow from inside, with its entry; nil: none.
func (n *nat) session(f flow.Flow, now time.Duration) (*entry, *session) {
	e := n.find(n.key(f), now)
	if e == nil {
		return nil, nil
	}
	return e, n.sessionOf(e, remoteOf(f), now)
}

func (n *nat) live(e *entry, now time.Duration) bool {
	for _, s := range e.sessions {
		if s.lives(e.flow.Proto, now) {
			return true
		}
	}
	return false
}

// expires notes that a session may be expired after t.
func (n *nat) expires(e *entry, s *session) { n.sweep = min(n.sweep, s.end(e.flow.Proto)) }

// forget removes the sessions that are no longer live, and entries without any: they are no different from none.
func (n *nat) forget(now time.Duration) {
	if now <= n.sweep {
		return
	}
	n.sweep = 1<<63 - 1
	for _, e := range n.inside {
		for to, s := range e.sessions {
			if s.lives(e.flow.Proto, now) {
				n.expires(e, s)
				continue
			}
			n.end(e, to, s.end(e.flow.Proto))
		}
	}
}

// end ends a session for good, which was over at a time, and its entry if that has no other.
func (n *nat) end(e *entry, to remote, over time.Duration) {
	n.ended(e, over)
	delete(e.sessions, to)
	n.countSessions(e, -1)
	if len(e.sessions) == 0 {
		delete(n.inside, e.flow)
		delete(n.outside, n.seatOf(e))
		n.countPort(e, -1)
	}
}

// open makes a session of an entry in the place of an expired one.
func (n *nat) open(r *run, e *entry, to remote) *session {
	was, s := e.sessions[to], &session{last: r.Now, timeouts: n.element.Timeouts}
	r.join(e, to, s)
	e.sessions[to] = s
	if was == nil {
		n.countSessions(e, 1)
	}
	n.expires(e, s)
	r.Undoable(func() {
		if was != nil {
			e.sessions[to] = was
			n.expires(e, was)
			return
		}
		delete(e.sessions, to)
		n.countSessions(e, -1)
	})
	return s
}

// use refreshes a session by a packet of its flow.
func (n *nat) use(r *run, e *entry, s *session, ip []byte, side int) {
	before := *s
	r.Undoable(func() {
		*s = before
		n.expires(e, s)
	})
	if e.flow.Proto != header.TCP || s.tcp.Use(header.Transport(ip), side) {
		s.last = r.Now
	}
	n.expires(e, s)
}

// answers tells whether an entry is what a look-up from outside finds: it has a session with the remote, or the filter lets one begin.
func (n *nat) answers(e *entry, q question, now time.Duration) bool {
	if n.sessionOf(e, remote{q.remote, q.port}, now) != nil {
		return true
	}
	if !q.begins {
		return false
	}
	switch n.element.Filtering {
	case element.EndpointIndependent:
		return true
	case element.AddressDependent:
		for to, s := range e.sessions {
			if to.addr == q.remote && s.lives(e.flow.Proto, now) {
				return true
			}
		}
	case element.AddressAndPortDependent:
	}
	return false
}

// fromInside is the flow, as it is inside, of a packet from outside that an entry lets in.
func (n *nat) fromInside(e *entry, f flow.Flow) flow.Flow {
	return flow.Flow{Proto: f.Proto, Src: e.flow.Src, Sport: e.flow.Sport, Dst: f.Src, Dport: f.Sport}
}

// maxPorts bounds the sessions of a mapping with one remote address where filters ask for the address: an engine finds them one by one.
const maxPorts = 64

// crowded tells whether an entry has as many sessions with a remote address as it may have.
func (n *nat) crowded(e *entry, addr uint32, now time.Duration) bool {
	if n.element.Filtering != element.AddressDependent {
		return false
	}
	ports := 0
	for to, s := range e.sessions {
		if to.addr == addr && s.lives(e.flow.Proto, now) {
			ports++
		}
	}
	return ports >= maxPorts
}

// idle is for how long no session of an entry was used.
func (e *entry) idle(now time.Duration) time.Duration {
	idle := now
	for _, s := range e.sessions {
		idle = min(idle, now-s.last)
	}
	return idle
}
