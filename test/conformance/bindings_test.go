package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/test/packets"
)

// flow is a flow as it is before a NAPT: protocol, inside and outside end. Of echo, the identifier is the
// inside port; protocols without ports have none.
type flow struct {
	proto  uint8
	inside public
	remote public
}

// public is an address and port, or identifier.
type public struct {
	addr uint32
	port uint16
}

// binding is how a flow looks outside.
type binding struct {
	proto   uint8
	outside public
	remote  public
}

// bindings are those that a NAPT has chosen, learned from what it sent. Each side chooses on its own: frames are compared
// after their outside address and port were replaced by the inside ones.
type bindings struct {
	s           *scenario
	first, last uint32 // of the pool
	inside, out int    // interfaces
	forwards    []forward
	byFlow      [sides]map[flow]binding
	byBinding   [sides]map[binding]flow
	flows       []flow        // free ones of hosts, in the order in which they were seen on both sides
	syn         map[flow]bool // begun with a SYN that nobody answered yet
	handshake   map[flow]bool // with a SYN, FIN or RST from inside, or to a port forward
}

// forward is a port that is forwarded.
type forward struct {
	proto           uint8
	outside, inside public
}

// poolOf is a NAPT's pool: a range of addresses, or that of the interface outside.
func poolOf(n *v1alpha1.NAPT, out *link) string {
	if n.Masquerade {
		return out.prefix().Addr().String()
	}
	return string(n.Pool[0])
}

// forwardsOf lists a NAPT's port forwards, port by port.
func forwardsOf(n *v1alpha1.NAPT, outside public) (list []forward) {
	for _, f := range n.PortForwards {
		proto := uint8(packets.ProtoTCP)
		if f.Protocol == v1alpha1.ServiceUDP {
			proto = packets.ProtoUDP
		}
		first, last := portRange(f.OutsidePorts.String())
		to := first
		if f.InsidePorts != nil {
			to, _ = portRange(f.InsidePorts.String())
		}
		for p := first; p <= last; p++ {
			list = append(list, forward{proto, public{outside.addr, p}, public{number(netip.MustParseAddr(string(f.Inside))), to + p - first}})
		}
	}
	return list
}

// portRange reads a port, or a range of ports, of a chain that has been compiled.
func portRange(s string) (first, last uint16) {
	from, to, ok := strings.Cut(s, "-")
	if !ok {
		to = from
	}
	a, _ := strconv.ParseUint(from, 10, 16)
	b, _ := strconv.ParseUint(to, 10, 16)
	return uint16(a), uint16(b)
}

func newBindings(s *scenario, n *v1alpha1.NAPT, inside, out int) *bindings {
	first, last, ok := strings.Cut(poolOf(n, &s.interfaces[out]), "-")
	if !ok {
		last = first
	}
	b := &bindings{s: s, first: number(netip.MustParseAddr(first)), last: number(netip.MustParseAddr(last)), inside: inside, out: out}
	b.forwards = forwardsOf(n, public{addr: b.first})
	b.syn, b.handshake = map[flow]bool{}, map[flow]bool{}
	for side := range sides {
		b.byFlow[side], b.byBinding[side] = map[flow]binding{}, map[binding]flow{}
	}
	return b
}

func (b *bindings) pooled(a uint32) bool { return a >= b.first && a <= b.last }

// query tells whether an ICMP type is a request or a reply that has an identifier.
func query(t byte) bool { return t == 0 || t == 8 || t >= 13 && t <= 18 }

// ports are a packet's source and destination port. Of ICMP queries, the end that asks has the identifier, and the
// other one the type and code of the question.
func ports(p packets.IPv4) (src, dst uint16) {
	l4 := p.Payload
	if len(l4) < 8 || p.Offset != 0 {
		return 0, 0
	}
	switch p.Proto {
	case packets.ProtoTCP, packets.ProtoUDP, 132:
		return binary.BigEndian.Uint16(l4), binary.BigEndian.Uint16(l4[2:])
	case packets.ProtoICMP:
		id, code := binary.BigEndian.Uint16(l4[4:]), uint16(l4[1])
		switch l4[0] {
		case 8, 13, 15, 17:
			return id, uint16(l4[0])<<8 | code
		case 0:
			return 8<<8 | code, id
		case 14, 16, 18:
			return uint16(l4[0]-1)<<8 | code, id
		}
	}
	return 0, 0
}

func flowOf(p packets.IPv4) flow {
	src, dst := ports(p)
	return flow{p.Proto, public{p.Src, src}, public{p.Dst, dst}}
}

