package click

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-nfv/sinter/api/click"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	register("1/-", configureRoutes, enterRoutes, "StaticIPLookup", "LinearIPLookup", "RadixIPLookup", "DirectIPLookup", "RangeIPLookup", "SortedIPLookup",
		"LookupIPRoute", "LookupIPRouteMP", "IPRouteTable")
	register("1/1", configureGetAddress, enterGetAddress, "GetIPAddress")
	register("1/1", configureSetAddress, func(x *visit, a netip.Addr) target {
		st := x.state
		st.dst = destination{constant, a}
		return x.onward(0, st)
	}, "SetIPAddress")
	register("1/1-2", configureStoreAddress, enterStoreAddress, "StoreIPAddress")
	register("1/1", configureFix, enterFix, "FixIPSrc").fixes = true
}

// route is a line of a routing table.
type route struct {
	prefix netip.Prefix
	via    netip.Addr // not valid: none
	out    int
}

// configureRoutes reads "ADDR/MASK [GATEWAY] OUTPUT". Of two routes with one prefix, the later holds.
func configureRoutes(r *reader) (routes []route) {
	at := map[netip.Prefix]int{}
	for _, a := range r.all {
		rt, ok := r.route(a)
		if !ok {
			continue
		}
		if i, twice := at[rt.prefix]; twice {
			routes[i] = rt
			r.say(click.Problem{Pos: a.Pos, Warning: true, Element: r.e.String(), Value: a.Text, Message: "the prefix has a route already, which this one replaces; leave one out"})
			continue
		}
		at[rt.prefix] = len(routes)
		routes = append(routes, rt)
	}
	r.all = nil
	return routes
}

func (r *reader) route(a click.Arg) (rt route, ok bool) {
	words := strings.Fields(unquoted(a.Text))
	if len(words) != 2 && len(words) != 3 {
		r.fail(a, a.Text, `not a route; write "prefix output" or "prefix gateway output", like "10.0.0.0/8 192.0.2.1 0"`)
		return rt, false
	}
	prefix, ok := r.prefixOf(words[0])
	if !ok {
		r.fail(a, words[0], "not a prefix; write it like 10.0.0.0/8")
		return rt, false
	}
	rt.prefix = prefix.Masked()
	if len(words) == 3 && words[1] != "-" {
		if rt.via, ok = r.addressOf(words[1]); !ok {
			r.fail(a, words[1], "not the address of a gateway; write it like 192.0.2.1")
			return rt, false
		}
		if rt.via == netip.IPv4Unspecified() {
			rt.via = netip.Addr{}
		}
	}
	out, err := strconv.Atoi(words[len(words)-1])
	if err != nil || out < 0 || out >= r.nouts[r.element] {
		r.fail(a, words[len(words)-1], "not an output that is connected; it has %s", count(r.nouts[r.element], "output"))
		return rt, false
	}
	rt.out = out
	return rt, true
}

// enterRoutes looks the destination annotation up.
func enterRoutes(x *visit, routes []route) target {
	switch x.dst.kind {
	case unset:
		x.noDestination()
		return ""
	case constant:
		return x.routed(routes)
	case byRoute, ofSource, stale:
		x.failOnce(x.element, false, "looks up %s; put GetIPAddress(16) before it", x.dst.kind)
		return ""
	case ofPacket:
	}
	lost := x.outputs()
	l := element.Lookup{NoRoute: lost, Outs: lost + 1}
	for _, r := range routes {
		l.Routes = append(l.Routes, element.Route{Prefix: r.prefix, Via: r.via, Out: r.out})
	}
	t := x.put(l, numbers(lost+1)...)
	for out := range lost {
		used := slices.DeleteFunc(slices.Clone(routes), func(r route) bool { return r.out != out })
		if len(used) == 0 {
			x.link(t.output(fmt.Sprint(out)), x.lost("no-route"))
			continue
		}
		x.link(t.output(fmt.Sprint(out)), x.onward(out, x.behind(used)))
	}
	x.link(t.output(fmt.Sprint(lost)), x.lost("no-route"))
	return t
}

// behind is what is known of packets that one of the routes chose.
func (x *visit) behind(used []route) state {
	st := x.state
	st.dst, st.noted = destination{kind: ofPacket}, destination{}
	first := used[0].via
	switch {
	case slices.ContainsFunc(used, func(r route) bool { return r.via != first }):
		st.dst, st.noted = destination{kind: byRoute}, destination{kind: byRoute}
	case first.IsValid():
		st.dst, st.noted = destination{constant, first}, destination{constant, first}
	}
	return st
}

// routed is the way of a destination that is the same for all packets.
func (x *visit) routed(routes []route) target {
	best := -1
	for i, r := range routes {
		if r.prefix.Contains(x.dst.addr) && (best < 0 || r.prefix.Bits() > routes[best].prefix.Bits()) {
			best = i
		}
	}
	if best < 0 {
		return x.lost("no-route")
	}
	st := x.state
	if routes[best].via.IsValid() {
		st.dst.addr = routes[best].via
	}
	return x.onward(routes[best].out, st)
}

func (x *visit) noDestination() {
	x.failOnce(x.element, false, "the destination address annotation of packets is not set here; put CheckIPHeader or GetIPAddress(16) before it")
}

