package conformance

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/test/packets"
)

// conversation is what two hosts say to each other: what they would, what the network does to it (losses, doubles, another order), and
// what strangers say in their names. A batch has one packet of each, as two interfaces have no order between them.
type conversation struct {
	proto  uint8
	ends   [2]*end // that which begins is the first
	saying         // what is said next
	sent   int     // packets
	last   [2]packets.IPv4
	over   int // packets that may still come; -1: it goes on
	lost   int // packets in a row that did not come through
	ended  bool
	odd    bool     // something passed that no end says while all goes well
	told   []string // what was said, for messages
}

// saying is a part of a conversation that hosts of a protocol have.
type saying interface {
	next(g *generator, c *conversation) packetOf
	delivered(c *conversation, p packetOf)
}

// packetOf is a packet of a conversation.
type packetOf struct {
	what   string
	side   int // that sends it, or in whose name it is sent
	ip     packets.IPv4
	forged bool // its receiver takes no note of it
	tcp    segment
}

func (of packetOf) String() string {
	if of.ip.Proto != packets.ProtoTCP {
		return of.what
	}
	return fmt.Sprintf("%s (flags %06b, sequence %d, acknowledgment %d, window %d, %d bytes)", of.what, of.tcp.flags, of.tcp.seq, of.tcp.ack, of.tcp.window, of.tcp.data)
}

// end is a host of a conversation.
type end struct {
	public
	in int // interface
	// Behind a NAPT: how the other end addresses it. A forwarded port has a face; what is translated has one for each side, that of its flow.
	face       public
	translated bool
	flow       flow // of what it sent last
	tcpEnd
}

// faceOf is how an end is addressed; of one that is translated, its own address stands for it.
func (e *end) faceOf() public {
	if e.face != (public{}) {
		return e.face
	}
	return e.public
}

// converse is how many conversations go on at the same time: more than a batch has packets.
const converse = 96

// speak makes the packet the next one of a conversation that has said nothing in this batch.
func (g *generator) speak(p *packet) {
	if len(g.talks) == 0 {
		for range converse {
			g.talks = append(g.talks, g.converse())
		}
	}
	g.talk = (g.talk + 1) % len(g.talks)
	c := g.talks[g.talk]
	if c.ended {
		c = g.converse()
		g.talks[g.talk] = c
	}
	of := c.next(g, c)
	c.sent++
	if !g.addressable(c, of) { // a host outside cannot speak first: what it says is lost, and the packet is a plain one
		return
	}
	if c.over--; c.over == 0 {
		c.ended = true
	}
	g.enter(p, c.ends[of.side].in)
	of.ip.TTL, of.ip.ID, of.ip.DF = uint8(32+g.IntN(200)), p.ip.ID, p.ip.DF
	p.ip = of.ip
	p.of, p.talk = of, c
	if !isICMPError(p.ip) {
		c.ends[of.side].flow = flowOf(p.ip)
	}
	if to := c.ends[1-of.side]; to.translated {
		f := to.flow
		p.each = func(side int, ip []byte) { g.nat.lead(side, f, ip) }
	}
}

// addressable tells whether both sides have a binding for the end that a packet goes to, if it needs one.
func (g *generator) addressable(c *conversation, of packetOf) bool {
	to := c.ends[1-of.side]
	if !to.translated {
		return true
	}
	_, here := g.nat.byFlow[sinter][to.flow]
	_, there := g.nat.byFlow[linux][to.flow]
	return here && there
}

// converse begins a conversation between hosts behind two interfaces.
func (g *generator) converse() *conversation {
	in := g.IntN(len(g.s.interfaces))
	out := (in + 1 + g.IntN(len(g.s.interfaces)-1)) % len(g.s.interfaces)
	c := &conversation{over: -1}
	for i, at := range []int{in, out} {
		c.ends[i] = &end{public: public{g.host(at), uint16(1024 + g.IntN(60000))}, in: at}
	}
	c.ends[1].port = g.port()
	if g.nat != nil && g.behindNAPT(c) {
		return c
	}
	c.begin(g, 0)
	return c
}

// begin chooses what the hosts speak: a protocol or, if it is 0, any.
func (c *conversation) begin(g *generator, proto uint8) {
	if proto == 0 {
		const tcp = packets.ProtoTCP
		proto = pick[uint8](g, packets.ProtoUDP, packets.ProtoICMP, pick[uint8](g, 50, 51, 47, 4), tcp, tcp, tcp, tcp, tcp)
	}
	c.proto = proto
	switch proto {
	case packets.ProtoTCP:
		c.saying = &connection{hostile: g.IntN(2) == 0}
		c.ends[0].begin(g)
		c.ends[1].begin(g)
	default:
		c.saying = &datagrams{request: pick[uint8](g, packets.ICMPEchoRequest, packets.ICMPEchoRequest, 13, 15, 17)}
	}
}

