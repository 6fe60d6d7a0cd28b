package oracle

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
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
func (c Choice) outside(proto uint8) flow.Endpoint {
	return flow.Endpoint{Proto: proto, Addr: header.Number(c.Outside.Addr()), Port: c.Outside.Port()}
}

// Unasked implements pass.Told.
func (c Choice) Unasked() string {
	return fmt.Sprintf("%s: protocol %d, %v → %v for %v, which nothing asked for", strings.Join(c.NAPTs, ", "), c.Proto, c.Inside, c.Outside, c.Remote)
}

// Fresh implements pass.Noting.
func (c Choice) Fresh() pass.Told { return &told{Choice: c} }

// isFor tells whether a session is that of a flow at the NAPT with the index; by is the entry of the NAPT before, if the flow comes from
// one.
func (c Choice) isFor(index int, f flow.Flow, by *entry) bool {
	if c.Proto != f.Proto || header.Number(c.Remote.Addr()) != f.Dst || c.Remote.Port() != f.Dport {
		return false
	}
	for i := index; i > 0; i-- {
		if by == nil || by.nat.name != c.NAPTs[i-1] {
			return false
		}
		f, by = by.flow, by.source
	}
	return header.Number(c.Inside.Addr()) == f.Src && c.Inside.Port() == f.Sport
}

// told is a session that an engine made, and what became of it here.
type told struct {
	Choice
	session *session // of the last NAPT; nil: none began yet
	taken   bool     // it is the session of a flow here
}

// Unasked implements pass.Told.
func (c *told) Unasked() string {
	if c.taken {
		return ""
	}
	return c.Choice.Unasked()
}

// told are the sessions that the engine made.
func (r *run) told() []*told { return pass.ToldAs[*told](r.Run) }

// Follow implements pass.Following.
func (n *nat) Follow(r *pass.Run) {
	n.shares = n.shares || slices.ContainsFunc(pass.ToldAs[*told](r), func(c *told) bool { return len(c.NAPTs) > 1 && slices.Contains(c.NAPTs, n.name) })
}

// choiceOf is the session whose endpoint the engine has chosen for a flow at a NAPT; nil: none.
func (r *run) choiceOf(n *nat, f flow.Flow, by *entry) *told {
	for _, c := range r.told() {
		if last := len(c.NAPTs) - 1; c.NAPTs[last] == n.name && c.isFor(last, f, by) {
			return c
		}
	}
	return nil
}

// isBegun tells whether the engine has made a session of a flow at a NAPT, be the choice that of another one behind.
func (r *run) isBegun(n *nat, f flow.Flow, by *entry) bool {
	return slices.ContainsFunc(r.told(), func(c *told) bool {
		i := slices.Index(c.NAPTs, n.name)
		return i >= 0 && c.isFor(i, f, by)
	})
}

// deny notes that the engine has chosen what it may not.
func (r *run) deny(n *nat, f flow.Flow, at flow.Endpoint) {
	p := n.element
	why := fmt.Sprintf("not of the pool %v, ports %d-%d", p.Pool, p.PortMin, p.PortMax)
	if e := n.holder(f, at, r.Now); e != nil {
		why = fmt.Sprintf("in use by %v → %v, idle for %v", n.binding(e.flow).Inside, n.binding(e.flow).Remote, e.idle(r.Now))
	} else if n.resting(f, at, r.Now) {
		why = "rests"
	} else if !n.paired(f, at, r.Now) {
		why = "of another address than the host's others"
	}
	b := n.binding(f)
	r.Deny("%s: %v → %v became %v: %s", n.name, b.Inside, b.Remote, at.AddrPort(), why)
}

// chosen is the endpoint of a new entry, and whether it is loose. A reason means that it gets none.
func (r *run) chosen(n *nat, f flow.Flow, by *entry) (at flow.Endpoint, loose bool, reason string) {
	switch {
	case n.limited(n.key(f), true, r.Now) && !r.mayCountLess(n, f, by):
		return flow.Endpoint{}, false, n.element.Limits.Reason
	case n.full(r.Now):
		return flow.Endpoint{}, false, element.ReasonNATExhausted
	}
	at, loose, ok := r.choice(n, f, by)
	if !ok {
		return flow.Endpoint{}, false, element.ReasonNATExhausted
	}
	return at, loose, r.gaveUp(n, f, by)
}

