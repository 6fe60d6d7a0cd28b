// Package oracle has the meaning of stateful firewalls: the state of packets, and tables of flows.
package oracle

import (
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
	pass.Register(func(c *pass.Chain, _ string, e element.Track) pass.Element {
		return &track{flowsOf(c, e.Tracking), e.FromOutside}
	})
	pass.Register(func(c *pass.Chain, _ string, e element.Admit) pass.Element {
		return &admit{flowsOf(c, e.Tracking), e.FromOutside}
	})
}

// track and admit are two elements on one table of flows.
type track struct {
	*flows
	outside bool // packets come from there
}

type admit struct {
	*flows
	outside bool
}

// flows is a table of followed flows.
type flows struct {
	element.Tracking
	of map[flow.Flow]*tracked // by their ends, the one inside first
	// sweep is the earliest time at which some flow may be over.
	sweep time.Duration
	begun int // TCP flows
}

// tracked is a followed flow, in the direction of the packet that began it.
type tracked struct {
	flow.Flow
	outside bool // where that came from
	table   *flows
	from    pass.Origin // of its source, if that was loose when it began
	last    time.Duration
	number  int      // of those that the table has begun; 0: it began again
	tcp     flow.TCP // its inside is the side that began
	win     windows  // if its segments are checked: tcp.Checked
}

func flowsOf(c *pass.Chain, t element.Tracking) *flows {
	return pass.Shared(c, t.Table, func() *flows { return &flows{Tracking: t, of: map[flow.Flow]*tracked{}} })
}

// Resume implements pass.Keeping: flows stay, with the timeouts of now.
func (t *track) Resume(before pass.Element) pass.Element {
	if old, ok := before.(*track); ok {
		t.of, t.begun, t.sweep = old.of, old.begun, 0
	}
	return t
}

func (e *tracked) key() flow.Flow { return e.FromInside(e.outside) }

// Origin implements pass.Dependent.
func (e *tracked) Origin() pass.Origin { return e.from }

// Take implements pass.Dependent.
func (e *tracked) Take() {
	if e.table.of[e.key()] == e {
		delete(e.table.of, e.key())
	}
}

// Put implements pass.Dependent.
func (e *tracked) Put(at flow.Endpoint) {
	e.Src, e.Sport = at.Addr, at.Port
	e.table.of[e.key()] = e
}

func (t *flows) live(e *tracked, now time.Duration) bool {
	return now-e.last <= flow.Timeout(t.Timeouts, e.Proto, &e.tcp)
}

// find is the live flow that a packet's is which comes from a side.
func (t *flows) find(f flow.Flow, outside bool, now time.Duration) *tracked {
	if e := t.of[f.FromInside(outside)]; e != nil && t.live(e, now) {
		return e
	}
	return nil
}

// sideOf is the side that a packet of the flow comes from, that which began being inside.
func (e *tracked) sideOf(outside bool) int {
	if outside == e.outside {
		return flow.Inside
	}
	return flow.Outside
}

// fits tells whether a packet can be of the flow: of ICMP's queries, requests come from the side that began.
func (e *tracked) fits(ip []byte, outside bool) bool {
	return e.Proto != header.ICMP || flow.IsQuery(ip) == (e.sideOf(outside) == flow.Inside)
}

// The sets of these flags that a TCP segment may have (RFC 9293 section 3.10.7).
const judgedFlags = header.SYN | header.ACK | header.RST | header.FIN

var saneFlags = []byte{header.SYN, header.SYN | header.ACK, header.ACK, header.FIN | header.ACK, header.RST, header.RST | header.ACK}

// opens tells whether a packet may begin a flow, and whether it is a SYN that may begin a closing one again.
func (t *flows) opens(ip []byte) (opens, syn bool) {
	switch ip[9] {
	case header.TCP:
		flags := header.Transport(ip)[13] & judgedFlags
		return flags == header.SYN || t.PickUp && (flags == header.ACK || flags == header.FIN|header.ACK), flags == header.SYN
	case header.ICMP:
		return flow.IsQuery(ip), false
	}
	return true, false
}

// state is that of a packet; an established packet comes with its flow.
func (t *flows) state(ip []byte, outside bool, now time.Duration) (int, *tracked) {
	if header.Frag(ip) == header.FragWhole && ip[9] == header.ICMP && header.HasTransport(ip) && !flow.IsQuery(ip) && !flow.IsQueryReply(ip) {
		return t.ofError(ip, outside, now), nil
	}
	f, ok := flow.Told(ip)
	if !ok || ip[9] == header.TCP && !slices.Contains(saneFlags, header.Transport(ip)[13]&judgedFlags) {
		return element.TrackInvalid, nil
	}
	e := t.find(f, outside, now)
	opens, syn := t.opens(ip)
	switch {
	case e == nil && opens, e != nil && syn && e.tcp.Closing:
		return element.TrackNew, nil
	case e == nil || !e.fits(ip, outside), e.tcp.Checked && !e.win.fit(ip, e.sideOf(outside), &e.tcp):
		return element.TrackInvalid, nil
	}
	return element.TrackEstablished, e
}

// ofError is the state of an ICMP error, to the sender of the packet that it quotes: that came from the other side.
func (t *flows) ofError(ip []byte, outside bool, now time.Duration) int {
	q := flow.Quoted(ip)
	if q == nil || header.Dst(ip) != header.Src(q) {
		return element.TrackInvalid
	}
	f, _ := flow.Of(q)
	if e := t.find(f, !outside, now); e == nil || !e.fits(q, !outside) {
		return element.TrackInvalid
	}
	return element.TrackRelated
}

