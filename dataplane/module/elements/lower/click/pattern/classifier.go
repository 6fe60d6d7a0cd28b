package pattern

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Lengths of headers, in bytes. An IP header has options seldom, and what lies behind 20 bytes is taken for the transport header.
const (
	EtherHeader = 14
	ipHeader    = 20
)

// clause is bytes of a packet from an offset on, counted from the IP header, that must be a value under a mask.
type clause struct {
	off         int
	value, mask []byte
	not         bool
	at          token
}

// Bytes reads a pattern of Classifier, "12/0800 23/06%3f", for packets that begin at an offset, in bytes, from the IP header: -14 with
// an Ethernet header, 0 without.
func Bytes(text string, begin int) ([]headerspace.Filter, error) {
	if strings.TrimSpace(text) == "-" {
		return everything, nil
	}
	var clauses []clause
	for off := 0; off < len(text); {
		if strings.IndexByte(" \t\r\n", text[off]) >= 0 {
			off++
			continue
		}
		n := strings.IndexAny(text[off:], " \t\r\n")
		if n < 0 {
			n = len(text) - off
		}
		c, err := readClause(token{text[off : off+n], off}, begin)
		if err != nil {
			return nil, err
		}
		clauses = append(clauses, c)
		off += n
	}
	if clauses == nil {
		return nil, &Error{0, text, `the pattern is empty; write "-" for every packet`}
	}
	return conjunction(clauses)
}

func conjunction(clauses []clause) (union, error) {
	transport := anyProto
	for _, c := range clauses {
		if i := 9 - c.off; !c.not && i >= 0 && i < len(c.mask) && c.mask[i] == 0xff {
			transport = int(c.value[i])
		}
	}
	for _, c := range clauses {
		if !c.not && !c.etherMatches() {
			return nil, nil // whatever the others ask
		}
	}
	u := everything
	for _, c := range clauses {
		v, why := c.packets(transport)
		if why != "" {
			return nil, &Error{c.at.off, c.at.text, why}
		}
		ok := true
		if c.not {
			v, ok = v.not()
		}
		if ok {
			u, ok = u.and(v)
		}
		if !ok {
			return nil, &Error{c.at.off, c.at.text, "takes too many packet filters; split the pattern"}
		}
		if c.off+len(c.mask) > -2 && c.off < 0 { // the Ethernet type: that of frames without a tag
			u, _ = u.and(untagged)
		}
	}
	return u, nil
}

var untagged = func() union {
	absent, _ := headerspace.VLAN.Absent()
	return one(headerspace.VLAN, headerspace.Single(absent))
}()

// readClause reads "offset/value" or "offset/value%mask", with "!" before it if it must not match.
func readClause(t token, begin int) (clause, error) {
	c := clause{at: t}
	s, not := strings.CutPrefix(t.text, "!")
	c.not = not
	fail := func(message string) (clause, error) { return c, &Error{t.off, t.text, message} }
	offset, rest, ok := strings.Cut(s, "/")
	off, err := strconv.Atoi(offset)
	if !ok || err != nil || off < 0 || off > 1<<16 {
		return fail(`not a clause; write offset and value in hexadecimal digits, like "12/0800" or "33/02%12"`)
	}
	value, mask, masked := strings.Cut(rest, "%")
	if !masked {
		mask = strings.Repeat("f", len(value))
	}
	switch {
	case len(value) == 0 || len(value)%2 != 0:
		return fail("the value must have an even number of hexadecimal digits")
	case len(mask) != len(value):
		return fail("the mask must have as many digits as the value")
	}
	c.off = off + begin
	c.value, c.mask = make([]byte, len(value)/2), make([]byte, len(value)/2)
	for i := range value {
		v, vok := nibble(value[i])
		m, mok := nibble(mask[i])
		if value[i] == '?' {
			v, m, vok = 0, 0, true
		}
		if !vok || !mok {
			return fail(`the value must be hexadecimal digits, or "?" for any`)
		}
		c.value[i/2] = c.value[i/2]<<4 | v
		c.mask[i/2] = c.mask[i/2]<<4 | m
	}
	return c, nil
}

func nibble(d byte) (byte, bool) {
	v, err := strconv.ParseUint(string(d), 16, 8)
	return byte(v), err == nil
}

// take is the value and the mask of n bytes from an offset on.
func (c *clause) take(off, n int) (value, mask uint64) {
	for i := off; i < off+n; i++ {
		value, mask = value<<8, mask<<8
		if k := i - c.off; k >= 0 && k < len(c.value) {
			value |= uint64(c.value[k] & c.mask[k])
			mask |= uint64(c.mask[k])
		}
	}
	return value, mask
}

