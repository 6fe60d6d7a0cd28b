package interp

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func init() {
	register(func(c *Chain, _ string, e element.Track) meaning { return &track{c.flowsOf(e.Tracking), e.FromOutside} })
	register(func(c *Chain, _ string, e element.Admit) meaning { return &admit{c.flowsOf(e.Tracking), e.FromOutside} })
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
	of map[flow]*tracked // by their ends, the one inside first
	// sweep is the earliest time at which some flow may be over.
	sweep time.Duration
	begun int // TCP flows
}

// tracked is a followed flow, in the direction of the packet that began it.
type tracked struct {
	flow
	outside bool // where that came from
	table   *flows
	from    *entry // whose endpoint its source is, if that was loose when it began
	last    time.Duration
	number  int      // of those that the table has begun; 0: it began again
	tcp     tcpState // its inside is the side that began
	win     windows  // if its segments are checked: tcp.checked
}

func (c *Chain) flowsOf(t element.Tracking) *flows {
	if c.tracked[t.Table] == nil {
		c.tracked[t.Table] = &flows{Tracking: t, of: map[flow]*tracked{}}
	}
	return c.tracked[t.Table]
}

// resume: flows stay, with the timeouts of now.
func (t *track) resume(before meaning) meaning {
	if old, ok := before.(*track); ok {
		t.of, t.begun, t.sweep = old.of, old.begun, 0
	}
	return t
}

// fromInside is the flow of a packet from a side, as it would come from inside.
func (f flow) fromInside(outside bool) flow {
	if outside {
		return f.reversed()
	}
	return f
}

func (e *tracked) key() flow { return e.fromInside(e.outside) }

func (e *tracked) source() *entry { return e.from }

func (e *tracked) take() {
	if e.table.of[e.key()] == e {
		delete(e.table.of, e.key())
	}
}

func (e *tracked) put(at endpoint) {
	e.src, e.sport = at.addr, at.port
	e.table.of[e.key()] = e
}

func (t *flows) live(e *tracked, now time.Duration) bool {
	return now-e.last <= timeoutOf(t.Timeouts, e.proto, &e.tcp)
}

// find is the live flow that a packet's is which comes from a side.
func (t *flows) find(f flow, outside bool, now time.Duration) *tracked {
	if e := t.of[f.fromInside(outside)]; e != nil && t.live(e, now) {
		return e
	}
	return nil
}

// sideOf is the side that a packet of the flow comes from, that which began being inside.
func (e *tracked) sideOf(outside bool) int {
	if outside == e.outside {
		return element.NAPTInside
	}
	return element.NAPTOutside
}

// fits tells whether a packet can be of the flow: of ICMP's queries, requests come from the side that began.
func (e *tracked) fits(ip []byte, outside bool) bool {
	return e.proto != protoICMP || query(ip) == (e.sideOf(outside) == element.NAPTInside)
}

// flowOf is the flow that the packet itself belongs to; false: it tells none.
func flowOf(ip []byte) (flow, bool) {
	if fragOf(ip) != fragWhole || hasPorts(ip[9]) && !headed(ip) {
		return flow{}, false
	}
	f, ok := tuple(ip)
	return f, ok || !hasPorts(ip[9])
}

// The sets of these flags that a TCP segment may have (RFC 9293 section 3.10.7).
const judgedFlags = tcpSYN | tcpACK | tcpRST | tcpFIN

var saneFlags = []byte{tcpSYN, tcpSYN | tcpACK, tcpACK, tcpFIN | tcpACK, tcpRST, tcpRST | tcpACK}

// opens tells whether a packet may begin a flow, and whether it is a SYN that may begin a closing one again.
func (t *flows) opens(ip []byte) (opens, syn bool) {
	switch ip[9] {
	case protoTCP:
		flags := transport(ip)[13] & judgedFlags
		return flags == tcpSYN || t.PickUp && (flags == tcpACK || flags == tcpFIN|tcpACK), flags == tcpSYN
	case protoICMP:
		return query(ip), false
	}
	return true, false
}

// state is that of a packet; an established packet comes with its flow.
func (t *flows) state(ip []byte, outside bool, now time.Duration) (int, *tracked) {
	if fragOf(ip) == fragWhole && ip[9] == protoICMP && headed(ip) && !query(ip) && !queryReply(ip) {
		return t.ofError(ip, outside, now), nil
	}
	f, ok := flowOf(ip)
	if !ok || ip[9] == protoTCP && !slices.Contains(saneFlags, transport(ip)[13]&judgedFlags) {
		return element.TrackInvalid, nil
	}
	e := t.find(f, outside, now)
	opens, syn := t.opens(ip)
	switch {
	case e == nil && opens, e != nil && syn && e.tcp.closing:
		return element.TrackNew, nil
	case e == nil || !e.fits(ip, outside), e.tcp.checked && !e.win.fit(ip, e.sideOf(outside), &e.tcp):
		return element.TrackInvalid, nil
	}
	return element.TrackEstablished, e
}

