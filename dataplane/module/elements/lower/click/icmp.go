package click

import (
	"net/netip"
	"strings"

	"github.com/sinter-nfv/sinter/api/click"
	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	register("1/1", configureICMPError, enterICMPError, "ICMPError")
	register("1/1-2", noArguments, enterPing, "ICMPPingResponder")
	register("1/1", configureInput, enterInput, "IPInputCombo")
	register("1/5", configureOutput, enterOutput, "IPOutputCombo").paint = true
	classes["IPOutputCombo"].fixes = true
}

// icmpError is an ICMPError. Its type is 5 for redirects, which are not sent.
type icmpError struct {
	element.ICMPError
	fix bool
	bad []netip.Addr
}

var icmpErrorTypes = map[string]int{"unreachable": 3, "sourcequench": 4, "redirect": 5, "timeexceeded": 11, "parameterproblem": 12}

var icmpErrorCodes = map[int]map[string]int{
	3:  {"net": 0, "host": 1, "protocol": 2, "port": 3, "needfrag": 4},
	5:  {"net": 0, "host": 1},
	11: {"transit": 0, "reassembly": 1},
	12: {"erroratptr": 0, "missingopt": 1, "length": 2},
}

func configureICMPError(r *reader) (e icmpError) {
	r.ignore("MTU", "PMTU")
	fixes := r.boolean("USE_FIX_ANNO", true)
	e.fix = r.boolean("SET_FIX_ANNO", fixes)
	if a, ok := r.keyword("BADADDRS"); ok {
		e.bad = r.addressList(a)
	}
	src, ok1 := r.required("SRC", "192.0.2.1, timeexceeded, transit")
	typ, ok2 := r.required("TYPE", "192.0.2.1, timeexceeded, transit")
	if !ok1 || !ok2 {
		return e
	}
	e.Source, _ = r.address(src)
	n, ok := r.named(typ, "an ICMP type", icmpErrorTypes)
	switch {
	case !ok:
	case n == 4:
		r.fail(typ, typ.Text, "source quench is not sent (RFC 6633); take the element out")
	case n != 3 && n != 5 && n != 11 && n != 12:
		r.fail(typ, typ.Text, "not an ICMP error; write unreachable, timeexceeded or parameterproblem")
	}
	e.Type = uint8(n)
	if code, ok := r.argument("CODE"); ok {
		c, _ := r.named(code, "an ICMP code of the type", icmpErrorCodes[n])
		e.Code = uint8(c)
	}
	if a, ok := r.next(); ok { // of old: bad addresses, then the length
		e.bad = append(e.bad, r.addressList(a)...)
		r.next()
	}
	return e
}

// named reads a number, or a name of one.
func (r *reader) named(a click.Arg, what string, names map[string]int) (int, bool) {
	if n, ok := names[strings.ToLower(unquoted(a.Text))]; ok {
		return n, true
	}
	if text := unquoted(a.Text); text == "" || text[0] < '0' || text[0] > '9' {
		var list []string
		for name := range names {
			list = append(list, name)
		}
		r.fail(a, a.Text, "not %s%s", what, finding.DidYouMean(text, list))
		return 0, false
	}
	return r.number(a, what, 0, 255)
}

func enterICMPError(x *visit, e icmpError) target {
	if e.Type == 5 {
		x.failOnce(x.element, true, "redirects are not sent; packets that get here are dropped")
		return x.lost("redirect")
	}
	st := state{ether: stripped, dst: destination{kind: ofPacket}, fix: e.fix, answer: true}
	if len(e.bad) == 0 {
		t := x.put(e.ICMPError, "")
		x.link(t, x.onward(0, st))
		return t
	}
	set := setOf(e.bad)
	bad := []headerspace.Filter{headerspace.Filter{}.With(headerspace.Src, set), headerspace.Filter{}.With(headerspace.Dst, set)}
	return x.before("address", bad, "bad-address", func() target {
		t := target(x.addMade(Made{Make: func(string) element.Element { return e.ICMPError }, Outs: []string{""}}))
		x.link(t, x.onward(0, st))
		return t
	})
}

