// Package oracle has the meaning of rate limiters: meters with their token buckets.
package oracle

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(_ *pass.Chain, name string, e element.Meter) pass.Element {
		return &meter{Meter: e, name: name, tokens: &tokens{of: map[uint32]*buckets{}}}
	})
}

// meter is a meter with its buckets.
type meter struct {
	element.Meter
	name string
	*tokens
}

// tokens are the state of a meter.
type tokens struct {
	// of each subscriber, by the address without the other bits; of all packets by 0.
	of      map[uint32]*buckets
	colours Colours
}

// buckets are those of a subscriber. Tokens are counted in units of 10⁻⁹ token: what comes in some nanoseconds is a whole number
// of them.
type buckets struct {
	committed, second uint64        // what they hold
	last              time.Duration // when that was so, which is when they were used last
}

// Colours are the packets that a meter measured, by what they were measured as. Bytes are those of the IP packets.
type Colours struct{ Green, Yellow, Red pass.Count }

// Subscriber is one that an engine's meter has from now on, instead of an old one if it had no room for both.
type Subscriber struct {
	Meter    string
	New, Old netip.Addr // their prefixes, invalid: none
}

// Unasked implements pass.Told.
func (s Subscriber) Unasked() string {
	return fmt.Sprintf("%s: subscriber %v for %v, which nothing asked for", s.Meter, s.New, s.Old)
}

const unit = 1_000_000_000

// colour is what a packet comes with, and what it is measured as.
type colour int

const (
	green colour = iota
	yellow
	red
)

func (c colour) String() string { return [...]string{"green", "yellow", "red"}[c] }

func (m *meter) Pass(r *pass.Run, n *graph.Node, p *pass.Packet, in int) (int, bool) {
	b := m.buckets(r, p)
	c := m.measure(r, b, p)
	r.Note("%s", c)
	action := element.MeterAction{}
	switch c {
	case green:
	case yellow:
		action = m.Yellow
	case red:
		action = m.Red
	}
	switch {
	case action.Drop != "":
		r.Discard(n, p, action.Drop)
		return pass.Ended, false
	case action.Mark:
		p.IP[1] = action.DSCP<<2 | p.IP[1]&3
	}
	return m.Leaves(in), false
}

// buckets are those of a packet, as full as they are now. New ones begin full.
func (m *meter) buckets(r *pass.Run, p *pass.Packet) *buckets {
	key := m.subscriber(r, p)
	b := m.of[key]
	if b != nil {
		was := *b
		r.Lasting(func() { *b = was })
		m.refill(b, r.Now)
		if !r.Against || *b != *m.full(r.Now) {
			return b
		}
		m.end(r, key) // the engine may have forgotten it
	}
	m.makeRoom(r, key)
	b = m.full(r.Now)
	m.of[key] = b
	r.Lasting(func() { delete(m.of, key) })
	return b
}

// subscriber is the prefix of a packet's address that tells its subscriber.
func (m *meter) subscriber(r *pass.Run, p *pass.Packet) uint32 {
	s := m.Subscribers
	if s.PrefixLen == 0 {
		return 0
	}
	address := header.Src(p.IP)
	if s.Destination {
		address = header.Dst(p.IP)
	}
	return address >> (32 - s.PrefixLen) << (32 - s.PrefixLen)
}

func (m *meter) full(now time.Duration) *buckets {
	return &buckets{m.Burst * unit, m.ExcessBurst * unit, now}
}

// refill adds the tokens of the time since the last packet.
func (m *meter) refill(b *buckets, now time.Duration) {
	passed := uint64(now - b.last)
	b.last = now
	if m.PeakRate > 0 { // RFC 2698: two rates
		b.committed, _ = fill(b.committed, m.Burst*unit, m.Rate, passed)
		b.second, _ = fill(b.second, m.ExcessBurst*unit, m.PeakRate, passed)
		return
	}
	// RFC 2697: what the committed bucket has no room for goes to the excess bucket.
	var over uint64
	b.committed, over = fill(b.committed, m.Burst*unit, m.Rate, passed)
	b.second += min(over, m.ExcessBurst*unit-b.second)
}

// fill is what a bucket holds after some nanoseconds, and what there was no room for; more than a number holds is the largest one.
func fill(holds, capacity, rate, nanoseconds uint64) (after, over uint64) {
	high, come := bits.Mul64(rate, nanoseconds)
	if high > 0 {
		come = 1<<64 - 1
	}
	room := min(come, capacity-holds)
	return holds + room, come - room
}

