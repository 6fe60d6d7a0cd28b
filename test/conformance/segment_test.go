package conformance

import (
	"encoding/binary"

	"github.com/sinter-nfv/sinter/test/packets"
)

// connection is a TCP connection whose ends follow RFC 9293, as far as a firewall between them can tell.
type connection struct {
	hostile bool // strangers speak, too
	reset   bool
}

// tcpEnd is one end of a connection: what it sent, and what it has received.
type tcpEnd struct {
	next   uint32 // number of the next byte (SND.NXT)
	una    uint32 // oldest byte that is not acknowledged (SND.UNA)
	limit  uint32 // how far the other end lets it send (SND.UNA + SND.WND)
	rcv    uint32 // next byte from the other end (RCV.NXT)
	window uint16
	scale  int  // of its window; -1: it offers none
	said   bool // its SYN was sent,
	knows  bool // it has the other's,
	up     bool // and its own is acknowledged
	fin    bool // it has sent its FIN, the last byte before next,
	gone   bool // and received the other's
}

// segment is what a TCP packet says.
type segment struct {
	flags    uint8
	seq, ack uint32
	window   uint16
	length   uint32 // of numbers
	options  []byte
	data     int
}

// begin is a new end, that has said nothing.
func (e *tcpEnd) begin(g *generator) {
	*e = tcpEnd{next: g.Uint32(), window: pick[uint16](g, 65535, 29200, 4096, 1), scale: pick(g, -1, 0, 2, 7)}
	if g.IntN(4) == 0 {
		e.next = -uint32(g.IntN(4000)) // its numbers begin again from 0 soon
	}
	e.una = e.next
}

// segmentKinds are what a connection's packets are.
var segmentKinds = []string{
	"SYN", "SYN ACK", "refusal", "ACK", "data", "data that was there before", "data with a gap before it", "data beyond the window", "keep-alive", "FIN", "reset", "SYN of a new connection",
	"strange flags", "strange reset", "strange data", "strange acknowledgment", "strange SYN", "strange SYN ACK",
}

func (t *connection) next(g *generator, c *conversation) packetOf {
	if g.IntN(16) == 0 {
		if of, ok := c.aboutLast(g); ok {
			return of
		}
	}
	var what string
	var s segment
	side := g.IntN(2)
	forged := t.hostile && c.sent > 0 && g.IntN(6) == 0
	if forged {
		what, s = c.ends[side].strange(g, c.ends[1-side])
	} else {
		side, what, s = t.natural(g, c, side)
	}
	if c.sent > 40+g.IntN(40) {
		c.end(0)
	}
	return c.packet(g, side, what, s, forged)
}

// packet is a segment as it is sent.
func (c *conversation) packet(g *generator, side int, what string, s segment, forged bool) packetOf {
	from, to := c.ends[side], c.ends[1-side].faceOf()
	ip := packets.IPv4{Proto: packets.ProtoTCP, Src: from.addr, Dst: to.addr}
	b := packets.TCP(ip.Src, ip.Dst, from.port, to.port, s.flags, s.seq, s.options, g.payload(s.data))
	binary.BigEndian.PutUint32(b[8:], s.ack)
	binary.BigEndian.PutUint16(b[14:], s.window)
	p := packet{ip: ip}
	p.ip.Payload = b
	g.fixSum(&p)
	s.length = uint32(s.data)
	for _, f := range []uint8{packets.SYN, packets.FIN} {
		if s.flags&f != 0 {
			s.length++
		}
	}
	return packetOf{what: what, side: side, ip: p.ip, forged: forged, tcp: s}
}

// natural is what an end says next.
func (t *connection) natural(g *generator, c *conversation, side int) (_ int, what string, s segment) {
	a, b := c.ends[0], c.ends[1]
	switch {
	case !a.said || !a.knows && !b.said && !b.knows:
		if a.said && g.IntN(16) == 0 { // both begin at once
			side = 1
		} else {
			side = 0
		}
	case !b.said && b.knows && !a.knows:
		side = 1
	}
	e, o := c.ends[side], c.ends[1-side]
	switch {
	case t.reset && c.over < 0:
		c.end(1 + g.IntN(4))
		fallthrough
	case t.reset, a.fin && a.gone && b.fin && b.gone && g.IntN(3) == 0:
		if g.IntN(3) == 0 { // the same ports once more
			over := !t.reset && side == 0 && a.una == a.next && b.una == b.next
			c.odd = c.odd || !over
			for i, x := range []*end{a, b} {
				last := x.next
				x.begin(g)
				if i == side {
					x.next = last + pick[uint32](g, 1, 64000, 128000, 1<<30)
					x.una = x.next
				}
			}
			c.ends[0], c.ends[1] = e, o
			c.last = [2]packets.IPv4{}
			t.reset, c.over = false, -1
			return 0, "SYN of a new connection", e.syn(g)
		}
		if c.over < 0 {
			c.end(g.IntN(4))
		}
	}
	if !e.said && e.knows && g.IntN(20) == 0 {
		t.reset = true
		return side, "refusal", segment{flags: packets.RST | packets.ACK, ack: e.rcv}
	}
	if e.said && g.IntN(40) == 0 {
		t.reset = true
		return side, "reset", segment{flags: packets.RST | pick[uint8](g, 0, packets.ACK), seq: e.next, ack: e.rcv}
	}
	what, s = e.speaks(g)
	return side, what, s
}

