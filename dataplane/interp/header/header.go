// Package header reads and writes the headers of IPv4 packets, as bytes. Their headers must be whole: Entry checks that of packets,
// Quoted of quoted ones.
package header

import (
	"encoding/binary"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Types of Ethernet frames.
const (
	EtherIPv4 = 0x0800
	EtherARP  = 0x0806
	EtherVLAN = 0x8100
	EtherQinQ = 0x88a8
	EtherIPv6 = 0x86dd
)

// DF is the flag in byte 6 of the IP header.
const DF = 0x40

// Protocols.
const (
	ICMP = 1
	TCP  = 6
	UDP  = 17

	DCCP    = 33
	AH      = 51
	UDPLite = 136
)

// Types of ICMP messages.
const (
	EchoReply        = 0
	Unreachable      = 3
	SourceQuench     = 4
	Redirect         = 5
	EchoRequest      = 8
	TimeExceeded     = 11
	ParameterProblem = 12
	Timestamp        = 13
	TimestampReply   = 14
)

// FragNeeded is a code of Unreachable.
const FragNeeded = 4

// Flags of TCP.
const (
	FIN = 0x01
	SYN = 0x02
	RST = 0x04
	ACK = 0x10
)

// Results of Frag.
const (
	FragWhole = headerspace.FragWhole
	FragFirst = headerspace.FragFirst
	FragLater = headerspace.FragLater
)

// Len is the length of the IP header in bytes.
func Len(ip []byte) int { return int(ip[0]&15) * 4 }

// Frag tells whether the packet is whole, the first fragment of one, or a later one.
func Frag(ip []byte) int {
	switch w := binary.BigEndian.Uint16(ip[6:]); {
	case w&0x1fff != 0:
		return FragLater
	case w&0x2000 != 0:
		return FragFirst
	}
	return FragWhole
}

// Src is the source address as a number.
func Src(ip []byte) uint32 { return binary.BigEndian.Uint32(ip[12:]) }

// Dst is the destination address as a number.
func Dst(ip []byte) uint32 { return binary.BigEndian.Uint32(ip[16:]) }

// SetSrc writes the source address, and no checksum.
func SetSrc(ip []byte, a uint32) { binary.BigEndian.PutUint32(ip[12:], a) }

// SetDst writes the destination address, and no checksum.
func SetDst(ip []byte, a uint32) { binary.BigEndian.PutUint32(ip[16:], a) }

// Transport is the header behind IP's, nil on later fragments.
func Transport(ip []byte) []byte {
	if Frag(ip) == FragLater {
		return nil
	}
	return ip[Len(ip):]
}

// Ported tells whether the packet has a source and a destination port.
func Ported(ip []byte) bool {
	return (ip[9] == TCP || ip[9] == UDP) && HasTransport(ip)
}

// ICMPType is -1 if the packet has none.
func ICMPType(ip []byte) int {
	if ip[9] != ICMP || !HasTransport(ip) {
		return -1
	}
	return int(Transport(ip)[0])
}

// IsICMPError tells whether nothing may be answered to the packet (RFC 1122 section 3.2.2), which a message without
// type may be.
func IsICMPError(ip []byte) bool {
	if ip[9] == ICMP && !HasTransport(ip) {
		return true
	}
	switch ICMPType(ip) {
	case Unreachable, SourceQuench, Redirect, TimeExceeded, ParameterProblem:
		return true
	}
	return false
}

// Quoted is the packet that an ICMP message of the types 3, 11 and 12 quotes:
// whole header and at least 8 bytes behind it; nil otherwise.
func Quoted(icmp []byte) []byte {
	switch icmp[0] {
	case Unreachable, TimeExceeded, ParameterProblem:
	default:
		return nil
	}
	q := icmp[8:]
	if len(q) < 20 || q[0]>>4 != 4 || Len(q) < 20 || len(q) < Len(q)+8 {
		return nil
	}
	return q
}

// HasTransport tells whether the packet has a TCP, UDP or ICMP header that a host would take: whole, with lengths
// that can be. The fields of any other are absent.
func HasTransport(ip []byte) bool {
	t := Transport(ip)
	first := Frag(ip) == FragFirst // lengths may go beyond it
	switch ip[9] {
	case TCP:
		if len(t) < 20 {
			return false
		}
		n := int(t[12]>>4) * 4
		return n >= 20 && (first || n <= len(t))
	case UDP:
		if len(t) < 8 {
			return false
		}
		n := int(binary.BigEndian.Uint16(t[4:]))
		return n >= 8 && (first || n <= len(t))
	case ICMP:
		return len(t) >= 8
	}
	return false
}

// Number is an IPv4 address as a number.
func Number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// Addr is the address of a number.
func Addr(n uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b)
}