// measure takes the packet's tokens, and tells its colour.
func (m *meter) measure(r *pass.Run, b *buckets, p *pass.Packet) colour {
	length := uint64(binary.BigEndian.Uint16(p.IP[2:]))
	cost := length * 8 * unit
	if m.Packets {
		cost = unit
	}
	c := m.comes(p)
	if m.PeakRate > 0 {
		c = b.twoRates(c, cost)
	} else {
		c = b.singleRate(c, cost)
	}
	was := m.colours
	r.Lasting(func() { m.colours = was })
	of := [...]*pass.Count{&m.colours.Green, &m.colours.Yellow, &m.colours.Red}[c]
	of.Packets, of.Bytes = of.Packets+1, of.Bytes+length
	return c
}

// comes is the colour that the packet has before.
func (m *meter) comes(p *pass.Packet) colour {
	switch dscp := p.IP[1] >> 2; {
	case m.ComesRed>>dscp&1 == 1:
		return red
	case m.ComesYellow>>dscp&1 == 1:
		return yellow
	}
	return green
}

// singleRate is RFC 2697 section 3; a colour-blind meter takes all packets for green ones.
func (b *buckets) singleRate(c colour, cost uint64) colour {
	switch {
	case c == green && b.committed >= cost:
		b.committed -= cost
		return green
	case c != red && b.second >= cost:
		b.second -= cost
		return yellow
	}
	return red
}

// twoRates is RFC 2698 section 3.
func (b *buckets) twoRates(c colour, cost uint64) colour {
	switch {
	case c == red || b.second < cost:
		return red
	case c == yellow || b.committed < cost:
		b.second -= cost
		return yellow
	}
	b.committed -= cost
	b.second -= cost
	return green
}

// makeRoom has a further subscriber fit: one whose buckets are full again is no different from one that was never there; else the
// one that was idle for longest ends.
func (m *meter) makeRoom(r *pass.Run, key uint32) {
	switch {
	case m.Subscribers.PrefixLen == 0:
	case r.Against:
		m.giveWay(r, key)
	case len(m.of) >= m.Subscribers.Max:
		m.forget(r)
		if len(m.of) >= m.Subscribers.Max {
			m.end(r, m.idlest())
		}
	}
}

// forget ends the subscribers whose buckets are full.
func (m *meter) forget(r *pass.Run) {
	for key, b := range m.of {
		now := *b
		if m.refill(&now, r.Now); now == *m.full(r.Now) {
			m.end(r, key)
		}
	}
}

// idlest is the subscriber that was used least recently.
func (m *meter) idlest() (key uint32) {
	var oldest *buckets
	for k, b := range m.of {
		if oldest == nil || b.last < oldest.last || b.last == oldest.last && k < key {
			key, oldest = k, b
		}
	}
	return key
}

// looksAtAll is up to how many subscribers an engine looks at each, for the one that ends.
const looksAtAll = 16

// giveWay ends the subscriber, if any, that an engine did for a new one. Those that it has forgotten, or might have, are none.
func (m *meter) giveWay(r *pass.Run, to uint32) {
	var old netip.Addr
	if told, ok := pass.Take(r, func(s Subscriber) bool { return s.Meter == m.name && s.New == header.Addr(to) }); ok {
		old = told.Old
	}
	if !old.IsValid() && len(m.of) < m.Subscribers.Max {
		return
	}
	m.forget(r)
	if old.IsValid() {
		m.endAs(r, header.Number(old))
	}
	if len(m.of) >= m.Subscribers.Max {
		r.Deny("%s: there are %d subscribers already", m.name, len(m.of))
	}
}

// endAs ends a subscriber that an engine ended.
func (m *meter) endAs(r *pass.Run, key uint32) {
	b := m.of[key]
	if b == nil {
		return
	}
	if idlest := m.idlest(); m.Subscribers.Max <= looksAtAll && m.of[idlest].last < b.last {
		r.Deny("%s: %v ended, idle for %v, before %v, for %v", m.name, header.Addr(key), r.Now-b.last, header.Addr(idlest), r.Now-m.of[idlest].last)
	}
	m.end(r, key)
}

func (m *meter) end(r *pass.Run, key uint32) {
	b := m.of[key]
	delete(m.of, key)
	r.Lasting(func() { m.of[key] = b })
}

// Resume implements pass.Keeping: the tokens stay if they are those of the same buckets.
func (m *meter) Resume(before pass.Element) pass.Element {
	if old, ok := before.(*meter); ok && m.sameBuckets(old.Meter) {
		m.tokens = old.tokens
	}
	return m
}

func (m *meter) sameBuckets(o element.Meter) bool {
	return m.Packets == o.Packets && m.Rate == o.Rate && m.Burst == o.Burst && m.PeakRate == o.PeakRate && m.ExcessBurst == o.ExcessBurst &&
		m.Subscribers == o.Subscribers
}

// ColoursOf are what each meter of a chain measured, by its node's name.
func ColoursOf(c *pass.Chain) map[string]Colours {
	out := map[string]Colours{}
	for name, m := range pass.All[*meter](c) {
		out[name] = m.colours
	}
	return out
}