// learn notes the binding of a packet that went from inside to outside, and says what is wrong with it. Packets of other kinds go on with flows that are
// free: those of no conversation.
func (b *bindings) learn(side int, f flow, out packets.IPv4, free bool) string {
	src, dst := ports(out)
	now := binding{out.Proto, public{out.Src, src}, public{out.Dst, dst}}
	if was, ok := b.byFlow[side][f]; ok && was != now {
		return fmt.Sprintf("%v was bound to %v, and is now to %v", f, was, now)
	}
	if other, ok := b.byBinding[side][now]; ok && other != f {
		return fmt.Sprintf("%v is bound to %v, as %v is", f, now, other)
	}
	b.byFlow[side][f], b.byBinding[side][now] = now, f
	if _, ok := b.byFlow[1-side][f]; ok && free && b.real(f) && answerable(out) {
		b.flows = append(b.flows, f)
	}
	return ""
}

// shake notes the beginnings and ends of connections from outside to a port forward.
func (b *bindings) shake(p packets.IPv4) {
	if p.Proto != packets.ProtoTCP || len(p.Payload) < 14 || p.Payload[13]&(packets.SYN|packets.FIN|packets.RST) == 0 {
		return
	}
	f := flowOf(p)
	for _, w := range b.forwards {
		if w.proto == f.proto && w.outside == f.remote {
			b.handshake[flow{f.proto, w.inside, f.inside}] = true
		}
	}
}

// lead puts the outside of a flow into a packet, or error, that goes back to its inside.
func (b *bindings) lead(side int, f flow, ip []byte) {
	to, l4 := b.byFlow[side][f].outside, ip[int(ip[0]&15)*4:]
	if ip[9] == packets.ProtoICMP && !query(l4[0]) {
		was := append([]byte(nil), l4[8:]...)
		translate(l4[8:], l4[28:], 12, to)
		move(l4[2:4], was, l4[8:])
		put32(ip, 16, to.addr, ip[10:12])
		return
	}
	translate(ip, l4, 16, to)
}

// answerable is for packets whose replies both sides take for such: to Linux a ping's code is a part of its flow.
func answerable(p packets.IPv4) bool {
	return p.Proto == packets.ProtoTCP || p.Proto == packets.ProtoUDP || p.Proto == packets.ProtoICMP && p.Payload[0] == packets.ICMPEchoRequest && p.Payload[1] == 0
}

// real tells whether both ends of a flow are hosts that packets come to.
func (b *bindings) real(f flow) bool {
	return b.s.lives(b.inside, f.inside.addr) && b.s.lives(b.out, f.remote.addr)
}

// normalAll undoes the translation of what both sides sent; bindings that cannot be are mismatches.
func (b *bindings) normalAll(p *probe, outs [sides][]output) (normal [sides][]output, list []*mismatch) {
	for side := range sides {
		for _, o := range outs[side] {
			if reply, ok := b.ownReply(p, side, o.frame); ok {
				normal[side] = append(normal[side], output{o.out, reply})
				continue
			}
			was := o.frame
			var wrong string
			if o.frame, wrong = b.normal(p, side, o.frame); wrong != "" {
				m := &mismatch{only: sides, role: forwarded, out: o.out, frame: [sides][]byte{was, was}, field: "binding of " + sideNames[side]}
				m.values[side] = wrong
				list = append(list, m)
			}
			normal[side] = append(normal[side], o)
		}
	}
	return normal, list
}

// ownReply tells whether a frame is the reply of the interface whose address is the pool. If each side's request names its own
// binding, the reply's identifier is made 0.
func (b *bindings) ownReply(p *probe, side int, out []byte) ([]byte, bool) {
	i, _ := packets.Parse(p.frames[side])
	o, ok := packets.Parse(out)
	if !ok || o.EtherType != packets.EtherIPv4 || isICMPError(o.IP) || !b.pooled(o.IP.Src) || i.IP.Dst != o.IP.Src || i.IP.Src != o.IP.Dst {
		return nil, false
	}
	if o.IP.Proto != packets.ProtoICMP || o.IP.Fragment() || bytes.Equal(p.frames[sinter], p.frames[linux]) {
		return out, true
	}
	frame := append([]byte(nil), out...)
	ip := ipOf(frame)
	translate(ip, ip[20+len(o.IP.Options):], 12, public{addr: o.IP.Src})
	return frame, true
}

