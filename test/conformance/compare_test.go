package conformance

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/test/packets"
)

// role is what a frame that came out is, seen from the packet that went in.
type role string

// The roles.
const (
	forwarded role = "forwarded" // the packet itself, or a fragment of it
	echoReply role = "echo reply"
	reset     role = "TCP reset"
	arpReply  role = "ARP reply"
	icmpError role = "ICMP error"
	other     role = "other"
)

// roleOf tells by the header alone, since all else is compared.
func roleOf(in, out []byte) role {
	i, _ := packets.Parse(in)
	o, ok := packets.Parse(out)
	switch {
	case ok && o.EtherType == packets.EtherARP:
		return arpReply
	case !ok || o.EtherType != packets.EtherIPv4:
		return other
	case isICMPError(o.IP) && quotes(o.IP, in):
		return icmpError
	case o.IP.Src != i.IP.Dst || o.IP.Dst != i.IP.Src || i.IP.Src == i.IP.Dst || o.IP.Proto != i.IP.Proto:
		return forwarded
	case o.IP.Proto == packets.ProtoICMP && len(o.IP.Payload) > 0 && o.IP.Payload[0] == packets.ICMPEchoReply:
		return echoReply
	case o.IP.Proto == packets.ProtoTCP && len(o.IP.Payload) > 13 && o.IP.Payload[13]&packets.RST != 0:
		return reset
	}
	return forwarded
}

func isICMPError(p packets.IPv4) bool {
	if p.Proto != packets.ProtoICMP || p.Offset != 0 || len(p.Payload) < 8 {
		return false
	}
	switch p.Payload[0] {
	case packets.ICMPUnreachable, 4, 5, packets.ICMPTimeExceeded, packets.ICMPParameter:
		return true
	}
	return false
}

// quotes tells whether an ICMP error is about the packet: they have protocol and identification in common.
func quotes(p packets.IPv4, in []byte) bool {
	ip := ipOf(in)
	return len(p.Payload) >= 28 && len(ip) >= 20 && p.Payload[8+9] == ip[9] &&
		binary.BigEndian.Uint16(p.Payload[8+4:]) == binary.BigEndian.Uint16(ip[4:])
}

// ipOf is what stands behind a frame's Ethernet header and tags.
func ipOf(frame []byte) []byte {
	at := 12
	for at+4 <= len(frame) {
		t := binary.BigEndian.Uint16(frame[at:])
		if t != packets.TPID8021Q && t != packets.TPIDQinQ {
			break
		}
		at += 4
	}
	return frame[min(at+2, len(frame)):]
}

// passed tells which sides forwarded the packet.
func (p *probe) passed(outs *[sides][]output) (by [sides]bool) {
	for side := range sides {
		for _, o := range outs[side] {
			by[side] = by[side] || roleOf(p.frames[side], o.frame) == forwarded
		}
	}
	return by
}

// mismatch is one thing that the two did differently with a packet: a frame that only one of them sent (field is
// empty), or a field of a frame that both sent.
type mismatch struct {
	only   int // the side that sent the frame; sides: both did
	role   role
	out    int
	frame  [sides][]byte
	field  string
	values [sides]string
}

func (m *mismatch) String() string {
	if m.only != sides {
		return fmt.Sprintf("only %s sent (interface %d, %s):\n%s", sideNames[m.only], m.out, m.role, brief(m.frame[m.only]))
	}
	return fmt.Sprintf("%s, %s: Sinter %s, Linux %s", m.role, m.field, m.values[sinter], m.values[linux])
}

// compare lists what the two did differently with a packet. Frames of the same role and interface belong together.
func compare(nat *bindings, p *probe, outs [sides][]output) (list []*mismatch) {
	if nat != nil {
		outs, list = nat.normalAll(p, outs)
	}
	taken := make([]bool, len(outs[linux]))
sent:
	for _, s := range outs[sinter] {
		r := roleOf(p.frames[sinter], s.frame)
		for i, l := range outs[linux] {
			if !taken[i] && l.out == s.out && roleOf(p.frames[linux], l.frame) == r {
				taken[i] = true
				list = append(list, compareFrames(r, s.out, s.frame, l.frame)...)
				continue sent
			}
		}
		list = append(list, &mismatch{only: sinter, role: r, out: s.out, frame: [sides][]byte{sinter: s.frame}})
	}
	for i, l := range outs[linux] {
		if !taken[i] {
			list = append(list, &mismatch{only: linux, role: roleOf(p.frames[linux], l.frame), out: l.out, frame: [sides][]byte{linux: l.frame}})
		}
	}
	return list
}

func compareFrames(r role, out int, s, l []byte) (list []*mismatch) {
	a, b := fieldsOf(r, s), fieldsOf(r, l)
	for i := range max(len(a), len(b)) {
		var f [sides]field
		if i < len(a) {
			f[sinter] = a[i]
		}
		if i < len(b) {
			f[linux] = b[i]
		}
		if f[sinter] != f[linux] {
			name := f[sinter].name
			if name == "" {
				name = f[linux].name
			}
			list = append(list, &mismatch{
				only: sides, role: r, out: out, frame: [sides][]byte{s, l}, field: name,
				values: [sides]string{f[sinter].value, f[linux].value},
			})
		}
	}
	return list
}

