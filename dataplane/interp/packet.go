package interp

import (
	"encoding/binary"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

const (
	protoICMP = 1
	protoTCP  = 6
	protoUDP  = 17

	protoDCCP    = 33
	protoAH      = 51
	protoUDPLite = 136

	icmpEchoReply        = 0
	icmpUnreachable      = 3
	icmpSourceQuench     = 4
	icmpRedirect         = 5
	icmpEchoRequest      = 8
	icmpTimeExceeded     = 11
	icmpParameterProblem = 12
	icmpTimestamp        = 13
	icmpTimestampReply   = 14

	icmpFragNeeded = 4 // code of icmpUnreachable

	fragWhole = headerspace.FragWhole
	fragFirst = headerspace.FragFirst
	fragLater = headerspace.FragLater

	flagDF = 0x40 // in byte 6 of the IP header
)

// packet is an IP packet on its way through the chain.
type packet struct {
	entry   int    // interface by which it entered
	size    int    // of the frame as it came in; what counters count
	tag     tag    // as it is here
	entered []byte // the IP packet at entry, or as it was generated
	// ip is the IP packet as it is here, but with the checksums of entered: bytes moves them.
	ip      []byte
	padding []byte // Ethernet's, behind the IP packet
	via     netip.Addr
	steps   int
	by      origins
}

// tag is an 802.1Q tag; tpid is 0 if there is none.
type tag struct{ tpid, tci uint16 }

// vid is the tag's VLAN; 0: untagged, or priority alone.
func (t tag) vid() uint16 { return t.tci & 0xfff }

// fresh is the tag of a generated packet in the same VLAN.
func (t tag) fresh() tag {
	if t.tpid == 0 {
		return tag{}
	}
	return tag{tpid: etherVLAN, tci: t.vid()}
}

func (p *packet) copy() *packet {
	q := *p
	q.ip = append([]byte(nil), p.ip...)
	return &q
}

// bytes is the IP packet as others see it here, checksums included.
func (p *packet) bytes() []byte {
	b := append([]byte(nil), p.ip...)
	moveChecksums(p.entered, b)
	return b
}

// The functions below read and write an IP packet, whose headers are whole
// (Entry's checks; quoted for quoted ones).

func headerLen(ip []byte) int { return int(ip[0]&15) * 4 }

func fragOf(ip []byte) int {
	switch w := binary.BigEndian.Uint16(ip[6:]); {
	case w&0x1fff != 0:
		return fragLater
	case w&0x2000 != 0:
		return fragFirst
	}
	return fragWhole
}

func srcOf(ip []byte) uint32 { return binary.BigEndian.Uint32(ip[12:]) }
func dstOf(ip []byte) uint32 { return binary.BigEndian.Uint32(ip[16:]) }

func setSrc(ip []byte, a uint32) { binary.BigEndian.PutUint32(ip[12:], a) }
func setDst(ip []byte, a uint32) { binary.BigEndian.PutUint32(ip[16:], a) }

// transport is the header behind IP's, nil on later fragments.
func transport(ip []byte) []byte {
	if fragOf(ip) == fragLater {
		return nil
	}
	return ip[headerLen(ip):]
}

// ported tells whether the packet has a source and a destination port.
func ported(ip []byte) bool {
	return (ip[9] == protoTCP || ip[9] == protoUDP) && headed(ip)
}

// icmpType is -1 if the packet has none.
func icmpType(ip []byte) int {
	if ip[9] != protoICMP || !headed(ip) {
		return -1
	}
	return int(transport(ip)[0])
}

// isICMPError tells whether nothing may be answered to the packet (RFC 1122 section 3.2.2), which a message without
// type may be.
func isICMPError(ip []byte) bool {
	if ip[9] == protoICMP && !headed(ip) {
		return true
	}
	switch icmpType(ip) {
	case icmpUnreachable, icmpSourceQuench, icmpRedirect, icmpTimeExceeded, icmpParameterProblem:
		return true
	}
	return false
}

// quoted is the packet that an ICMP message of the types 3, 11 and 12 quotes:
// whole header and at least 8 bytes behind it; nil otherwise.
func quoted(icmp []byte) []byte {
	switch icmp[0] {
	case icmpUnreachable, icmpTimeExceeded, icmpParameterProblem:
	default:
		return nil
	}
	q := icmp[8:]
	if len(q) < 20 || q[0]>>4 != 4 || headerLen(q) < 20 || len(q) < headerLen(q)+8 {
		return nil
	}
	return q
}

// field reads a header field as headerspace numbers it, but addresses as 32 bits.
func (p *packet) field(f headerspace.Field) uint32 {
	absent, _ := f.Absent()
	none := uint32(absent.Lo)
	ip := p.ip
	switch f {
	case headerspace.VLAN:
		if p.tag.tpid == 0 {
			return none
		}
		return uint32(p.tag.vid())
	case headerspace.Src:
		return srcOf(ip)
	case headerspace.Dst:
		return dstOf(ip)
	case headerspace.Proto:
		return uint32(ip[9])
	case headerspace.DSCP:
		return uint32(ip[1] >> 2)
	case headerspace.TTL:
		return uint32(ip[8])
	case headerspace.Frag:
		return uint32(fragOf(ip))
	case headerspace.SPort:
		if ported(ip) {
			return uint32(binary.BigEndian.Uint16(transport(ip)))
		}
	case headerspace.DPort:
		if ported(ip) {
			return uint32(binary.BigEndian.Uint16(transport(ip)[2:]))
		}
	case headerspace.TCPFlags:
		if ip[9] == protoTCP && ported(ip) {
			return uint32(transport(ip)[13])
		}
	case headerspace.ICMPType:
		if t := icmpType(ip); t >= 0 {
			return uint32(t)
		}
	case headerspace.ICMPCode:
		if icmpType(ip) >= 0 {
			return uint32(transport(ip)[1])
		}
	default:
	}
	return none
}

// set writes a constant (element.SetField).
func (p *packet) set(f headerspace.Field, v uint32) {
	switch f {
	case headerspace.VLAN:
		switch {
		case v > 0xfff:
			p.tag = tag{}
		case p.tag.tpid == 0:
			p.tag = tag{tpid: etherVLAN, tci: uint16(v)}
		default:
			p.tag.tci = p.tag.tci&0xf000 | uint16(v)
		}
	case headerspace.Src:
		setSrc(p.ip, v)
		p.by.src = nil
	case headerspace.Dst:
		setDst(p.ip, v)
		p.by.dst = nil
	case headerspace.DSCP:
		p.ip[1] = byte(v)<<2 | p.ip[1]&3
	case headerspace.TTL:
		p.ip[8] = byte(v)
	case headerspace.SPort:
		if ported(p.ip) {
			binary.BigEndian.PutUint16(transport(p.ip), uint16(v))
			p.by.sport = nil
		}
	case headerspace.DPort:
		if ported(p.ip) {
			binary.BigEndian.PutUint16(transport(p.ip)[2:], uint16(v))
			p.by.dport = nil
		}
	default: // the synthesizer's graph writes nothing else
	}
}

// point is the packet as a point of the packet space.
func (p *packet) point() headerspace.Packet {
	var pt headerspace.Packet
	for f := range headerspace.NumFields {
		pt[f] = value(f, p.field(f))
	}
	return pt
}

func value(f headerspace.Field, v uint32) headerspace.Value {
	if f == headerspace.Src || f == headerspace.Dst {
		return headerspace.Addr(addr(v))
	}
	return headerspace.V(uint64(v))
}

func num(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func addr(n uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b)
}
