package conformance

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/test/packets"
)

// generator draws packets, kind after kind, so that each kind occurs in every run.
type generator struct {
	*rand.Rand
	s     *scenario
	nat   *bindings // nil without a NAPT
	kinds []kind
	turn  int
	talks []*conversation // that go on
	talk  int             // which of them said something last
	tags  map[uint16]bool // of the batch that is being drawn
}

// packet is a packet that is being made: its IP header and payload, and what is done to its bytes afterwards.
type packet struct {
	in       int
	dst, src packets.MAC
	tags     []packets.Tag
	ether    uint16
	ip       packets.IPv4
	padding  []byte
	damage   func(ip []byte) // before the header checksum is made right again
	ruin     func(frame []byte) []byte
	each     func(side int, ip []byte) // what only one side's packet has
	before   [][]byte
	talk     *conversation
	of       packetOf // of the conversation
}

// batch draws packets whose tags differ.
func (g *generator) batch(n int) (list []*probe) {
	g.tags = map[uint16]bool{}
	for len(list) < n {
		k := &g.kinds[g.turn%len(g.kinds)]
		g.turn++
		p := g.draw()
		k.make(g, p)
		frame := p.bytes()
		t, ok := tag(frame)
		if len(frame) < 14 || len(frame) > 14+4*len(p.tags)+g.s.interfaces[p.in].mtu || ok && g.tags[t] {
			continue
		}
		g.tags[t] = true
		list = append(list, p.probe(k, frame))
	}
	return list
}

// newGenerator draws all kinds of packets that a scenario has a use for.
func newGenerator(seed uint64, s *scenario, nat *bindings) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0)), s: s, nat: nat, kinds: kinds}
	if nat != nil {
		g.kinds = slices.Concat(kinds, natKinds)
	}
	if s.converses {
		g.kinds = amongConversations(g.kinds)
	}
	return g
}

func (p *packet) probe(k *kind, frame []byte) *probe {
	out := &probe{kind: k.name, in: p.in, solo: k.solo, before: p.before, talk: p.talk, of: p.of}
	if p.talk != nil {
		out.kind = p.of.what
	}
	for side := range sides {
		out.frames[side] = slices.Clone(frame)
		if p.each != nil {
			p.each(side, ipOf(out.frames[side]))
		}
	}
	return out
}

func (p *packet) bytes() []byte {
	ip := p.ip.Bytes()
	if p.damage != nil {
		p.damage(ip)
		resum(ip)
	}
	frame := packets.Ethernet(p.dst, p.src, p.tags, p.ether, ip, p.padding)
	if p.ruin != nil {
		frame = p.ruin(frame)
	}
	return frame
}

// resum makes the checksum of an IP header right, as far as the packet is long enough to have one.
func resum(ip []byte) {
	n := int(ip[0]&15) * 4
	if len(ip) < 20 || n < 12 || n > len(ip) {
		return
	}
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint16(ip[10:], ^uint16(onesSum(ip[:n])))
}

// draw is a good packet from a host behind an interface to one behind another.
func (g *generator) draw() *packet {
	in := g.IntN(len(g.s.interfaces))
	out := (in + 1 + g.IntN(len(g.s.interfaces)-1)) % len(g.s.interfaces)
	p := &packet{in: in, dst: boxMAC(in), ether: packets.EtherIPv4}
	p.src = hostMAC(in, g.neighbor(in))
	p.ip = packets.IPv4{
		Src: g.host(in), Dst: g.host(out), TTL: uint8(32 + g.IntN(200)),
		ID: uint16(1 + g.IntN(0xffff)), DF: g.IntN(2) == 0,
	}
	g.transport(p, g.payload(g.IntN(64)))
	return p
}

// neighbor is a host of the interface's prefix.
func (g *generator) neighbor(i int) netip.Addr {
	hosts := g.s.interfaces[i].hosts()
	return hosts[g.IntN(len(hosts))]
}

