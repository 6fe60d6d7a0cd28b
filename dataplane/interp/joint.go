package interp

import (
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

// NAPTs in a row may have one session to an engine (docs/elements.md, "napt"). It is the session of the last of them, but ends with the
// shortest of their timeouts. A packet that something between them answers may use the last one's session and not those before. They are
// the engine's one session as well, so they live as long.

// join makes a new session one with those of other NAPTs for which an engine made one.
func (r *run) join(e *entry, to remote, s *session) {
	f := e.flow
	f.dst, f.dport = to.addr, to.port
	for i := range r.told {
		c := &r.told[i]
		at := slices.Index(c.NAPTs, e.nat.name)
		if at < 0 || !c.isFor(at, f, e.source) {
			continue
		}
		if at < len(c.NAPTs)-1 {
			if last := r.joint[i]; last != nil { // the packet comes from outside
				s.behind = []*session{last}
			}
			continue
		}
		s.timeouts = r.c.shortest(c.NAPTs)
		r.joint[i] = s
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
