package packets

import (
	"encoding/binary"
	"math/rand/v2"
)

// Fields is what a chain reads of a packet: a point of the packet space.
type Fields struct {
	VLAN       int // -1: untagged
	Src, Dst   uint32
	Proto      uint8
	DSCP, TTL  uint8
	Frag       int // 0: whole, 1: first fragment, 2: later fragment
	Sport      uint16
	Dport      uint16
	Flags      uint8
	Type, Code uint8
	ICMPRest   uint32 // of echo: identifier and sequence number
	// Segment is what a chain reads of TCP only to follow connections; nil: any.
	Segment *Segment
}

// Segment is a TCP segment's place in its connection.
type Segment struct {
	Seq, Ack uint32
	Window   uint16
	Scale    int // of the window, by option; -1: none
}

// Build makes a frame with these fields; all that a chain does not read is drawn at random, mostly plain.
func Build(r *rand.Rand, dst, src MAC, f Fields, payload []byte) []byte {
	p := IPv4{
		Src: f.Src, Dst: f.Dst, Proto: f.Proto, TTL: f.TTL, TOS: f.DSCP << 2,
		ID: uint16(r.Uint32()), DF: r.IntN(4) == 0,
	}
	if r.IntN(8) == 0 {
		p.TOS |= uint8(r.IntN(4))
	}
	if r.IntN(40) == 0 {
		p.Options = Options(r)
	}
	switch f.Proto {
	case ProtoTCP:
		var options []byte
		if r.IntN(8) == 0 {
			options = []byte{2, 4, 5, 0xb4, 1, 1, 1, 1}
		}
		p.Payload = f.segment(r, options, payload)
	case ProtoUDP:
		p.Payload = UDP(f.Src, f.Dst, f.Sport, f.Dport, payload)
		if r.IntN(8) == 0 {
			p.Payload[6], p.Payload[7] = 0, 0
		}
	case ProtoICMP:
		p.Payload = ICMP(f.Type, f.Code, f.ICMPRest, payload)
	default:
		p.Payload = payload
	}
	switch f.Frag {
	case 1:
		p.MF, p.DF = true, false
	case 2:
		p.Offset, p.DF, p.MF = uint16(1+r.IntN(0x1ffe)), false, r.IntN(2) == 0
	}
	return Ethernet(dst, src, tags(r, f.VLAN), EtherIPv4, p.Bytes(), padding(r, len(p.Payload)))
}

// segment is the packet's TCP segment.
func (f Fields) segment(r *rand.Rand, options, payload []byte) []byte {
	s := f.Segment
	if s == nil {
		return TCP(f.Src, f.Dst, f.Sport, f.Dport, f.Flags, r.Uint32(), options, payload)
	}
	if s.Scale >= 0 {
		options = append([]byte{1, 3, 3, byte(s.Scale)}, options...)
	}
	b := TCP(f.Src, f.Dst, f.Sport, f.Dport, f.Flags, s.Seq, options, payload)
	binary.BigEndian.PutUint32(b[8:], s.Ack)
	binary.BigEndian.PutUint16(b[14:], s.Window)
	b[16], b[17] = 0, 0
	binary.BigEndian.PutUint16(b[16:], transportSum(f.Src, f.Dst, ProtoTCP, b))
	return b
}

func tags(r *rand.Rand, vlan int) []Tag {
	if vlan < 0 {
		return nil
	}
	t := Tag{TPID8021Q, uint16(vlan)}
	if r.IntN(4) == 0 {
		t.TPID = TPIDQinQ
	}
	if r.IntN(2) == 0 {
		t.TCI |= uint16(r.IntN(16)) << 12
	}
	return []Tag{t}
}

// padding fills some short frames up, as a link with a minimum length does.
func padding(r *rand.Rand, payload int) []byte {
	if n := 46 - 20 - payload; n > 0 && r.IntN(2) == 0 {
		return make([]byte, n)
	}
	return nil
}