// behindNAPT has hosts inside speak to hosts outside and to port forwards, and hosts outside to port forwards; false: as if there were no NAPT.
func (g *generator) behindNAPT(c *conversation) bool {
	inside, out := g.nat.inside, g.nat.out
	from := pick(g, inside, inside, out)
	a, b := c.ends[0], c.ends[1]
	a.in, a.addr, a.translated = from, g.host(from), from == inside
	if len(g.nat.forwards) > 0 && (from == out || g.IntN(3) == 0) {
		f := pick(g, g.nat.forwards...)
		b.in, b.public, b.face = inside, f.inside, f.outside
		if a.addr == b.addr || g.s.ownAddress(a.addr) {
			a.addr = number(g.s.interfaces[from].hosts()[0])
		}
		c.begin(g, f.proto)
		return true
	}
	if from == inside {
		b.in, b.addr = out, g.host(out)
		c.begin(g, 0)
	}
	return from == inside
}

// end gives the conversation a few packets more.
func (c *conversation) end(packets int) {
	if c.over < 0 {
		c.over = 1 + packets
	}
}

// heard tells what became of the last packet. Where the two differ, nothing that follows tells more.
func (c *conversation) heard(of packetOf, passed [sides]bool) {
	c.told = append(c.told, fmt.Sprintf("from %s: %s: Sinter %t, Linux %t", packets.Addr(of.ip.Src), of, passed[sinter], passed[linux]))
	c.odd = c.odd || of.ip.Proto == packets.ProtoTCP && of.forged || of.tcp.flags&packets.RST != 0
	switch {
	case passed[sinter] != passed[linux]:
		c.ended = true
	case passed[sinter]:
		c.lost = 0
		c.last[of.side] = of.ip
		if !of.forged {
			c.delivered(c, of)
		}
	default:
		c.lost++
	}
	if c.lost > 8 {
		c.ended = true
	}
}

// aboutLast is an ICMP error about the last packet of a side that came through, from a router on its way or a stranger.
func (c *conversation) aboutLast(g *generator) (of packetOf, ok bool) {
	side := g.IntN(2)
	quoted := c.last[side]
	if quoted.Dst == 0 {
		return of, false
	}
	from, to := c.ends[side], c.ends[1-side]
	if to.face != (public{}) {
		quoted = readdress(quoted, 16, to.public)
	}
	if from.face != (public{}) {
		quoted = readdress(quoted, 12, from.face)
	}
	var p packet
	g.aboutFlow(&p, quoted, pick(g, to.addr, g.host(to.in)))
	of = packetOf{what: "error about a packet", side: 1 - side, ip: p.ip, forged: true}
	if g.IntN(8) == 0 {
		of.what, of.ip.Dst = "error about another's packet", g.host(c.ends[side].in)
	}
	return of, true
}

// readdress is a packet with another address and port.
func readdress(p packets.IPv4, at int, to public) packets.IPv4 {
	b := p.Bytes()
	l4 := b[20+len(p.Options):]
	translate(b, l4, at, to)
	p.Src, p.Dst, p.Payload = binary.BigEndian.Uint32(b[12:]), binary.BigEndian.Uint32(b[16:]), l4
	return p
}

// datagrams are packets and answers of protocols without connections.
type datagrams struct {
	asked   bool  // the other side has heard something
	request uint8 // of ICMP
}

func (d *datagrams) next(g *generator, c *conversation) packetOf {
	if g.IntN(8) == 0 {
		if of, ok := c.aboutLast(g); ok {
			return of
		}
	}
	if c.sent > 6+g.IntN(30) {
		c.end(0)
	}
	side := g.IntN(2)
	if !d.asked && g.IntN(16) != 0 { // else an answer that nobody asked for
		side = 0
	}
	from, to := c.ends[side], c.ends[1-side]
	seen := to.faceOf()
	ip := packets.IPv4{Proto: c.proto, Src: from.addr, Dst: seen.addr, Payload: g.payload(g.IntN(40))}
	switch c.proto {
	case packets.ProtoUDP:
		ip.Payload = packets.UDP(ip.Src, ip.Dst, from.port, seen.port, ip.Payload)
	case packets.ProtoICMP:
		typ := d.request
		if asks := side == 0; asks == (g.IntN(16) == 0) { // now and then as the other side would
			typ = replyTo(typ)
		}
		ip.Payload = packets.ICMP(typ, 0, uint32(c.ends[0].port)<<16|uint32(c.sent), ip.Payload)
	default:
		ip.Payload = append([]byte{0, 0}, ip.Payload...) // GRE without a key
	}
	return packetOf{what: [2]string{"datagram", "datagram back"}[side], side: side, ip: ip}
}

// replyTo is the type of the reply to an ICMP request.
func replyTo(request uint8) uint8 {
	if request == packets.ICMPEchoRequest {
		return packets.ICMPEchoReply
	}
	return request + 1
}

func (d *datagrams) delivered(_ *conversation, of packetOf) { d.asked = d.asked || of.side == 0 }

// amongConversations has a packet of another kind once in six.
func amongConversations(others []kind) (list []kind) {
	speak := kind{name: "conversation", make: (*generator).speak}
	for _, k := range others {
		list = append(list, k, speak, speak, speak, speak, speak)
	}
	return list
}

// talkKinds are what conversations say, for the page.
var talkKinds = slices.Concat([]string{"datagram", "datagram back", "error about a packet", "error about another's packet"}, segmentKinds)
