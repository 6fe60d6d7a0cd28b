package packets

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// View is a frame read back as far as it is well formed enough to be answered.
type View struct {
	DstMAC, SrcMAC MAC
	Tags           []Tag
	EtherType      uint16
	IP             IPv4 // if EtherType is EtherIPv4; Payload shares memory with the frame
}

// Parse reads a frame; ok is false if it has no whole Ethernet header, or no whole IPv4 packet where it announces one.
func Parse(frame []byte) (v View, ok bool) {
	if len(frame) < 14 {
		return v, false
	}
	copy(v.DstMAC[:], frame)
	copy(v.SrcMAC[:], frame[6:])
	rest := frame[12:]
	for len(rest) >= 6 && isTPID(binary.BigEndian.Uint16(rest)) {
		v.Tags = append(v.Tags, Tag{binary.BigEndian.Uint16(rest), binary.BigEndian.Uint16(rest[2:])})
		rest = rest[4:]
	}
	v.EtherType = binary.BigEndian.Uint16(rest)
	if v.EtherType != EtherIPv4 {
		return v, true
	}
	v.IP, ok = parseIPv4(rest[2:])
	return v, ok
}

func isTPID(t uint16) bool { return t == TPID8021Q || t == TPIDQinQ }

func parseIPv4(b []byte) (p IPv4, ok bool) {
	if len(b) < 20 || b[0]>>4 != 4 {
		return p, false
	}
	ihl, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if ihl < 20 || total < ihl || total > len(b) {
		return p, false
	}
	frag := binary.BigEndian.Uint16(b[6:])
	return IPv4{
		Src: binary.BigEndian.Uint32(b[12:]), Dst: binary.BigEndian.Uint32(b[16:]),
		Proto: b[9], TTL: b[8], TOS: b[1], ID: binary.BigEndian.Uint16(b[4:]),
		DF: frag&0x4000 != 0, MF: frag&0x2000 != 0, Offset: frag & 0x1fff,
		Options: b[20:ihl], Payload: b[ihl:total],
	}, true
}

// Fragment tells whether the packet is part of a larger one.
func (p IPv4) Fragment() bool { return p.MF || p.Offset != 0 }

// Ports are the ports of TCP and UDP, for ICMP echo the identifier twice.
func (p IPv4) Ports() (src, dst uint16, ok bool) {
	if p.Offset != 0 || len(p.Payload) < 8 {
		return 0, 0, false
	}
	switch p.Proto {
	case ProtoTCP, ProtoUDP:
		return binary.BigEndian.Uint16(p.Payload), binary.BigEndian.Uint16(p.Payload[2:]), true
	case ProtoICMP:
		if t := p.Payload[0]; t == ICMPEchoRequest || t == ICMPEchoReply || t == ICMPTimestamp || t == ICMPTimestampReply {
			id := binary.BigEndian.Uint16(p.Payload[4:])
			return id, id, true
		}
	}
	return 0, 0, false
}

// Describe is the frame for people: its layers, a line each, and its bytes.
func Describe(frame []byte) string {
	var s strings.Builder
	p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.NoCopy)
	for _, l := range p.Layers() {
		fmt.Fprintf(&s, "  %s\n", gopacket.LayerString(l))
	}
	fmt.Fprintf(&s, "  %d bytes: %x", len(frame), frame)
	return s.String()
}
