package model

import (
	"encoding/binary"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// add adds to a field, modulo its size.
func (s *Shot) add(f programpb.Field, n uint32) {
	v := s.Field(f)
	switch {
	case f == programpb.Field_SRC || f == programpb.Field_DST:
		s.set(f, v+n)
	case v < 65536:
		s.set(f, (v+n)%65536)
	}
}

// stands tells what an end of a quoted packet is by the mappings, from one side to the other.
func stands(t *programpb.TranslateError, proto uint8, end netip.AddrPort, toInside bool) (netip.AddrPort, bool) {
	for _, m := range t.GetMappings() {
		from, to := [2]uint32{m.GetInside(), m.GetInsidePort()}, [2]uint32{m.GetOutside(), m.GetOutsidePort()}
		if toInside {
			from, to = to, from
		}
		offset := packets.Number(end.Addr()) - from[0]
		if uint64(offset) >= 1<<(32-m.GetPrefixLen()) {
			continue
		}
		at := packets.Addr(to[0] + offset)
		if m.GetPorts() == 0 {
			return netip.AddrPortFrom(at, end.Port()), true
		}
		if n := uint32(end.Port()) - from[1]; uint32(proto) == m.GetProto() && n < m.GetPorts() {
			return netip.AddrPortFrom(at, uint16(to[1]+n)), true
		}
	}
	return end, false
}

// translateError translates an ICMP error with what it quotes, if that is of a mapping.
func (s *Shot) translateError(t *programpb.TranslateError) {
	if s.Frag() != 0 || !isError(s) {
		return
	}
	q := quote(s)
	if q == nil {
		return
	}
	src, dst := Ends(q)
	if !t.GetFromInside() {
		if is, ok := stands(t, q[9], src, true); ok && src.Addr() == packets.Addr(s.Field(programpb.Field_DST)) {
			binary.BigEndian.PutUint32(s.IP[16:], packets.Number(is.Addr()))
			writeEnd(q, 12, is)
		}
		return
	}
	is, ok := stands(t, q[9], dst, false)
	if !ok {
		return
	}
	sender, own := stands(t, 0, netip.AddrPortFrom(packets.Addr(s.Field(programpb.Field_SRC)), 0), false)
	if !own {
		sender = is
	}
	binary.BigEndian.PutUint32(s.IP[12:], packets.Number(sender.Addr()))
	writeEnd(q, 16, is)
}

// writeEnd puts an address into a packet, and the port if it is TCP's or UDP's: identifiers stay.
func writeEnd(ip []byte, at int, a netip.AddrPort) {
	if ip[9] == packets.ProtoICMP {
		binary.BigEndian.PutUint32(ip[at:], packets.Number(a.Addr()))
		return
	}
	write(ip, at, a)
}

// reserved tells whether a table does not choose an outside port.
func reserved(t *programpb.StateTable, proto uint8, at netip.AddrPort) bool {
	for _, r := range t.GetReserved() {
		port := uint32(at.Port())
		if r.GetProto() == uint32(proto) && packets.Addr(r.GetAddress()) == at.Addr() && r.GetFirst() <= port && port <= r.GetLast() {
			return true
		}
	}
	return false
}