// resolved has the interface resolve the destination annotation: the packet's own destination, or a next hop.
func (x *visit) resolved(st state) target {
	l := element.Lookup{Routes: []element.Route{{Prefix: netip.PrefixFrom(netip.IPv4Unspecified(), 0)}}, NoRoute: 1, Outs: 2}
	switch {
	case st.dst.kind == unset:
		x.noDestination()
		return ""
	case st.dst.kind == ofSource || st.dst.kind == stale:
		x.failOnce(x.element, false, "would send packets to %s; put GetIPAddress(16) before it", st.dst.kind)
		return ""
	case st.dst == st.noted, st.dst.kind == ofPacket && st.noted.kind == unset:
		return x.onward(0, st)
	case st.dst.kind == constant:
		l.Routes[0].Via = st.dst.addr
		st.noted = st.dst
	default:
		st.noted = destination{}
	}
	t := x.put(l, "0", "1")
	x.link(t.output("0"), x.onward(0, st))
	x.link(t.output("1"), x.lost("no-route"))
	return t
}

// configureGetAddress tells whether the source is meant.
func configureGetAddress(r *reader) (ofSrc bool) {
	if a, ok := r.keyword("IP"); ok {
		if a.Text != "src" && a.Text != "dst" {
			r.fail(a, a.Text, "must be src or dst")
		}
		return a.Text == "src"
	}
	a, ok := r.required("OFFSET", "16")
	if !ok {
		return false
	}
	if _, ok := r.argument("ANNO"); ok {
		r.fail(a, a.Text, "other annotations than that of the destination are not known; leave ANNO out")
	}
	n, ok := r.number(a, "an offset", 0, 1<<16)
	if ok && n != 12 && n != 16 && n != 26 && n != 30 {
		r.fail(a, a.Text, "there is no address of the IP header; write 16 for the destination, 12 for the source")
	}
	return n == 12 || n == 26
}

func enterGetAddress(x *visit, ofSrc bool) target {
	if a := x.el.Args[0].Text; len(a) == 2 && !strings.HasPrefix(a, "IP") {
		if n, _ := strconv.Atoi(a); (n > 16) != (x.begin < 0) {
			x.failOnce(x.element, false, "reads at offset %d, and packets begin %d bytes before their IP header here; write %d", n, -x.begin, 16-x.begin)
			return ""
		}
	}
	st := x.state
	st.dst = destination{kind: ofPacket}
	if ofSrc {
		st.dst.kind = ofSource
	}
	return x.onward(0, st)
}

func configureSetAddress(r *reader) (addr netip.Addr) {
	a, ok := r.required("ADDR", "192.0.2.1")
	if ok {
		addr, _ = r.address(a)
	}
	if n, ok := r.argument("ANNO"); ok {
		r.fail(n, n.Text, "other annotations than that of the destination are not known; leave it out")
	}
	return addr
}

// storing is a StoreIPAddress: of an address, or of the annotation if it is not valid.
type storing struct {
	field headerspace.Field
	addr  netip.Addr
}

func configureStoreAddress(r *reader) (s storing) {
	args := r.all
	r.all = nil
	if len(args) == 0 || len(args) > 2 {
		r.fail(r.whole(), "", "needs an address and where it is stored; write StoreIPAddress(192.0.2.1, src)")
		return s
	}
	where := args[len(args)-1]
	switch unquoted(where.Text) {
	case "src":
		s.field = headerspace.Src
	case "dst":
		s.field = headerspace.Dst
	default:
		r.fail(where, where.Text, "an address is stored with its checksums or not at all; write src or dst in place of the offset")
	}
	if len(args) == 2 {
		s.addr, _ = r.address(args[0])
	}
	return s
}

func enterStoreAddress(x *visit, s storing) target {
	st := x.state
	switch {
	case s.addr.IsValid():
	case x.dst.kind == constant:
		s.addr = x.dst.addr
	case x.dst.kind == ofPacket && s.field == headerspace.Dst, x.dst.kind == ofSource && s.field == headerspace.Src, x.dst.kind == unset:
		return x.onward(0, st) // it is there, or nothing is stored
	default:
		x.failOnce(x.element, false, "the address that it stores is not the same for all packets; write StoreIPAddress(address, src), or (address, dst)")
		return ""
	}
	// The annotation stays what it was: an address, which the packet's destination may no longer be.
	if s.field == headerspace.Dst && st.dst.kind == ofPacket {
		st.dst = destination{kind: stale}
	}
	return x.through(element.SetField{Field: s.field, Value: headerspace.Addr(s.addr)}, 0, st)
}

func configureFix(r *reader) (addr netip.Addr) {
	if a, ok := r.required("IPADDR", "192.0.2.1"); ok {
		addr, _ = r.address(a)
	}
	return addr
}

// enterFix writes the source of ICMP errors; nobody else asks for it.
func enterFix(x *visit, addr netip.Addr) target {
	st := x.state
	if !st.fix {
		return x.onward(0, st)
	}
	st.fix = false
	t := x.putMade(Made{Outs: []string{""}, OfAnswers: true, Make: func(string) element.Element {
		return element.SetField{Field: headerspace.Src, Value: headerspace.Addr(addr)}
	}})
	x.link(t, x.onward(0, st))
	return t
}
