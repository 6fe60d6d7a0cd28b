package conformance

import (
	"encoding/binary"
	"net/netip"

	"github.com/sinter-nfv/sinter/test/packets"
)

// kind is one way in which packets are odd. Those of kind solo are sent alone: what is sent back does not tell to what.
type kind struct {
	name string
	solo bool
	make func(g *generator, p *packet)
}

var kinds = []kind{
	{name: "plain", make: func(*generator, *packet) {}},
	{name: "TTL", make: func(g *generator, p *packet) { p.ip.TTL = uint8(g.IntN(5)) }},
	{name: "TOS", make: func(g *generator, p *packet) {
		p.ip.TOS = uint8(g.IntN(256))
		p.ip.TTL = pick[uint8](g, 1, 2, 64, 255)
	}},
	{name: "evil bit", make: func(_ *generator, p *packet) { p.damage = func(ip []byte) { ip[6] |= 0x80 } }},
	{name: "options", make: func(g *generator, p *packet) {
		p.ip.Options = pick(g, goodOptions...)
		p.ip.TTL = pick[uint8](g, 1, 64)
	}},
	{name: "source route", make: func(g *generator, p *packet) { p.ip.Options = g.sourceRoute() }},
	{name: "bad options", make: func(g *generator, p *packet) { p.ip.Options = g.badOptions() }},
	{name: "size", make: func(g *generator, p *packet) { g.transport(p, g.payload(520+g.IntN(900))) }},
	{name: "size at the MTU", make: func(g *generator, p *packet) {
		mtu := g.s.interfaces[g.IntN(len(g.s.interfaces))].mtu
		g.transport(p, g.payload(max(mtu-20-12+g.IntN(16), 0)))
		if extra := len(p.ip.Payload) + 20 - 1500; extra > 0 {
			p.ip.Payload = p.ip.Payload[:1480]
		}
	}},
	{name: "fragment", make: (*generator).fragment},
	{name: "first fragment without its transport header", make: func(g *generator, p *packet) {
		g.udp(p, g.port(), nil)
		p.ip.MF, p.ip.Payload = true, p.ip.Payload[:g.IntN(8)]
	}},
	{name: "whole in fragments", make: (*generator).inFragments},
	{name: "total length", make: func(g *generator, p *packet) {
		p.damage = func(ip []byte) {
			n := len(ip)
			binary.BigEndian.PutUint16(ip[2:], uint16(pick(g, g.IntN(24), n-1-g.IntN(12), n+1+g.IntN(12), g.IntN(65536))))
		}
	}},
	{name: "header checksum", make: func(g *generator, p *packet) {
		p.ruin = func(f []byte) []byte { f[24+g.IntN(2)] ^= 1 << g.IntN(8); return f }
	}},
	{name: "version", make: func(g *generator, p *packet) { p.damage = func(ip []byte) { ip[0] = ip[0]&15 | byte(g.IntN(16))<<4 } }},
	{name: "header length", make: func(g *generator, p *packet) { p.damage = func(ip []byte) { ip[0] = 0x40 | byte(g.IntN(16)) } }},
	{name: "short transport header", make: func(g *generator, p *packet) {
		p.ip.Payload = p.ip.Payload[:min(len(p.ip.Payload), g.IntN(20))]
	}},
	{name: "TCP data offset", make: func(g *generator, p *packet) {
		g.tcp(p, packets.ACK, g.payload(g.IntN(40)))
		p.ip.Payload[12] = byte(g.IntN(256))
		g.fixSum(p)
	}},
	{name: "UDP length", make: func(g *generator, p *packet) {
		g.udp(p, g.port(), g.payload(g.IntN(40)))
		n := len(p.ip.Payload)
		binary.BigEndian.PutUint16(p.ip.Payload[4:], uint16(pick(g, g.IntN(9), n+1, n-1, g.IntN(65536))))
	}},
	{name: "transport checksum", make: func(g *generator, p *packet) {
		at := map[uint8]int{packets.ProtoTCP: 16, packets.ProtoUDP: 6, packets.ProtoICMP: 2}[p.ip.Proto]
		if at > 0 && len(p.ip.Payload) >= at+2 {
			binary.BigEndian.PutUint16(p.ip.Payload[at:], pick[uint16](g, 0, 0xffff, 1, uint16(g.IntN(65536))))
		}
	}},
	{name: "TCP flags", make: func(g *generator, p *packet) { g.tcp(p, uint8(g.IntN(256)), g.payload(g.IntN(20))) }},
	{name: "protocol", make: func(g *generator, p *packet) { p.ip.Proto = uint8(g.IntN(256)) }},
	{name: "ICMP type and code", make: func(g *generator, p *packet) {
		p.ip.Proto = packets.ProtoICMP
		p.ip.Payload = packets.ICMP(uint8(pick(g, g.IntN(20), g.IntN(256))), uint8(g.IntN(18)), g.Uint32()&0xffff0000|uint32(p.ip.ID), g.payload(g.IntN(64)))
		p.ip.TTL = pick[uint8](g, 1, 64)
	}},
	{name: "ICMP error", make: (*generator).icmpError},
	{name: "martian source", make: func(g *generator, p *packet) { g.from(p, g.martian()) }},
	{name: "martian destination", make: func(g *generator, p *packet) { g.to(p, g.martian()) }},
	{name: "broadcast", make: func(g *generator, p *packet) { g.to(p, g.broadcast()) }},
	{name: "broadcast source", make: func(g *generator, p *packet) { g.from(p, g.broadcast()) }},
	{name: "multicast", make: func(g *generator, p *packet) { g.to(p, 0xe0000000|g.Uint32N(1<<28)>>pick[uint](g, 0, 20)) }},
	{name: "no route", make: func(g *generator, p *packet) {
		g.from(p, g.stranger(p.in))
		g.to(p, g.within(netip.MustParsePrefix(pick(g, append(g.s.nowhere, "8.0.0.0/8", "192.168.0.0/16")...))))
	}},
	{name: "own address", make: func(g *generator, p *packet) { g.toOwn(p, p.in) }},
	{name: "own address of another interface", make: func(g *generator, p *packet) { g.toOwn(p, g.IntN(len(g.s.interfaces))) }},
	{name: "own source", make: func(g *generator, p *packet) { g.from(p, g.own(g.IntN(len(g.s.interfaces)))) }},
	{name: "source of another interface", make: func(g *generator, p *packet) { g.from(p, g.host(g.IntN(len(g.s.interfaces)))) }},
	{name: "back where it came from", make: func(g *generator, p *packet) { g.to(p, g.host(p.in)) }},
	{name: "to its source", make: func(g *generator, p *packet) { g.to(p, p.ip.Src) }},
	{name: "MAC", make: func(g *generator, p *packet) {
		p.dst = pick(g, packets.Broadcast, packets.MAC{1, 0, 0x5e, 0, 0, 1}, packets.MAC{2, 9, 9, 9, 9, 9}, boxMAC(p.in+1))
	}},
	{name: "EtherType", make: func(g *generator, p *packet) {
		p.ether = pick[uint16](g, packets.EtherIPv6, 0x88cc, 46, 0x05ff, 0x0801, uint16(g.IntN(65536)))
	}},
	{name: "truncated frame", make: func(g *generator, p *packet) {
		p.ruin = func(f []byte) []byte { return f[:14+g.IntN(len(f)-14)] }
	}},
	{name: "padding", make: func(g *generator, p *packet) { p.padding = g.payload(1 + g.IntN(40)) }},
	{name: "VLAN", make: func(g *generator, p *packet) {
		for range 1 + g.IntN(3)/2 {
			p.tags = append(p.tags, packets.Tag{TPID: pick[uint16](g, packets.TPID8021Q, packets.TPID8021Q, packets.TPIDQinQ), TCI: uint16(g.IntN(8)<<13 | pick(g, 0, 0, 1, 5, 4095))})
		}
	}},
	{name: "bit of the header", make: func(g *generator, p *packet) {
		p.damage = func(ip []byte) { ip[g.IntN(20)] ^= 1 << g.IntN(8) }
	}},
	{name: "bit of the packet", make: func(g *generator, p *packet) {
		p.ruin = func(f []byte) []byte { f[14+g.IntN(len(f)-14)] ^= 1 << g.IntN(8); return f }
	}},
	{name: "ARP", solo: true, make: (*generator).arp},
}

