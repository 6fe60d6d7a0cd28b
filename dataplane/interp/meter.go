package interp

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func init() {
	register(func(_ *Chain, name string, e element.Meter) meaning {
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
type Colours struct{ Green, Yellow, Red Count }

const unit = 1_000_000_000

// colour is what a packet comes with, and what it is measured as.
type colour int

const (
	green colour = iota
	yellow
	red
)

func (c colour) String() string { return [...]string{"green", "yellow", "red"}[c] }

func (m *meter) pass(r *run, n *graph.Node, p *packet, in int) (int, bool) {
	b := m.buckets(r, p)
	c := m.measure(r, b, p)
	r.note("%s", c)
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
		r.discard(n, p, action.Drop)
		return ended, false
	case action.Mark:
		p.ip[1] = action.DSCP<<2 | p.ip[1]&3
	}
	return m.Leaves(in), false
}

// buckets are those of a packet, as full as they are now. New ones begin full.
func (m *meter) buckets(r *run, p *packet) *buckets {
	key := m.subscriber(r, p)
	b := m.of[key]
	if b != nil {
		was := *b
		r.lasting(func() { *b = was })
		m.refill(b, r.now)
		if !r.against || *b != *m.full(r.now) {
			return b
		}
		m.end(r, key) // the engine may have forgotten it
	}
	m.makeRoom(r, key)
	b = m.full(r.now)
	m.of[key] = b
	r.lasting(func() { delete(m.of, key) })
	return b
}

// subscriber is the prefix of a packet's address that tells its subscriber.
func (m *meter) subscriber(r *run, p *packet) uint32 {
	s := m.Subscribers
	if s.PrefixLen == 0 {
		return 0
	}
	address := srcOf(p.ip)
	if s.Destination {
		address = dstOf(p.ip)
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
func (m *meter) measure(r *run, b *buckets, p *packet) colour {
	length := uint64(binary.BigEndian.Uint16(p.ip[2:]))
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
	r.lasting(func() { m.colours = was })
	of := [...]*Count{&m.colours.Green, &m.colours.Yellow, &m.colours.Red}[c]
	of.Packets, of.Bytes = of.Packets+1, of.Bytes+length
	return c
}

// comes is the colour that the packet has before.
func (m *meter) comes(p *packet) colour {
	switch dscp := p.ip[1] >> 2; {
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
func (m *meter) makeRoom(r *run, key uint32) {
	switch {
	case m.Subscribers.PrefixLen == 0:
	case r.against:
		m.giveWay(r, key)
	case len(m.of) >= m.Subscribers.Max:
		m.forget(r)
		if len(m.of) >= m.Subscribers.Max {
			m.end(r, m.idlest())
		}
	}
}

// forget ends the subscribers whose buckets are full.
func (m *meter) forget(r *run) {
	for key, b := range m.of {
		now := *b
		if m.refill(&now, r.now); now == *m.full(r.now) {
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
func (m *meter) giveWay(r *run, to uint32) {
	var old netip.Addr
	if i := slices.IndexFunc(r.subscribers, func(s Subscriber) bool { return s.Meter == m.name && s.New == addr(to) }); i >= 0 {
		old = r.subscribers[i].Old
		r.subscribers = slices.Delete(r.subscribers, i, i+1)
	}
	if !old.IsValid() && len(m.of) < m.Subscribers.Max {
		return
	}
	m.forget(r)
	if old.IsValid() {
		m.endAs(r, num(old))
	}
	if len(m.of) >= m.Subscribers.Max {
		r.denied = append(r.denied, fmt.Sprintf("%s: there are %d subscribers already", m.name, len(m.of)))
	}
}

// endAs ends a subscriber that an engine ended.
func (m *meter) endAs(r *run, key uint32) {
	b := m.of[key]
	if b == nil {
		return
	}
	if idlest := m.idlest(); m.Subscribers.Max <= looksAtAll && m.of[idlest].last < b.last {
		r.denied = append(r.denied, fmt.Sprintf("%s: %v ended, idle for %v, before %v, for %v", m.name, addr(key), r.now-b.last, addr(idlest), r.now-m.of[idlest].last))
	}
	m.end(r, key)
}

func (m *meter) end(r *run, key uint32) {
	b := m.of[key]
	delete(m.of, key)
	r.lasting(func() { m.of[key] = b })
}

// resume: the tokens stay if they are those of the same buckets.
func (m *meter) resume(before meaning) meaning {
	if old, ok := before.(*meter); ok && m.sameBuckets(old.Meter) {
		m.tokens = old.tokens
	}
	return m
}

func (m *meter) sameBuckets(o element.Meter) bool {
	return m.Packets == o.Packets && m.Rate == o.Rate && m.Burst == o.Burst && m.PeakRate == o.PeakRate && m.ExcessBurst == o.ExcessBurst &&
		m.Subscribers == o.Subscribers
}

// Colours are what each meter measured, by its node's name.
func (c *Chain) Colours() map[string]Colours {
	out := map[string]Colours{}
	for _, of := range c.means {
		if m, ok := of.(*meter); ok {
			out[m.name] = m.colours
		}
	}
	return out
}