// before makes a classifier that drops some packets, and leads the others to what is made by next.
func (x *visit) before(rule string, dropped []headerspace.Filter, reason string, next func() target) target {
	t := x.putMade(Made{Outs: numbers(2), Make: func(name string) element.Element {
		return element.Classifier{Default: 0, Outs: 2, Rules: []element.Rule{{Name: name + "/" + rule, Filters: dropped, Out: 1}}}
	}})
	x.link(t.output("0"), next())
	x.link(t.output("1"), x.lost(reason))
	return t
}

// enterPing has echo requests answered; what is none leaves by output 1.
func enterPing(x *visit, _ nothing) target {
	echo := headerspace.Filter{}.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(8))
	t := x.putMade(Made{Outs: numbers(2), Make: func(name string) element.Element {
		return element.Classifier{Default: 1, Outs: 2, Rules: []element.Rule{{Name: name + "/echo", Filters: []headerspace.Filter{echo}}}}
	}})
	reply := target(x.addMade(Made{Make: func(string) element.Element { return element.EchoResponder{} }, Outs: []string{""}}))
	x.link(t.output("0"), reply)
	st := x.state
	st.paint, st.dst, st.noted, st.answer = "", destination{kind: ofPacket}, destination{}, true
	x.link(reply, x.onward(0, st))
	if x.outputs() > 1 {
		x.link(t.output("1"), x.onward(1, x.state))
	} else {
		x.link(t.output("1"), x.lost("no-echo"))
	}
	return t
}

// addMade makes a further element of ours for the visit.
func (x *visit) addMade(m Made) string {
	m.Pos = x.el.Pos
	return x.add(x.el.Name, v1alpha1.Element{}, m)
}

// combo is an IPOutputCombo; of an IPInputCombo it has the colour alone.
type combo struct {
	color byte
	addr  netip.Addr
}

func configureInput(r *reader) (c combo) {
	if a, ok := r.required("COLOR", "1"); ok {
		n, _ := r.number(a, "a colour", 0, 255)
		c.color = byte(n)
	}
	r.ignore("INTERFACES", "BADSRC", "GOODDST")
	if a, ok := r.next(); ok {
		r.fail(a, a.Text, "IPInputCombo with bad sources is not known; write Paint, Strip(14), CheckIPHeader(...) and GetIPAddress(16)")
	}
	return c
}

// enterInput is Paint(COLOR), Strip(14), CheckIPHeader and GetIPAddress(16) in one.
func enterInput(x *visit, c combo) target {
	st := x.painted(defaultPaint, c.color)
	if st.begin != -14 {
		x.failOnce(x.element, false, "packets have no Ethernet header here; connect it to the device")
		return ""
	}
	st.begin, st.ether, st.dst = 0, stripped, destination{kind: ofPacket}
	return x.onward(0, st)
}

func configureOutput(r *reader) (c combo) {
	color, ok1 := r.required("COLOR", "1, 192.0.2.1, 1500")
	addr, ok2 := r.required("IPADDR", "1, 192.0.2.1, 1500")
	if ok1 && ok2 {
		n, _ := r.number(color, "a colour", 0, 255)
		c.color = byte(n)
		c.addr, _ = r.address(addr)
		configureFragmenter(r)
	}
	return c
}

// enterOutput is DropBroadcasts, PaintTee(COLOR) to output 1, IPGWOptions, FixIPSrc, DecIPTTL with output 3, and IPFragmenter in one.
func enterOutput(x *visit, c combo) target {
	rest := func() target {
		st := x.state
		st.fix = false
		ttl := target(x.addMade(Made{Make: func(string) element.Element { return element.DecTTL{} }, Outs: []string{"alive", "expired"}}))
		x.link(ttl.output("alive"), x.onward(0, st))
		x.link(ttl.output("expired"), x.onward(3, st))
		if !x.fix {
			return ttl
		}
		fix := target(x.addMade(Made{Outs: []string{""}, OfAnswers: true, Make: func(string) element.Element {
			return element.SetField{Field: headerspace.Src, Value: headerspace.Addr(c.addr)}
		}}))
		x.link(fix, ttl)
		return fix
	}
	outs := numbers(1)
	if x.paintOf(defaultPaint) == c.color {
		outs = numbers(2)
	}
	t := x.put(element.Tee{Outs: len(outs)}, outs...)
	x.link(t.output("0"), rest())
	if len(outs) > 1 {
		x.link(t.output("1"), x.onward(1, x.state))
	}
	return t
}