// Reply is the frame that the far end sends back upon this one: addresses and ports swapped, an echo request
// answered. ok is false for what has no reply.
func Reply(r *rand.Rand, frame []byte, flags uint8, payload []byte) (reply []byte, ok bool) {
	v, ok := Parse(frame)
	if !ok || v.EtherType != EtherIPv4 || v.IP.Offset != 0 {
		return nil, false
	}
	f := Fields{VLAN: v.vlan(), Src: v.IP.Dst, Dst: v.IP.Src, Proto: v.IP.Proto, DSCP: v.IP.TOS >> 2, TTL: 64}
	switch v.IP.Proto {
	case ProtoTCP, ProtoUDP:
		if f.Dport, f.Sport, ok = v.IP.Ports(); !ok {
			return nil, false
		}
		f.Flags = flags
	case ProtoICMP:
		id, _, echo := v.IP.Ports()
		if !echo || v.IP.Payload[0] != ICMPEchoRequest && v.IP.Payload[0] != ICMPTimestamp {
			return nil, false
		}
		f.Type, f.Code = ICMPEchoReply, []uint8{0, 0, 0, uint8(r.Uint32())}[r.IntN(4)]
		if v.IP.Payload[0] == ICMPTimestamp {
			f.Type = ICMPTimestampReply
		}
		f.ICMPRest = uint32(id)<<16 | uint32(r.IntN(65536))
	}
	return Build(r, v.SrcMAC, v.DstMAC, f, payload), true
}

// ErrorAbout is the ICMP error that a router on the way of this frame sends back, quoting up to quote bytes of it.
func ErrorAbout(r *rand.Rand, frame []byte, from uint32, typ, code uint8, quote int) (answer []byte, ok bool) {
	v, ok := Parse(frame)
	if !ok || v.EtherType != EtherIPv4 {
		return nil, false
	}
	ip := v.IP.Bytes()
	if r.IntN(12) == 0 { // a quote that does not fit
		ip[r.IntN(len(ip))] ^= 1 << r.IntN(8)
	}
	if r.IntN(12) == 0 { // the packet was fragmented on its way
		ip[6] |= 0x20
	}
	f := Fields{VLAN: v.vlan(), Src: from, Dst: v.IP.Src, Proto: ProtoICMP, TTL: 64, Type: typ, Code: code, ICMPRest: uint32(r.IntN(1501))}
	return Build(r, v.SrcMAC, v.DstMAC, f, ip[:min(len(ip), quote)]), true
}

// vlan is the VID of the outermost tag, -1 without one.
func (v View) vlan() int {
	if len(v.Tags) == 0 {
		return -1
	}
	return int(v.Tags[0].TCI & 0xfff)
}

// FieldsOf reads a packet's fields back; ok is false for what is no whole IPv4 packet.
func FieldsOf(frame []byte) (f Fields, ok bool) {
	v, ok := Parse(frame)
	if !ok || v.EtherType != EtherIPv4 {
		return f, false
	}
	f = Fields{VLAN: v.vlan(), Src: v.IP.Src, Dst: v.IP.Dst, Proto: v.IP.Proto, DSCP: v.IP.TOS >> 2, TTL: v.IP.TTL}
	switch {
	case v.IP.Offset != 0:
		f.Frag = 2
	case v.IP.MF:
		f.Frag = 1
	}
	if v.IP.Offset != 0 || len(v.IP.Payload) < 8 {
		return f, true
	}
	b := v.IP.Payload
	switch v.IP.Proto {
	case ProtoTCP, ProtoUDP:
		f.Sport, f.Dport, _ = v.IP.Ports()
		if v.IP.Proto == ProtoTCP && len(b) >= 20 {
			f.Flags = b[13]
			f.Segment = &Segment{binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint16(b[14:]), -1}
		}
	case ProtoICMP:
		f.Type, f.Code, f.ICMPRest = b[0], b[1], binary.BigEndian.Uint32(b[4:])
	}
	return f, true
}
