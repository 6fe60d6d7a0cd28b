package pattern

import (
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// meaning is the packets that a primitive means. It completes the primitive by what the one before says.
func (p *parser) meaning(q *primitive) union {
	p.infer(q)
	if p.err != nil || !p.fits(q) {
		return nil
	}
	if q.op == less && q.value > 0 { // as Click does it, which tells of what a condition on both sides is the negation
		q.op, q.value, q.negated = greater, q.value-1, !q.negated
	}
	of := union{headerspace.Filter{}}
	if q.kind != proto {
		of = ofProtocol(q.transport)
	}
	var u union
	switch q.kind {
	case host, network:
		u = p.ofAddress(q)
	case proto:
		u = p.ofProto(q)
	case port:
		u = ofPorts(q)
	case tcpOption:
		u = one(headerspace.TCPFlags, headerspace.Masked(headerspace.TCPFlags, q.value, q.value))
	case icmpType:
		u = one(headerspace.ICMPType, q.numbers(8))
	case fragment:
		u = one(headerspace.Frag, headerspace.Of(headerspace.FragFirst, headerspace.FragLater))
	case unfragmented:
		u = one(headerspace.Frag, headerspace.Of(headerspace.FragWhole))
	case ttl:
		u = one(headerspace.TTL, q.numbers(8))
	case dscp:
		u = one(headerspace.DSCP, q.numbers(6))
	case tos:
		u = p.ofTOS(q)
	case version:
		u = p.always(q, func(n uint64) bool { return n == 4 }, 4)
	case headerLength:
		u = p.always(q, func(n uint64) bool { return n >= 5 }, 4)
	case bytesOf:
		u = p.ofBytes(q)
	default:
		p.unreadable(q)
	}
	if p.err != nil {
		return nil
	}
	out, ok := of.and(u)
	return p.simple(q.start, out, ok)
}

// unreadable refuses what no packet program looks at.
func (p *parser) unreadable(q *primitive) {
	what := map[kind]string{
		ect: "the ECN bits", ce: "the ECN bits", length: "the length", identification: "the identification", window: "TCP's window",
		etherHost: "the Ethernet addresses",
	}[q.kind]
	p.fail(q.start, "%s of packets cannot be matched; match addresses, ip proto, ports, tcp opt, icmp type, ip ttl, ip dscp or ip frag", what)
}

// fits checks that value, operator and mask fit the primitive's kind.
func (p *parser) fits(q *primitive) bool {
	value := map[kind]kind{host: host, network: network, proto: proto, port: port, tcpOption: tcpOption, icmpType: icmpType}[q.kind]
	plain := q.kind == fragment || q.kind == unfragmented || q.kind == ect || q.kind == ce
	switch {
	case q.header == "ether" || q.kind == etherHost:
		q.kind = etherHost
	case plain && q.data != none:
		p.fail(q.start, "%s takes no value", q.kind)
	case plain, q.kind == proto:
	case q.kind == host || q.kind == network:
		if q.data != value {
			p.fail(q.start, `"%s" needs an address; write it like "src host 10.0.0.1" or "dst net 10.0.0.0/8"`, q.kind)
		} else if q.op != equal {
			p.fail(q.start, "addresses can only be compared by == and !=")
		}
	case q.data == none || q.data != number && q.data != value:
		p.fail(q.start, `"%s" needs a value`, q.kind)
	case q.kind == tcpOption && (q.op != equal || q.negated || q.masked):
		p.fail(q.start, `"tcp opt" takes no operator and no mask; write "not tcp opt syn"`)
	case q.kind == tcpOption && q.transport != anyProto && q.transport != 6:
		p.fail(q.start, `"tcp opt" is of TCP alone`)
	case q.kind == port && q.transport != anyProto && q.transport != 6 && q.transport != 17 && q.transport != tcpOrUDP:
		p.fail(q.start, `"port" is of TCP and UDP alone`)
	}
	return p.err == nil && p.inRange(q)
}

// inRange checks that numbers and masks fit the field.
func (p *parser) inRange(q *primitive) bool {
	bits := map[kind]int{
		proto: 8, port: 16, tcpOption: 8, icmpType: 8, ttl: 8, tos: 8, dscp: 6, version: 4, headerLength: 4, bytesOf: 8 * q.ln,
	}[q.kind]
	top := uint64(1)<<bits - 1
	switch {
	case bits == 0:
	case q.kind == proto && q.data != number:
	case q.value > top && q.op == equal, q.last > top:
		p.fail(q.start, "%d is too large for %s; at most %d", max(q.value, q.last), q.kind, top)
	case q.masked && q.mask > top:
		p.fail(q.start, "the mask 0x%x is too large for %s; at most 0x%x", q.mask, q.kind, top)
	}
	return p.err == nil
}

// ofProtocol is the packets of a protocol that was named before a primitive.
func ofProtocol(transport int) union {
	switch transport {
	case tcpOrUDP:
		return one(headerspace.Proto, headerspace.Of(6, 17))
	case anyProto, 257:
		return everything
	}
	return one(headerspace.Proto, headerspace.Of(uint64(transport)))
}

func (p *parser) ofProto(q *primitive) union {
	if q.data == none || q.data == proto {
		n := q.transport
		if q.data == proto {
			n = int(q.value)
		}
		if n == anyProto {
			return p.fail(q.start, `"ip proto" needs a value; write a protocol's name or number`)
		}
		if q.op != equal || q.masked {
			if n > 255 {
				return p.fail(q.start, "takes no operator and no mask")
			}
			q.value, q.last = uint64(n), uint64(n)
			return one(headerspace.Proto, q.numbers(8))
		}
		q.transport = n
		u := ofProtocol(n)
		if q.negated {
			q.transport = anyProto
			u, _ = u.not()
		}
		return u
	}
	if q.data != number {
		return p.fail(q.start, `"ip proto" needs a protocol's name or number`)
	}
	if q.op == equal && !q.negated && !q.masked {
		q.transport = int(q.value)
	}
	return one(headerspace.Proto, q.numbers(8))
}

func (p *parser) ofAddress(q *primitive) union {
	set := headerspace.Prefix(q.prefix)
	if q.masked {
		var ok bool
		if set, ok = maskedAddresses(number32(q.prefix.Addr()), q.mask); !ok {
			return p.fail(q.start, "the mask has too many holes; take one with ones before zeros")
		}
	}
	u := onSides(q.sides, set, headerspace.Src, headerspace.Dst)
	if q.negated {
		u, _ = u.not() // of two fields
	}
	return u
}

func onSides(s sides, set headerspace.Set, src, dst headerspace.Field) union {
	switch s {
	case source:
		return one(src, set)
	case destination:
		return one(dst, set)
	case both:
		return union{headerspace.Filter{}.With(src, set).With(dst, set)}
	default:
		return append(one(src, set), one(dst, set)...)
	}
}

// ofPorts: packets without ports match no condition on them, also none that is negated.
func ofPorts(q *primitive) union {
	if q.transport == anyProto {
		q.transport = tcpOrUDP
	}
	s := q.sides
	if q.negated { // not (a or b) is not a and not b
		switch s {
		case both:
			s = either
		case either, 0:
			s = both
		default:
		}
	}
	u := onSides(s, q.numbers(16), headerspace.SPort, headerspace.DPort)
	u, _ = u.and(ofProtocol(q.transport))
	return u
}

// ofTOS: the two low bits are ECN's, which no packet program reads.
func (p *parser) ofTOS(q *primitive) union {
	set := q.numbers(8)
	var iv []headerspace.Interval
	for d := range uint64(64) {
		first := set.Contains(headerspace.V(4 * d))
		for ecn := range uint64(4) {
			if set.Contains(headerspace.V(4*d+ecn)) != first {
				return p.fail(q.start, `hangs on the ECN bits, which cannot be matched; write "ip dscp", or mask them out: "ip tos & 0xfc"`)
			}
		}
		if first {
			iv = append(iv, headerspace.Interval{Lo: headerspace.V(d), Hi: headerspace.V(d)})
		}
	}
	return one(headerspace.DSCP, headerspace.NewSet(iv...))
}

// always is all packets or none: of a field that has the same answer for all values that packets have.
func (p *parser) always(q *primitive, has func(uint64) bool, bits int) union {
	set := q.numbers(bits)
	yes, no := false, false
	for v := range uint64(1) << bits {
		if has(v) {
			yes, no = yes || set.Contains(headerspace.V(v)), no || !set.Contains(headerspace.V(v))
		}
	}
	switch {
	case yes && no:
		return p.fail(q.start, "the header's length cannot be matched; leave the condition out")
	case yes:
		return everything
	}
	return nil
}

// maskedAddresses are those whose bits under the mask are the value's; ok is false if they are too many ranges.
func maskedAddresses(value, mask uint64) (headerspace.Set, bool) {
	low := 0 // bits that are free, from the lowest on
	for low < 32 && mask>>low&1 == 0 {
		low++
	}
	starts := []uint64{value & mask}
	for bit := low; bit < 32; bit++ {
		if mask>>bit&1 == 1 {
			continue
		}
		if len(starts) > maxFilters {
			return headerspace.Set{}, false
		}
		for _, s := range starts {
			starts = append(starts, s|1<<bit)
		}
	}
	iv := make([]headerspace.Interval, len(starts))
	for i, s := range starts {
		iv[i] = headerspace.Interval{Lo: headerspace.Addr(address32(s)), Hi: headerspace.Addr(address32(s | (1<<low - 1)))}
	}
	return headerspace.NewSet(iv...), true
}

// ofBytes is ip[POS:LEN] and tcp[POS:LEN].
func (p *parser) ofBytes(q *primitive) union {
	off := q.pos
	if q.transport != anyProto {
		off += ipHeader
	}
	mask := uint64(1)<<(8*q.ln) - 1
	if q.masked {
		mask = q.mask
	}
	if q.op != equal {
		return p.ordered(q, off)
	}
	c := clause{off: off, value: make([]byte, q.ln), mask: make([]byte, q.ln)}
	for i := range q.ln {
		shift := 8 * (q.ln - 1 - i)
		c.value[i], c.mask[i] = byte(q.value>>shift), byte(mask>>shift)
	}
	u, why := c.packets(q.transport)
	if why != "" {
		return p.fail(q.start, "%s", why)
	}
	if q.negated {
		var ok bool
		if u, ok = u.not(); !ok {
			return p.simple(q.start, nil, false)
		}
		if q.transport != anyProto { // what has no such field does not match
			u, _ = u.and(withHeader(off, q.transport))
		}
	}
	return u
}

// ordered is a comparison by size, which a whole field is needed for.
func (p *parser) ordered(q *primitive, off int) union {
	name := strings.TrimSpace(map[int]string{8: "ip ttl", 9: "ip proto", 1: "ip tos", ipHeader: "src port", ipHeader + 2: "dst port"}[off])
	if name == "" {
		name = "a field by its name"
	}
	return p.fail(q.start, "bytes can only be compared by == and !=; compare %s", name)
}
