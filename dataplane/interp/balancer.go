package interp

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func init() {
	register(func(_ *Chain, name string, e element.Balancer) meaning {
		return &balancer{Balancer: e, name: name, table: maglev(e.Backends), kept: &balanced{of: map[endpoint][]*assignment{}}}
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
	of map[endpoint][]*assignment
	n  int // those that are over included
}

// assignment is a session: a flow from a client, and the backend that it goes to.
type assignment struct {
	flow    flow
	backend endpoint
	last    time.Duration
	tcp     tcpState
	of      *balancer
	from    *entry // whose endpoint the client's end is, if that was loose when it began
}

func (a *assignment) source() *entry { return a.from }

func (a *assignment) take() { a.of.kept.take(a) }

// put: with another port it would have had another backend.
func (a *assignment) put(at endpoint) {
	a.flow.src, a.flow.sport = at.addr, at.port
	if to, reason := a.of.choose(a.flow, a.last); reason == "" {
		a.backend = to
	}
	a.of.kept.put(a)
}

func (a *assignment) client() endpoint { return endpoint{a.flow.proto, a.flow.src, a.flow.sport} }

func (b *balancer) timeout(a *assignment) time.Duration {
	switch {
	case a.flow.proto == protoUDP:
		return b.Timeouts.UDP
	case a.tcp.established():
		return b.Timeouts.TCP
	}
	return b.Timeouts.TCPTransitory
}

func (b *balancer) live(a *assignment, now time.Duration) bool { return now-a.last <= b.timeout(a) }

// listed tells whether a session's backend is still one.
func (b *balancer) listed(a *assignment) bool {
	return slices.ContainsFunc(b.Backends, func(k element.Backend) bool {
		return num(k.Addr) == a.backend.addr && cmp.Or(k.Port, a.flow.dport) == a.backend.port
	})
}

// sessions are those of a client's end, as far as they count.
func (b *balancer) sessions(client endpoint, now time.Duration) (list []*assignment) {
	for _, a := range b.kept.of[client] {
		if b.live(a, now) && b.listed(a) {
			list = append(list, a)
		}
	}
	return list
}

// forth is the session of a flow from a client; nil: none.
func (b *balancer) forth(f flow, now time.Duration) *assignment {
	for _, a := range b.sessions(endpoint{f.proto, f.src, f.sport}, now) {
		if a.flow == f {
			return a
		}
	}
	return nil
}

// back is the session of a flow from a backend; nil: none.
func (b *balancer) back(f flow, now time.Duration) *assignment {
	for _, a := range b.sessions(endpoint{f.proto, f.dst, f.dport}, now) {
		if a.backend == (endpoint{f.proto, f.src, f.sport}) {
			return a
		}
	}
	return nil
}

func (b *balancer) pass(r *run, n *graph.Node, p *packet, in int) (int, bool) {
	var reason string
	if in == element.BalancerClients {
		reason = b.fromClient(r, p)
	} else if !b.Direct {
		b.fromBackend(r, p)
	}
	if reason != "" {
		r.discard(n, p, reason)
		return ended, false
	}
	return 1 - in, false
}

// balances tells whether a packet is one that has a flow.
func balances(ip []byte) bool { return fragOf(ip) == fragWhole && ported(ip) }

// errorMessage tells an ICMP message that quotes the packet that it is about, and what can be told of that packet's flow.
func errorMessage(ip []byte) (is bool, quote []byte, f flow) {
	switch icmpType(ip) {
	case icmpUnreachable, icmpTimeExceeded, icmpParameterProblem:
	default:
		return false, nil, f
	}
	if fragOf(ip) != fragWhole {
		return false, nil, f
	}
	if quote = quotedFlow(ip); quote == nil || quote[9] != protoTCP && quote[9] != protoUDP {
		return true, nil, f
	}
	f, _ = tuple(quote)
	return true, quote, f
}

func (b *balancer) fromClient(r *run, p *packet) (reason string) {
	if !slices.Contains(b.Virtual, addr(dstOf(p.ip))) {
		return ""
	}
	if is, q, f := errorMessage(p.ip); is {
		var a *assignment
		if q != nil && f.src == dstOf(p.ip) {
			if b.Stateless {
				return b.send(r, p, f.reversed())
			}
			a = b.forth(f.reversed(), r.now)
		}
		if a == nil {
			return b.NoSession
		}
		if b.Direct {
			r.note("error for backend %v", addr(a.backend.addr))
			p.via = addr(a.backend.addr)
			return ""
		}
		r.note("error about what %v was sent", addr(a.flow.src))
		setDst(p.ip, a.backend.addr)
		rewriteSrc(q, a.backend.addr, a.backend.port)
		p.by.dst, p.by.qsrc, p.by.qsport = nil, nil, nil
		return ""
	}
	if !balances(p.ip) {
		return ""
	}
	f, _ := tuple(p.ip)
	if b.Stateless {
		return b.send(r, p, f)
	}
	a := b.forth(f, r.now)
	if a == nil {
		if a, reason = b.assign(r, f); reason != "" {
			return reason
		}
		a.from = r.depend(p.by, a)
	}
	if b.Direct {
		b.use(r, a, p.ip, element.NAPTInside)
		r.note("by backend %v", addr(a.backend.addr))
		p.via = addr(a.backend.addr)
		return ""
	}
	b.use(r, a, p.ip, element.NAPTOutside)
	r.note("to backend %v", a.backend.addrPort())
	rewriteDst(p.ip, a.backend.addr, a.backend.port)
	p.by.dst, p.by.dport = nil, nil
	return ""
}

// send has a packet of a flow, which has no session, go by the backend of its entry.
func (b *balancer) send(r *run, p *packet, f flow) (reason string) {
	at := b.table[entryOf(f, b.ByClient)]
	if at == noBackend {
		return b.NoBackend
	}
	r.note("by backend %v", b.Backends[at].Addr)
	p.via = b.Backends[at].Addr
	return ""
}

func (b *balancer) fromBackend(r *run, p *packet) {
	if is, q, f := errorMessage(p.ip); is {
		if q == nil {
			return
		}
		if a := b.back(f.reversed(), r.now); a != nil {
			r.note("error about what backend %v was sent", a.backend.addrPort())
			setSrc(p.ip, a.flow.dst)
			rewriteDst(q, a.flow.dst, a.flow.dport)
			p.by.src, p.by.qdst, p.by.qdport = nil, nil, nil
		}
		return
	}
	if !balances(p.ip) {
		return
	}
	f, _ := tuple(p.ip)
	if a := b.back(f, r.now); a != nil {
		b.use(r, a, p.ip, element.NAPTInside)
		r.note("from backend %v", a.backend.addrPort())
		rewriteSrc(p.ip, a.flow.dst, a.flow.dport)
		p.by.src, p.by.sport = nil, nil
	}
}

// use refreshes a session by a packet of its flow, as a NAPT's whose outside the client is, or, if that is all that is seen, its inside.
func (b *balancer) use(r *run, a *assignment, ip []byte, side int) {
	was := *a
	r.undoable(func() { *a = was })
	a.tcp.oneSided = b.Direct
	if a.flow.proto != protoTCP || a.tcp.use(transport(ip), side) {
		a.last = r.now
	}
}

// assign gives a new flow a backend.
func (b *balancer) assign(r *run, f flow) (_ *assignment, reason string) {
	client := endpoint{f.proto, f.src, f.sport}
	if i := slices.IndexFunc(b.kept.of[client], func(a *assignment) bool { return a.flow == f }); i >= 0 {
		b.remove(r, b.kept.of[client][i]) // it is over, or its backend is gone
	}
	to, reason := b.choose(f, r.now)
	if reason != "" {
		return nil, reason
	}
	a := &assignment{flow: f, backend: to, last: r.now, of: b, tcp: tcpState{answered: b.Direct}}
	if !b.add(r, a) {
		return nil, b.Full
	}
	return a, ""
}

// choose is the backend of a new flow.
func (b *balancer) choose(f flow, now time.Duration) (to endpoint, reason string) {
	at := entryOf(f, b.ByClient)
	if b.table[at] == noBackend {
		return to, b.NoBackend
	}
	known := b.sessions(endpoint{f.proto, f.src, f.sport}, now)
	if len(known) >= clientSessions {
		return to, b.Full
	}
	for i := range otherBackends {
		k := b.Backends[b.table[(at+i)%maglevSize]]
		to = endpoint{f.proto, num(k.Addr), cmp.Or(k.Port, f.dport)}
		if !b.Direct && slices.ContainsFunc(known, func(a *assignment) bool { return a.backend == to }) {
			continue
		}
		return to, ""
	}
	return to, b.Full
}

// add keeps a session; false: there is no room.
func (b *balancer) add(r *run, a *assignment) bool {
	if b.kept.n >= b.MaxSessions {
		for _, list := range b.kept.of {
			for _, old := range slices.Clone(list) {
				if !b.live(old, r.now) {
					b.remove(r, old)
				}
			}
		}
	}
	if b.kept.n >= b.MaxSessions {
		return false
	}
	b.kept.put(a)
	r.undoable(func() { b.kept.take(a) })
	return true
}

// remove ends a session that does not count.
func (b *balancer) remove(r *run, a *assignment) {
	b.kept.take(a)
	r.undoable(func() { b.kept.put(a) })
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

// resume: sessions stay. Those of a backend that is not listed do not count as long as that is so.
func (b *balancer) resume(before meaning) meaning {
	if old, ok := before.(*balancer); ok {
		b.kept = old.kept
	}
	return b
}

// balancers are the chain's.
func (c *Chain) balancers() (list []*balancer) {
	for _, m := range c.means {
		if b, ok := m.(*balancer); ok {
			list = append(list, b)
		}
	}
	return list
}

// all are the sessions that are not over, as those of a NAPT whose inside the backends are.
func (b *balancer) all(now time.Duration) (list []Session) {
	for _, of := range b.kept.of {
		for _, a := range of {
			if b.live(a, now) {
				list = append(list, Session{
					Binding: Binding{Node: b.name, Proto: a.flow.proto, Inside: a.backend.addrPort(), Remote: a.client().addrPort()},
					Outside: netip.AddrPortFrom(addr(a.flow.dst), a.flow.dport), Idle: now - a.last, Loose: a.from != nil && a.from.loose,
				})
			}
		}
	}
	return list
}

// evictable tells whether a balancer may end a live session for a flow that finds no room.
func (a *assignment) evictable(now time.Duration) bool {
	return a.flow.proto == protoTCP && !a.tcp.acknowledged && now-a.last >= openingIdle
}

// end ends a session, as a balancer may for another one that finds no room.
func (b *balancer) end(now time.Duration, of Binding) error {
	client := endpoint{of.Proto, num(of.Remote.Addr()), of.Remote.Port()}
	for _, a := range b.kept.of[client] {
		switch {
		case a.backend.addrPort() != of.Inside || !b.live(a, now):
		case !a.evictable(now):
			return fmt.Errorf("%s may not end the session %v → %v: protocol %d, acknowledged: %t, idle for %v", b.name, of.Remote, of.Inside, of.Proto, a.tcp.acknowledged, now-a.last)
		default:
			b.kept.take(a)
			return nil
		}
	}
	return fmt.Errorf("%s has no session %v → %v", b.name, of.Remote, of.Inside)
}
