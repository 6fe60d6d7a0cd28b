// Package oracle has the meaning of NAPTs: mappings with their sessions, limits of subscribers, what an engine chose; and of fixed
// translations.
package oracle

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(c *pass.Chain, name string, e element.NAPT) pass.Element {
		return newNAT(name, e, c.PortOverlapping)
	})
}

// nat is the state of one NAPT.
type nat struct {
	name    string
	element element.NAPT
	pool    []uint32
	// overlaps says that flows to different remotes may share an endpoint (pass.Options.PortOverlapping).
	overlaps bool
	inside   map[flow.Flow]*entry // by what of a packet from inside tells its mapping: see key
	outside  map[seat]*entry      // by what it is translated to
	shares   bool                 // an engine makes one session for flows of this and other NAPTs
	held     int                  // sessions of all entries, live or not
	used     map[uint32]*use      // what subscribers have of that, by prefix
	// homes are the entries with ports of an inside address, live or not.
	homes map[uint32]map[*entry]bool
	// rests are the endpoints that were in use, of entries that are not kept.
	rests map[flow.Endpoint]rested
	// cursor is where the search for a free port starts. It is not state of the
	// NAT: which port it chooses is its own choice.
	cursor map[uint8]int
	// displaced numbers the endpoints that stand for unknown ones.
	displaced uint32
	// sweep is the earliest time at which some entry may be expired.
	sweep time.Duration
}

// seat is what one live entry has at a time: an endpoint, or, with port overlapping, an endpoint and a remote.
type seat struct {
	at     flow.Endpoint
	remote uint32
	port   uint16
}

// seat is what an entry of the flow takes at the endpoint.
func (n *nat) seat(f flow.Flow, at flow.Endpoint) seat {
	if flow.HasPorts(f.Proto) && (!n.overlaps || n.element.Mapping != element.AddressAndPortDependent) {
		return seat{at: at}
	}
	return seat{at, f.Dst, f.Dport}
}

func (n *nat) seatOf(e *entry) seat { return n.seat(e.flow, e.out) }

// entry is a mapping (RFC 4787 section 4.1), with its sessions. It is live as long as one of them is.
type entry struct {
	nat      *nat
	flow     flow.Flow // its key
	out      flow.Endpoint
	sessions map[remote]*session
	loose    bool          // the engine has not chosen out (loose.go)
	chosen   time.Duration // when out was
	// source is the entry of another NAPT whose endpoint the flow comes from; behind are the entries whose source this is or was.
	source *entry
	behind []*entry
	flows  []pass.Dependent // that began while it was loose
}

func newNAT(name string, e element.NAPT, overlaps bool) *nat {
	n := &nat{
		name: name, element: e, cursor: map[uint8]int{}, overlaps: overlaps,
		inside: map[flow.Flow]*entry{}, outside: map[seat]*entry{}, used: map[uint32]*use{}, rests: map[flow.Endpoint]rested{},
		homes: map[uint32]map[*entry]bool{},
	}
	for _, a := range e.Pool {
		n.pool = append(n.pool, header.Number(a))
	}
	slices.Sort(n.pool)
	return n
}

// run is the passage of a frame, with what NAPTs do in it.
type run struct{ *pass.Run }

func (n *nat) Pass(r *pass.Run, at *graph.Node, p *pass.Packet, in int) (int, bool) {
	if reason := (&run{r}).translate(n, p, in); reason != "" {
		r.Discard(at, p, reason)
		return pass.Ended, false
	}
	return 1 - in, false
}

