package conformance

import (
	"github.com/sinter-nfv/sinter/test/packets"
)

// natKinds are drawn where there is a NAPT, beside the others.
var natKinds = []kind{
	{name: "more of a flow", make: func(g *generator, p *packet) { g.ofFlow(p) }},
	{name: "reply", make: func(g *generator, p *packet) { g.reply(p) }},
	{name: "reply that expires", make: func(g *generator, p *packet) {
		g.reply(p)
		p.ip.TTL = 1
	}},
	{name: "reply of a stranger", make: func(g *generator, p *packet) {
		if _, ok := g.reply(p); ok {
			g.from(p, g.host(g.nat.out))
		}
	}},
	{name: "error about a packet that left", make: (*generator).errorFromOutside},
	{name: "error about a packet that came in", make: (*generator).errorFromInside},
	{name: "to the pool", make: func(g *generator, p *packet) {
		g.enter(p, pick(g, g.nat.inside, g.nat.out))
		g.to(p, g.nat.first+g.Uint32N(g.nat.last-g.nat.first+1))
	}},
}

// enter has the packet come in by an interface.
func (g *generator) enter(p *packet, i int) {
	p.in, p.dst, p.src = i, boxMAC(i), hostMAC(i, g.neighbor(i))
	g.from(p, g.host(i))
}

// known is a flow that both sides have a binding for, mostly a young one.
func (g *generator) known() (f flow, ok bool) {
	n := len(g.nat.flows)
	if n == 0 {
		return f, false
	}
	return g.nat.flows[n-1-g.IntN(min(n, 400))], true
}

// ofFlow makes the packet one of a flow's, from inside.
func (g *generator) ofFlow(p *packet) (f flow, ok bool) {
	if f, ok = g.known(); ok {
		g.enter(p, g.nat.inside)
		g.along(p, f.proto, f.inside, f.remote, packets.ICMPEchoRequest)
		if g.nat.syn[f] {
			p.ip.Payload[13] = packets.SYN
			g.fixSum(p)
		}
	}
	return f, ok
}

// reply makes the packet an answer to a flow. Each side gets it for its own binding.
func (g *generator) reply(p *packet) (f flow, ok bool) {
	if f, ok = g.known(); ok {
		g.enter(p, g.nat.out)
		g.along(p, f.proto, f.remote, f.inside, packets.ICMPEchoReply)
		if g.nat.syn[f] {
			p.ip.Payload[13] = packets.SYN | packets.ACK
			g.fixSum(p)
			delete(g.nat.syn, f)
		}
		p.each = func(side int, ip []byte) { g.nat.lead(side, f, ip) }
	}
	return f, ok
}

// along makes a packet from one end of a flow to the other.
func (g *generator) along(p *packet, proto uint8, from, to public, echo uint8) {
	p.ip.Proto, p.ip.Src, p.ip.Dst = proto, from.addr, to.addr
	payload := g.payload(g.IntN(40))
	switch proto {
	case packets.ProtoTCP:
		p.ip.Payload = packets.TCP(from.addr, to.addr, from.port, to.port, pick[uint8](g, packets.ACK, packets.ACK|packets.PSH), uint32(p.ip.ID)<<16, nil, payload)
	case packets.ProtoUDP:
		p.ip.Payload = packets.UDP(from.addr, to.addr, from.port, to.port, payload)
	case packets.ProtoICMP:
		id := to.port
		if echo == packets.ICMPEchoRequest {
			id = from.port
		}
		p.ip.Payload = packets.ICMP(echo, 0, uint32(id)<<16|uint32(p.ip.ID), payload)
	default:
		p.ip.Payload = payload
	}
}

// aboutFlow puts an error that quotes the packet into its place.
func (g *generator) aboutFlow(p *packet, quoted packets.IPv4, src uint32) {
	b := quoted.Bytes()
	b = b[:min(len(b), pick(g, 28, 548, 38+g.IntN(2), 28+g.IntN(16)))]
	t := pick[uint8](g, packets.ICMPUnreachable, packets.ICMPTimeExceeded, packets.ICMPParameter)
	p.ip.Proto, p.ip.Src, p.ip.Dst = packets.ProtoICMP, src, quoted.Src
	p.ip.Payload = packets.ICMP(t, uint8(g.IntN(5)), uint32(g.IntN(1501)), b)
}

func (g *generator) errorFromOutside(p *packet) {
	f, ok := g.ofFlow(p)
	if !ok {
		return
	}
	quoted := p.ip
	g.enter(p, g.nat.out)
	g.aboutFlow(p, quoted, pick(g, f.remote.addr, g.host(g.nat.out)))
	p.each = func(side int, ip []byte) { g.nat.lead(side, f, ip) }
}

func (g *generator) errorFromInside(p *packet) {
	f, ok := g.reply(p)
	if !ok {
		return
	}
	p.each = nil
	quoted := p.ip
	g.enter(p, g.nat.inside)
	g.aboutFlow(p, quoted, pick(g, f.inside.addr, f.inside.addr, g.host(g.nat.inside)))
}