// packets are those that have the bytes; transport is their protocol if it is known. Why says what cannot be matched.
func (c *clause) packets(transport int) (_ union, why string) {
	u := everything
	and := func(v union) { u, _ = u.and(v) }
	if !c.etherMatches() {
		return nil, ""
	}
	for i := range c.value {
		if c.mask[i] != 0 && !readable(c.off+i, c.mask[i], transport) {
			return nil, unreadableAt(c.off + i)
		}
	}
	if v, m := c.take(0, 1); v>>4 != 4&(m>>4) { // the version
		return nil, ""
	}
	for _, f := range fieldsOf(transport) {
		v, m := c.take(f.off, f.bytes)
		if m == 0 {
			continue
		}
		if f.bytes == 4 {
			set, ok := maskedAddresses(v, m)
			if !ok {
				return nil, "the mask has too many holes; take one with ones before zeros"
			}
			and(one(f.field, set))
			continue
		}
		and(one(f.field, headerspace.Masked(f.field, v>>f.shift, m>>f.shift)))
	}
	if v, m := c.take(6, 2); m != 0 {
		set, ok := fragments(v, m)
		if !ok {
			return nil, `of flags and offset of fragments only "offset is zero" (6/0000%1fff) and "no fragment" (6/0000%3fff) can be matched`
		}
		and(one(headerspace.Frag, set))
	}
	if c.off+len(c.value) > ipHeader && transport != anyProto {
		and(ofProtocol(transport))
	}
	return u, ""
}

// etherMatches tells whether the bytes of the Ethernet header may be those: frames that come to a chain are to the interface's own
// address, which is no group's, and hold IPv4.
func (c *clause) etherMatches() bool {
	v, m := c.take(-2, 2)
	if v != 0x0800&m {
		return false
	}
	v, _ = c.take(-EtherHeader, 1)
	return v&1 == 0
}

// place is a field that a packet program reads, and where its bytes are.
type place struct {
	field      headerspace.Field
	off, bytes int
	shift      int
}

var (
	ipFields = []place{
		{headerspace.DSCP, 1, 1, 2}, {headerspace.TTL, 8, 1, 0}, {headerspace.Proto, 9, 1, 0}, {headerspace.Src, 12, 4, 0}, {headerspace.Dst, 16, 4, 0},
	}
	portFields = []place{{headerspace.SPort, ipHeader, 2, 0}, {headerspace.DPort, ipHeader + 2, 2, 0}}
	icmpFields = []place{{headerspace.ICMPType, ipHeader, 1, 0}, {headerspace.ICMPCode, ipHeader + 1, 1, 0}}
)

func fieldsOf(transport int) []place {
	out := ipFields[:len(ipFields):len(ipFields)]
	switch transport {
	case 1:
		return append(out, icmpFields...)
	case 6:
		return append(append(out, portFields...), place{headerspace.TCPFlags, ipHeader + 13, 1, 0})
	case 17, tcpOrUDP:
		return append(out, portFields...)
	}
	return out
}

// withHeader is the packets that have the field at an offset.
func withHeader(off, transport int) union {
	for _, f := range fieldsOf(transport) {
		if off >= f.off && off < f.off+f.bytes && off >= ipHeader {
			all := headerspace.Full(f.field)
			if absent, ok := f.field.Absent(); ok {
				all = all.Subtract(headerspace.Single(absent))
			}
			return one(f.field, all)
		}
	}
	return everything
}

// readable tells whether the bits of a byte can be matched.
func readable(off int, mask byte, transport int) bool {
	switch {
	case off < -2: // but for the bit of groups: no frame to a group comes to a chain
		return off == -EtherHeader && mask == 1
	case off == -2, off == -1, off == 6, off == 7:
		return true
	case off == 0:
		return mask&0x0f == 0
	case off == 1:
		return mask&3 == 0
	}
	for _, f := range fieldsOf(transport) {
		if off >= f.off && off < f.off+f.bytes {
			return true
		}
	}
	return false
}

func unreadableAt(off int) string {
	switch {
	case off < -2:
		return "Ethernet addresses cannot be matched: an interface takes frames to its own address alone; leave the clause out"
	case off == 0:
		return "the header's length cannot be matched; match its version alone: 0/40%f0"
	case off == 1:
		return "the ECN bits cannot be matched; mask them out: %fc"
	case off < ipHeader:
		return "length, identification and checksum cannot be matched; match bytes 1, 6 to 9 and 12 to 19 of the IP header"
	}
	return "of the transport header only ports, TCP's flags and ICMP's type and code can be matched, and only beside a clause that names the protocol, " +
		"like 9/06 (23/06 with an Ethernet header)"
}

// fragments are the values of Frag that flags and offset with a value under a mask have.
func fragments(v, m uint64) (headerspace.Set, bool) {
	if v != 0 || m&0x8000 != 0 {
		return headerspace.Set{}, false
	}
	switch m {
	case 0x1fff:
		return headerspace.Of(headerspace.FragWhole, headerspace.FragFirst), true
	case 0x3fff:
		return headerspace.Of(headerspace.FragWhole), true
	}
	return headerspace.Set{}, false
}

func address32(v uint64) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
}
