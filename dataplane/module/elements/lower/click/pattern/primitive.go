package pattern

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/sinter-nfv/sinter/api/click"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

type sides int

const (
	source sides = iota + 1
	destination
	both
	either
)

type relation int

const (
	equal relation = iota
	greater
	less
)

// primitive is a condition: qualifiers, an operator, a mask and a value.
type primitive struct {
	start     token
	header    string // "ip" or "ether" if it was said
	kind      kind
	sides     sides
	transport int
	op        relation
	negated   bool
	// mask is of a number or, as a number, of an address.
	mask    uint64
	masked  bool
	data    kind
	value   uint64
	last    uint64 // of a range of ports, else value
	prefix  netip.Prefix
	pos, ln int // of bytes
}

func integer(s string) (uint64, bool) {
	if strings.Contains(s, "_") {
		return 0, false
	}
	v, err := strconv.ParseUint(s, 0, 32)
	return v, err == nil
}

// address reads an address, also by a name of the configuration's.
func (p *parser) address(s string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(s); err == nil && a.Is4() {
		return a, true
	}
	if p.names == nil {
		return netip.Addr{}, false
	}
	return p.names.Address(s)
}

func (p *parser) mask(q *primitive) {
	if p.at+1 >= len(p.words) {
		return
	}
	t := p.words[p.at+1]
	if v, ok := integer(t.text); ok {
		q.mask = v
	} else if a, ok := p.address(t.text); ok {
		q.mask = number32(a)
	} else {
		p.fail(t, "is not a mask; write a number, like 0xff00, or an address")
	}
	if q.mask == 0 {
		p.fail(t, "a mask of zero asks nothing; leave it out")
	}
	q.masked = true
	p.at += 2
}

// brackets reads [POS], [POS:LEN] or [POS,LAST].
func (p *parser) brackets(q *primitive) {
	open := p.token()
	text := ""
	for p.at++; p.err == nil && !p.is("]"); p.at++ {
		if p.at == len(p.words) {
			p.fail(open, `a "]" is missing`)
			return
		}
		text += p.token().text
	}
	p.at++
	from, to, ranged := strings.Cut(text, ":")
	last := false
	if !ranged {
		from, to, last = strings.Cut(text, ",")
	}
	pos, ok := integer(from)
	n := uint64(1)
	if ok && (ranged || last) {
		n, ok = integer(to)
		if last {
			n -= pos - 1
		}
	}
	if !ok || n < 1 || n > 4 || pos > 255 || pos%4+n > 4 {
		p.fail(open, "not a position within a word of four bytes; write [POS] or [POS:LEN]")
		return
	}
	q.kind, q.pos, q.ln = bytesOf, int(pos), int(n)
}

// data reads the value.
func (p *parser) data(q *primitive, operated bool) {
	t := p.token()
	if p.err != nil || p.at == len(p.words) {
		return
	}
	p.at++
	found := meanings(t.text, q.kind, q.transport)
	if q.kind == none {
		if _, isType := types[t.text]; isType {
			found = nil
		}
	}
	switch {
	case len(found) == 1:
		q.data, q.value = found[0].kind, found[0].value
	case isName(t.text):
		p.meaningless(q, t, len(found))
	case p.numeric(q, t.text):
	case q.header != "ether" && p.addresses(q, t.text):
	case isEther(t.text):
		q.data = etherHost
	default:
		p.at--
		incomplete := q.kind == none && q.transport == anyProto || q.kind == host || q.kind == network || q.kind == port
		switch {
		case operated:
			p.fail(t, "is no value to compare with")
		case incomplete && !p.is(")", "or", "||", "and", "&&", "?", ":", "not", "!", "("):
			p.unknown(t)
		}
	}
}

// numeric reads a number, or a range of ports.
func (p *parser) numeric(q *primitive, s string) bool {
	v, ok := integer(s)
	q.last = v
	if from, to, ranged := strings.Cut(s, "-"); !ok && ranged && (q.kind == port || q.kind == none && p.prev.kind == port) {
		var ok2 bool
		v, ok = integer(from)
		q.last, ok2 = integer(to)
		ok = ok && ok2 && v <= q.last
	}
	if ok {
		q.data, q.value = number, v
	}
	return ok
}

// addresses reads an address, or a network: "10.0.0.0/8", "10/8", "10.0.0.0 mask 255.0.0.0".
func (p *parser) addresses(q *primitive, s string) bool {
	a, isAddress := p.address(s)
	if isAddress && p.at+1 < len(p.words) && p.is("mask") {
		if m, ok := p.address(p.words[p.at+1].text); ok {
			bits, contiguous := prefixLen(number32(m))
			if !contiguous {
				p.fail(p.words[p.at+1], "is not a mask of a network; write one with ones before zeros, like 255.255.0.0")
			}
			p.at += 2
			q.data, q.prefix = network, netip.PrefixFrom(a, bits)
			return true
		}
	}
	n, isNetwork := p.network(s)
	switch {
	case q.kind == network && isNetwork:
		q.data, q.prefix = network, n
	case isAddress:
		q.data, q.prefix = host, netip.PrefixFrom(a, 32)
	case isNetwork:
		q.data, q.prefix = network, n
	default:
		return false
	}
	return true
}

