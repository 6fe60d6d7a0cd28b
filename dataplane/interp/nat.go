package interp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func init() {
	register(func(c *Chain, name string, e element.NAPT) meaning { return newNAT(name, e, c.overlaps) })
}

// nat is the state of one NAPT.
type nat struct {
	name    string
	element element.NAPT
	pool    []uint32
	// overlaps says that flows to different remotes may share an endpoint (Options.PortOverlapping).
	overlaps bool
	inside   map[flow]*entry // by what of a packet from inside tells its mapping: see key
	outside  map[seat]*entry // by what it is translated to
	shares   bool            // an engine makes one session for flows of this and other NAPTs
	held     int             // sessions of all entries, live or not
	used     map[uint32]*use // what subscribers have of that, by prefix
	// homes are the entries with ports of an inside address, live or not.
	homes map[uint32]map[*entry]bool
	// rests are the endpoints that were in use, of entries that are not kept.
	rests map[endpoint]rested
	// cursor is where the search for a free port starts. It is not state of the
	// NAT: which port it chooses is its own choice.
	cursor map[uint8]int
	// displaced numbers the endpoints that stand for unknown ones.
	displaced uint32
	// sweep is the earliest time at which some entry may be expired.
	sweep time.Duration
}

// flow is what a session is for: a packet from inside. For ICMP echo,
// sport is the identifier and dport 0.
type flow struct {
	proto        uint8
	src, dst     uint32
	sport, dport uint16
}

// endpoint is an outside address and port (identifier) of a protocol.
type endpoint struct {
	proto uint8
	addr  uint32
	port  uint16
}

// seat is what one live entry has at a time: an endpoint, or, with port overlapping, an endpoint and a remote.
type seat struct {
	at     endpoint
	remote uint32
	port   uint16
}

// seat is what an entry of the flow takes at the endpoint.
func (n *nat) seat(f flow, at endpoint) seat {
	if hasPorts(f.proto) && (!n.overlaps || n.element.Mapping != element.AddressAndPortDependent) {
		return seat{at: at}
	}
	return seat{at, f.dst, f.dport}
}

func (n *nat) seatOf(e *entry) seat { return n.seat(e.flow, e.out) }

func (e endpoint) addrPort() netip.AddrPort { return netip.AddrPortFrom(addr(e.addr), e.port) }

// entry is a mapping (RFC 4787 section 4.1), with its sessions. It is live as long as one of them is.
type entry struct {
	nat      *nat
	flow     flow // its key
	out      endpoint
	sessions map[remote]*session
	loose    bool          // the engine has not chosen out (loose.go)
	chosen   time.Duration // when out was
	// source is the entry of another NAPT whose endpoint the flow comes from; behind are the entries whose source this is or was.
	source *entry
	behind []*entry
	flows  []dependent // that began while it was loose
}

func newNAT(name string, e element.NAPT, overlaps bool) *nat {
	n := &nat{
		name: name, element: e, cursor: map[uint8]int{}, overlaps: overlaps,
		inside: map[flow]*entry{}, outside: map[seat]*entry{}, used: map[uint32]*use{}, rests: map[endpoint]rested{},
		homes: map[uint32]map[*entry]bool{},
	}
	for _, a := range e.Pool {
		n.pool = append(n.pool, num(a))
	}
	slices.Sort(n.pool)
	return n
}

func (n *nat) pass(r *run, at *graph.Node, p *packet, in int) (int, bool) {
	if reason := r.translate(n, p, in); reason != "" {
		r.discard(at, p, reason)
		return ended, false
	}
	return 1 - in, false
}

// resume: the NAPT goes on if it is as it was, except for reserved endpoints: entries that have one end. A loose one stands for any
// endpoint, and stays.
func (n *nat) resume(before meaning) meaning {
	old, ok := before.(*nat)
	if !ok || old.overlaps != n.overlaps {
		return n
	}
	was := old.element
	was.Reserved = n.element.Reserved
	if !reflect.DeepEqual(was, n.element) {
		return n
	}
	old.element = was
	for _, e := range old.inside {
		if !e.loose && old.reserves(e.out) {
			delete(old.inside, e.flow)
			delete(old.outside, old.seatOf(e))
			old.count(e, -1)
		}
	}
	return old
}

