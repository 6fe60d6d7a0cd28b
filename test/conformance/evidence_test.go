package conformance

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/test/packets"
)

// evidence is a packet and what came of it, as the differences look at it.
type evidence struct {
	*comparison
	p          *probe
	ip         packets.IPv4 // the packet, if whole
	raw        []byte       // from its IP header on
	outs       *[sides][]output
	mismatches []*mismatch
}

func newEvidence(c *comparison, p *probe, outs *[sides][]output) *evidence {
	v, _ := packets.Parse(p.frames[sinter])
	return &evidence{comparison: c, p: p, ip: v.IP, raw: ipOf(p.frames[sinter]), outs: outs, mismatches: compare(c.nat, p, *outs)}
}

// note counts the packets of a host that Linux did not forward: for each it may have thought of an error.
func (c *comparison) note(p *probe, outs *[sides][]output) {
	if p.passed(outs)[linux] {
		return
	}
	if ip := ipOf(p.frames[linux]); len(ip) >= 20 {
		c.refused[binary.BigEndian.Uint32(ip[12:])] += 1 + len(p.before)
	}
}

// settle is for packets that were judged: it remembers the flows of those that one side alone sent on or answered, and tells a conversation what
// became of its packet.
func (c *comparison) settle(p *probe, outs *[sides][]output) {
	passed := p.passed(outs)
	for side := range sides {
		answered := len(outs[sinter])+len(outs[linux]) > 0 // by either: Sinter's firewall may take the error for one of no flow
		known := passed[side] || side == sinter && answered
		if v, ok := packets.Parse(p.frames[side]); ok && known && !passed[1-side] {
			f := flowOf(v.IP)
			c.only[side][f], c.only[side][flow{f.proto, f.remote, f.inside}] = true, true
		}
	}
	if v, ok := packets.Parse(p.frames[sinter]); ok && c.nat != nil && p.in == c.nat.out {
		c.nat.shake(v.IP)
	}
	if p.talk != nil {
		p.talk.heard(p.of, passed)
	}
}

// isUnreachable is for errors of packets that have no way: network or host unreachable, or prohibited.
func isUnreachable(p packets.IPv4) bool {
	if !isICMPError(p) || p.Payload[0] != packets.ICMPUnreachable {
		return false
	}
	switch p.Payload[1] {
	case 0, 1, 13:
		return true
	}
	return false
}

// errorCode is the type and code of a frame that is an ICMP error.
func errorCode(frame []byte) (typ, code byte) {
	v, ok := packets.Parse(frame)
	if !ok || !isICMPError(v.IP) {
		return 0, 0
	}
	return v.IP.Payload[0], v.IP.Payload[1]
}

// ownAddress tells whether an address is that of an interface.
func (s *scenario) ownAddress(a uint32) bool {
	for _, l := range s.interfaces {
		if number(l.prefix().Addr()) == a || slices.Contains(l.more, packets.Addr(a).String()) {
			return true
		}
	}
	return false
}

// rejection tells whether a frame is a firewall's answer.
func (e *evidence) rejection(m *mismatch) bool {
	frame := m.frame[sinter]
	if frame == nil {
		frame = m.frame[linux]
	}
	t, c := errorCode(frame)
	return e.filters() && !e.ownAddress(e.ip.Dst) && (m.role == reset || m.role == icmpError && t == 3 && c == 13)
}

// fragment tells whether the packet says that it is part of a larger one.
func (e *evidence) fragment() bool { return e.ip.Fragment() }

// tinyFirst tells whether the packet is a first fragment that ends within its transport header.
func (e *evidence) tinyFirst() bool {
	header := map[uint8]int{packets.ProtoTCP: 20, packets.ProtoUDP: 8, packets.ProtoICMP: 8}[e.ip.Proto]
	return e.ip.MF && e.ip.Offset == 0 && len(e.ip.Payload) < header
}

// option walks over the options of an IP header (RFC 791 section 3.1), and tells whether one is of the types.
func (e *evidence) option(types ...byte) bool {
	for o := e.ip.Options; len(o) > 0; {
		for _, t := range types {
			if o[0] == t {
				return true
			}
		}
		switch {
		case o[0] == 0:
			return false
		case o[0] == 1:
			o = o[1:]
		case len(o) < 2 || o[1] < 2 || int(o[1]) > len(o):
			return false
		default:
			o = o[o[1]:]
		}
	}
	return false
}

// behindEnd tells whether something stands behind the end of the option list.
func (e *evidence) behindEnd() bool {
	if !e.option(0) {
		return false
	}
	return len(bytes.TrimRight(e.ip.Options, "\x00")) > e.optionsEnd()
}

// optionsEnd is where the walk over the options ends.
func (e *evidence) optionsEnd() int {
	at := 0
	for o := e.ip.Options; at < len(o) && o[at] != 0; {
		if o[at] == 1 {
			at++
		} else {
			at += max(int(o[min(at+1, len(o)-1)]), 2)
		}
	}
	return at
}

// badTransport tells whether the transport header is not what its protocol asks for: too short, or with lengths that
// the packet does not have.
func (e *evidence) badTransport() bool {
	b := e.ip.Payload
	if e.ip.Offset != 0 {
		return false
	}
	switch e.ip.Proto {
	case packets.ProtoTCP:
		return len(b) < 20 || int(b[12]>>4)*4 < 20 || int(b[12]>>4)*4 > len(b)
	case packets.ProtoUDP:
		return len(b) < 8 || binary.BigEndian.Uint16(b[4:]) < 8 || !e.fragment() && int(binary.BigEndian.Uint16(b[4:])) > len(b)
	case packets.ProtoICMP:
		return len(b) < 8
	}
	return false
}