// choice is the endpoint of a new entry for which there is room, and whether it is loose; false: all are in use.
func (r *run) choice(n *nat, f flow.Flow, by *entry) (at flow.Endpoint, loose, ok bool) {
	key := n.key(f)
	if !flow.HasPorts(f.Proto) {
		at, ok = n.byAddress(key, r.Now)
		return at, false, ok
	}
	if r.Choose != nil {
		toEndpoint := func(a netip.AddrPort) flow.Endpoint {
			return flow.Endpoint{Proto: f.Proto, Addr: header.Number(a.Addr()), Port: a.Port()}
		}
		allowed := func(a netip.AddrPort) bool { return a.Addr().Is4() && n.allowed(key, toEndpoint(a), r.Now) }
		a, ok := r.Choose(n.binding(f), allowed)
		if !ok || !allowed(a) {
			return flow.Endpoint{}, false, false
		}
		return toEndpoint(a), false, true
	}
	if c := r.choiceOf(n, f, by); c != nil {
		at, c.taken = c.outside(f.Proto), true
		n.vacate(r, key, at)
		if n.allowed(key, at, r.Now) {
			return at, false, true
		}
		r.deny(n, key, at)
	}
	at, ok = n.choose(key, r.Now)
	if !ok && r.Against {
		at, ok = n.nowhere(key), r.isBegun(n, f, by)
	}
	return at, r.Against, ok
}

// gaveUp is why the engine made no session for a flow that may have one here, and notes it: it found no port, no room, or counted more of
// the subscriber than there is. Empty: it made one.
func (r *run) gaveUp(n *nat, f flow.Flow, by *entry) (reason string) {
	if r.Refusals == nil || r.isBegun(n, f, by) {
		return ""
	}
	for _, reason := range n.Refuses() {
		if !slices.Contains(r.Refusals, pass.Drop{Reason: reason}) {
			continue
		}
		if reason == element.ReasonNATExhausted || !n.shares && r.Now-n.useOf(f.Src).over > aMoment {
			r.Yielded = append(r.Yielded, n.name)
		}
		return reason
	}
	return ""
}

// mayCountLess tells whether the engine has begun a session of a flow whose subscriber has as many as it may have here. Where NAPTs share a
// session it ends with the shortest of their timeouts, and packets that something between them answers have one of their own: who
// looks at the engine's sessions can tell whether they are too many.
func (r *run) mayCountLess(n *nat, f flow.Flow, by *entry) bool {
	return n.shares && r.isBegun(n, f, by)
}

// limitedAgain is why the engine refused another session to a flow whose own session here lives on, while one that NAPTs share has ended.
func (r *run) limitedAgain(n *nat, f flow.Flow, by *entry) (reason string) {
	if reason := n.element.Limits.Reason; n.shares && reason != "" && slices.Contains(r.Refusals, pass.Drop{Reason: reason}) && !r.isBegun(n, f, by) {
		return reason
	}
	return ""
}

// room is why an entry may not have another session; empty: it may.
func (r *run) room(e *entry, f flow.Flow, by *entry) (reason string) {
	switch n := e.nat; {
	case n.limited(e.flow, false, r.Now) && !r.mayCountLess(n, f, by):
		return n.element.Limits.Reason
	case n.full(r.Now) || n.crowded(e, f.Dst, r.Now):
		return element.ReasonNATExhausted
	default:
		return r.gaveUp(n, f, by)
	}
}

// Refuses implements pass.Refusing: the reasons for which a NAPT begins no session.
func (n *nat) Refuses() []string {
	if l := n.element.Limits; l.Reason != "" {
		return []string{l.Reason, element.ReasonNATExhausted}
	}
	return []string{element.ReasonNATExhausted}
}