// nats are the chain's NAPTs.
func (c *Chain) nats() []*nat {
	var out []*nat
	for _, m := range c.means {
		if n, ok := m.(*nat); ok {
			out = append(out, n)
		}
	}
	return out
}

func (n *nat) binding(f flow) Binding {
	return Binding{
		Node: n.name, Proto: f.proto,
		Inside: netip.AddrPortFrom(addr(f.src), f.sport), Remote: netip.AddrPortFrom(addr(f.dst), f.dport),
	}
}

// timeoutOf is after how long an idle flow of a protocol ends.
func timeoutOf(t element.Timeouts, proto uint8, tcp *tcpState) time.Duration {
	switch {
	case proto == protoICMP:
		return t.ICMP
	case proto == protoTCP && tcp.established():
		return t.TCP
	case proto == protoTCP:
		return t.TCPTransitory
	}
	return t.UDP
}

// openingIdle is how long a TCP session that is opening is kept, however scarce ports are.
const openingIdle = time.Second

// evictable tells whether the NAPT may end a live session for a flow that finds no port.
func (s *session) evictable(proto uint8, now time.Duration) bool {
	return proto == protoTCP && !s.tcp.acknowledged && now-s.last >= openingIdle
}

// Evict ends the entry of a flow, as a NAPT, or a table of followed flows, may for another one that finds no port or no room: it is a TCP entry that is not
// acknowledged, and that was idle for a second or longer. Anything else is an error. Of a load balancer it ends a session that its
// backend has not acknowledged.
func (c *Chain) Evict(now time.Duration, b Binding) error {
	if t := c.tracked[b.Node]; t != nil {
		return t.evict(now, b)
	}
	for _, n := range c.nats() {
		if n.name != b.Node || !b.Inside.Addr().Is4() || !b.Remote.Addr().Is4() {
			continue
		}
		f := flow{proto: b.Proto, src: num(b.Inside.Addr()), dst: num(b.Remote.Addr()), sport: b.Inside.Port(), dport: b.Remote.Port()}
		e, s := n.session(f, now)
		switch {
		case s == nil:
			return fmt.Errorf("%s has no entry for %v → %v", b.Node, b.Inside, b.Remote)
		case !s.evictable(f.proto, now):
			return fmt.Errorf("%s may not end the entry for %v → %v: protocol %d, acknowledged: %t, idle for %v", b.Node, b.Inside, b.Remote, b.Proto, s.tcp.acknowledged, now-s.last)
		}
		n.end(e, f.remote(), now)
		return nil
	}
	for _, l := range c.balancers() {
		if l.name == b.Node && b.Inside.Addr().Is4() && b.Remote.Addr().Is4() {
			return l.end(now, b)
		}
	}
	return fmt.Errorf("there is no NAPT %q", b.Node)
}

// find is the live entry of a key.
func (n *nat) find(key flow, now time.Duration) *entry {
	if e := n.inside[key]; e != nil && n.live(e, now) {
		return e
	}
	return nil
}

// holder is the live entry that has what an entry of the flow would take at the endpoint.
func (n *nat) holder(f flow, at endpoint, now time.Duration) *entry {
	if e := n.outside[n.seat(f, at)]; e != nil && n.live(e, now) {
		return e
	}
	return nil
}

// question is a look-up from outside.
type question struct {
	nat    *nat
	at     endpoint
	remote uint32
	port   uint16
	// begins says that a packet asks, which may begin a flow; else an error asks about one that there is.
	begins bool
}

// flow is what is known of the flow whose entry answers.
func (q question) flow() flow { return flow{proto: q.at.proto, dst: q.remote, dport: q.port} }

// findOutside is the live entry that a look-up from outside finds.
func (n *nat) findOutside(q question, now time.Duration) *entry {
	e := n.holder(q.flow(), q.at, now)
	if e == nil || !n.answers(e, q, now) {
		return nil
	}
	return e
}

