package interp

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

// Choice is a session that an engine's NAPTs made for a frame, whatever became of the frame. NAPTs that follow each other directly may
// share one: then only the last has chosen an endpoint.
type Choice struct {
	NAPTs   []string // in the order in which packets from inside pass them
	Proto   uint8
	Inside  netip.AddrPort // before the first; of an ICMP query, the port is the identifier
	Outside netip.AddrPort // behind the last
	Remote  netip.AddrPort // port 0 for ICMP queries, and without ports
}

// outside is what the last NAPT chose.
func (c *Choice) outside(proto uint8) endpoint {
	return endpoint{proto, num(c.Outside.Addr()), c.Outside.Port()}
}

// Subscriber is one that an engine's meter has from now on, instead of an old one if it had no room for both.
type Subscriber struct {
	Meter    string
	New, Old netip.Addr // their prefixes, invalid: none
}

// Seen is what an engine did with a frame.
type Seen struct {
	Result
	Choices     []Choice // in their order
	Subscribers []Subscriber
}

// isFor tells whether a session is that of a flow at the NAPT with the index; by is the entry of the NAPT before, if the flow comes from
// one.
func (c *Choice) isFor(index int, f flow, by *entry) bool {
	if c.Proto != f.proto || num(c.Remote.Addr()) != f.dst || c.Remote.Port() != f.dport {
		return false
	}
	for i := index; i > 0; i-- {
		if by == nil || by.nat.name != c.NAPTs[i-1] {
			return false
		}
		f, by = by.flow, by.source
	}
	return num(c.Inside.Addr()) == f.src && c.Inside.Port() == f.sport
}

// told is a session that an engine made, and what became of it here.
type told struct {
	Choice
	session *session // of the last NAPT; nil: none began yet
	taken   bool     // it is the session of a flow here
}

// choiceOf is the session whose endpoint the engine has chosen for a flow at a NAPT; nil: none.
func (r *run) choiceOf(n *nat, f flow, by *entry) *told {
	for _, c := range r.told {
		if last := len(c.NAPTs) - 1; c.NAPTs[last] == n.name && c.isFor(last, f, by) {
			return c
		}
	}
	return nil
}

// isBegun tells whether the engine has made a session of a flow at a NAPT, be the choice that of another one behind.
func (r *run) isBegun(n *nat, f flow, by *entry) bool {
	return slices.ContainsFunc(r.told, func(c *told) bool {
		i := slices.Index(c.NAPTs, n.name)
		return i >= 0 && c.isFor(i, f, by)
	})
}

// deny notes that the engine has chosen what it may not.
func (r *run) deny(n *nat, f flow, at endpoint) {
	p := n.element
	why := fmt.Sprintf("not of the pool %v, ports %d-%d", p.Pool, p.PortMin, p.PortMax)
	if e := n.holder(f, at, r.now); e != nil {
		why = fmt.Sprintf("in use by %v → %v, idle for %v", n.binding(e.flow).Inside, n.binding(e.flow).Remote, e.idle(r.now))
	}
	b := n.binding(f)
	r.denied = append(r.denied, fmt.Sprintf("%s: %v → %v became %v: %s", n.name, b.Inside, b.Remote, at.addrPort(), why))
}

// chosen is the endpoint of a new entry, and whether it is loose; false: the NAPT has none.
func (r *run) chosen(n *nat, f flow, by *entry) (at endpoint, loose, ok bool) {
	key := n.key(f)
	if n.full(r.now) {
		return endpoint{}, false, false
	}
	if !hasPorts(f.proto) {
		at, ok = n.byAddress(key, r.now)
		return at, false, ok && !r.gaveUp(n, f, by)
	}
	if r.choose != nil {
		toEndpoint := func(a netip.AddrPort) endpoint { return endpoint{f.proto, num(a.Addr()), a.Port()} }
		allowed := func(a netip.AddrPort) bool { return a.Addr().Is4() && n.allowed(key, toEndpoint(a), r.now) }
		a, ok := r.choose(n.binding(f), allowed)
		if !ok || !allowed(a) {
			return endpoint{}, false, false
		}
		return toEndpoint(a), false, true
	}
	if c := r.choiceOf(n, f, by); c != nil {
		at, c.taken = c.outside(f.proto), true
		n.vacate(r, key, at)
		if n.allowed(key, at, r.now) {
			return at, false, true
		}
		r.deny(n, key, at)
	}
	at, ok = n.choose(key, r.now)
	if ok && r.gaveUp(n, f, by) {
		return endpoint{}, false, false
	}
	if !ok && r.against {
		at, ok = n.nowhere(key), r.isBegun(n, f, by)
	}
	return at, r.against, ok
}

// unasked are the sessions and subscribers that the engine made, and no function asked for.
func (r *run) unasked() (out []string) {
	for _, c := range r.told {
		if !c.taken {
			out = append(out, fmt.Sprintf("%s: protocol %d, %v → %v for %v, which nothing asked for", strings.Join(c.NAPTs, ", "), c.Proto, c.Inside, c.Outside, c.Remote))
		}
	}
	for _, s := range r.subscribers {
		out = append(out, fmt.Sprintf("%s: subscriber %v for %v, which nothing asked for", s.Meter, s.New, s.Old))
	}
	return out
}

// gaveUp tells whether the engine made no session for a flow because it found no port or no room, and notes it: the oracle had some.
func (r *run) gaveUp(n *nat, f flow, by *entry) bool {
	if !r.exhausted || r.isBegun(n, f, by) {
		return false
	}
	r.gave = append(r.gave, n.name)
	return true
}

// room tells whether an entry may have another session.
func (r *run) room(e *entry, f flow, by *entry) bool {
	return !e.nat.full(r.now) && !e.nat.crowded(e, f.dst, r.now) && !r.gaveUp(e.nat, f, by)
}

// isExhausted tells whether an engine dropped a packet for want of a port or of room.
func isExhausted(seen Result) bool {
	return slices.Contains(seen.Drops, Drop{element.ReasonNATExhausted})
}
