package model

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

func (m *Model) output(s *Shot, iface int) (left bool) {
	f := m.p.GetInterfaces()[iface]
	next := s.hop
	if dst := s.Field(programpb.Field_DST); next == 0 {
		next = f.GetGateway()
		if m.links[iface].Prefix.Contains(packets.Addr(dst)) {
			next = dst
		}
	}
	ip := s.seal()
	switch {
	case next == 0:
		return m.drop("no-next-hop")
	case s.tpid != 0 && !slices.Contains(m.links[iface].VLANs, s.tci&0xfff):
		return m.drop("vlan-unknown")
	case len(ip) > int(f.GetMtu()) && ip[6]&0x40 == 0:
		return m.drop("too-big")
	case len(ip) > int(f.GetMtu()):
		ttl := uint8(f.GetAnswerTtl())
		if ttl == 0 {
			ttl = 64
		}
		e := icmpError(ip, 3, 4, f.GetMtu(), m.p.GetInterfaces()[s.Entry].GetAddress(), ttl)
		if e == nil {
			m.drop("icmp-suppressed")
			return true
		}
		m.leaves()
		m.drop("too-big-answered")
		if martian(e) {
			m.drop("martian")
			return true
		}
		m.segment(s.generated(iface, e), f.GetSegment())
		return true
	}
	i := slices.IndexFunc(m.links[iface].Neighbors, func(n graph.Neighbor) bool {
		return packets.Number(n.Addr) == next && n.VLAN == s.tci&0xfff
	})
	var mac net.HardwareAddr
	if i >= 0 {
		mac = m.links[iface].Neighbors[i].MAC
	}
	var dst, src packets.MAC
	copy(dst[:], mac)
	copy(src[:], m.links[iface].MAC)
	m.result.Out = append(m.result.Out, interp.Out{Interface: iface, Frame: s.frame(dst, src, ip)})
	return true
}

// martian tells packets that are never forwarded (RFC 1812 section 5.3.7).
func martian(ip []byte) bool {
	bad := func(n byte) bool { return n == 0 || n == 127 || n >= 224 }
	return bad(ip[12]) || bad(ip[16])
}

// generate answers a packet; the answer has its own fate.
func (m *Model) generate(s *Shot, g *programpb.Generator) {
	answer, reason := m.answer(s, g)
	if answer == nil {
		m.drop(reason)
		return
	}
	answer.Entry = s.Entry
	m.segment(answer, g.GetSegment())
}

func (m *Model) answer(s *Shot, g *programpb.Generator) (*Shot, string) {
	ip := s.seal()
	isTCP := ip[9] == packets.ProtoTCP
	switch g.GetKind() {
	case programpb.Generator_ICMP_ERROR, programpb.Generator_REJECT:
	case programpb.Generator_ECHO_REPLY:
		if s.Frag() != 0 {
			return nil, "local"
		}
		return intact(ip, s.echo(ip))
	case programpb.Generator_LOCAL_HOST:
		switch {
		case ip[9] == packets.ProtoICMP && m.echoes(s, ip):
			return s.echo(ip), "local"
		case s.Frag() == 2:
			return nil, "local"
		case ip[9] == packets.ProtoICMP && s.Frag() == 0:
			return intact(ip, s.echo(ip))
		case ip[9] == packets.ProtoICMP:
			return nil, "local"
		case isTCP:
			return intact(ip, s.reset(ip))
		case ip[9] == packets.ProtoUDP:
			if !s.ported() {
				return nil, "local"
			}
			return intact(ip, s.about(ip, 3, 3, binary.BigEndian.Uint32(ip[16:])))
		}
		return s.about(ip, 3, 2, binary.BigEndian.Uint32(ip[16:])), "local"
	}
	source := g.GetSource()
	if source == 0 {
		source = m.p.GetInterfaces()[s.Entry].GetAddress()
	}
	if g.GetKind() == programpb.Generator_REJECT && isTCP && s.Frag() == 0 && s.ported() {
		return s.reset(ip), "icmp-suppressed"
	}
	return s.about(ip, uint8(g.GetType()), uint8(g.GetCode()), source), "icmp-suppressed"
}