type field struct{ name, value string }

// fieldsOf takes a frame apart; together the fields are all its bytes.
func fieldsOf(r role, frame []byte) (list []field) {
	add := func(name string, format string, v ...any) {
		list = append(list, field{name, fmt.Sprintf(format, v...)})
	}
	v, ok := packets.Parse(frame)
	if !ok || v.EtherType != packets.EtherIPv4 {
		add("frame", "%x", frame)
		return list
	}
	ip := ipOf(frame)
	total := int(binary.BigEndian.Uint16(ip[2:]))
	add("destination MAC", "%x", v.DstMAC)
	add("source MAC", "%x", v.SrcMAC)
	add("tags", "%x", v.Tags)
	add("TOS", "%#02x", v.IP.TOS)
	add("total length", "%d", total)
	add("identification", "%d", v.IP.ID)
	add("flags", "%03b", ip[6]>>5)
	add("fragment offset", "%d", v.IP.Offset)
	add("TTL", "%d", v.IP.TTL)
	add("protocol", "%d", v.IP.Proto)
	add("source", "%s", packets.Addr(v.IP.Src))
	add("destination", "%s", packets.Addr(v.IP.Dst))
	add("options", "%x", v.IP.Options)
	if r == forwarded {
		add("header checksum", "%x", ip[10:12])
	} else { // its identification may differ, which is compared above
		add("header checksum", "%s", rightOrWrong(ip[:len(ip)-len(ip[20+len(v.IP.Options):])]))
	}
	switch payload := slices.Clone(v.IP.Payload); r {
	case icmpError:
		list = append(list, errorFields(payload)...)
	case reset: // its checksum is new: 0 and 0xffff are the same sum (RFC 1071), and Linux writes either
		if len(payload) >= 18 {
			oneZero(v.IP.Proto, payload[16:])
		}
		fallthrough
	default:
		add("payload", "%x", payload)
	}
	if pad := ip[total:]; len(pad) > 0 {
		add("padding", "%x", pad)
	}
	return list
}

// errorFields are those of an ICMP error. Its checksum is compared as right or wrong, since the quote may differ.
func errorFields(b []byte) []field {
	list := []field{
		{"ICMP type and code", fmt.Sprintf("%d/%d", b[0], b[1])},
		{"ICMP checksum", rightOrWrong(b)},
		{"ICMP rest", fmt.Sprintf("%x", b[4:8])},
	}
	q := b[8:]
	list = append(list, field{"quote length", fmt.Sprint(len(q))})
	ihl := min(max(int(q[0]&15)*4, 20), len(q))
	return append(list,
		field{"quoted TTL", fmt.Sprint(q[8])},
		field{"quoted header checksum", fmt.Sprintf("%x", q[10:12])},
		field{"quoted header", fmt.Sprintf("%x %x %x", q[:8], q[9:10], q[12:20])},
		field{"quoted options", fmt.Sprintf("%x", q[20:ihl])},
		field{"quoted payload", fmt.Sprintf("%x", q[ihl:])})
}

func rightOrWrong(b []byte) string {
	if onesSum(b) == 0xffff {
		return "right"
	}
	return "wrong"
}

// onesSum is the ones' complement sum of RFC 1071.
func onesSum(b []byte) (s uint32) {
	for i, c := range b {
		s += uint32(c) << (8 * (1 - i%2))
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return s
}

// describe tells a packet, and what was different with it.
func (p *probe) describe(list []*mismatch) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, in by interface %d, dropped by Sinter as %v:\n%s\n", p.kind, p.in, p.dropped, brief(p.frames[sinter]))
	for _, m := range list {
		fmt.Fprintf(&b, "%s\n", m)
	}
	if p.talk != nil {
		fmt.Fprintf(&b, "  it is: %s; before it:\n", p.of)
		for _, l := range p.talk.told[max(len(p.talk.told)-12, 0):] {
			fmt.Fprintf(&b, "  %s\n", l)
		}
	}
	return b.String()
}

func (m *mismatch) short() string {
	if m.only != sides {
		return fmt.Sprintf("only %s sent (%s)", sideNames[m.only], m.role)
	}
	return fmt.Sprintf("%s, %s", m.role, m.field)
}

// brief is a frame in a few lines.
func brief(frame []byte) string {
	v, ok := packets.Parse(frame)
	text := "  no whole IPv4 packet"
	if ok && v.EtherType == packets.EtherARP {
		text = "  ARP"
	}
	if ok && v.EtherType == packets.EtherIPv4 {
		p := v.IP
		text = fmt.Sprintf("  %s > %s protocol %d TTL %d TOS %#02x id %d DF %t MF %t offset %d options %x, %d bytes of payload",
			packets.Addr(p.Src), packets.Addr(p.Dst), p.Proto, p.TTL, p.TOS, p.ID, p.DF, p.MF, p.Offset, p.Options, len(p.Payload))
		if p.Proto == packets.ProtoICMP && p.Offset == 0 && len(p.Payload) > 1 {
			text += fmt.Sprintf(", ICMP %d/%d", p.Payload[0], p.Payload[1])
		}
	}
	return fmt.Sprintf("%s\n  %d bytes: %x", text, len(frame), frame[:min(len(frame), 120)])
}