// optionFault tells whether the options break RFC 791 section 3.1: a length that does not fit, a pointer into the option's
// own head or between two entries, an option twice that may be there once, a full overflow counter.
func (e *evidence) optionFault() bool {
	seen := map[byte]bool{}
	for o := e.ip.Options; len(o) > 0 && o[0] != 0; {
		if o[0] == 1 {
			o = o[1:]
			continue
		}
		if len(o) < 2 || o[1] < 2 || int(o[1]) > len(o) {
			return true
		}
		if one := o[:o[1]]; faulty(one) || onceOnly[one[0]] != 0 && seen[onceOnly[one[0]]] {
			return true
		}
		seen[onceOnly[o[0]]] = true
		o = o[o[1]:]
	}
	return false
}

// onceOnly are options that a header may have once; source routes count as one.
var onceOnly = map[byte]byte{7: 7, 68: 68, 131: 131, 137: 131}

func faulty(o []byte) bool {
	size := len(o)
	switch o[0] {
	case 7, 131, 137: // record route, loose and strict source route: addresses
		return size < 3 || size%4 != 3 || o[2]%4 != 0 || o[2] == 0 || o[0] == 7 && int(o[2]) <= size && int(o[2])+3 > size
	case 68: // timestamp: alone, or with addresses
		if size < 4 || size%4 != 0 || o[2] < 5 || o[2]%4 != 1 {
			return true
		}
		entry := 3
		if o[3]&15 != 0 {
			entry = 7
		}
		return int(o[2]) <= size && int(o[2])+entry > size || int(o[2]) > size && o[3]>>4 == 15
	case 134: // CIPSO, of which random bytes are none (FIPS 188)
		return true
	case 148: // router alert (RFC 2113)
		return size < 4
	}
	return false
}

// reserved is for addresses that are "this network's" or of class E.
func reserved(a uint32) bool { return a>>24 == 0 || a>>28 == 15 }

// unsettled tells whether the packet is one of a TCP connection that Linux follows by more than ACKs, or an error about one.
func (e *evidence) unsettled() bool {
	p := e.subject()
	if e.nat == nil || p.Proto != packets.ProtoTCP || len(p.Payload) < 8 {
		return false
	}
	f, quoted, outside := flowOf(p), isICMPError(e.ip), e.p.in == e.nat.out
	if quoted != outside {
		f = flow{f.proto, f.remote, f.inside} // as a packet from inside has it
	}
	if outside {
		f = e.nat.byBinding[sinter][binding{f.proto, f.inside, f.remote}]
	}
	return e.nat.handshake[f] || !quoted && len(p.Payload) > 13 && oddStart(p.Payload[13])
}

// outOfOrder tells whether the packet is one of a TCP conversation that is not as hosts have it among themselves: they broke it off, or somebody
// else has said something. Of packets of no conversation it is not known.
func (e *evidence) outOfOrder() bool {
	if e.p.talk == nil {
		return e.unsettled()
	}
	return e.p.talk.odd || e.ip.Proto == packets.ProtoTCP && (e.p.of.forged || e.p.of.tcp.flags&packets.RST != 0)
}

// strict tells whether the chain's firewall looks at the numbers of segments.
func (s *scenario) strict() bool { return strings.Contains(s.functions, "strict: true") }

// subject is the packet, or that which it is an error about.
func (e *evidence) subject() packets.IPv4 {
	if !isICMPError(e.ip) || len(e.ip.Payload) < 28 {
		return e.ip
	}
	q := e.ip.Payload[8:]
	return packets.IPv4{
		Proto: q[9], Src: binary.BigEndian.Uint32(q[12:]), Dst: binary.BigEndian.Uint32(q[16:]),
		Offset: binary.BigEndian.Uint16(q[6:]) & 0x1fff, Payload: q[min(int(q[0]&15)*4, len(q)):],
	}
}

// hairpinned tells whether the packet goes from inside to an outside address of its NAPT.
func (e *evidence) hairpinned() bool {
	return e.nat != nil && e.p.in == e.nat.inside && e.nat.pooled(e.ip.Dst)
}

// unread tells whether a packet is one that a stateful firewall reads no flow from when an error quotes it.
func unread(ip []byte) bool {
	if len(ip) < 20 {
		return true
	}
	switch ip[9] {
	case 33, 51, 136:
		return true
	}
	return len(ip) < int(ip[0]&15)*4+8
}

// oddStart is for TCP flags that no connection begins with, nor goes on with when its beginning was missed: all but SYN alone and
// ACK, each with any of PSH, URG, ECE and CWR as far as Linux knows them together.
func oddStart(flags byte) bool {
	switch flags & (packets.SYN | packets.ACK | packets.FIN | packets.RST) {
	case packets.SYN:
		return flags&packets.PSH != 0
	case packets.ACK:
		return false
	}
	return true
}

// wrongSum tells whether the transport checksum is wrong.
func (e *evidence) wrongSum() bool {
	p := packet{ip: e.ip}
	p.ip.Payload = slices.Clone(e.ip.Payload)
	new(generator).fixSum(&p)
	at := map[uint8]int{packets.ProtoTCP: 16, packets.ProtoUDP: 6, packets.ProtoICMP: 2}[e.ip.Proto]
	return at > 0 && len(p.ip.Payload) >= at+2 && !bytes.Equal(p.ip.Payload[at:at+2], e.ip.Payload[at:at+2])
}

// together is the payload of a packet whose fragments came in any order; nil if there is a gap.
func together(outs []output) (whole []byte) {
	parts := map[int][]byte{}
	for _, o := range outs {
		v, _ := packets.Parse(o.frame)
		parts[int(v.IP.Offset)*8] = v.IP.Payload
	}
	for range outs {
		part, ok := parts[len(whole)]
		if !ok {
			return nil
		}
		whole = append(whole, part...)
	}
	return whole
}