// syn is the segment that opens a connection, with the options of RFC 9293 section 3.2, RFC 7323 and RFC 2018.
func (e *tcpEnd) syn(g *generator) (s segment) {
	if !e.said {
		e.said = true
		e.next++
	}
	s = segment{flags: packets.SYN, seq: e.una, window: e.window, options: []byte{2, 4, 5, 0xb4}}
	if e.scale >= 0 {
		s.options = append(s.options, 1, 3, 3, byte(e.scale))
	}
	if e.knows {
		s.flags |= packets.ACK
		s.ack = e.rcv
	}
	if g.IntN(2) == 0 {
		s.options = append(s.options, 1, 1, 4, 2)
	}
	return s
}

// speaks is a segment of an end that follows the protocol.
func (e *tcpEnd) speaks(g *generator) (what string, s segment) {
	switch {
	case !e.knows:
		return "SYN", e.syn(g)
	case !e.said || !e.up && e.una == e.next-1:
		return "SYN ACK", e.syn(g)
	}
	s = segment{flags: packets.ACK, seq: e.next, ack: e.rcv, window: e.window}
	room := int32(e.limit - e.next)
	unacked := e.next - e.una
	switch k := g.IntN(16); {
	case unacked > 0 && k < 5:
		s.seq = e.una + g.Uint32N(unacked)
		s.data = int(min(e.next-s.seq, 1200))
		if e.fin && s.seq+uint32(s.data) == e.next {
			s.data--
			s.flags |= packets.FIN
		}
		return "data that was there before", s
	case k == 5:
		s.seq--
		s.data = g.IntN(2)
		return "keep-alive", s
	case e.fin || k < 8 || room <= 0 && unacked > 0:
		if g.IntN(8) == 0 {
			e.window = pick[uint16](g, 0, 1, 4096, 65535)
		}
		return "ACK", s
	case k == 8 && e.una == e.next:
		e.fin = true
		e.next++
		s.flags |= packets.FIN
		s.data = 0
		return "FIN", s
	case room <= 0:
		s.data = 1
		e.next++
		return "data beyond the window", s
	}
	what = "data"
	if gap := g.IntN(int(min(room, 3000))); g.IntN(3) == 0 {
		what = "data with a gap before it"
		s.seq += uint32(gap)
		room -= int32(gap)
	}
	s.data = 1 + g.IntN(int(min(room, 1200)))
	s.flags |= pick[uint8](g, 0, packets.PSH)
	e.next = s.seq + uint32(s.data)
	return what, s
}

// room is how much the end may send at least, and one byte as a probe of the other's window.
func (e *tcpEnd) room() uint32 { return uint32(max(int32(e.limit-e.next), 1)) }

// strange is a segment in an end's name, from somebody without its numbers, or with some of them.
func (e *end) strange(g *generator, o *end) (what string, s segment) {
	near := func(base, window uint32) uint32 {
		return pick(g, base, base-1, base+1, base+window, base+window+1, base+g.Uint32N(window+1), base-window, base-window-1, base-65535, base-70000, g.Uint32(), 0)
	}
	window := o.room()
	s = segment{seq: e.next, ack: e.rcv, window: e.window, flags: packets.ACK}
	switch g.IntN(6) {
	case 0:
		s.flags = uint8(g.IntN(64))
		return "strange flags", s
	case 1:
		s.flags = packets.RST | pick[uint8](g, 0, packets.ACK)
		s.seq = near(e.next, e.room())
		s.ack = pick(g, s.ack, near(e.rcv, window))
		return "strange reset", s
	case 2:
		s.seq = near(e.next, e.room())
		s.data = pick(g, 0, 1, 100)
		return "strange data", s
	case 3:
		s.ack = near(e.rcv, window)
		return "strange acknowledgment", s
	case 4:
		s.flags, s.seq, s.ack = packets.SYN, near(e.next, 65535), 0
		return "strange SYN", s
	}
	s.flags |= packets.SYN
	s.seq, s.ack = near(e.next, 65535), pick(g, s.ack, near(e.rcv, window))
	return "strange SYN ACK", s
}

// delivered has the other end take note of a segment (RFC 9293 section 3.10.7).
func (t *connection) delivered(c *conversation, of packetOf) {
	e, o, s := c.ends[of.side], c.ends[1-of.side], of.tcp
	switch {
	case s.flags&packets.RST != 0:
		return
	case s.flags&packets.SYN != 0 && !o.knows:
		o.knows, o.rcv = true, s.seq+1
		o.limit = s.ack + uint32(s.window)
	case !o.knows:
		return
	}
	if s.flags&packets.ACK != 0 && int32(s.ack-o.una) >= 0 && int32(o.next-s.ack) >= 0 {
		o.una = s.ack
		o.up = o.up || o.said
		window := uint32(s.window)
		if s.flags&packets.SYN == 0 && e.scale >= 0 && o.scale >= 0 {
			window <<= e.scale
		}
		o.limit = s.ack + window
	}
	if int32(o.rcv-s.seq) >= 0 && int32(s.seq+s.length-o.rcv) > 0 {
		o.rcv = s.seq + s.length
		o.gone = o.gone || s.flags&packets.FIN != 0
	}
}