// intact is the answer of a host to a packet, none if the packet's checksum is wrong.
func intact(ip []byte, answer *Shot) (*Shot, string) {
	at := map[byte]int{packets.ProtoICMP: 2, packets.ProtoTCP: 16, packets.ProtoUDP: 6}[ip[9]]
	t := ip[int(ip[0]&15)*4:]
	if answer == nil || ip[6]&0x3f != 0 || ip[7] != 0 {
		return answer, "local"
	}
	sum := uint64(0)
	if ip[9] != packets.ProtoICMP {
		if ip[9] == packets.ProtoUDP {
			t = t[:binary.BigEndian.Uint16(t[4:])]
		}
		for _, b := range [][]byte{ip[12:14], ip[14:16], ip[16:18], ip[18:20], {0, ip[9]}} {
			sum += uint64(binary.BigEndian.Uint16(b))
		}
		sum += uint64(len(t))
	}
	for i, b := range t {
		sum += uint64(b) << (8 * (1 - i%2))
	}
	if none := ip[9] == packets.ProtoUDP && t[at] == 0 && t[at+1] == 0; !none && sum%0xffff != 0 {
		return nil, "bad-checksum"
	}
	return answer, "local"
}

// about is an error, nil if there is none to be sent.
func (s *Shot) about(ip []byte, typ, code uint8, source uint32) *Shot {
	e := icmpError(ip, typ, code, 0, source, 64)
	if e == nil {
		return nil
	}
	return s.generated(s.Entry, e)
}

// generated is a packet that was made about s, in its VLAN.
func (s *Shot) generated(entry int, ip []byte) *Shot {
	a := &Shot{Entry: entry, before: ip, IP: bytes.Clone(ip)}
	if s.tpid != 0 {
		a.tpid, a.tci = packets.TPID8021Q, s.tci&0xfff
	}
	return a
}

// echoes tells whether a fragment is of an echo request, by the last 64 first ones.
func (m *Model) echoes(s *Shot, ip []byte) bool {
	key := string(ip[4:6]) + string(ip[12:20])
	switch {
	case s.Frag() == 2:
		return slices.ContainsFunc(m.pings, func(p ping) bool { return p.key == key && m.now <= p.until })
	case s.Frag() == 0 || s.Field(programpb.Field_ICMP_TYPE) != packets.ICMPEchoRequest:
		return false
	}
	m.pings = append(m.pings, ping{key, m.now + 30*time.Second})
	m.pings = m.pings[max(0, len(m.pings)-64):]
	return true
}

// echo is the reply to an echo request.
func (s *Shot) echo(ip []byte) *Shot {
	if typ := s.Field(programpb.Field_ICMP_TYPE); typ != packets.ICMPEchoRequest && s.Frag() != 2 {
		return nil
	}
	c := *s
	c.before, c.IP, c.hop = ip, bytes.Clone(ip), 0
	copy(c.IP[12:16], ip[16:20])
	copy(c.IP[16:20], ip[12:16])
	c.IP[8] = 64
	if s.Frag() != 2 {
		c.transport()[0] = 0
	}
	return &c
}

// reset is the reset about a whole segment.
func (s *Shot) reset(ip []byte) *Shot {
	flags := s.Field(programpb.Field_TCP_FLAGS)
	if s.Frag() != 0 || flags > 255 || flags&packets.RST != 0 {
		return nil
	}
	t := s.transport()
	src, dst := binary.BigEndian.Uint32(ip[16:]), binary.BigEndian.Uint32(ip[12:])
	sport, dport := binary.BigEndian.Uint16(t[2:]), binary.BigEndian.Uint16(t)
	out := packets.IPv4{Src: src, Dst: dst, Proto: packets.ProtoTCP, TTL: 64, TOS: ip[1] & 0xfc, DF: true}
	if flags&packets.ACK != 0 {
		out.Payload = packets.Reset(src, dst, sport, dport, packets.RST, binary.BigEndian.Uint32(t[8:]), 0)
	} else {
		n := uint32(len(t)) - uint32(t[12]>>4)*4 + flags>>1&1 + flags&1
		out.Payload = packets.Reset(src, dst, sport, dport, packets.RST|packets.ACK, 0, binary.BigEndian.Uint32(t[4:])+n)
	}
	return s.generated(s.Entry, out.Bytes())
}

// icmpError is the error about a packet, nil if there is none to be sent.
func icmpError(ip []byte, typ, code uint8, rest, source uint32, ttl uint8) []byte {
	if binary.BigEndian.Uint16(ip[6:])&0x1fff != 0 ||
		ip[9] == packets.ProtoICMP && (!Headed(ip) || slices.Contains([]byte{3, 4, 5, 11, 12}, ip[int(ip[0]&15)*4])) {
		return nil
	}
	return packets.IPv4{
		Src: source, Dst: binary.BigEndian.Uint32(ip[12:]), Proto: packets.ProtoICMP, TTL: ttl, TOS: 48 << 2,
		Payload: packets.ICMP(typ, code, rest, ip[:min(len(ip), 548)]),
	}.Bytes()
}
