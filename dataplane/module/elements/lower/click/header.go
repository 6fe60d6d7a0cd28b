package click

import (
	"net"
	"net/netip"
	"strings"

	"github.com/sinter-nfv/sinter/api/click"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	register("1/1", configureStrip, func(x *visit, n int) target { return x.moved(n) }, "Strip")
	register("1/1", configureStrip, func(x *visit, n int) target { return x.moved(-n) }, "Unstrip")
	register("1/1", ignored, func(x *visit, _ nothing) target { return x.moved(-x.begin) }, "StripToNetworkHeader")
	register("1/1", configureMark, enterMark, "MarkIPHeader")
	register("1/1-2", configureCheck, enterCheck, "CheckIPHeader", "CheckIPHeader2")
	register("1/1-2", configureLength, enterLength, "CheckLength")
	register("1/1", configureEncap, enterEncap, "EtherEncap", "EnsureEther")
	register("1/1", configureRewrite, enterEtherRewrite, "EtherRewrite")
	register("1/1-2", configureStoreEther, enterEtherRewrite, "StoreEtherAddress")
	register("1-2/1-2", configureQuerier, enterQuerier, "ARPQuerier")
	register("1/1-2", configureResponder, func(x *visit, _ nothing) target { return x.lost("not-arp") }, "ARPResponder")
	register("1/1-2", configureDecTTL, enterDecTTL, "DecIPTTL")
	register("1/1-2", configureFragmenter, straight, "IPFragmenter")
}

func configureStrip(r *reader) int {
	a, ok := r.required("LENGTH", "14")
	if !ok {
		return 0
	}
	n, _ := r.number(a, "a number of bytes", 0, 1<<16)
	return n
}

// moved has packets begin n bytes further on.
func (x *visit) moved(n int) target {
	st := x.state
	switch st.begin += n; st.begin {
	case 0:
		if x.begin < 0 {
			st.ether = stripped
		}
	case -14:
		if x.begin == 0 && st.ether == stripped {
			st.ether = asReceived // the bytes that were stripped
		}
	default:
		x.failOnce(x.element, false, "packets begin %d bytes before their IP header here, and would begin %d bytes before it; only Ethernet headers of 14 bytes are known",
			-x.begin, -st.begin)
		return ""
	}
	return x.onward(0, st)
}

func configureMark(r *reader) int {
	a, ok := r.argument("OFFSET")
	if !ok {
		return 0
	}
	n, _ := r.number(a, "an offset", 0, 1<<16)
	return n
}

func enterMark(x *visit, offset int) target {
	if !x.at(offset) {
		return ""
	}
	return x.onward(0, x.state)
}

// at checks that the IP header is at an offset.
func (x *visit) at(offset int) bool {
	if offset != -x.begin {
		x.failOnce(x.element, false, "looks for the IP header at offset %d, and it is at %d here; write %[2]d, or put Strip(14) before it", offset, -x.begin)
		return false
	}
	return true
}

// check is a CheckIPHeader: addresses from which no packet may come, but to those that are good.
type check struct {
	offset    int
	bad, good []netip.Addr
}

func configureCheck(r *reader) (c check) {
	r.ignore("CHECKSUM", "VERBOSE", "DETAILS")
	offset, hasOffset := r.keyword("OFFSET")
	if a, ok := r.keyword("INTERFACES"); ok {
		for _, word := range strings.Fields(a.Text) {
			p, ok := r.prefixOf(word)
			if !ok {
				r.fail(a, word, "not an address with its prefix; write it like 10.0.0.1/24")
				continue
			}
			c.good = append(c.good, p.Addr())
			c.bad = append(c.bad, lastOf(p))
		}
		c.bad = append(c.bad, netip.IPv4Unspecified(), netip.AddrFrom4([4]byte{255, 255, 255, 255}))
	}
	for keyword, list := range map[string]*[]netip.Addr{"BADSRC": &c.bad, "GOODDST": &c.good} {
		if a, ok := r.keyword(keyword); ok {
			*list = append(*list, r.addressList(a)...)
		}
	}
	if a, ok := r.next(); ok {
		if strings.Contains(a.Text, ".") { // of old: bad sources, then the offset
			c.bad = append(c.bad, r.addressList(a)...)
			a, ok = r.next()
		}
		if ok && !hasOffset {
			offset, hasOffset = a, true
		}
	}
	if hasOffset {
		c.offset, _ = r.number(offset, "an offset", 0, 1<<16)
	}
	return c
}

func (r *reader) addressList(a click.Arg) (out []netip.Addr) {
	for _, word := range strings.Fields(unquoted(a.Text)) {
		addr, ok := r.addressOf(word)
		if !ok {
			r.fail(a, word, "not an IPv4 address; write it like 192.0.2.1")
			continue
		}
		out = append(out, addr)
	}
	return out
}

