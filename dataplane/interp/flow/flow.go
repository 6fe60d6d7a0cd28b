// Package flow has what elements know flows by: the flow of a packet, and the state of a TCP connection. A requester, or the side that
// began, is inside.
package flow

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
)

// Flow is what a packet has in common with others, in its direction. Of ICMP queries from inside,
// Sport is the identifier and Dport 0.
type Flow struct {
	Proto        uint8
	Src, Dst     uint32
	Sport, Dport uint16
}

// Endpoint is an address and port (identifier) of a protocol.
type Endpoint struct {
	Proto uint8
	Addr  uint32
	Port  uint16
}

// AddrPort is the endpoint without its protocol.
func (e Endpoint) AddrPort() netip.AddrPort { return netip.AddrPortFrom(header.Addr(e.Addr), e.Port) }

// Timeout is after how long an idle flow of a protocol ends.
func Timeout(t element.Timeouts, proto uint8, tcp *TCP) time.Duration {
	switch {
	case proto == header.ICMP:
		return t.ICMP
	case proto == header.TCP && tcp.Established():
		return t.TCP
	case proto == header.TCP && tcp.Closing && t.TCPClosing > 0:
		return t.TCPClosing
	case proto == header.TCP:
		return t.TCPTransitory
	}
	return t.UDP
}

// State is that of a flow which is followed, as engines say it.
func State(proto uint8, tcp *TCP) string {
	switch {
	case proto != header.TCP:
		return "open"
	case tcp.Closing:
		return "closing"
	case tcp.Established():
		return "established"
	}
	return "opening"
}

// OpeningIdle is how long a TCP session that is opening is kept, however scarce the room for sessions is.
const OpeningIdle = time.Second

// HasPorts tells protocols whose flows differ by ports or identifiers.
func HasPorts(proto uint8) bool {
	return proto == header.TCP || proto == header.UDP || proto == header.ICMP
}

// Sealed tells protocols whose checksums cover addresses, and of which no element knows where the checksum is.
func Sealed(proto uint8) bool {
	return proto == header.DCCP || proto == header.AH || proto == header.UDPLite
}

// Of reads the flow of a packet, whose transport header is whole if it has ports; false: it tells none. Of ICMP's requests and their replies the requester's port is the identifier, the other 0;
// protocols without ports have 0.
func Of(ip []byte) (f Flow, ok bool) {
	f = Flow{Proto: ip[9], Src: header.Src(ip), Dst: header.Dst(ip)}
	t := header.Transport(ip)
	switch {
	case f.Proto == header.TCP || f.Proto == header.UDP:
		f.Sport, f.Dport = binary.BigEndian.Uint16(t), binary.BigEndian.Uint16(t[2:])
	case IsQuery(ip):
		f.Sport = binary.BigEndian.Uint16(t[4:])
	case IsQueryReply(ip):
		f.Dport = binary.BigEndian.Uint16(t[4:])
	default:
		return f, !HasPorts(f.Proto) && !Sealed(f.Proto)
	}
	return f, true
}

// Told is the flow of a packet as it is for elements that translate nothing, so that checksums are no matter to them; false: the packet tells none.
func Told(ip []byte) (f Flow, ok bool) {
	if header.Frag(ip) != header.FragWhole || HasPorts(ip[9]) && !header.HasTransport(ip) {
		return Flow{}, false
	}
	f, ok = Of(ip)
	return f, ok || !HasPorts(ip[9])
}

// IsQueryReply tells an ICMP reply to a query, which belongs to a flow the other way round only.
func IsQueryReply(ip []byte) bool {
	return header.ICMPType(ip) == header.EchoReply || header.ICMPType(ip) == header.TimestampReply
}

// IsQuery tells an ICMP request that a host answers.
func IsQuery(ip []byte) bool { return IsEchoRequest(ip) || header.ICMPType(ip) == header.Timestamp }

// IsEchoRequest tells an echo request.
func IsEchoRequest(ip []byte) bool { return header.ICMPType(ip) == header.EchoRequest }

// Reversed is the flow whose answer f is.
func (f Flow) Reversed() Flow {
	return Flow{Proto: f.Proto, Src: f.Dst, Dst: f.Src, Sport: f.Dport, Dport: f.Sport}
}

// FromInside is the flow of a packet from a side, as it would come from inside.
func (f Flow) FromInside(outside bool) Flow {
	if outside {
		return f.Reversed()
	}
	return f
}

// RewriteSrc writes source and port (identifier) of a packet.
func RewriteSrc(ip []byte, a uint32, port uint16) {
	header.SetSrc(ip, a)
	writePort(ip, 0, port)
}

// RewriteDst writes destination and port (identifier) of a packet.
func RewriteDst(ip []byte, a uint32, port uint16) {
	header.SetDst(ip, a)
	writePort(ip, 2, port)
}

// writePort writes a port that lies at an offset, or the identifier.
func writePort(ip []byte, at int, port uint16) {
	switch ip[9] {
	case header.ICMP:
		binary.BigEndian.PutUint16(header.Transport(ip)[4:], port)
	case header.TCP, header.UDP:
		binary.BigEndian.PutUint16(header.Transport(ip)[at:], port)
	}
}

// Quoted is the packet that an ICMP error quotes, if it tells a flow; nil: it does not.
func Quoted(ip []byte) []byte {
	q := header.Quoted(header.Transport(ip))
	if q == nil || header.Frag(q) == header.FragLater {
		return nil
	}
	if _, ok := Of(q); !ok {
		return nil
	}
	return q
}