// normal is a frame as it would be without translation: so that both sides' frames can be compared. The text
// says what is wrong with its binding.
func (b *bindings) normal(p *probe, side int, out []byte) ([]byte, string) {
	i, _ := packets.Parse(p.frames[side])
	o, ok := packets.Parse(out)
	if !ok || o.EtherType != packets.EtherIPv4 {
		return out, ""
	}
	frame := append([]byte(nil), out...)
	ip := ipOf(frame)
	l4 := ip[20+len(o.IP.Options) : 20+len(o.IP.Options)+len(o.IP.Payload)]
	if isICMPError(o.IP) {
		if len(l4) >= 8+28 {
			b.normalQuote(side, ip, l4)
		}
		return frame, ""
	}
	if !b.pooled(o.IP.Src) || i.IP.Fragment() || o.IP.Fragment() {
		return out, ""
	}
	f := flowOf(i.IP)
	wrong := b.learn(side, f, o.IP, p.talk == nil)
	if i.IP.Proto == packets.ProtoTCP && len(i.IP.Payload) > 13 {
		b.syn[f] = b.syn[f] || i.IP.Payload[13] == packets.SYN
		b.handshake[f] = b.handshake[f] || i.IP.Payload[13]&(packets.SYN|packets.FIN|packets.RST) != 0
	}
	translate(ip, l4, 12, f.inside)
	return frame, wrong
}

// normalQuote puts the inside into an error that goes outside: its source, and the destination of what it quotes.
func (b *bindings) normalQuote(side int, ip, l4 []byte) {
	q := l4[8:]
	ihl := int(q[0]&15) * 4
	dst := binary.BigEndian.Uint32(q[16:])
	if !b.pooled(dst) || len(q) < ihl+8 || q[0]>>4 != 4 || ihl < 20 {
		return
	}
	quoted := packets.IPv4{
		Proto: q[9], Src: binary.BigEndian.Uint32(q[12:]), Dst: dst, Payload: q[ihl:],
		Offset: binary.BigEndian.Uint16(q[6:]) & 0x1fff,
	}
	src, port := ports(quoted)
	f, ok := b.byBinding[side][binding{quoted.Proto, public{dst, port}, public{quoted.Src, src}}]
	if !ok {
		return
	}
	if outer := binary.BigEndian.Uint32(ip[12:]); outer == dst {
		put32(ip, 12, f.inside.addr, ip[10:12])
	}
	sum := l4[2:4]
	was := append([]byte(nil), q...)
	translate(q, q[ihl:], 16, f.inside)
	move(sum, was, q)
}

// translate writes an address into an IP header and the port that goes with it, and moves all checksums by that.
func translate(ip, l4 []byte, at int, to public) {
	was := append([]byte(nil), ip[at:at+4]...)
	put32(ip, at, to.addr, ip[10:12])
	sumAt, portAt := -1, -1
	switch ip[9] {
	case packets.ProtoTCP:
		sumAt, portAt = 16, (at-12)/2
	case packets.ProtoUDP:
		sumAt, portAt = 6, (at-12)/2
	case packets.ProtoICMP:
		if len(l4) > 0 && query(l4[0]) {
			sumAt, portAt = 2, 4
		}
	}
	if portAt < 0 || len(l4) < 8 || binary.BigEndian.Uint16(ip[6:])&0x1fff != 0 {
		return
	}
	before := append([]byte(nil), l4[portAt:portAt+2]...)
	binary.BigEndian.PutUint16(l4[portAt:], to.port)
	if len(l4) < sumAt+2 || ip[9] == packets.ProtoUDP && binary.BigEndian.Uint16(l4[sumAt:]) == 0 {
		return
	}
	move(l4[sumAt:], before, l4[portAt:portAt+2])
	if ip[9] != packets.ProtoICMP {
		move(l4[sumAt:], was, ip[at:at+4])
	}
	oneZero(ip[9], l4[sumAt:])
}

// oneZero writes the checksum that is 0 in ones' complement as it is sent: UDP's as 0xffff (RFC 768), others' as 0.
func oneZero(proto byte, sum []byte) {
	v := binary.BigEndian.Uint16(sum)
	switch {
	case v == 0 && proto == packets.ProtoUDP:
		binary.BigEndian.PutUint16(sum, 0xffff)
	case v == 0xffff && proto != packets.ProtoUDP:
		binary.BigEndian.PutUint16(sum, 0)
	}
}

func put32(ip []byte, at int, v uint32, sum []byte) {
	was := append([]byte(nil), ip[at:at+4]...)
	binary.BigEndian.PutUint32(ip[at:], v)
	move(sum, was, ip[at:at+4])
}

// move moves a checksum by what changed (RFC 1624).
func move(sum, was, now []byte) {
	s := uint32(^binary.BigEndian.Uint16(sum)) + ^onesSum(was)&0xffff + onesSum(now)
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	binary.BigEndian.PutUint16(sum, ^uint16(s))
}