// ofError is the state of an ICMP error, to the sender of the packet that it quotes: that came from the other side.
func (t *flows) ofError(ip []byte, outside bool, now time.Duration) int {
	q := quotedFlow(ip)
	if q == nil || dstOf(ip) != srcOf(q) {
		return element.TrackInvalid
	}
	f, _ := tuple(q)
	if e := t.find(f, !outside, now); e == nil || !e.fits(q, !outside) {
		return element.TrackInvalid
	}
	return element.TrackRelated
}

func (t *track) pass(r *run, _ *graph.Node, p *packet, _ int) (int, bool) {
	state, e := t.state(p.ip, t.outside, r.now)
	if e != nil {
		e.use(r, t.outside, p.ip)
	}
	r.note("%s", element.Track{}.PortNames()[state])
	return state, false
}

// use has a packet refresh its flow.
func (e *tracked) use(r *run, outside bool, ip []byte) {
	was := *e
	r.undoable(func() { *e = was })
	if e.tcp.checked {
		e.win.move(ip, e.sideOf(outside), &e.tcp)
	}
	if e.proto != protoTCP || e.tcp.use(transport(ip), e.sideOf(outside)) {
		e.last = r.now
	}
}

func (a *admit) pass(r *run, n *graph.Node, p *packet, _ int) (int, bool) {
	f, ok := flowOf(p.ip)
	if !ok { // no packet that is new
		r.discard(n, p, a.Full)
		return ended, false
	}
	e := a.find(f, a.outside, r.now)
	_, syn := a.opens(p.ip)
	if e == nil || syn && e.tcp.closing { // a closing one begins again
		if e == nil && a.full(r.now) {
			r.discard(n, p, a.Full)
			return ended, false
		}
		e = &tracked{flow: f, outside: a.outside, table: a.flows, last: r.now}
		e.tcp.checked = a.Strict && syn
		e.from = r.depend(p.by, e)
		a.begin(r, e)
		r.note("a flow begins")
	}
	e.use(r, a.outside, p.ip)
	return 0, false
}

// begin puts a flow in the place of one that is over, or closing.
func (t *flows) begin(r *run, e *tracked) {
	key := e.key()
	old := t.of[key]
	begun := t.begun
	if e.proto == protoTCP && (old == nil || !t.live(old, r.now)) {
		t.begun++
		e.number = t.begun
	}
	t.of[key] = e
	r.undoable(func() {
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

// evict ends a flow that may end for another one.
func (t *flows) evict(now time.Duration, b Binding) error {
	f := flow{proto: b.Proto, src: num(b.Inside.Addr()), dst: num(b.Remote.Addr()), sport: b.Inside.Port(), dport: b.Remote.Port()}
	e := t.find(f, b.FromOutside, now)
	if e == nil || e.outside != b.FromOutside {
		return fmt.Errorf("%s has no flow %v → %v", b.Node, b.Inside, b.Remote)
	}
	if !t.mayEnd(e, now) {
		return fmt.Errorf("%s may not end the flow %v → %v: protocol %d, %s, acknowledged: %t, idle for %v, %d began after it", b.Node, b.Inside, b.Remote, b.Proto,
			e.state(), e.tcp.acknowledged, now-e.last, t.begun-e.number)
	}
	delete(t.of, e.key())
	return nil
}

// shards is how many parts an engine's table has, each of which has its share of flows that are opening (docs/sharding.md).
const shards = 128

// mayEnd tells whether a flow may end for another one: because there is no room, or too many are opening.
func (t *flows) mayEnd(e *tracked, now time.Duration) bool {
	if e.proto != protoTCP {
		return false
	}
	others := (t.HalfOpen+shards-1)/shards - 1 // and one that is about to begin
	tooMany := t.HalfOpen > 0 && e.number > 0 && t.begun-e.number >= others && e.state() == "opening" && e.last != now
	return tooMany || !e.tcp.acknowledged && now-e.last >= openingIdle
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

// Flows are the live flows of all tables, in no order.
func (c *Chain) Flows(now time.Duration) (out []Flow) {
	for _, t := range c.tracked {
		for _, e := range t.of {
			if t.live(e, now) {
				out = append(out, Flow{
					t.Table, e.proto, netip.AddrPortFrom(addr(e.src), e.sport), netip.AddrPortFrom(addr(e.dst), e.dport), e.state(), e.from != nil && e.from.loose,
				})
			}
		}
	}
	return out
}

func (e *tracked) state() string {
	switch {
	case e.proto != protoTCP:
		return "open"
	case e.tcp.closing:
		return "closing"
	case e.tcp.established():
		return "established"
	}
	return "opening"
}