// full tells whether no further session is allowed at all.
func (n *nat) full(now time.Duration) bool {
	limit := n.element.MaxSessions
	if limit <= 0 || n.held < limit {
		return false
	}
	n.forget(now)
	return n.held >= limit
}

// size is the number of endpoints per protocol.
func (n *nat) size() int {
	return len(n.pool) * (int(n.element.PortMax) - int(n.element.PortMin) + 1)
}

// owns tells whether the endpoint is of the pool.
func (n *nat) owns(at endpoint) bool {
	if !hasPorts(at.proto) {
		return at.port == 0 && slices.Contains(n.pool, at.addr)
	}
	return at.port >= n.element.PortMin && at.port <= n.element.PortMax && slices.Contains(n.pool, at.addr) && !n.reserves(at)
}

// reserves tells whether others have the endpoint.
func (n *nat) reserves(at endpoint) bool {
	return slices.ContainsFunc(n.element.Reserved, func(r element.Reserved) bool {
		return r.Proto == at.proto && num(r.Addr) == at.addr && r.First <= at.port && at.port <= r.Last
	})
}

// allowed tells whether a new entry of the flow may take the endpoint.
func (n *nat) allowed(f flow, at endpoint, now time.Duration) bool {
	return n.owns(at) && n.holder(f, at, now) == nil && !n.resting(f, at, now) && n.paired(f, at, now)
}

// choose is the next allowed endpoint for a flow.
func (n *nat) choose(f flow, now time.Duration) (endpoint, bool) {
	first, size := 0, n.size()
	if home, ok := n.home(f, now); ok { // the others are not allowed
		size /= len(n.pool)
		first = slices.Index(n.pool, home) * size
	}
	for range size {
		i := first + n.cursor[f.proto]%size
		n.cursor[f.proto]++
		if at := n.endpointAt(f.proto, i); n.allowed(f, at, now) {
			return at, true
		}
	}
	return endpoint{}, false
}

// byAddress is where a flow without ports goes: no NAPT has a choice.
func (n *nat) byAddress(f flow, now time.Duration) (endpoint, bool) {
	pool := n.pool[:min(len(n.pool), portlessAddresses)]
	for i := range pool {
		at := endpoint{proto: f.proto, addr: pool[(int(f.src)+i)%len(pool)]}
		if n.allowed(f, at, now) {
			return at, true
		}
	}
	return endpoint{}, false
}

// portlessAddresses bounds the addresses of a pool that flows without ports get.
const portlessAddresses = 32

// endpointAt is an endpoint of the pool by its number.
func (n *nat) endpointAt(proto uint8, i int) endpoint {
	ports := int(n.element.PortMax) - int(n.element.PortMin) + 1
	return endpoint{proto, n.pool[i/ports], n.element.PortMin + uint16(i%ports)}
}

// add makes an entry without sessions in the place of expired ones.
func (n *nat) add(r *run, key flow, at endpoint, loose bool, by *entry) *entry {
	e := &entry{nat: n, flow: key, out: at, sessions: map[remote]*session{}, loose: loose, chosen: r.now}
	if old := n.inside[key]; old != nil {
		n.remove(r, old)
	}
	n.evict(r, key, at)
	n.inside[key], n.outside[n.seatOf(e)] = e, e
	n.countPort(e, 1)
	r.undoable(func() {
		delete(n.inside, key)
		delete(n.outside, n.seatOf(e))
		n.countPort(e, -1)
	})
	r.follow(e, by)
	return e
}

// evict removes an expired entry from where an entry of the flow goes.
func (n *nat) evict(r *run, f flow, at endpoint) {
	if e := n.outside[n.seat(f, at)]; e != nil && !n.live(e, r.now) {
		n.remove(r, e)
	}
}

