// Package packets makes test frames, well formed and odd ones, and reads them back.
package packets

import "encoding/binary"

// MAC is an Ethernet address.
type MAC [6]byte

// Broadcast is the Ethernet broadcast address.
var Broadcast = MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// EtherTypes and tag protocol identifiers.
const (
	EtherIPv4 = 0x0800
	EtherARP  = 0x0806
	EtherIPv6 = 0x86dd
	TPID8021Q = 0x8100
	TPIDQinQ  = 0x88a8
)

// IP protocols.
const (
	ProtoICMP = 1
	ProtoTCP  = 6
	ProtoUDP  = 17
)

// TCP flags.
const (
	FIN = 1 << iota
	SYN
	RST
	PSH
	ACK
)

// ICMP types.
const (
	ICMPEchoReply      = 0
	ICMPUnreachable    = 3
	ICMPEchoRequest    = 8
	ICMPTimeExceeded   = 11
	ICMPParameter      = 12
	ICMPTimestamp      = 13
	ICMPTimestampReply = 14
)

// Tag is a VLAN tag.
type Tag struct {
	TPID uint16
	TCI  uint16 // priority, DEI and VID
}

// Ethernet frames a payload; the frame is padded with the given bytes.
func Ethernet(dst, src MAC, tags []Tag, etherType uint16, payload, padding []byte) []byte {
	b := make([]byte, 0, 14+4*len(tags)+len(payload)+len(padding))
	b = append(append(b, dst[:]...), src[:]...)
	for _, t := range tags {
		b = binary.BigEndian.AppendUint16(b, t.TPID)
		b = binary.BigEndian.AppendUint16(b, t.TCI)
	}
	b = binary.BigEndian.AppendUint16(b, etherType)
	return append(append(b, payload...), padding...)
}

// IPv4 is a packet; Bytes adds what follows from the rest: version, lengths, checksum.
type IPv4 struct {
	Src, Dst   uint32
	Proto, TTL uint8
	TOS        uint8 // DSCP and ECN
	ID         uint16
	DF, MF     bool
	Offset     uint16 // of the fragment, in units of 8 bytes
	Options    []byte // a multiple of 4 bytes, at most 40
	Payload    []byte
}

// Bytes is the packet on the wire.
func (p IPv4) Bytes() []byte {
	ihl := 20 + len(p.Options)
	b := make([]byte, ihl, ihl+len(p.Payload))
	b[0] = 0x40 | byte(ihl/4)
	b[1] = p.TOS
	binary.BigEndian.PutUint16(b[2:], uint16(ihl+len(p.Payload)))
	binary.BigEndian.PutUint16(b[4:], p.ID)
	frag := p.Offset & 0x1fff
	if p.DF {
		frag |= 0x4000
	}
	if p.MF {
		frag |= 0x2000
	}
	binary.BigEndian.PutUint16(b[6:], frag)
	b[8], b[9] = p.TTL, p.Proto
	binary.BigEndian.PutUint32(b[12:], p.Src)
	binary.BigEndian.PutUint32(b[16:], p.Dst)
	copy(b[20:], p.Options)
	binary.BigEndian.PutUint16(b[10:], ^sum(0, b))
	return append(b, p.Payload...)
}

// TCP is a segment with its checksum; options are a multiple of 4 bytes.
func TCP(src, dst uint32, sport, dport uint16, flags uint8, seq uint32, options, payload []byte) []byte {
	b := make([]byte, 20, 20+len(options)+len(payload))
	binary.BigEndian.PutUint16(b, sport)
	binary.BigEndian.PutUint16(b[2:], dport)
	binary.BigEndian.PutUint32(b[4:], seq)
	b[12] = byte((20+len(options))/4) << 4
	b[13] = flags
	binary.BigEndian.PutUint16(b[14:], 0xffff)
	b = append(append(b, options...), payload...)
	binary.BigEndian.PutUint16(b[16:], transportSum(src, dst, ProtoTCP, b))
	return b
}

// Reset is a segment without data and window, with its checksum.
func Reset(src, dst uint32, sport, dport uint16, flags uint8, seq, ack uint32) []byte {
	b := TCP(src, dst, sport, dport, flags, seq, nil, nil)
	binary.BigEndian.PutUint32(b[8:], ack)
	binary.BigEndian.PutUint16(b[14:], 0)
	binary.BigEndian.PutUint16(b[16:], 0)
	binary.BigEndian.PutUint16(b[16:], transportSum(src, dst, ProtoTCP, b))
	return b
}

// UDP is a datagram with its checksum.
func UDP(src, dst uint32, sport, dport uint16, payload []byte) []byte {
	b := make([]byte, 8, 8+len(payload))
	binary.BigEndian.PutUint16(b, sport)
	binary.BigEndian.PutUint16(b[2:], dport)
	binary.BigEndian.PutUint16(b[4:], uint16(8+len(payload)))
	b = append(b, payload...)
	s := transportSum(src, dst, ProtoUDP, b)
	if s == 0 {
		s = 0xffff // RFC 768: zero says that there is no checksum
	}
	binary.BigEndian.PutUint16(b[6:], s)
	return b
}

// ICMP is a message with its checksum; rest is the header's last 4 bytes.
func ICMP(typ, code uint8, rest uint32, body []byte) []byte {
	b := make([]byte, 8, 8+len(body))
	b[0], b[1] = typ, code
	binary.BigEndian.PutUint32(b[4:], rest)
	b = append(b, body...)
	binary.BigEndian.PutUint16(b[2:], ^sum(0, b))
	return b
}

// ARP operations.
const (
	ARPRequest = 1
	ARPReply   = 2
)

// ARP is an Ethernet/IPv4 ARP message (RFC 826).
func ARP(op uint16, sender MAC, senderIP uint32, target MAC, targetIP uint32) []byte {
	b := []byte{0, 1, 8, 0, 6, 4}
	b = binary.BigEndian.AppendUint16(b, op)
	b = append(b, sender[:]...)
	b = binary.BigEndian.AppendUint32(b, senderIP)
	b = append(b, target[:]...)
	return binary.BigEndian.AppendUint32(b, targetIP)
}

func transportSum(src, dst uint32, proto uint8, b []byte) uint16 {
	var pseudo [12]byte
	binary.BigEndian.PutUint32(pseudo[:], src)
	binary.BigEndian.PutUint32(pseudo[4:], dst)
	pseudo[9] = proto
	binary.BigEndian.PutUint16(pseudo[10:], uint16(len(b)))
	return ^sum(uint32(sum(0, pseudo[:])), b)
}

// sum is the ones' complement sum of RFC 1071.
func sum(s uint32, b []byte) uint16 {
	for ; len(b) >= 2; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}
