package connectivity

import (
	"encoding/binary"

	"github.com/sinter-nfv/sinter/test/packets"
)

// copies is how often the frame of each reason is sent.
const copies = 3

// dropping is a frame that must be dropped for a reason.
type dropping struct {
	reason string
	from   func(*trial) *host
	frame  func(*host) []byte
}

func fromClient(t *trial) *host { return t.client }

func fromServer(t *trial) *host { return t.server }

// dropCases are by reason, in the order of docs/elements.md.
var dropCases = []dropping{
	{"truncated", fromClient, func(h *host) []byte {
		b := h.tagged(question())
		return b[:len(b)-4]
	}},
	{"other-host", fromClient, func(h *host) []byte {
		return packets.Ethernet(packets.Broadcast, h.wire.MAC(), priority, packets.EtherIPv4, question().Bytes(), nil)
	}},
	{"vlan-stacked", fromClient, func(h *host) []byte {
		return h.frame(question(), packets.Tag{TPID: packets.TPID8021Q, TCI: unusedVLAN}, packets.Tag{TPID: packets.TPID8021Q, TCI: unusedVLAN})
	}},
	{"vlan-unknown", fromClient, func(h *host) []byte {
		return h.frame(question(), packets.Tag{TPID: packets.TPID8021Q, TCI: unusedVLAN})
	}},
	{"ipv6", fromClient, func(h *host) []byte { return h.other(packets.EtherIPv6, noNextHeader()) }},
	{"not-ip", fromClient, func(h *host) []byte { return h.other(etherExperimental, make([]byte, 46)) }},
	{"malformed", fromClient, func(h *host) []byte { return h.changed(func(ip []byte) { ip[0] = 0x44 }) }}, // a header of 16 bytes
	{"bad-checksum", fromClient, func(h *host) []byte { return h.changed(func(ip []byte) { ip[10] ^= 0x55 }) }},
	{"martian", fromClient, func(h *host) []byte { return h.tagged(from(ip("127.0.0.1"))) }},
	{"source-route", fromClient, func(h *host) []byte {
		p := question()
		p.Options = []byte{131, 7, 4, 198, 18, 0, 254, 0} // loose, by the gateway
		return h.tagged(p)
	}},
	{"own-source", fromClient, func(h *host) []byte { return h.tagged(from(insideAddress)) }},
	{"pool-source", fromServer, func(h *host) []byte { return h.tagged(from(poolFirst)) }},
	{"broadcast-source", fromClient, func(h *host) []byte { return h.tagged(from(broadcastOf(insideAddress))) }},
	{"reverse-path", fromClient, func(h *host) []byte { return h.tagged(from(strangerAddress)) }},
	{"directed-broadcast", fromClient, func(h *host) []byte {
		return h.tagged(datagram(clientAddress, broadcastOf(insideAddress), clientPort, portDNS))
	}},
	{"local", fromClient, func(h *host) []byte { // a host takes no notice of a reply that it did not ask for
		return h.tagged(icmp(clientAddress, insideAddress, ttl, packets.ICMP(packets.ICMPEchoReply, 0, 1, nil)))
	}},
	{"fw/drop", fromClient, func(h *host) []byte {
		segment := packets.TCP(clientAddress, remoteAddress, clientPort, portTelnet, packets.SYN, 1, nil, nil)
		return h.tagged(packets.IPv4{Src: clientAddress, Dst: remoteAddress, Proto: packets.ProtoTCP, TTL: ttl, Payload: segment})
	}},
	{"fw/default", fromClient, func(h *host) []byte { return h.tagged(datagram(clientAddress, remoteAddress, clientPort, portOther)) }},
	{"nat-no-binding", fromServer, func(h *host) []byte { return h.tagged(datagram(remoteAddress, poolFirst, portDNS, portOther)) }},
	{"nat-fragment", fromClient, func(h *host) []byte {
		p := question()
		p.MF = true
		return h.tagged(p)
	}},
	{"nat-unsupported", fromClient, func(h *host) []byte { return h.tagged(unreachable(ttl)) }},
	{"icmp-suppressed", fromClient, func(h *host) []byte { return h.tagged(unreachable(1)) }},
	{"too-big", fromClient, func(h *host) []byte {
		p := question()
		p.Payload = tooLarge(clientPort)
		return h.tagged(p)
	}},
}

const (
	unusedVLAN        = 5      // the chain has no VLANs
	etherExperimental = 0x88b5 // IEEE 802: local experimental
)

// priority is a priority tag, which the chain takes off. A node that has its bridges call iptables looks at untagged packets alone: it would
// keep fragments, and drop what is malformed or of no connection, before the chain sees it.
var priority = []packets.Tag{{TPID: packets.TPID8021Q, TCI: 0}}

// tagged is a packet to the chain with a priority tag.
func (h *host) tagged(p packets.IPv4) []byte { return h.frame(p, priority...) }

// changed is a good packet in which something is changed.
func (h *host) changed(change func(ip []byte)) []byte {
	b := h.tagged(question())
	change(b[14+4:])
	return b
}

// other is a frame of another EtherType to the chain.
func (h *host) other(etherType uint16, payload []byte) []byte {
	return packets.Ethernet(h.chain, h.wire.MAC(), priority, etherType, payload, nil)
}

// question is a packet that would get through.
func question() packets.IPv4 { return from(clientAddress) }

// from is a packet that would get through but for its source.
func from(src uint32) packets.IPv4 { return datagram(src, remoteAddress, clientPort, portDNS) }

func datagram(src, dst uint32, sport, dport uint16) packets.IPv4 {
	return packets.IPv4{Src: src, Dst: dst, Proto: packets.ProtoUDP, TTL: ttl, Payload: packets.UDP(src, dst, sport, dport, []byte("question"))}
}

func icmp(src, dst uint32, ttl uint8, message []byte) packets.IPv4 {
	return packets.IPv4{Src: src, Dst: dst, Proto: packets.ProtoICMP, TTL: ttl, Payload: message}
}

// unreachable is an ICMP error of the client about a packet that the chain never delivered.
func unreachable(ttl uint8) packets.IPv4 {
	const port = 3
	quoted := datagram(remoteAddress, clientAddress, portDNS, portOther).Bytes()
	return icmp(clientAddress, remoteAddress, ttl, packets.ICMP(packets.ICMPUnreachable, port, 0, quoted))
}

// noNextHeader is an IPv6 packet without payload, between link-local addresses.
func noNextHeader() []byte {
	const none = 59
	b := make([]byte, 40)
	b[0], b[6], b[7] = 0x60, none, 1
	binary.BigEndian.PutUint16(b[8:], 0xfe80)
	binary.BigEndian.PutUint16(b[24:], 0xfe80)
	b[23], b[39] = 1, 2
	return b
}

// broadcastOf is the broadcast address of the /24 that an address is in.
func broadcastOf(a uint32) uint32 { return a | 0xff }