func (n *nat) remove(r *run, e *entry) {
	delete(n.inside, e.flow)
	delete(n.outside, n.seatOf(e))
	n.count(e, -1)
	before, had := n.rests[e.out]
	n.ended(e, n.death(e))
	r.undoable(func() {
		n.rests[e.out] = before
		if !had {
			delete(n.rests, e.out)
		}
		n.inside[e.flow], n.outside[n.seatOf(e)] = e, e
		n.count(e, 1)
		for _, s := range e.sessions {
			n.expires(e, s)
		}
	})
}

// hasPorts tells protocols of which a NAPT tells flows apart by port or identifier.
func hasPorts(proto uint8) bool { return proto == protoTCP || proto == protoUDP || proto == protoICMP }

// sealed tells protocols whose checksums cover addresses, and which a NAPT does not know.
func sealed(proto uint8) bool { return proto == protoDCCP || proto == protoAH || proto == protoUDPLite }

// tuple reads what a NAPT knows a packet by. Of ICMP's requests and their replies the requester's port is the identifier, the other 0;
// protocols without ports have 0.
func tuple(ip []byte) (f flow, ok bool) {
	f = flow{proto: ip[9], src: srcOf(ip), dst: dstOf(ip)}
	t := transport(ip)
	switch {
	case f.proto == protoTCP || f.proto == protoUDP:
		f.sport, f.dport = binary.BigEndian.Uint16(t), binary.BigEndian.Uint16(t[2:])
	case query(ip):
		f.sport = binary.BigEndian.Uint16(t[4:])
	case queryReply(ip):
		f.dport = binary.BigEndian.Uint16(t[4:])
	default:
		return f, !hasPorts(f.proto) && !sealed(f.proto)
	}
	return f, true
}

// queryReply tells an ICMP reply to a query, which belongs to a flow the other way round only.
func queryReply(ip []byte) bool {
	return icmpType(ip) == icmpEchoReply || icmpType(ip) == icmpTimestampReply
}

// query tells an ICMP request that a host answers.
func query(ip []byte) bool { return request(ip) || icmpType(ip) == icmpTimestamp }

// request tells an echo request.
func request(ip []byte) bool { return icmpType(ip) == icmpEchoRequest }

// reversed is the flow whose answer f is.
func (f flow) reversed() flow {
	return flow{proto: f.proto, src: f.dst, dst: f.src, sport: f.dport, dport: f.sport}
}

// rewriteSrc writes source and port (identifier) of a packet.
func rewriteSrc(ip []byte, a uint32, port uint16) {
	setSrc(ip, a)
	writePort(ip, 0, port)
}

// rewriteDst writes destination and port (identifier) of a packet.
func rewriteDst(ip []byte, a uint32, port uint16) {
	setDst(ip, a)
	writePort(ip, 2, port)
}

// writePort writes a port that lies at an offset, or the identifier.
func writePort(ip []byte, at int, port uint16) {
	switch ip[9] {
	case protoICMP:
		binary.BigEndian.PutUint16(transport(ip)[4:], port)
	case protoTCP, protoUDP:
		binary.BigEndian.PutUint16(transport(ip)[at:], port)
	}
}

// translate passes the packet through the NAPT, from side in to the other. A
// reason means that it is dropped.
func (r *run) translate(n *nat, p *packet, in int) (reason string) {
	if fragOf(p.ip) != fragWhole {
		return element.ReasonNATFragment
	}
	headless := hasPorts(p.ip[9]) && !headed(p.ip)
	switch {
	case headless && in == element.NAPTInside:
		return element.ReasonNATUnsupported
	case headless:
		return element.ReasonNATNoBinding
	case p.ip[9] == protoICMP && quotedFlow(p.ip) != nil:
		if in == element.NAPTInside {
			return r.errorFromInside(n, p)
		}
		return r.errorFromOutside(n, p)
	case in == element.NAPTInside:
		return r.fromInside(n, p)
	}
	return r.fromOutside(n, p)
}

