// Package oracle has the meaning of load balancers: the table of backends, and sessions.
package oracle

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(_ *pass.Chain, name string, e element.Balancer) pass.Element {
		return &balancer{Balancer: e, name: name, table: maglev(e.Backends), kept: &balanced{of: map[flow.Endpoint][]*assignment{}}}
	})
}

const (
	// clientSessions bounds the sessions of a client's address, port and protocol.
	clientSessions = 64
	// otherBackends is how many entries of the table are asked for a backend that knows no other flow of the client's port.
	otherBackends = 64
)

// balancer is a load balancer with its sessions.
type balancer struct {
	element.Balancer
	name  string
	table []int
	kept  *balanced
}

// balanced are the sessions of a balancer, by the client's end.
type balanced struct {
	of map[flow.Endpoint][]*assignment
	n  int // those that are over included
}

// assignment is a session: a flow from a client, and the backend that it goes to.
type assignment struct {
	flow    flow.Flow
	backend flow.Endpoint
	last    time.Duration
	tcp     flow.TCP
	of      *balancer
	from    pass.Origin // of the client's end, if that was loose when it began
}

// Origin implements pass.Dependent.
func (a *assignment) Origin() pass.Origin { return a.from }

// Take implements pass.Dependent.
func (a *assignment) Take() { a.of.kept.take(a) }

// Put implements pass.Dependent. With another port the flow would have had another backend.
func (a *assignment) Put(at flow.Endpoint) {
	a.flow.Src, a.flow.Sport = at.Addr, at.Port
	if to, reason := a.of.choose(a.flow, a.last); reason == "" {
		a.backend = to
	}
	a.of.kept.put(a)
}

func (a *assignment) client() flow.Endpoint {
	return flow.Endpoint{Proto: a.flow.Proto, Addr: a.flow.Src, Port: a.flow.Sport}
}

func (b *balancer) timeout(a *assignment) time.Duration {
	switch {
	case a.flow.Proto == header.UDP:
		return b.Timeouts.UDP
	case a.tcp.Established():
		return b.Timeouts.TCP
	}
	return b.Timeouts.TCPTransitory
}

func (b *balancer) live(a *assignment, now time.Duration) bool { return now-a.last <= b.timeout(a) }

// listed tells whether a session's backend is still one.
func (b *balancer) listed(a *assignment) bool {
	return slices.ContainsFunc(b.Backends, func(k element.Backend) bool {
		return header.Number(k.Addr) == a.backend.Addr && cmp.Or(k.Port, a.flow.Dport) == a.backend.Port
	})
}

// sessions are those of a client's end, as far as they count.
func (b *balancer) sessions(client flow.Endpoint, now time.Duration) (list []*assignment) {
	for _, a := range b.kept.of[client] {
		if b.live(a, now) && b.listed(a) {
			list = append(list, a)
		}
	}
	return list
}

// forth is the session of a flow from a client; nil: none.
func (b *balancer) forth(f flow.Flow, now time.Duration) *assignment {
	for _, a := range b.sessions(flow.Endpoint{Proto: f.Proto, Addr: f.Src, Port: f.Sport}, now) {
		if a.flow == f {
			return a
		}
	}
	return nil
}

// back is the session of a flow from a backend; nil: none.
func (b *balancer) back(f flow.Flow, now time.Duration) *assignment {
	for _, a := range b.sessions(flow.Endpoint{Proto: f.Proto, Addr: f.Dst, Port: f.Dport}, now) {
		if a.backend == (flow.Endpoint{Proto: f.Proto, Addr: f.Src, Port: f.Sport}) {
			return a
		}
	}
	return nil
}

func (b *balancer) Pass(r *pass.Run, n *graph.Node, p *pass.Packet, in int) (int, bool) {
	var reason string
	if in == element.BalancerClients {
		reason = b.fromClient(r, p)
	} else if !b.Direct {
		b.fromBackend(r, p)
	}
	if reason != "" {
		r.Discard(n, p, reason)
		return pass.Ended, false
	}
	return 1 - in, false
}

// balances tells whether a packet is one that has a flow.
func balances(ip []byte) bool { return header.Frag(ip) == header.FragWhole && header.Ported(ip) }

// errorMessage tells an ICMP message that quotes the packet that it is about, and what can be told of that packet's flow.
func errorMessage(ip []byte) (is bool, quote []byte, f flow.Flow) {
	switch header.ICMPType(ip) {
	case header.Unreachable, header.TimeExceeded, header.ParameterProblem:
	default:
		return false, nil, f
	}
	if header.Frag(ip) != header.FragWhole {
		return false, nil, f
	}
	if quote = flow.Quoted(ip); quote == nil || quote[9] != header.TCP && quote[9] != header.UDP {
		return true, nil, f
	}
	f, _ = flow.Of(quote)
	return true, quote, f
}