// host is a neighbour, or a host behind one.
func (g *generator) host(i int) uint32 {
	remote := g.s.remote[g.s.interfaces[i].name]
	if len(remote) == 0 || g.IntN(2) == 0 {
		return number(g.neighbor(i))
	}
	return g.within(netip.MustParsePrefix(remote[g.IntN(len(remote))]))
}

// within is an address of a prefix, often at its bounds.
func (g *generator) within(p netip.Prefix) uint32 {
	first, size := number(p.Masked().Addr()), uint32(1)<<(32-p.Bits())
	switch g.IntN(4) {
	case 0:
		return first
	case 1:
		return first + size - 1
	}
	return first + g.Uint32N(size)
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func (g *generator) payload(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return b
}

// transport gives the packet a transport header and payload, with the tag where replies repeat it.
func (g *generator) transport(p *packet, payload []byte) {
	switch g.IntN(4) {
	case 0:
		p.ip.Proto = packets.ProtoICMP
		p.ip.Payload = packets.ICMP(packets.ICMPEchoRequest, 0, g.Uint32()&0xffff0000|uint32(p.ip.ID), payload)
	case 1:
		g.udp(p, g.port(), payload)
	case 2:
		g.tcp(p, []uint8{packets.SYN, packets.SYN | packets.ACK, packets.ACK, packets.FIN | packets.ACK, packets.RST}[g.IntN(5)], payload)
	default:
		p.ip.Proto = []uint8{2, 4, 41, 47, 50, 51, 89, 132, 255, 0}[g.IntN(10)]
		p.ip.Payload = payload
	}
}

// port is one that rules speak of, or any.
func (g *generator) port() uint16 {
	if g.IntN(2) == 0 {
		return []uint16{53, 80, 443, 8000, 8099, 33434}[g.IntN(6)]
	}
	return uint16(1 + g.IntN(0xffff))
}

func (g *generator) udp(p *packet, port uint16, payload []byte) {
	p.ip.Proto = packets.ProtoUDP
	p.ip.Payload = packets.UDP(p.ip.Src, p.ip.Dst, uint16(1024+g.IntN(60000)), port, payload)
}

func (g *generator) tcp(p *packet, flags uint8, payload []byte) {
	p.ip.Proto = packets.ProtoTCP
	seq := uint32(p.ip.ID) << 16
	p.ip.Payload = packets.TCP(p.ip.Src, p.ip.Dst, uint16(1024+g.IntN(60000)), g.port(), flags, seq, nil, payload)
	binary.BigEndian.PutUint32(p.ip.Payload[8:], seq)
	g.fixSum(p)
}

// fixSum makes the checksum of a whole transport header right for what the packet now is.
func (g *generator) fixSum(p *packet) {
	at := map[uint8]int{packets.ProtoTCP: 16, packets.ProtoUDP: 6, packets.ProtoICMP: 2}[p.ip.Proto]
	b := p.ip.Payload
	if at == 0 || len(b) < at+2 {
		return
	}
	var pseudo []byte
	if p.ip.Proto != packets.ProtoICMP {
		pseudo = binary.BigEndian.AppendUint32(pseudo, p.ip.Src)
		pseudo = binary.BigEndian.AppendUint32(pseudo, p.ip.Dst)
		pseudo = append(pseudo, 0, p.ip.Proto)
		pseudo = binary.BigEndian.AppendUint16(pseudo, uint16(len(b)))
	}
	b[at], b[at+1] = 0, 0
	sum := ^uint16(onesSum(append(pseudo, b...)))
	if sum == 0 && p.ip.Proto == packets.ProtoUDP {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(b[at:], sum)
}

// to sends the packet to an address.
func (g *generator) to(p *packet, dst uint32) {
	p.ip.Dst = dst
	g.fixSum(p)
}

func (g *generator) from(p *packet, src uint32) {
	p.ip.Src = src
	g.fixSum(p)
}

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }
