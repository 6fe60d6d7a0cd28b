// Package oracle has the meaning of what is around functions outside of a chain: tables of the flows that go past them.
package oracle

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(c *pass.Chain, _ string, e element.Bypass) pass.Element {
		return &bypass{tableOf(c, e.Passing), e.FromOutside}
	})
	pass.Register(func(c *pass.Chain, _ string, e element.Passed) pass.Element {
		return &passed{tableOf(c, e.Passing), e.FromOutside}
	})
}

// bypass and passed are the elements on a table: before the function, and behind it.
type bypass struct {
	*table
	outside bool // packets come from there
}

type passed struct {
	*table
	outside bool
}

// table is of the flows of which a function has let packets through.
type table struct {
	element.Passing
	of map[flow.Flow]*entry // live or not, by their ends, the one inside first
	// sweep is the earliest time at which some of them may be over.
	sweep time.Duration
}

// entry is a flow, in the direction of the first packet that was counted.
type entry struct {
	flow.Flow
	outside   bool // where that packet came from
	table     *table
	from      pass.Origin // of its source, if that was loose then
	moves     bool        // it is out of its table until it is put back
	packets   int         // that the function has to let through
	remaining int         // of these; 0: the flow goes past
	last      time.Duration
	tcp       flow.TCP // its inside is the side of the first packet
}

func tableOf(c *pass.Chain, p element.Passing) *table {
	return pass.Shared(c, p.Table, func() *table { return &table{Passing: p, of: map[flow.Flow]*entry{}} })
}

// holder is an element on a table.
type holder interface{ holds() *table }

func (t *table) holds() *table { return t }

// resume has a table go on with the entries of the one before, with the timeouts of now. Each keeps its number of packets.
func (t *table) resume(before pass.Element) {
	old, ok := before.(holder)
	if !ok {
		return
	}
	t.of, t.sweep = old.holds().of, 0
	for _, e := range t.of {
		e.table = t
	}
}

// Resume implements pass.Keeping.
func (b *bypass) Resume(before pass.Element) pass.Element {
	b.resume(before)
	return b
}

// Resume implements pass.Keeping.
func (p *passed) Resume(before pass.Element) pass.Element {
	p.resume(before)
	return p
}

// Pass tells whether the packet goes past the function.
func (b *bypass) Pass(r *pass.Run, _ *graph.Node, p *pass.Packet, _ int) (int, bool) {
	f, ok := flow.Told(p.IP)
	e := b.find(f, b.outside, r.Now)
	switch {
	case !ok:
		r.Note("it tells no flow: to the function")
	case begins(p.IP):
		r.Note("a SYN: to the function")
	case e == nil:
		r.Note("the function let no packet of the flow through yet: to it")
	case e.remaining > 0:
		r.Note("the function let %d of %d packets of the flow through: to it", e.packets-e.remaining, e.packets)
	default:
		r.Note("the function let %d packets of the flow through: past it", e.packets)
		e.use(r, b.outside, p.IP)
		return element.BypassPast, false
	}
	return element.BypassThrough, false
}

// Pass counts the packet, which the function let through.
func (d *passed) Pass(r *pass.Run, _ *graph.Node, p *pass.Packet, _ int) (int, bool) {
	f, ok := flow.Told(p.IP)
	if !ok {
		r.Note("it tells no flow: not counted")
		return 0, false
	}
	e := d.find(f, d.outside, r.Now)
	if e != nil && begins(p.IP) {
		d.end(r, e)
		e = nil
	}
	if e == nil {
		if d.full(r.Now) {
			r.Note("there is no room for its flow: not counted")
			return 0, false
		}
		e = d.beginAt(r, f, d.outside, p)
	}
	e.count(r)
	e.use(r, d.outside, p.IP)
	return 0, false
}

// begins tells whether a packet that tells a flow opens a connection: it has SYN and not ACK.
func begins(ip []byte) bool {
	return ip[9] == header.TCP && header.Transport(ip)[13]&(header.SYN|header.ACK) == header.SYN
}

// find is the live flow that a packet's is which comes from a side.
func (t *table) find(f flow.Flow, outside bool, now time.Duration) *entry {
	if e := t.of[f.FromInside(outside)]; e != nil && t.live(e, now) {
		return e
	}
	return nil
}

func (t *table) live(e *entry, now time.Duration) bool {
	return now-e.last <= flow.Timeout(t.Timeouts, e.Proto, &e.tcp)
}