func (b *balancer) fromClient(r *pass.Run, p *pass.Packet) (reason string) {
	if !slices.Contains(b.Virtual, header.Addr(header.Dst(p.IP))) {
		return ""
	}
	if is, q, f := errorMessage(p.IP); is {
		var a *assignment
		if q != nil && f.Src == header.Dst(p.IP) {
			if b.Stateless {
				return b.send(r, p, f.Reversed())
			}
			a = b.forth(f.Reversed(), r.Now)
		}
		if a == nil {
			return b.NoSession
		}
		if b.Direct {
			r.Note("error for backend %v", header.Addr(a.backend.Addr))
			p.Via = header.Addr(a.backend.Addr)
			return ""
		}
		r.Note("error about what %v was sent", header.Addr(a.flow.Src))
		header.SetDst(p.IP, a.backend.Addr)
		flow.RewriteSrc(q, a.backend.Addr, a.backend.Port)
		p.By.Dst, p.By.QuotedSrc, p.By.QuotedSport = nil, nil, nil
		return ""
	}
	if !balances(p.IP) {
		return ""
	}
	f, _ := flow.Of(p.IP)
	if b.Stateless {
		return b.send(r, p, f)
	}
	a := b.forth(f, r.Now)
	if a == nil {
		if a, reason = b.assign(r, f); reason != "" {
			return reason
		}
		a.from = r.Depend(p.By, a)
	}
	if b.Direct {
		b.use(r, a, p.IP, flow.Inside)
		r.Note("by backend %v", header.Addr(a.backend.Addr))
		p.Via = header.Addr(a.backend.Addr)
		return ""
	}
	b.use(r, a, p.IP, flow.Outside)
	r.Note("to backend %v", a.backend.AddrPort())
	flow.RewriteDst(p.IP, a.backend.Addr, a.backend.Port)
	p.By.Dst, p.By.Dport = nil, nil
	return ""
}

// send has a packet of a flow, which has no session, go by the backend of its entry.
func (b *balancer) send(r *pass.Run, p *pass.Packet, f flow.Flow) (reason string) {
	at := b.table[entryOf(f, b.ByClient)]
	if at == noBackend {
		return b.NoBackend
	}
	r.Note("by backend %v", b.Backends[at].Addr)
	p.Via = b.Backends[at].Addr
	return ""
}

func (b *balancer) fromBackend(r *pass.Run, p *pass.Packet) {
	if is, q, f := errorMessage(p.IP); is {
		if q == nil {
			return
		}
		if a := b.back(f.Reversed(), r.Now); a != nil {
			r.Note("error about what backend %v was sent", a.backend.AddrPort())
			header.SetSrc(p.IP, a.flow.Dst)
			flow.RewriteDst(q, a.flow.Dst, a.flow.Dport)
			p.By.Src, p.By.QuotedDst, p.By.QuotedDport = nil, nil, nil
		}
		return
	}
	if !balances(p.IP) {
		return
	}
	f, _ := flow.Of(p.IP)
	if a := b.back(f, r.Now); a != nil {
		b.use(r, a, p.IP, flow.Inside)
		r.Note("from backend %v", a.backend.AddrPort())
		flow.RewriteSrc(p.IP, a.flow.Dst, a.flow.Dport)
		p.By.Src, p.By.Sport = nil, nil
	}
}

// use refreshes a session by a packet of its flow, as a NAPT's whose outside the client is, or, if that is all that is seen, its inside.
func (b *balancer) use(r *pass.Run, a *assignment, ip []byte, side int) {
	was := *a
	r.Undoable(func() { *a = was })
	a.tcp.OneSided = b.Direct
	if a.flow.Proto != header.TCP || a.tcp.Use(header.Transport(ip), side) {
		a.last = r.Now
	}
}

// assign gives a new flow a backend.
func (b *balancer) assign(r *pass.Run, f flow.Flow) (_ *assignment, reason string) {
	client := flow.Endpoint{Proto: f.Proto, Addr: f.Src, Port: f.Sport}
	if i := slices.IndexFunc(b.kept.of[client], func(a *assignment) bool { return a.flow == f }); i >= 0 {
		b.remove(r, b.kept.of[client][i]) // it is over, or its backend is gone
	}
	to, reason := b.choose(f, r.Now)
	if reason != "" {
		return nil, reason
	}
	a := &assignment{flow: f, backend: to, last: r.Now, of: b, tcp: flow.TCP{Answered: b.Direct}}
	if !b.add(r, a) {
		return nil, b.Full
	}
	return a, ""
}

