package packets

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// Addr is an address for people.
func Addr(a uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)})
}

// Number is the address that Addr makes an IPv4 address of.
func Number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// Diff says, field by field, how the frame seen differs from the one expected.
func Diff(want, got []byte) []string {
	var out []string
	note := func(field string, w, g any) {
		if w != g {
			out = append(out, fmt.Sprintf("%s: expected %v, seen %v", field, w, g))
		}
	}
	note("frame length", len(want), len(got))
	w, okw := Parse(want)
	g, okg := Parse(got)
	note("readable", okw, okg)
	if okw && okg {
		note("destination MAC", fmt.Sprintf("%x", w.DstMAC), fmt.Sprintf("%x", g.DstMAC))
		note("source MAC", fmt.Sprintf("%x", w.SrcMAC), fmt.Sprintf("%x", g.SrcMAC))
		note("tags", fmt.Sprintf("%x", w.Tags), fmt.Sprintf("%x", g.Tags))
		note("EtherType", fmt.Sprintf("%#04x", w.EtherType), fmt.Sprintf("%#04x", g.EtherType))
		note("source", Addr(w.IP.Src), Addr(g.IP.Src))
		note("destination", Addr(w.IP.Dst), Addr(g.IP.Dst))
		note("protocol", w.IP.Proto, g.IP.Proto)
		note("TTL", w.IP.TTL, g.IP.TTL)
		note("TOS", w.IP.TOS, g.IP.TOS)
		note("identification", w.IP.ID, g.IP.ID)
		note("DF", w.IP.DF, g.IP.DF)
		note("fragment", fmt.Sprint(w.IP.MF, w.IP.Offset), fmt.Sprint(g.IP.MF, g.IP.Offset))
		note("options", fmt.Sprintf("%x", w.IP.Options), fmt.Sprintf("%x", g.IP.Options))
		diffTransport(note, w.IP, g.IP)
	}
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			note(fmt.Sprintf("first different byte (%d)", i), fmt.Sprintf("%02x", want[i]), fmt.Sprintf("%02x", got[i]))
			break
		}
	}
	return out
}

func diffTransport(note func(string, any, any), w, g IPv4) {
	ws, wd, ok1 := w.Ports()
	gs, gd, ok2 := g.Ports()
	if ok1 && ok2 {
		note("source port", ws, gs)
		note("destination port", wd, gd)
	}
	at := map[uint8]int{ProtoTCP: 16, ProtoUDP: 6, ProtoICMP: 2}
	if i, ok := at[w.Proto]; ok && w.Offset == 0 && w.Proto == g.Proto && len(w.Payload) >= i+2 && len(g.Payload) >= i+2 {
		note("transport checksum", fmt.Sprintf("%04x", binary.BigEndian.Uint16(w.Payload[i:])), fmt.Sprintf("%04x", binary.BigEndian.Uint16(g.Payload[i:])))
	}
	if w.Proto == ProtoICMP && len(w.Payload) >= 4 && len(g.Payload) >= 4 {
		note("ICMP type and code", fmt.Sprintf("%d", w.Payload[:2]), fmt.Sprintf("%d", g.Payload[:2]))
	}
}
