package interp

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func init() {
	register(func(*Chain, string, element.Input) meaning { return entered{} })
	register(func(*Chain, string, element.CheckIPHeader) meaning { return entered{} })
}

// entered is an element behind which packets are that Entry let in: output 0 is that of the good ones.
type entered struct{}

func (entered) pass(*run, *graph.Node, *packet, int) (int, bool) { return element.CheckGood, false }

const (
	etherIPv4 = 0x0800
	etherARP  = 0x0806
	etherVLAN = 0x8100
	etherQinQ = 0x88a8
	etherIPv6 = 0x86dd
)

const reasonBadChecksum = "bad-checksum"

var broadcast = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

func isTag(etherType uint16) bool { return etherType == etherVLAN || etherType == etherQinQ }

// enter makes the checks of docs/elements.md, "Entry", in their order; a packet that fails
// one is nil and has a drop reason.
func (l *link) enter(iface int, frame []byte) (*packet, string) {
	if len(frame) < 14 {
		return nil, "truncated"
	}
	etherType := binary.BigEndian.Uint16(frame[12:])
	rest := frame[14:]
	var t tag
	tagged := isTag(etherType)
	tagCut := tagged && len(rest) < 4
	if tagged && !tagCut {
		t = tag{tpid: etherType, tci: binary.BigEndian.Uint16(rest)}
		etherType = binary.BigEndian.Uint16(rest[2:])
		rest = rest[4:]
	}
	mine := bytes.Equal(frame[:6], l.mac)
	switch {
	case !mine && !(bytes.Equal(frame[:6], broadcast) && etherType == etherARP):
		return nil, "other-host"
	case tagCut:
		return nil, "truncated"
	case tagged && isTag(etherType):
		return nil, "vlan-stacked"
	case t.vid() != 0 && !l.has(t):
		return nil, "vlan-unknown"
	case etherType == etherARP:
		return nil, "arp"
	case etherType == etherIPv6:
		return nil, "ipv6"
	case etherType != etherIPv4:
		return nil, "not-ip"
	}
	if t.vid() == 0 {
		t = tag{} // a priority tag says nothing of a VLAN
	}
	n, reason := checkIP(rest, l.tiny)
	if reason == "" {
		reason = l.checkSource(rest)
	}
	if reason != "" {
		return nil, reason
	}
	return &packet{
		entry: iface, size: len(frame), tag: t,
		entered: rest[:n:n], ip: append([]byte(nil), rest[:n]...), padding: rest[n:],
	}, ""
}

// has tells whether frames with the tag, or without one, come in and leave by the interface.
func (l *link) has(t tag) bool { return t.tpid == 0 || slices.Contains(l.vlans, t.vid()) }

// checkIP checks an IP packet, perhaps followed by padding. It returns its length. A tiny first fragment passes if it may.
func checkIP(b []byte, mayBeTiny bool) (total int, reason string) {
	if len(b) < 20 {
		return 0, "truncated"
	}
	h := headerLen(b)
	total = int(binary.BigEndian.Uint16(b[2:]))
	if b[0]>>4 != 4 || h < 20 || total < h {
		return 0, "malformed"
	}
	if len(b) < total {
		return 0, "truncated"
	}
	if sum16(b[:h]) != 0xffff {
		return 0, reasonBadChecksum
	}
	if !mayBeTiny && tiny(b[:total]) {
		return 0, "truncated"
	}
	if neverForwarded(srcOf(b)) || neverForwarded(dstOf(b)) {
		return 0, "martian"
	}
	return total, ""
}

// headed tells whether the packet has a TCP, UDP or ICMP header that a host would take: whole, with lengths
// that can be. The fields of any other are absent.
func headed(ip []byte) bool {
	t := transport(ip)
	first := fragOf(ip) == fragFirst // lengths may go beyond it
	switch ip[9] {
	case protoTCP:
		if len(t) < 20 {
			return false
		}
		n := int(t[12]>>4) * 4
		return n >= 20 && (first || n <= len(t))
	case protoUDP:
		if len(t) < 8 {
			return false
		}
		n := int(binary.BigEndian.Uint16(t[4:]))
		return n >= 8 && (first || n <= len(t))
	case protoICMP:
		return len(t) >= 8
	}
	return false
}

// tiny tells a first fragment that ends within its transport header, so that nobody can
// judge it, but its receiver will put it together (RFC 1858 section 3).
func tiny(ip []byte) bool {
	if fragOf(ip) != fragFirst {
		return false
	}
	least := map[byte]int{protoTCP: 20, protoUDP: 8, protoICMP: 8}
	return len(transport(ip)) < least[ip[9]]
}

// checkSource refuses source routes (RFC 7126 sections 4.3 and 4.4) and sources that cannot be right here.
func (l *link) checkSource(ip []byte) string {
	if sourceRouted(ip[20:headerLen(ip)]) {
		return "source-route"
	}
	src := addr(srcOf(ip))
	for _, r := range l.refused {
		if !src.Less(r.First) && !r.Last.Less(src) {
			return r.Reason
		}
	}
	return ""
}

// sourceRouted tells whether a loose or strict source route is among the options, up to one that is malformed.
func sourceRouted(options []byte) bool {
	const end, nop, loose, strict = 0, 1, 131, 137
	for len(options) > 0 && options[0] != end {
		n := 1
		switch {
		case options[0] == loose || options[0] == strict:
			return true
		case options[0] == nop:
		case len(options) < 2 || options[1] < 2 || int(options[1]) > len(options):
			return false
		default:
			n = int(options[1])
		}
		options = options[n:]
	}
	return false
}

// neverForwarded are "this network", loopback, multicast and reserved addresses (RFC 1812 section 5.3.7).
func neverForwarded(a uint32) bool {
	net := a >> 24
	return net == 0 || net == 127 || net >= 224
}