// choose is the backend of a new flow.
func (b *balancer) choose(f flow.Flow, now time.Duration) (to flow.Endpoint, reason string) {
	at := entryOf(f, b.ByClient)
	if b.table[at] == noBackend {
		return to, b.NoBackend
	}
	known := b.sessions(flow.Endpoint{Proto: f.Proto, Addr: f.Src, Port: f.Sport}, now)
	if len(known) >= clientSessions {
		return to, b.Full
	}
	for i := range otherBackends {
		k := b.Backends[b.table[(at+i)%maglevSize]]
		to = flow.Endpoint{Proto: f.Proto, Addr: header.Number(k.Addr), Port: cmp.Or(k.Port, f.Dport)}
		if !b.Direct && slices.ContainsFunc(known, func(a *assignment) bool { return a.backend == to }) {
			continue
		}
		return to, ""
	}
	return to, b.Full
}

// add keeps a session; false: there is no room.
func (b *balancer) add(r *pass.Run, a *assignment) bool {
	if b.kept.n >= b.MaxSessions {
		for _, list := range b.kept.of {
			for _, old := range slices.Clone(list) {
				if !b.live(old, r.Now) {
					b.remove(r, old)
				}
			}
		}
	}
	if b.kept.n >= b.MaxSessions {
		return false
	}
	b.kept.put(a)
	r.Undoable(func() { b.kept.take(a) })
	return true
}

// remove ends a session that does not count.
func (b *balancer) remove(r *pass.Run, a *assignment) {
	b.kept.take(a)
	r.Undoable(func() { b.kept.put(a) })
}

func (s *balanced) put(a *assignment) {
	s.of[a.client()] = append(s.of[a.client()], a)
	s.n++
}

func (s *balanced) take(a *assignment) {
	list := slices.DeleteFunc(slices.Clone(s.of[a.client()]), func(b *assignment) bool { return a == b })
	if s.of[a.client()] = list; len(list) == 0 {
		delete(s.of, a.client())
	}
	s.n--
}

// Resume implements pass.Keeping: sessions stay. Those of a backend that is not listed do not count as long as that is so.
func (b *balancer) Resume(before pass.Element) pass.Element {
	if old, ok := before.(*balancer); ok {
		b.kept = old.kept
	}
	return b
}

// Sessions are those that are not over, as those of a NAPT whose inside the backends are.
func (b *balancer) Sessions(now time.Duration) (list []pass.Session) {
	for _, of := range b.kept.of {
		for _, a := range of {
			if b.live(a, now) {
				list = append(list, pass.Session{
					Binding: pass.Binding{Node: b.name, Proto: a.flow.Proto, Inside: a.backend.AddrPort(), Remote: a.client().AddrPort()},
					Outside: netip.AddrPortFrom(header.Addr(a.flow.Dst), a.flow.Dport), Idle: now - a.last, Loose: a.from != nil && a.from.Loose(),
				})
			}
		}
	}
	return list
}

// evictable tells whether a balancer may end a live session for a flow that finds no room.
func (a *assignment) evictable(now time.Duration) bool {
	return a.flow.Proto == header.TCP && !a.tcp.Acknowledged && now-a.last >= flow.OpeningIdle
}

// Evict ends a session that its backend has not acknowledged.
func (b *balancer) Evict(now time.Duration, of pass.Binding) (mine bool, err error) {
	if b.name != of.Node || !of.Inside.Addr().Is4() || !of.Remote.Addr().Is4() {
		return false, nil
	}
	client := flow.Endpoint{Proto: of.Proto, Addr: header.Number(of.Remote.Addr()), Port: of.Remote.Port()}
	for _, a := range b.kept.of[client] {
		switch {
		case a.backend.AddrPort() != of.Inside || !b.live(a, now):
		case !a.evictable(now):
			return true, fmt.Errorf("%s may not end the session %v → %v: protocol %d, acknowledged: %t, idle for %v", b.name, of.Remote, of.Inside, of.Proto, a.tcp.Acknowledged, now-a.last)
		default:
			b.kept.take(a)
			return true, nil
		}
	}
	return true, fmt.Errorf("%s has no session %v → %v", b.name, of.Remote, of.Inside)
}