func (p *parser) network(s string) (netip.Prefix, bool) {
	if n, ok := click.ParsePrefix(s); ok {
		return n, true
	}
	if p.names == nil {
		return netip.Prefix{}, false
	}
	return p.names.Prefix(s)
}

func prefixLen(mask uint64) (bits int, contiguous bool) {
	for bits < 32 && mask>>(31-bits)&1 == 1 {
		bits++
	}
	return bits, mask<<bits&0xffffffff == 0
}

func number32(a netip.Addr) uint64 {
	b := a.As4()
	return uint64(b[0])<<24 | uint64(b[1])<<16 | uint64(b[2])<<8 | uint64(b[3])
}

// isEther tells whether a word is an Ethernet address.
func isEther(s string) bool {
	s = strings.ReplaceAll(s, "-", ":")
	parts := strings.Split(s, ":")
	for _, part := range parts {
		if v, err := strconv.ParseUint(part, 16, 16); err != nil || v > 255 {
			return false
		}
	}
	return len(parts) == 6
}

// meaningless says that a name does not fit the words before it, or may be several things.
func (p *parser) meaningless(q *primitive, t token, n int) {
	var try []string
	for _, m := range meanings(t.text, none, anyProto) {
		try = append(try, strconv.Quote(m.kind.String()+" "+t.text))
	}
	what := "does not fit the words before it"
	if n > 1 {
		what = "may be several things"
	}
	p.fail(t, "%s; write %s", what, strings.Join(try, " or "))
	q.kind = none
}

// infer finds what the primitive is about where its value, or the primitive before it, says that.
func (p *parser) infer(q *primitive) {
	if q.kind != none {
		return
	}
	data := q.data
	if data == number {
		switch p.prev.kind {
		case proto, port, ttl, tos, dscp, icmpType, identification, length, headerLength, version, window, bytesOf:
			data = p.prev.kind
			q.pos, q.ln = p.prev.pos, p.prev.ln
		default:
			p.fail(q.start, `says not what the number is; write "port", "ip proto" or another header field before it`)
			return
		}
	}
	switch data {
	case host, network, tcpOption, etherHost:
		if q.sides == 0 {
			q.sides = p.prev.sides
		}
	case port:
		if q.sides == 0 {
			q.sides = p.prev.sides
		}
		if q.transport == anyProto {
			q.transport = p.prev.transport
		}
	case icmpType, window:
		q.transport = map[kind]int{icmpType: 1, window: 6}[data]
	case bytesOf:
		q.transport = p.prev.transport
	case none:
		data = proto
		if q.transport == anyProto {
			p.fail(q.start, "is not a whole primitive; a value is missing")
		}
	default:
	}
	q.kind = data
}

// numbers are the values of a field of some bits, up to 16, that the relation holds for.
func (q *primitive) numbers(bits int) headerspace.Set {
	top := uint64(1)<<bits - 1
	mask := top
	if q.masked {
		mask = q.mask
	}
	if mask == top {
		set := headerspace.Range(q.value, max(q.value, q.last))
		switch q.op {
		case greater:
			set = headerspace.Range(min(q.value, top)+1, top+1) // empty from top on, below
		case less:
			set = headerspace.Range(0, q.value).Subtract(headerspace.Of(q.value))
		default:
		}
		set = set.Intersect(headerspace.Range(0, top))
		if q.negated {
			set = headerspace.Range(0, top).Subtract(set)
		}
		return set
	}
	var iv []headerspace.Interval
	for v := range top + 1 {
		if q.holds(v & mask) {
			if n := len(iv); n > 0 && iv[n-1].Hi == headerspace.V(v-1) && v > 0 {
				iv[n-1].Hi = headerspace.V(v)
			} else {
				iv = append(iv, headerspace.Interval{Lo: headerspace.V(v), Hi: headerspace.V(v)})
			}
		}
	}
	return headerspace.NewSet(iv...)
}

func (q *primitive) holds(v uint64) bool {
	var is bool
	switch q.op {
	case equal:
		is = v >= q.value && v <= max(q.value, q.last)
		if q.masked {
			is = v == q.value&q.mask
		}
	case greater:
		is = v > q.value
	case less:
		is = v < q.value
	}
	return is != q.negated
}