func (t *track) Pass(r *pass.Run, _ *graph.Node, p *pass.Packet, _ int) (int, bool) {
	state, e := t.state(p.IP, t.outside, r.Now)
	if e != nil {
		e.use(r, t.outside, p.IP)
	}
	r.Note("%s", element.Track{}.PortNames()[state])
	return state, false
}

// use has a packet refresh its flow.
func (e *tracked) use(r *pass.Run, outside bool, ip []byte) {
	was := *e
	r.Undoable(func() { *e = was })
	if e.tcp.Checked {
		e.win.move(ip, e.sideOf(outside), &e.tcp)
	}
	if e.Proto != header.TCP || e.tcp.Use(header.Transport(ip), e.sideOf(outside)) {
		e.last = r.Now
	}
}

func (a *admit) Pass(r *pass.Run, n *graph.Node, p *pass.Packet, _ int) (int, bool) {
	f, ok := flow.Told(p.IP)
	if !ok { // no packet that is new
		r.Discard(n, p, a.Full)
		return pass.Ended, false
	}
	e := a.find(f, a.outside, r.Now)
	_, syn := a.opens(p.IP)
	if e == nil || syn && e.tcp.Closing { // a closing one begins again
		if e == nil && a.full(r.Now) {
			r.Discard(n, p, a.Full)
			return pass.Ended, false
		}
		e = &tracked{Flow: f, outside: a.outside, table: a.flows, last: r.Now}
		e.tcp.Checked = a.Strict && syn
		e.from = r.Depend(p.By, e)
		a.begin(r, e)
		r.Note("a flow begins")
	}
	e.use(r, a.outside, p.IP)
	return 0, false
}

// begin puts a flow in the place of one that is over, or closing.
func (t *flows) begin(r *pass.Run, e *tracked) {
	key := e.key()
	old := t.of[key]
	begun := t.begun
	if e.Proto == header.TCP && (old == nil || !t.live(old, r.Now)) {
		t.begun++
		e.number = t.begun
	}
	t.of[key] = e
	r.Undoable(func() {
		t.begun = begun
		delete(t.of, key)
		if old != nil {
			t.of[key] = old
		}
	})
}

// full tells whether no further flow is allowed.
func (t *flows) full(now time.Duration) bool {
	if len(t.of) < t.Max || now <= t.sweep {
		return len(t.of) >= t.Max
	}
	t.sweep = now
	for key, e := range t.of {
		if !t.live(e, now) {
			delete(t.of, key)
		}
	}
	return len(t.of) >= t.Max
}

// Evict ends a flow that may end for another one.
func (t *flows) Evict(now time.Duration, b pass.Binding) (mine bool, err error) {
	if b.Node != t.Table {
		return false, nil
	}
	f := flow.Flow{Proto: b.Proto, Src: header.Number(b.Inside.Addr()), Dst: header.Number(b.Remote.Addr()), Sport: b.Inside.Port(), Dport: b.Remote.Port()}
	e := t.find(f, b.FromOutside, now)
	if e == nil || e.outside != b.FromOutside {
		return true, fmt.Errorf("%s has no flow %v → %v", b.Node, b.Inside, b.Remote)
	}
	if !t.mayEnd(e, now) {
		return true, fmt.Errorf("%s may not end the flow %v → %v: protocol %d, %s, acknowledged: %t, idle for %v, %d began after it", b.Node, b.Inside, b.Remote, b.Proto,
			flow.State(e.Proto, &e.tcp), e.tcp.Acknowledged, now-e.last, t.begun-e.number)
	}
	delete(t.of, e.key())
	return true, nil
}

// shards is how many parts an engine's table has, each of which has its share of flows that are opening (docs/sharding.md).
const shards = 128

// mayEnd tells whether a flow may end for another one: because there is no room, or too many are opening.
func (t *flows) mayEnd(e *tracked, now time.Duration) bool {
	if e.Proto != header.TCP {
		return false
	}
	others := (t.HalfOpen+shards-1)/shards - 1 // and one that is about to begin
	tooMany := t.HalfOpen > 0 && e.number > 0 && t.begun-e.number >= others && flow.State(e.Proto, &e.tcp) == "opening" && e.last != now
	return tooMany || !e.tcp.Acknowledged && now-e.last >= flow.OpeningIdle
}

// Flow is a live flow that a table follows.
type Flow struct {
	Table    string
	Proto    uint8
	From, To netip.AddrPort // of the packet that began it; ports as in Binding
	State    string         // as the engine says it
	Loose    bool           // nobody has seen From, which a NAPT chose
}

func (f Flow) String() string {
	return fmt.Sprintf("%s: proto %d %v → %v %s", f.Table, f.Proto, f.From, f.To, f.State)
}

// FlowsOf are the live flows of all tables of a chain, in no order.
func FlowsOf(c *pass.Chain, now time.Duration) (out []Flow) {
	seen := map[*flows]bool{}
	for _, k := range pass.All[keeper](c) {
		if t := k.table(); !seen[t] {
			seen[t] = true
			out = append(out, t.list(now)...)
		}
	}
	return out
}

// keeper is an element on a table of flows.
type keeper interface{ table() *flows }

func (t *flows) table() *flows { return t }

func (t *flows) list(now time.Duration) (out []Flow) {
	for _, e := range t.of {
		if t.live(e, now) {
			out = append(out, Flow{
				t.Table, e.Proto, netip.AddrPortFrom(header.Addr(e.Src), e.Sport), netip.AddrPortFrom(header.Addr(e.Dst), e.Dport), flow.State(e.Proto, &e.tcp), e.from != nil && e.from.Loose(),
			})
		}
	}
	return out
}