// lastOf is the broadcast address of a prefix.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	for i := range 32 {
		if i >= p.Bits() {
			b[i/8] |= 0x80 >> (i % 8)
		}
	}
	return netip.AddrFrom4(b)
}

func setOf(addrs []netip.Addr) headerspace.Set {
	var iv []headerspace.Interval
	for _, a := range addrs {
		iv = append(iv, headerspace.Interval{Lo: headerspace.Addr(a), Hi: headerspace.Addr(a)})
	}
	return headerspace.NewSet(iv...)
}

// enterCheck: interfaces have checked headers already, so that only sources are left to be.
func enterCheck(x *visit, c check) target {
	if !x.at(c.offset) {
		return ""
	}
	st := x.state
	st.dst = destination{kind: ofPacket}
	if len(c.bad) == 0 {
		return x.onward(0, st)
	}
	bad := headerspace.Filter{}.With(headerspace.Src, setOf(c.bad))
	if len(c.good) > 0 {
		bad = bad.With(headerspace.Dst, headerspace.Full(headerspace.Dst).Subtract(setOf(c.good)))
	}
	return x.split("source", bad, st)
}

// split makes a classifier of two outputs, those of the element: what the filter passes leaves by output 1.
func (x *visit) split(rule string, f headerspace.Filter, st state) target {
	t := x.putMade(Made{Outs: numbers(2), Make: func(name string) element.Element {
		return element.Classifier{Default: 0, Outs: 2, Rules: []element.Rule{{Name: name + "/" + rule, Filters: []headerspace.Filter{f}, Out: 1}}}
	}})
	x.link(t.output("0"), x.onward(0, st))
	if x.outputs() > 1 {
		x.link(t.output("1"), x.onward(1, st))
	} else {
		x.link(t.output("1"), x.lost("bad"))
	}
	return t
}

// largestPacket is the length that no IP packet exceeds.
const largestPacket = 65535

func configureLength(r *reader) nothing {
	a, ok := r.required("LENGTH", "65535")
	r.ignore("EXTRA_LENGTH", "USE_EXTRA_LENGTH")
	if !ok {
		return nothing{}
	}
	if n, ok := r.number(a, "a length", 0, 1<<31-1); ok && n < largestPacket {
		r.fail(a, a.Text, "the length of packets cannot be matched; set the mtu of the interface by which they leave, and take the element out")
	}
	return nothing{}
}

func enterLength(x *visit, _ nothing) target { return x.onward(0, x.state) }

// ethernet is the destination of an Ethernet header that is written; nil: it stays, or is not known here.
type ethernet struct{ dst net.HardwareAddr }

func (r *reader) ether(a click.Arg) net.HardwareAddr {
	text := unquoted(a.Text)
	if m, ok := click.ParseEther(text); ok {
		return m
	}
	m, ok := r.f.Addresses.Ether(text)
	if !ok {
		r.fail(a, a.Text, "not an Ethernet address, and no name of one that AddressInfo gives; write it like 02:00:00:00:00:01")
	}
	return m
}

func configureEncap(r *reader) (e ethernet) {
	typ, ok1 := r.required("ETHERTYPE", "0x0800, 02:00:00:00:00:01, 02:00:00:00:00:02")
	src, ok2 := r.required("SRC", "0x0800, 02:00:00:00:00:01, 02:00:00:00:00:02")
	dst, ok3 := r.required("DST", "0x0800, 02:00:00:00:00:01, 02:00:00:00:00:02")
	if !ok1 || !ok2 || !ok3 {
		return e
	}
	if n, ok := r.number(typ, "an Ethernet type", 0, 0xffff); ok && n != 0x0800 {
		r.fail(typ, typ.Text, "only IPv4 is forwarded; write 0x0800")
	}
	r.ether(src)
	e.dst = r.ether(dst)
	return e
}

func configureRewrite(r *reader) (e ethernet) {
	src, ok1 := r.required("SRC", "02:00:00:00:00:01, 02:00:00:00:00:02")
	dst, ok2 := r.required("DST", "02:00:00:00:00:01, 02:00:00:00:00:02")
	if ok1 && ok2 {
		r.ether(src)
		e.dst = r.ether(dst)
	}
	return e
}

func configureStoreEther(r *reader) (e ethernet) {
	a, ok1 := r.required("ADDR", "02:00:00:00:00:01, dst")
	where, ok2 := r.required("OFFSET", "02:00:00:00:00:01, dst")
	if !ok1 || !ok2 {
		return e
	}
	m := r.ether(a)
	switch unquoted(where.Text) {
	case "src", "6":
	case "dst", "0":
		e.dst = m
	default:
		r.fail(where, where.Text, "must be src or dst")
	}
	return e
}

