package pass

import (
	"encoding/binary"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
)

// Packet is an IP packet on its way through the chain.
type Packet struct {
	Entry   int    // interface by which it entered
	Size    int    // of the frame as it came in; what counters count
	Tag     Tag    // as it is here
	Entered []byte // the IP packet at entry, or as it was generated
	// IP is the IP packet as it is here, but with the checksums of Entered: Bytes moves them.
	IP      []byte
	Padding []byte     // Ethernet's, behind the IP packet
	Via     netip.Addr // the next hop; invalid: that of the interface by which it leaves
	Steps   int        // elements that it has passed
	By      Origins
}

// Tag is an 802.1Q tag; TPID is 0 if there is none.
type Tag struct{ TPID, TCI uint16 }

// ID is the tag's VLAN; 0: untagged, or priority alone.
func (t Tag) ID() uint16 { return t.TCI & 0xfff }

// Fresh is the tag of a generated packet in the same VLAN.
func (t Tag) Fresh() Tag {
	if t.TPID == 0 {
		return Tag{}
	}
	return Tag{TPID: header.EtherVLAN, TCI: t.ID()}
}

// Copy is a packet that goes another way.
func (p *Packet) Copy() *Packet {
	q := *p
	q.IP = append([]byte(nil), p.IP...)
	return &q
}

// Bytes is the IP packet as others see it here, checksums included.
func (p *Packet) Bytes() []byte {
	b := append([]byte(nil), p.IP...)
	header.MoveChecksums(p.Entered, b)
	return b
}

// Field reads a header field as headerspace numbers it, but addresses as 32 bits.
func (p *Packet) Field(f headerspace.Field) uint32 {
	absent, _ := f.Absent()
	none := uint32(absent.Lo)
	ip := p.IP
	switch f {
	case headerspace.VLAN:
		if p.Tag.TPID == 0 {
			return none
		}
		return uint32(p.Tag.ID())
	case headerspace.Src:
		return header.Src(ip)
	case headerspace.Dst:
		return header.Dst(ip)
	case headerspace.Proto:
		return uint32(ip[9])
	case headerspace.DSCP:
		return uint32(ip[1] >> 2)
	case headerspace.TTL:
		return uint32(ip[8])
	case headerspace.Frag:
		return uint32(header.Frag(ip))
	case headerspace.SPort:
		if header.Ported(ip) {
			return uint32(binary.BigEndian.Uint16(header.Transport(ip)))
		}
	case headerspace.DPort:
		if header.Ported(ip) {
			return uint32(binary.BigEndian.Uint16(header.Transport(ip)[2:]))
		}
	case headerspace.TCPFlags:
		if ip[9] == header.TCP && header.Ported(ip) {
			return uint32(header.Transport(ip)[13])
		}
	case headerspace.ICMPType:
		if t := header.ICMPType(ip); t >= 0 {
			return uint32(t)
		}
	case headerspace.ICMPCode:
		if header.ICMPType(ip) >= 0 {
			return uint32(header.Transport(ip)[1])
		}
	default:
	}
	return none
}

// Set writes a constant (element.SetField).
func (p *Packet) Set(f headerspace.Field, v uint32) {
	switch f {
	case headerspace.VLAN:
		switch {
		case v > 0xfff:
			p.Tag = Tag{}
		case p.Tag.TPID == 0:
			p.Tag = Tag{TPID: header.EtherVLAN, TCI: uint16(v)}
		default:
			p.Tag.TCI = p.Tag.TCI&0xf000 | uint16(v)
		}
	case headerspace.Src:
		header.SetSrc(p.IP, v)
		p.By.Src = nil
	case headerspace.Dst:
		header.SetDst(p.IP, v)
		p.By.Dst = nil
	case headerspace.DSCP:
		p.IP[1] = byte(v)<<2 | p.IP[1]&3
	case headerspace.TTL:
		p.IP[8] = byte(v)
	case headerspace.SPort:
		if header.Ported(p.IP) {
			binary.BigEndian.PutUint16(header.Transport(p.IP), uint16(v))
			p.By.Sport = nil
		}
	case headerspace.DPort:
		if header.Ported(p.IP) {
			binary.BigEndian.PutUint16(header.Transport(p.IP)[2:], uint16(v))
			p.By.Dport = nil
		}
	default: // the synthesizer's graph writes nothing else
	}
}

// point is the packet as a point of the packet space.
func (p *Packet) point() headerspace.Packet {
	var pt headerspace.Packet
	for f := range headerspace.NumFields {
		pt[f] = value(f, p.Field(f))
	}
	return pt
}

func value(f headerspace.Field, v uint32) headerspace.Value {
	if f == headerspace.Src || f == headerspace.Dst {
		return headerspace.Addr(header.Addr(v))
	}
	return headerspace.V(uint64(v))
}