// Resume implements pass.Keeping: the NAPT goes on if it is as it was, except for reserved endpoints: entries that have one end. A loose one stands for any
// endpoint, and stays.
func (n *nat) Resume(before pass.Element) pass.Element {
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
func nats(c *pass.Chain) []*nat {
	var out []*nat
	for _, n := range pass.All[*nat](c) {
		out = append(out, n)
	}
	return out
}

func (n *nat) binding(f flow.Flow) pass.Binding {
	return pass.Binding{
		Node: n.name, Proto: f.Proto,
		Inside: netip.AddrPortFrom(header.Addr(f.Src), f.Sport), Remote: netip.AddrPortFrom(header.Addr(f.Dst), f.Dport),
	}
}

// evictable tells whether the NAPT may end a live session for a flow that finds no port.
func (s *session) evictable(proto uint8, now time.Duration) bool {
	return proto == header.TCP && !s.tcp.Acknowledged && now-s.last >= flow.OpeningIdle
}

// Evict ends the session of a flow: a TCP session that is not acknowledged, and that was idle for a second or longer.
func (n *nat) Evict(now time.Duration, b pass.Binding) (mine bool, err error) {
	if n.name != b.Node || !b.Inside.Addr().Is4() || !b.Remote.Addr().Is4() {
		return false, nil
	}
	f := flow.Flow{Proto: b.Proto, Src: header.Number(b.Inside.Addr()), Dst: header.Number(b.Remote.Addr()), Sport: b.Inside.Port(), Dport: b.Remote.Port()}
	e, s := n.session(f, now)
	switch {
	case s == nil:
		return true, fmt.Errorf("%s has no entry for %v → %v", b.Node, b.Inside, b.Remote)
	case !s.evictable(f.Proto, now):
		return true, fmt.Errorf("%s may not end the entry for %v → %v: protocol %d, acknowledged: %t, idle for %v", b.Node, b.Inside, b.Remote, b.Proto, s.tcp.Acknowledged, now-s.last)
	}
	n.end(e, remoteOf(f), now)
	return true, nil
}

// Sessions are the live sessions of the NAPT.
func (n *nat) Sessions(now time.Duration) (out []pass.Session) {
	for _, e := range n.inside {
		for to, of := range e.sessions {
			if !of.lives(e.flow.Proto, now) {
				continue
			}
			f := e.flow
			f.Dst, f.Dport = to.addr, to.port
			s := pass.Session{Binding: n.binding(f), Idle: now - of.last, Loose: e.loose}
			if n.owns(e.out) {
				s.Outside = e.out.AddrPort()
			}
			out = append(out, s)
		}
	}
	return out
}

// find is the live entry of a key.
func (n *nat) find(key flow.Flow, now time.Duration) *entry {
	if e := n.inside[key]; e != nil && n.live(e, now) {
		return e
	}
	return nil
}

// holder is the live entry that has what an entry of the flow would take at the endpoint.
func (n *nat) holder(f flow.Flow, at flow.Endpoint, now time.Duration) *entry {
	if e := n.outside[n.seat(f, at)]; e != nil && n.live(e, now) {
		return e
	}
	return nil
}

// question is a look-up from outside.
type question struct {
	nat    *nat
	at     flow.Endpoint
	remote uint32
	port   uint16
	// begins says that a packet asks, which may begin a flow; else an error asks about one that there is.
	begins bool
}

// flow is what is known of the flow whose entry answers.
func (q question) flow() flow.Flow { return flow.Flow{Proto: q.at.Proto, Dst: q.remote, Dport: q.port} }

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
func (n *nat) owns(at flow.Endpoint) bool {
	if !flow.HasPorts(at.Proto) {
		return at.Port == 0 && slices.Contains(n.pool, at.Addr)
	}
	return at.Port >= n.element.PortMin && at.Port <= n.element.PortMax && slices.Contains(n.pool, at.Addr) && !n.reserves(at)
}

// reserves tells whether others have the endpoint.
func (n *nat) reserves(at flow.Endpoint) bool {
	return slices.ContainsFunc(n.element.Reserved, func(r element.Reserved) bool {
		return r.Proto == at.Proto && header.Number(r.Addr) == at.Addr && r.First <= at.Port && at.Port <= r.Last
	})
}

// allowed tells whether a new entry of the flow may take the endpoint.
func (n *nat) allowed(f flow.Flow, at flow.Endpoint, now time.Duration) bool {
	return n.owns(at) && n.holder(f, at, now) == nil && !n.resting(f, at, now) && n.paired(f, at, now)
}

// choose is the next allowed endpoint for a flow.
func (n *nat) choose(f flow.Flow, now time.Duration) (flow.Endpoint, bool) {
	first, size := 0, n.size()
	if home, ok := n.home(f, now); ok { // the others are not allowed
		size /= len(n.pool)
		first = slices.Index(n.pool, home) * size
	}
	for range size {
		i := first + n.cursor[f.Proto]%size
		n.cursor[f.Proto]++
		if at := n.endpointAt(f.Proto, i); n.allowed(f, at, now) {
			return at, true
		}
	}
	return flow.Endpoint{}, false
}

// byAddress is where a flow without ports goes: no NAPT has a choice.
func (n *nat) byAddress(f flow.Flow, now time.Duration) (flow.Endpoint, bool) {
	pool := n.pool[:min(len(n.pool), portlessAddresses)]
	for i := range pool {
		at := flow.Endpoint{Proto: f.Proto, Addr: pool[(int(f.Src)+i)%len(pool)]}
		if n.allowed(f, at, now) {
			return at, true
		}
	}
	return flow.Endpoint{}, false
}

// portlessAddresses bounds the addresses of a pool that flows without ports get.
const portlessAddresses = 32

// endpointAt is an endpoint of the pool by its number.
func (n *nat) endpointAt(proto uint8, i int) flow.Endpoint {
	ports := int(n.element.PortMax) - int(n.element.PortMin) + 1
	return flow.Endpoint{Proto: proto, Addr: n.pool[i/ports], Port: n.element.PortMin + uint16(i%ports)}
}

// add makes an entry without sessions in the place of expired ones.
func (n *nat) add(r *run, key flow.Flow, at flow.Endpoint, loose bool, by *entry) *entry {
	e := &entry{nat: n, flow: key, out: at, sessions: map[remote]*session{}, loose: loose, chosen: r.Now}
	if old := n.inside[key]; old != nil {
		n.remove(r, old)
	}
	n.evict(r, key, at)
	n.inside[key], n.outside[n.seatOf(e)] = e, e
	n.countPort(e, 1)
	r.Undoable(func() {
		delete(n.inside, key)
		delete(n.outside, n.seatOf(e))
		n.countPort(e, -1)
	})
	r.follow(e, by)
	return e
}

// evict removes an expired entry from where an entry of the flow goes.
func (n *nat) evict(r *run, f flow.Flow, at flow.Endpoint) {
	if e := n.outside[n.seat(f, at)]; e != nil && !n.live(e, r.Now) {
		n.remove(r, e)
	}
}

func (n *nat) remove(r *run, e *entry) {
	delete(n.inside, e.flow)
	delete(n.outside, n.seatOf(e))
	n.count(e, -1)
	before, had := n.rests[e.out]
	n.ended(e, n.death(e))
	r.Undoable(func() {
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

// translate passes the packet through the NAPT, from side in to the other. A
// reason means that it is dropped.
func (r *run) translate(n *nat, p *pass.Packet, in int) (reason string) {
	if header.Frag(p.IP) != header.FragWhole {
		return element.ReasonNATFragment
	}
	headless := flow.HasPorts(p.IP[9]) && !header.HasTransport(p.IP)
	switch {
	case headless && in == element.NAPTInside:
		return element.ReasonNATUnsupported
	case headless:
		return element.ReasonNATNoBinding
	case p.IP[9] == header.ICMP && flow.Quoted(p.IP) != nil:
		if in == element.NAPTInside {
			return r.errorFromInside(n, p)
		}
		return r.errorFromOutside(n, p)
	case in == element.NAPTInside:
		return r.fromInside(n, p)
	}
	return r.fromOutside(n, p)
}

func (r *run) fromInside(n *nat, p *pass.Packet) string {
	f, ok := flow.Of(p.IP)
	if !ok || flow.IsQueryReply(p.IP) {
		return element.ReasonNATUnsupported
	}
	e, s := n.session(f, r.Now)
	switch {
	case e == nil:
		at, loose, reason := r.chosen(n, f, originOf(p))
		if reason != "" {
			return reason
		}
		e = n.add(r, n.key(f), at, loose, originOf(p))
		s = n.open(r, e, remoteOf(f))
		r.Note("new binding %v → %v for %v", n.binding(f).Inside, at.AddrPort(), n.binding(f).Remote)
	case s == nil:
		r.settle(e, f, originOf(p))
		if reason := r.room(e, f, originOf(p)); reason != "" {
			return reason
		}
		s = n.open(r, e, remoteOf(f))
		r.Note("binding %v → %v, now for %v, too", n.binding(f).Inside, e.out.AddrPort(), n.binding(f).Remote)
	default:
		r.settle(e, f, originOf(p))
		if reason := r.limitedAgain(n, f, originOf(p)); reason != "" {
			return reason
		}
		r.Note("binding %v → %v for %v", n.binding(f).Inside, e.out.AddrPort(), n.binding(f).Remote)
	}
	n.use(r, e, s, p.IP, flow.Inside)
	flow.RewriteSrc(p.IP, e.out.Addr, e.out.Port)
	p.By.Src, p.By.Sport = e, e
	return ""
}

func (r *run) fromOutside(n *nat, p *pass.Packet) string {
	f, ok := flow.Of(p.IP)
	if !ok || flow.IsQuery(p.IP) {
		return element.ReasonNATNoBinding
	}
	q := question{nat: n, at: flow.Endpoint{Proto: f.Proto, Addr: f.Dst, Port: f.Dport}, remote: f.Src, port: f.Sport, begins: header.Ported(p.IP)}
	e := r.ask(q, asEntry(p.By.Dport))
	if e == nil {
		return element.ReasonNATNoBinding
	}
	s := n.sessionOf(e, remote{f.Src, f.Sport}, r.Now)
	if s == nil {
		if reason := r.room(e, n.fromInside(e, f), e.source); reason != "" {
			return reason
		}
		s = n.open(r, e, remote{f.Src, f.Sport})
	}
	n.use(r, e, s, p.IP, flow.Outside)
	r.Note("back by binding %v → %v", n.binding(e.flow).Inside, e.out.AddrPort())
	by := r.insideOf(e)
	flow.RewriteDst(p.IP, e.flow.Src, e.flow.Sport)
	p.By.Dst, p.By.Dport = by.Src, by.Sport
	return ""
}

// errorFromOutside translates an error about a packet that we sent.
func (r *run) errorFromOutside(n *nat, p *pass.Packet) string {
	q := flow.Quoted(p.IP)
	f, _ := flow.Of(q)
	if flow.IsQueryReply(q) || header.Dst(p.IP) != f.Src {
		return element.ReasonNATNoBinding
	}
	e := r.ask(question{nat: n, at: flow.Endpoint{Proto: f.Proto, Addr: f.Src, Port: f.Sport}, remote: f.Dst, port: f.Dport}, asEntry(p.By.QuotedSport))
	if e == nil {
		return element.ReasonNATNoBinding
	}
	r.Note("error about binding %v → %v", n.binding(e.flow).Inside, e.out.AddrPort())
	by := r.insideOf(e)
	header.SetDst(p.IP, e.flow.Src)
	flow.RewriteSrc(q, e.flow.Src, e.flow.Sport)
	p.By.Dst, p.By.QuotedSrc, p.By.QuotedSport = by.Src, by.Src, by.Sport
	return ""
}

// errorFromInside translates an error about a packet that we delivered.
func (r *run) errorFromInside(n *nat, p *pass.Packet) string {
	q := flow.Quoted(p.IP)
	f, _ := flow.Of(q)
	if flow.IsQuery(q) {
		return element.ReasonNATUnsupported
	}
	e, s := n.session(f.Reversed(), r.Now)
	if s == nil {
		return element.ReasonNATUnsupported
	}
	r.Note("error about binding %v → %v", n.binding(e.flow).Inside, e.out.AddrPort())
	header.SetSrc(p.IP, e.out.Addr)
	flow.RewriteDst(q, e.out.Addr, e.out.Port)
	p.By.Src, p.By.QuotedDst, p.By.QuotedDport = e, e, e
	return ""
}