// goodOptions are no-operation, router alert, and record route and timestamp with room (RFC 791, RFC 2113).
var goodOptions = [][]byte{
	{1, 1, 1, 0},
	{148, 4, 0, 0},
	{7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	{68, 12, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	{68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0},
	{130, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	{7, 7, 8, 1, 2, 3, 4, 0},
	{222, 4, 1, 2},
}

// sourceRoute is a loose or strict source route, used up or not.
func (g *generator) sourceRoute() []byte {
	hop := binary.BigEndian.AppendUint32(nil, g.host(g.IntN(len(g.s.interfaces))))
	o := append([]byte{pick[byte](g, 131, 137), 7, pick[byte](g, 4, 4, 8)}, hop...)
	return append(o, 0)
}

// badOptions are options whose lengths or pointers are wrong, among them random bytes.
func (g *generator) badOptions() []byte {
	b := append([]byte(nil), pick(g, goodOptions...)...)
	switch g.IntN(4) {
	case 0:
		b[1] = byte(g.IntN(256))
	case 1:
		b[2] = byte(g.IntN(256))
	case 2:
		copy(b, g.payload(len(b)))
	case 3:
		b = append([]byte{1, 1, 1, byte(g.IntN(256))}, b[:len(b)-4]...)
	}
	return b
}

func (g *generator) fragment(p *packet) {
	p.ip.DF = g.IntN(8) == 0
	switch g.IntN(4) {
	case 0: // first, sometimes without its whole transport header
		p.ip.MF = true
		if g.IntN(2) == 0 {
			p.ip.Payload = p.ip.Payload[:min(len(p.ip.Payload), g.IntN(24))]
		}
	case 1: // in the middle
		p.ip.MF, p.ip.Offset = true, uint16(1+g.IntN(180))
	case 2: // last
		p.ip.Offset = uint16(1 + g.IntN(180))
	default: // any, also beyond 65535 bytes
		p.ip.MF, p.ip.Offset = g.IntN(2) == 0, uint16(g.IntN(0x2000))
	}
	if p.ip.MF && g.IntN(4) != 0 { // whole units of 8 bytes
		p.ip.Payload = append(p.ip.Payload, make([]byte, 7)...)
		p.ip.Payload = p.ip.Payload[:len(p.ip.Payload)&^7]
	}
	p.ip.TTL = pick[uint8](g, 1, 64, 64)
}

// inFragments sends all fragments of a packet, often those of a ping to an own address, in order or not.
func (g *generator) inFragments(p *packet) {
	if g.IntN(2) == 0 {
		p.ip.Dst = g.own(p.in)
		p.ip.Payload = packets.ICMP(packets.ICMPEchoRequest, 0, g.Uint32()&0xffff0000|uint32(p.ip.ID), g.payload(100+g.IntN(1200)))
		p.ip.Proto = packets.ProtoICMP
	} else {
		g.udp(p, g.port(), g.payload(100+g.IntN(1200)))
	}
	p.ip.DF = false
	whole, size := p.ip, 8*(5+g.IntN(60))
	var parts []packets.IPv4
	for at := 0; at < len(whole.Payload); at += size {
		part := whole
		part.Offset, part.MF = uint16(at/8), at+size < len(whole.Payload)
		part.Payload = whole.Payload[at:min(at+size, len(whole.Payload))]
		parts = append(parts, part)
	}
	if g.IntN(3) == 0 {
		g.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	}
	for _, part := range parts[:len(parts)-1] {
		p.before = append(p.before, packets.Ethernet(p.dst, p.src, nil, packets.EtherIPv4, part.Bytes(), nil))
	}
	p.ip = parts[len(parts)-1]
}

// icmpError quotes a packet that a host behind an interface might have sent.
func (g *generator) icmpError(p *packet) {
	quoted := g.draw()
	if g.IntN(2) == 0 {
		quoted.ip.Src = p.ip.Dst
	}
	b := quoted.ip.Bytes()
	b = b[:min(len(b), pick(g, 28, 548, g.IntN(60)))]
	t := pick[uint8](g, packets.ICMPUnreachable, packets.ICMPTimeExceeded, packets.ICMPParameter, 4, 5)
	p.ip.Proto = packets.ProtoICMP
	p.ip.Payload = packets.ICMP(t, uint8(g.IntN(16)), uint32(g.IntN(1501)), b)
	p.ip.TTL = pick[uint8](g, 1, 64)
}

func (g *generator) martian() uint32 {
	return pick[uint32](g, 0, 1, 0x00ffffff, 0x01000000, 0x7effffff, 0x7f000001, 0x7fffffff, 0x80000000,
		0xdfffffff, 0xe0000001, 0xefffffff, 0xf0000000, 0xfffffffe, 0xffffffff, 0xa9fe0001)
}

// broadcast is the limited broadcast address, or the network's or the broadcast address of an interface's prefix.
func (g *generator) broadcast() uint32 {
	p := g.s.interfaces[g.IntN(len(g.s.interfaces))].prefix().Masked()
	first := number(p.Addr())
	return pick(g, first, first|(1<<(32-p.Bits())-1), 0xffffffff)
}

// own is an address of an interface.
func (g *generator) own(i int) uint32 {
	l := g.s.interfaces[i]
	if len(l.more) > 0 && g.IntN(3) == 0 {
		return number(netip.MustParseAddr(pick(g, l.more...)))
	}
	return number(l.prefix().Addr())
}

// stranger is a host far behind an interface that was hardly drawn before.
func (g *generator) stranger(i int) uint32 {
	remote := g.s.remote[g.s.interfaces[i].name]
	p := netip.MustParsePrefix(remote[g.IntN(len(remote))])
	return number(p.Masked().Addr()) + g.Uint32N(uint32(1)<<(32-p.Bits()))
}

// toOwn sends the packet to an interface's address, often as ping.
func (g *generator) toOwn(p *packet, i int) {
	p.ip.Dst = g.own(i)
	if g.IntN(2) == 0 {
		p.ip.Proto = packets.ProtoICMP
		p.ip.Payload = packets.ICMP(packets.ICMPEchoRequest, pick[uint8](g, 0, 0, 1), g.Uint32()&0xffff0000|uint32(p.ip.ID), g.payload(g.IntN(640)))
		p.ip.TTL = pick[uint8](g, 1, 64)
	}
	if g.IntN(8) == 0 {
		p.ip.Options = pick(g, goodOptions...)
	}
	g.fixSum(p)
	if n := len(p.ip.Payload); n > 24 && g.IntN(8) == 0 { // behind the tags of header and body
		p.ip.Payload[n-1] ^= 1 << g.IntN(8)
	}
}

// arp asks for an address, or tells one.
func (g *generator) arp(p *packet) {
	i := p.in
	host := g.neighbor(i)
	target := pick(g, g.own(i), g.own(i), g.own((i+1)%len(g.s.interfaces)), g.host(i), g.host((i+1)%len(g.s.interfaces)))
	sender := pick(g, number(host), number(host), number(host), 0, g.own(i), g.host((i+1)%len(g.s.interfaces)))
	op := pick[uint16](g, packets.ARPRequest, packets.ARPRequest, packets.ARPRequest, packets.ARPReply, uint16(g.IntN(5)))
	mac := hostMAC(i, host)
	b := packets.ARP(op, mac, sender, packets.MAC{}, target)
	if g.IntN(4) == 0 {
		b[g.IntN(8)] ^= 1 << g.IntN(8)
	}
	dst := pick(g, packets.Broadcast, packets.Broadcast, boxMAC(i))
	p.ruin = func([]byte) []byte { return packets.Ethernet(dst, mac, nil, packets.EtherARP, b, make([]byte, 18)) }
}