// full tells whether no further flow may begin.
func (t *table) full(now time.Duration) bool {
	if len(t.of) >= t.Max && now > t.sweep {
		t.sweep = now
		for key, e := range t.of {
			if !t.live(e, now) {
				delete(t.of, key)
			}
		}
	}
	return len(t.of) >= t.Max
}

// end ends a flow, whatever becomes of the packet.
func (t *table) end(r *pass.Run, e *entry) {
	key := e.key()
	delete(t.of, key)
	r.Lasting(func() { t.of[key] = e })
}

// begin puts a flow in the place of one that is over.
func (t *table) begin(r *pass.Run, e *entry) {
	t.of[e.key()] = e
	r.Undoable(func() {
		if t.of[e.key()] == e {
			delete(t.of, e.key())
		}
	})
}

// count counts a packet, once it leaves.
func (e *entry) count(r *pass.Run) {
	if e.remaining == 0 {
		r.Note("the function let %d packets of the flow through before", e.packets)
		return
	}
	r.Note("%d of %d packets passed", e.packets-e.remaining+1, e.packets)
	r.Leaving(func() {
		was := e.remaining
		e.remaining = max(was-1, 0)
		r.Undoable(func() { e.remaining = was })
	})
}

// use has a packet from a side refresh its flow.
func (e *entry) use(r *pass.Run, outside bool, ip []byte) {
	last, tcp := e.last, e.tcp
	r.Undoable(func() { e.last, e.tcp = last, tcp })
	side := flow.Inside
	if outside != e.outside {
		side = flow.Outside
	}
	if e.Proto != header.TCP || e.tcp.Use(header.Transport(ip), side) {
		e.last = r.Now
	}
}

func (e *entry) key() flow.Flow { return e.FromInside(e.outside) }

// Origin implements pass.Dependent.
func (e *entry) Origin() pass.Origin { return e.from }

// Take implements pass.Dependent. A flow that the table has forgotten, or ended, is not put into it again.
func (e *entry) Take() {
	if e.moves = e.table.of[e.key()] == e; e.moves {
		delete(e.table.of, e.key())
	}
}

// Put implements pass.Dependent. Of two flows with one place, one is over: that which was not used for longer.
func (e *entry) Put(at flow.Endpoint) {
	e.Src, e.Sport = at.Addr, at.Port
	if old := e.table.of[e.key()]; e.moves && (old == nil || old.last <= e.last) {
		e.table.of[e.key()] = e
	}
}

// The states of a flow of a table that counts packets.
const (
	Through = "through" // it is counted
	Past    = "past"
)

// Flow is a live flow of which a function has let packets through.
type Flow struct {
	Table       string
	Proto       uint8
	From, To    netip.AddrPort // of the first packet that was counted; ports as in pass.Binding
	FromOutside bool           // it came from there
	Idle        time.Duration
	State       string
	Remaining   int  // packets that the function has to let through until it goes past
	Loose       bool // nobody has seen From, which a NAPT chose
}

func (f Flow) String() string {
	return fmt.Sprintf("%s: proto %d %v → %v from outside: %t, %s with %d packets to come, idle for %v", f.Table, f.Proto, f.From, f.To, f.FromOutside, f.State, f.Remaining, f.Idle)
}

// FlowsOf are the live flows of all tables of a chain, in no order.
func FlowsOf(c *pass.Chain, now time.Duration) (out []Flow) {
	seen := map[*table]bool{}
	for _, h := range pass.All[holder](c) {
		if t := h.holds(); !seen[t] {
			seen[t] = true
			out = append(out, t.list(now)...)
		}
	}
	return out
}

func (t *table) list(now time.Duration) (out []Flow) {
	for _, e := range t.of {
		if !t.live(e, now) {
			continue
		}
		f := Flow{
			Table: t.Table, Proto: e.Proto, FromOutside: e.outside, Idle: now - e.last, State: Through, Remaining: e.remaining, Loose: e.from != nil && e.from.Loose(),
			From: netip.AddrPortFrom(header.Addr(e.Src), e.Sport), To: netip.AddrPortFrom(header.Addr(e.Dst), e.Dport),
		}
		switch {
		case t.Packets == 0:
			f.State = flow.State(e.Proto, &e.tcp)
		case e.remaining == 0:
			f.State = Past
		}
		out = append(out, f)
	}
	return out
}
