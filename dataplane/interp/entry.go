package interp

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(*pass.Chain, string, element.Input) pass.Element { return entered{} })
	pass.Register(func(*pass.Chain, string, element.CheckIPHeader) pass.Element { return entered{} })
}

// entered is an element behind which packets are that Entry let in: output 0 is that of the good ones.
type entered struct{}

func (entered) Pass(*pass.Run, *graph.Node, *pass.Packet, int) (int, bool) {
	return element.CheckGood, false
}

const reasonBadChecksum = "bad-checksum"

var broadcast = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

func isTag(etherType uint16) bool {
	return etherType == header.EtherVLAN || etherType == header.EtherQinQ
}

// enter makes the checks of docs/elements.md, "Entry", in their order; a packet that fails
// one is nil and has a drop reason.
func (l *link) enter(iface int, frame []byte) (*pass.Packet, string) {
	if len(frame) < 14 {
		return nil, "truncated"
	}
	etherType := binary.BigEndian.Uint16(frame[12:])
	rest := frame[14:]
	var t pass.Tag
	tagged := isTag(etherType)
	tagCut := tagged && len(rest) < 4
	if tagged && !tagCut {
		t = pass.Tag{TPID: etherType, TCI: binary.BigEndian.Uint16(rest)}
		etherType = binary.BigEndian.Uint16(rest[2:])
		rest = rest[4:]
	}
	mine := bytes.Equal(frame[:6], l.mac)
	switch {
	case !mine && !(bytes.Equal(frame[:6], broadcast) && etherType == header.EtherARP):
		return nil, "other-host"
	case tagCut:
		return nil, "truncated"
	case tagged && isTag(etherType):
		return nil, "vlan-stacked"
	case t.ID() != 0 && !l.has(t):
		return nil, "vlan-unknown"
	case etherType == header.EtherARP:
		return nil, "arp"
	case etherType == header.EtherIPv6:
		return nil, "ipv6"
	case etherType != header.EtherIPv4:
		return nil, "not-ip"
	}
	if t.ID() == 0 {
		t = pass.Tag{} // a priority tag says nothing of a VLAN
	}
	n, reason := checkIP(rest, l.tiny)
	if reason == "" {
		reason = l.checkSource(rest)
	}
	if reason != "" {
		return nil, reason
	}
	return &pass.Packet{
		Entry: iface, Size: len(frame), Tag: t,
		Entered: rest[:n:n], IP: append([]byte(nil), rest[:n]...), Padding: rest[n:],
	}, ""
}

// has tells whether frames with the tag, or without one, come in and leave by the interface.
func (l *link) has(t pass.Tag) bool { return t.TPID == 0 || l.wire || slices.Contains(l.vlans, t.ID()) }

// checkIP checks an IP packet, perhaps followed by padding. It returns its length. A tiny first fragment passes if it may.
func checkIP(b []byte, mayBeTiny bool) (total int, reason string) {
	if len(b) < 20 {
		return 0, "truncated"
	}
	h := header.Len(b)
	total = int(binary.BigEndian.Uint16(b[2:]))
	if b[0]>>4 != 4 || h < 20 || total < h {
		return 0, "malformed"
	}
	if len(b) < total {
		return 0, "truncated"
	}
	if header.Sum(b[:h]) != 0xffff {
		return 0, reasonBadChecksum
	}
	if !mayBeTiny && tiny(b[:total]) {
		return 0, "truncated"
	}
	if neverForwarded(header.Src(b)) || neverForwarded(header.Dst(b)) {
		return 0, "martian"
	}
	return total, ""
}

// tiny tells a first fragment that ends within its transport header, so that nobody can
// judge it, but its receiver will put it together (RFC 1858 section 3).
func tiny(ip []byte) bool {
	if header.Frag(ip) != header.FragFirst {
		return false
	}
	least := map[byte]int{header.TCP: 20, header.UDP: 8, header.ICMP: 8}
	return len(header.Transport(ip)) < least[ip[9]]
}

// checkSource refuses source routes (RFC 7126 sections 4.3 and 4.4) and sources that cannot be right here.
func (l *link) checkSource(ip []byte) string {
	if sourceRouted(ip[20:header.Len(ip)]) {
		return "source-route"
	}
	src := header.Addr(header.Src(ip))
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