func enterEncap(x *visit, e ethernet) target {
	if x.begin != 0 {
		x.failOnce(x.element, false, "packets have an Ethernet header already; put Strip(14) before it")
		return ""
	}
	st := x.state
	st.begin = -14
	return x.encapsulated(e, st)
}

func enterEtherRewrite(x *visit, e ethernet) target {
	if x.begin != -14 {
		x.failOnce(x.element, false, "packets have no Ethernet header here; write EtherEncap")
		return ""
	}
	if e.dst == nil {
		return x.onward(0, x.state) // the source is the interface's own
	}
	return x.encapsulated(e, x.state)
}

// encapsulated has packets go to the next hop that has the Ethernet address, as far as AddressInfo tells which that is.
func (x *visit) encapsulated(e ethernet, st state) target {
	st.ether = encapsulated
	if a, ok := x.f.Addresses.ByEther(e.dst); ok {
		st.dst = destination{constant, a}
		return x.resolved(st)
	}
	if st.dst.kind == unset || st.dst.kind == stale || st.dst.kind == ofSource {
		st.dst = destination{kind: ofPacket}
	}
	t := x.resolved(st)
	if !x.ends[t] {
		x.failOnce(x.element, true, "an interface finds the Ethernet address of the next hop by ARP, or among its neighbors; to say which hop is meant, write AddressInfo(name 192.0.2.1 %s)", e.dst)
	}
	return t
}

func configureQuerier(r *reader) nothing {
	r.ignore("TABLE", "CAPACITY", "ENTRY_CAPACITY", "ENTRY_PACKET_CAPACITY", "TIMEOUT", "POLL_TIMEOUT", "BROADCAST", "BROADCAST_POLL", "CACHE")
	a, ok := r.required("IP", "10.0.0.1, 02:00:00:00:00:01")
	if !ok {
		return nothing{}
	}
	r.hostAddress(a)
	e, ok := r.argument("ETH")
	if !ok {
		if _, ok := r.f.Addresses.Ether(a.Text); !ok && !strings.HasSuffix(a.Text, ":eth") && r.f.Addresses[a.Text].Ether == nil {
			r.fail(a, a.Text, "says no Ethernet address; write ARPQuerier(10.0.0.1, 02:00:00:00:00:01)")
		}
		return nothing{}
	}
	r.ether(e)
	return nothing{}
}

// hostAddress checks an address that may have a prefix.
func (r *reader) hostAddress(a click.Arg) {
	if _, ok := r.prefixOf(unquoted(a.Text)); !ok {
		r.address(a)
	}
}

// enterQuerier: the interface asks for the next hop. Replies to its questions never get here.
func enterQuerier(x *visit, _ nothing) target {
	switch {
	case x.port.port == 1:
		return x.lost("not-arp")
	case x.begin != 0:
		x.failOnce(x.element, false, "packets have an Ethernet header already; put Strip(14) before it")
		return ""
	}
	st := x.state
	st.begin, st.ether = -14, encapsulated
	return x.resolved(st)
}

func configureResponder(r *reader) nothing {
	r.ignore("TIMESTAMP")
	for _, a := range r.all {
		for i, word := range strings.Fields(unquoted(a.Text)) {
			_, isEther := click.ParseEther(word)
			_, named := r.f.Addresses.Ether(word)
			p, isPrefix := r.prefixOf(word)
			switch {
			case isEther && i > 0:
			case !isPrefix && !named:
				r.fail(a, word, "neither an address nor an Ethernet address; write ARPResponder(10.0.0.1 02:00:00:00:00:01)")
			case isPrefix && p.Bits() < 32 && p.Addr() == p.Masked().Addr():
				r.fail(a, word, "replies are not given for whole networks (proxy ARP); name single addresses, and list them in the interface's addresses")
			}
		}
	}
	r.all = nil
	return nothing{}
}

func configureDecTTL(r *reader) (active bool) {
	r.ignore("MULTICAST", "CALC_CHECKSUM")
	return r.boolean("ACTIVE", true)
}

func enterDecTTL(x *visit, active bool) target {
	if !active {
		return x.onward(0, x.state)
	}
	t := x.put(element.DecTTL{}, "alive", "expired")
	x.link(t.output("alive"), x.onward(0, x.state))
	if x.outputs() > 1 {
		x.link(t.output("expired"), x.onward(1, x.state))
	} else {
		x.link(t.output("expired"), x.lost("expired"))
	}
	return t
}

// configureFragmenter: what is too large for the interface by which it leaves is dropped or answered there.
func configureFragmenter(r *reader) nothing {
	r.ignore("HONOR_DF", "VERBOSE", "HEADROOM")
	a, ok := r.required("MTU", "1500")
	if !ok {
		return nothing{}
	}
	if n, ok := r.number(a, "an MTU", 68, 1<<16); ok {
		r.f.Fragmenters = append(r.f.Fragmenters, Fragmenter{n, r.e.String(), a.Pos})
	}
	return nothing{}
}