func (r *run) fromInside(n *nat, p *packet) string {
	f, ok := tuple(p.ip)
	if !ok || queryReply(p.ip) {
		return element.ReasonNATUnsupported
	}
	e, s := n.session(f, r.now)
	switch {
	case e == nil:
		at, loose, reason := r.chosen(n, f, p.by.from())
		if reason != "" {
			return reason
		}
		e = n.add(r, n.key(f), at, loose, p.by.from())
		s = n.open(r, e, f.remote())
		r.note("new binding %v → %v for %v", n.binding(f).Inside, at.addrPort(), n.binding(f).Remote)
	case s == nil:
		r.settle(e, f, p.by.from())
		if reason := r.room(e, f, p.by.from()); reason != "" {
			return reason
		}
		s = n.open(r, e, f.remote())
		r.note("binding %v → %v, now for %v, too", n.binding(f).Inside, e.out.addrPort(), n.binding(f).Remote)
	default:
		r.settle(e, f, p.by.from())
		if reason := r.limitedAgain(n, f, p.by.from()); reason != "" {
			return reason
		}
		r.note("binding %v → %v for %v", n.binding(f).Inside, e.out.addrPort(), n.binding(f).Remote)
	}
	n.use(r, e, s, p.ip, element.NAPTInside)
	rewriteSrc(p.ip, e.out.addr, e.out.port)
	p.by.src, p.by.sport = e, e
	return ""
}

func (r *run) fromOutside(n *nat, p *packet) string {
	f, ok := tuple(p.ip)
	if !ok || query(p.ip) {
		return element.ReasonNATNoBinding
	}
	q := question{nat: n, at: endpoint{f.proto, f.dst, f.dport}, remote: f.src, port: f.sport, begins: ported(p.ip)}
	e := r.ask(q, p.by.dport)
	if e == nil {
		return element.ReasonNATNoBinding
	}
	s := n.sessionOf(e, remote{f.src, f.sport}, r.now)
	if s == nil {
		if reason := r.room(e, n.fromInside(e, f), e.source); reason != "" {
			return reason
		}
		s = n.open(r, e, remote{f.src, f.sport})
	}
	n.use(r, e, s, p.ip, element.NAPTOutside)
	r.note("back by binding %v → %v", n.binding(e.flow).Inside, e.out.addrPort())
	by := r.insideOf(e)
	rewriteDst(p.ip, e.flow.src, e.flow.sport)
	p.by.dst, p.by.dport = by.src, by.sport
	return ""
}

// quotedFlow is the packet that an ICMP error quotes, if it can be one of a bound flow.
func quotedFlow(ip []byte) []byte {
	q := quoted(transport(ip))
	if q == nil || fragOf(q) == fragLater {
		return nil
	}
	if _, ok := tuple(q); !ok {
		return nil
	}
	return q
}

// errorFromOutside translates an error about a packet that we sent.
func (r *run) errorFromOutside(n *nat, p *packet) string {
	q := quotedFlow(p.ip)
	f, _ := tuple(q)
	if queryReply(q) || dstOf(p.ip) != f.src {
		return element.ReasonNATNoBinding
	}
	e := r.ask(question{nat: n, at: endpoint{f.proto, f.src, f.sport}, remote: f.dst, port: f.dport}, p.by.qsport)
	if e == nil {
		return element.ReasonNATNoBinding
	}
	r.note("error about binding %v → %v", n.binding(e.flow).Inside, e.out.addrPort())
	by := r.insideOf(e)
	setDst(p.ip, e.flow.src)
	rewriteSrc(q, e.flow.src, e.flow.sport)
	p.by.dst, p.by.qsrc, p.by.qsport = by.src, by.src, by.sport
	return ""
}

// errorFromInside translates an error about a packet that we delivered.
func (r *run) errorFromInside(n *nat, p *packet) string {
	q := quotedFlow(p.ip)
	f, _ := tuple(q)
	if query(q) {
		return element.ReasonNATUnsupported
	}
	e, s := n.session(f.reversed(), r.now)
	if s == nil {
		return element.ReasonNATUnsupported
	}
	r.note("error about binding %v → %v", n.binding(e.flow).Inside, e.out.addrPort())
	setSrc(p.ip, e.out.addr)
	rewriteDst(q, e.out.addr, e.out.port)
	p.by.src, p.by.qdst, p.by.qdport = e, e, e
	return ""
}
