package interp

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// pool is a NAPT with one outside address and the ports 2000..2003.
func pool() element.NAPT {
	return element.NAPT{
		Pool: []netip.Addr{ip("192.0.2.10")}, PortMin: 2000, PortMax: 2003, MaxSessions: 100,
		Timeouts: element.Timeouts{TCP: 100 * time.Second, TCPTransitory: 10 * time.Second, UDP: 20 * time.Second, ICMP: 5 * time.Second},
	}
}

// natted is inside ⇄ NAPT ⇄ outside.
func natted(e element.NAPT) *builder {
	b := newBuilder()
	n := b.add("nat", e)
	b.wire(b.in(inside), 0, n, element.NAPTInside)
	b.wire(n, element.NAPTOutside, b.out(outside), 0)
	b.wire(b.in(outside), 0, n, element.NAPTOutside)
	b.wire(n, element.NAPTInside, b.out(inside), 0)
	return b
}

// choosing always answers with the endpoint.
func choosing(s string) Chooser {
	return func(_ Binding, allowed func(netip.AddrPort) bool) (netip.AddrPort, bool) {
		return ap(s), allowed(ap(s))
	}
}

func udp(sport, dport uint16) pkt { return pkt{sport: sport, dport: dport} }

// back is a packet of the server 198.51.100.1 to the NAT.
func back(p pkt, dst string) pkt {
	p.src, p.dst, p.to, p.from = "198.51.100.1", dst, outsideMAC, routerMAC
	return p
}

func TestAFlowIsTranslatedThereAndBack(t *testing.T) {
	for name, c := range map[string]struct{ there, translated, reply, delivered pkt }{
		"UDP": {
			udp(1000, 53),
			pkt{src: "192.0.2.10", sport: 2002, dport: 53},
			udp(53, 2002),
			pkt{src: "198.51.100.1", dst: "10.0.0.2", sport: 53, dport: 1000},
		},
		"TCP": {
			pkt{proto: 6, sport: 1000, dport: 80, flags: "S"},
			pkt{proto: 6, src: "192.0.2.10", sport: 2002, dport: 80, flags: "S"},
			pkt{proto: 6, sport: 80, dport: 2002, flags: "SA"},
			pkt{proto: 6, src: "198.51.100.1", dst: "10.0.0.2", sport: 80, dport: 1000, flags: "SA"},
		},
		"ping": {
			ping(1000),
			pkt{proto: 1, icmp: echoRequest, src: "192.0.2.10", sport: 2002},
			pkt{proto: 1, icmp: echoReply, dport: 2002},
			pkt{proto: 1, icmp: echoReply, src: "198.51.100.1", dst: "10.0.0.2", dport: 1000},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := natted(pool()).chain()
			want(t, c2.Process(0, inside, c.there.frame(), choosing("192.0.2.10:2002")), sent(c.translated))
			want(t, c2.Process(1, outside, back(c.reply, "192.0.2.10").frame(), nil), delivered(c.delivered))
			want(t, c2.Process(2, inside, c.there.frame(), nil), sent(c.translated))
		})
	}
}

func TestAUDPChecksumOfZeroStaysZeroAndOneThatBecomesZeroIsWrittenAsOnes(t *testing.T) {
	c := natted(pool()).chain()
	frame := udp(1000, 53).frame()
	frame[40], frame[41] = 0, 0
	got := only(t, c.Process(0, inside, frame, nil))
	if got[40] != 0 || got[41] != 0 {
		t.Errorf("no checksum became %x", got[40:42])
	}
	// The checksum that the rewritten packet would have to have is 0 if the received one is what the sum moves by.
	right := sent(pkt{src: "192.0.2.10", sport: 2000, dport: 53}).frame()
	was := udp(1000, 53).frame()
	move := delta(append(was[26:34:34], was[34:36]...), append(right[26:34:34], right[34:36]...))
	was[40], was[41] = byte(move>>8), byte(move)
	got = only(t, c.Process(0, inside, was, nil))
	if got[40] != 0xff || got[41] != 0xff {
		t.Errorf("a checksum that becomes zero is written %x, want ffff", got[40:42])
	}
}

func TestEveryRemoteGetsItsOwnBindingAndNoOtherRemoteGetsIn(t *testing.T) {
	c := natted(pool()).chain()
	only(t, c.Process(0, inside, udp(1000, 53).frame(), choosing("192.0.2.10:2000")))
	only(t, c.Process(0, inside, udp(1000, 54).frame(), choosing("192.0.2.10:2001")))
	if n := len(c.Sessions(0)); n != 2 {
		t.Fatalf("%d bindings, want one per remote port", n)
	}
	dropped(t, c.Process(0, outside, back(udp(53, 2001), "192.0.2.10").frame(), nil), "nat-no-binding")
	dropped(t, c.Process(0, outside, back(udp(99, 2000), "192.0.2.10").frame(), nil), "nat-no-binding")
	dropped(t, c.Process(0, outside, back(pkt{proto: 6, sport: 53, dport: 2000}, "192.0.2.10").frame(), nil), "nat-no-binding")
	dropped(t, c.Process(0, outside, back(udp(53, 2000), "192.0.2.11").frame(), nil), "nat-no-binding")
	only(t, c.Process(0, outside, back(udp(53, 2000), "192.0.2.10").frame(), nil))
}

func TestTheNATDropsWhatItCannotTranslate(t *testing.T) {
	c := natted(pool()).chain()
	for name, k := range map[string]struct {
		p    pkt
		in   int
		want string
	}{
		"a first fragment":        {pkt{frag: 0x2000}, inside, "nat-fragment"},
		"a later fragment":        {pkt{frag: 7}, inside, "nat-fragment"},
		"a fragment from outside": {back(pkt{frag: 7}, "192.0.2.10"), outside, "nat-fragment"},
		"AH":                      {pkt{proto: 51}, inside, "nat-unsupported"},
		"DCCP":                    {pkt{proto: 33}, inside, "nat-unsupported"},
		"UDP-Lite":                {pkt{proto: 136}, inside, "nat-unsupported"},
		"source quench": {
			pkt{proto: 1, icmp: layers.CreateICMPv4TypeCode(4, 0), payload: udp(1, 2).frame()[14:]}, inside, "nat-unsupported",
		},
		"source quench, outside":       {errorOf(4, pkt{src: "192.0.2.10", sport: 2000, dport: 53}), outside, "nat-no-binding"},
		"an echo reply from inside":    {pkt{proto: 1, icmp: echoReply, dport: 1}, inside, "nat-unsupported"},
		"an address mask request":      {pkt{proto: 1, icmp: layers.CreateICMPv4TypeCode(17, 0)}, inside, "nat-unsupported"},
		"another protocol, outside":    {back(pkt{proto: 4}, "192.0.2.10"), outside, "nat-no-binding"},
		"an echo request from outside": {back(ping(1), "192.0.2.10"), outside, "nat-no-binding"},
		"an error without quote":       {back(pkt{proto: 1, icmp: expired}, "192.0.2.10"), outside, "nat-no-binding"},
		"an error from inside, no flow": {
			pkt{proto: 1, icmp: expired, payload: udp(1, 2).frame()[14:]}, inside, "nat-unsupported",
		},
	} {
		t.Run(name, func(t *testing.T) { dropped(t, c.Process(0, k.in, k.p.frame(), nil), k.want) })
	}
}

func TestBindingsEndWhenIdleLongerThanTheirTimeout(t *testing.T) {
	tcp := func(flags string) pkt { return pkt{proto: 6, sport: 1000, dport: 80, flags: flags} }
	answer := func(flags string) pkt { return back(pkt{proto: 6, sport: 80, dport: 2000, flags: flags}, "192.0.2.10") }
	type event struct {
		at float64
		in int
		p  pkt
	}
	for name, c := range map[string]struct {
		events  []event
		timeout float64
	}{
		"UDP":                                {[]event{{0, inside, udp(1000, 80)}}, 20},
		"ping":                               {[]event{{0, inside, ping(1000)}}, 5},
		"UDP refreshed from outside":         {[]event{{0, inside, udp(1000, 80)}, {7, outside, back(udp(80, 2000), "192.0.2.10")}}, 27},
		"TCP of one direction":               {[]event{{0, inside, tcp("S")}, {9, inside, tcp("S")}}, 19},
		"TCP of both directions":             {[]event{{0, inside, tcp("S")}, {1, outside, answer("SA")}, {2, inside, tcp("A")}}, 102},
		"TCP without the handshake's end":    {[]event{{0, inside, tcp("S")}, {1, outside, answer("SA")}}, 11},
		"TCP after FIN from inside":          {[]event{{0, inside, tcp("S")}, {1, outside, answer("SA")}, {2, inside, tcp("FA")}}, 12},
		"TCP after RST from outside":         {[]event{{0, inside, tcp("S")}, {1, outside, answer("R")}, {2, inside, tcp("A")}}, 12},
		"TCP with FIN and traffic after it":  {[]event{{0, inside, tcp("S")}, {1, outside, answer("F")}, {8, outside, answer("A")}}, 18},
		"TCP: an error about it is no usage": {[]event{{0, inside, tcp("S")}, {5, outside, errorTo("192.0.2.10", pkt{proto: 6, src: "192.0.2.10", sport: 2000, dport: 80})}}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := natted(pool()).chain()
			for _, e := range c.events {
				only(t, c2.Process(seconds(e.at), e.in, e.p.frame(), choosing("192.0.2.10:2000")))
			}
			if n := len(c2.Sessions(seconds(c.timeout))); n != 1 {
				t.Errorf("after exactly %vs the binding is gone", c.timeout)
			}
			if n := len(c2.Sessions(seconds(c.timeout) + 1)); n != 0 {
				t.Errorf("after more than %vs the binding is still there", c.timeout)
			}
		})
	}
}

// errorOf is an ICMP error of a type from a router outside.
func errorOf(typ uint8, quote pkt) pkt {
	p := errorTo("192.0.2.10", quote)
	p.icmp = layers.CreateICMPv4TypeCode(typ, 0)
	return p
}

// errorTo is an ICMP time exceeded from a router outside about quote.
func errorTo(dst string, quote pkt) pkt {
	return pkt{proto: 1, icmp: expired, src: "203.0.113.99", dst: dst, payload: quote.frame()[14:], to: outsideMAC, from: routerMAC}
}

func TestPortsAreUniquePerProtocolAndRunOut(t *testing.T) {
	c := natted(pool()).chain()
	for i := range uint16(4) {
		only(t, c.Process(0, inside, udp(1000+i, 53).frame(), nil))
	}
	dropped(t, c.Process(0, inside, udp(1004, 53).frame(), nil), "nat-exhausted")
	only(t, c.Process(0, inside, pkt{proto: 6, sport: 1, dport: 2}.frame(), nil)) // another protocol
	seen := map[string]bool{}
	for _, s := range c.Sessions(0) {
		key := fmt.Sprint(s.Proto, s.Outside)
		if seen[key] {
			t.Errorf("two bindings share %s", key)
		}
		seen[key] = true
	}
	only(t, c.Process(seconds(20)+1, inside, udp(1004, 53).frame(), nil))
}

func TestSessionsAreBounded(t *testing.T) {
	e := pool()
	e.MaxSessions = 2
	c := natted(e).chain()
	only(t, c.Process(0, inside, udp(1, 53).frame(), nil))
	only(t, c.Process(seconds(1), inside, udp(2, 53).frame(), nil))
	dropped(t, c.Process(seconds(20), inside, udp(3, 53).frame(), nil), "nat-exhausted")
	only(t, c.Process(seconds(20.5), inside, udp(3, 53).frame(), nil))
	dropped(t, c.Process(seconds(20.5), inside, udp(4, 53).frame(), nil), "nat-exhausted")
}

func TestAChoiceMustBeFreeAndOfThePool(t *testing.T) {
	c := natted(pool()).chain()
	only(t, c.Process(0, inside, udp(1, 53).frame(), choosing("192.0.2.10:2001")))
	for _, taken := range []string{"192.0.2.10:2001", "192.0.2.10:1999", "192.0.2.10:2004", "192.0.2.11:2000"} {
		dropped(t, c.Process(0, inside, udp(2, 53).frame(), choosing(taken)), "nat-exhausted")
	}
}

func TestErrorsFromOutsideReachTheSenderWithItsOwnAddressesQuoted(t *testing.T) {
	for name, k := range map[string]struct{ there, translated pkt }{
		"UDP":              {udp(1000, 53), pkt{src: "192.0.2.10", sport: 2001, dport: 53}},
		"UDP, 8 bytes":     {pkt{sport: 1000, dport: 53, payload: []byte{}}, pkt{src: "192.0.2.10", sport: 2001, dport: 53, payload: []byte{}}},
		"TCP":              {pkt{proto: 6, sport: 1000, dport: 53}, pkt{proto: 6, src: "192.0.2.10", sport: 2001, dport: 53}},
		"ping":             {ping(1000), pkt{proto: 1, icmp: echoRequest, src: "192.0.2.10", sport: 2001}},
		"TCP with options": {pkt{proto: 6, sport: 1000, dport: 53, options: []layers.IPv4Option{{OptionType: 1}}}, pkt{proto: 6, src: "192.0.2.10", sport: 2001, dport: 53, options: []layers.IPv4Option{{OptionType: 1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := natted(pool()).chain()
			want(t, c.Process(0, inside, k.there.frame(), choosing("192.0.2.10:2001")), sent(k.translated))
			want(t, c.Process(0, outside, errorTo("192.0.2.10", k.translated).frame(), nil), delivered(errorTo("10.0.0.2", k.there)))
		})
	}
}

func TestAQuoteCutBehindEightBytesKeepsWhatItHasOfChecksumsRight(t *testing.T) {
	c := natted(pool()).chain()
	there, translated := pkt{proto: 6, sport: 1000, dport: 53}, pkt{proto: 6, src: "192.0.2.10", sport: 2001, dport: 53}
	only(t, c.Process(0, inside, there.frame(), choosing("192.0.2.10:2001")))
	cut := func(dst string, p pkt) pkt {
		e := errorTo(dst, p)
		e.payload = e.payload[:28]
		return e
	}
	want(t, c.Process(0, outside, cut("192.0.2.10", translated).frame(), nil), delivered(cut("10.0.0.2", there)))
	short := errorTo("192.0.2.10", translated)
	short.payload = short.payload[:27]
	dropped(t, c.Process(0, outside, short.frame(), nil), "nat-no-binding")
}

func TestErrorsFromInsideShowOnlyTheOutside(t *testing.T) {
	c := natted(pool()).chain()
	only(t, c.Process(0, inside, udp(1000, 53).frame(), choosing("192.0.2.10:2001")))
	arrived := pkt{src: "198.51.100.1", dst: "192.0.2.10", sport: 53, dport: 2001}
	deliveredThen := pkt{src: "198.51.100.1", dst: "10.0.0.2", sport: 53, dport: 1000}
	unreachable := layers.CreateICMPv4TypeCode(3, 3)
	in := pkt{proto: 1, icmp: unreachable, payload: deliveredThen.frame()[14:]}
	out := pkt{proto: 1, icmp: unreachable, src: "192.0.2.10", payload: arrived.frame()[14:]}
	want(t, c.Process(0, inside, in.frame(), nil), sent(out))
}

func TestAnErrorAboutAFirstFragmentOfATranslatedPacketIsTranslated(t *testing.T) {
	c := natted(pool()).chain()
	only(t, c.Process(0, inside, udp(1000, 53).frame(), choosing("192.0.2.10:2001")))
	quote := pkt{src: "192.0.2.10", sport: 2001, dport: 53, frag: 0x2000}
	got := only(t, c.Process(0, outside, errorTo("192.0.2.10", quote).frame(), nil))
	quote.src, quote.sport = "10.0.0.2", 1000
	back := errorTo("10.0.0.2", quote)
	back.src, back.to, back.from = "203.0.113.99", hostMAC, insideMAC
	back.ttl = got[22]
	if want := back.frame(); !bytes.Equal(got[14:], want[14:]) {
		t.Errorf("got\n%x, want\n%x", got[14:], want[14:])
	}
	quote = pkt{src: "192.0.2.10", frag: 0x2001}
	dropped(t, c.Process(0, outside, errorTo("192.0.2.10", quote).frame(), nil), "nat-no-binding")
}

func TestProtocolsWithoutPortsAreTranslatedByAddressWhereThatIsUnambiguous(t *testing.T) {
	gre := func(host string) []byte { return pkt{proto: 47, src: host}.frame() }
	e := pool()
	e.Pool = append(e.Pool, ip("192.0.2.11"))
	c := natted(e).chain()
	for i, host := range []string{"10.0.0.2", "10.0.0.3"} {
		outside := fmt.Sprintf("192.0.2.%d:0", 10+i)
		want(t, c.Process(0, inside, gre(host), choosing(outside)), sent(pkt{proto: 47, src: outside[:len(outside)-2]}))
	}
	dropped(t, c.Process(0, inside, gre("10.0.0.4"), nil), "nat-exhausted")
	only(t, c.Process(0, inside, pkt{proto: 50, src: "10.0.0.4"}.frame(), nil))                      // another protocol
	only(t, c.Process(0, inside, pkt{proto: 47, src: "10.0.0.4", dst: "198.51.100.2"}.frame(), nil)) // another remote
	got := only(t, c.Process(0, outside, back(pkt{proto: 47}, "192.0.2.11").frame(), nil))
	if to := addr(dstOf(got[14:])); to != ip("10.0.0.3") {
		t.Errorf("the second host's packet goes to %v", to)
	}
	dropped(t, c.Process(0, outside, back(pkt{proto: 132}, "192.0.2.11").frame(), nil), "nat-no-binding")
	only(t, c.Process(seconds(20)+1, inside, gre("10.0.0.4"), nil)) // UDP's timeout is over
}

func TestATimestampRequestIsTranslatedByItsIdentifierAndRepliesOfAnyCodePass(t *testing.T) {
	c := natted(pool()).chain()
	of := func(typ, code uint8) layers.ICMPv4TypeCode { return layers.CreateICMPv4TypeCode(typ, code) }
	request := pkt{proto: 1, icmp: of(13, 0), sport: 1000}
	request.src = "192.0.2.10"
	translated := request
	translated.sport = 2001
	request.src = ""
	want(t, c.Process(0, inside, request.frame(), choosing("192.0.2.10:2001")), sent(translated))
	for _, code := range []uint8{0, 7} {
		for _, typ := range []uint8{14, 0} {
			only(t, c.Process(0, outside, back(pkt{proto: 1, icmp: of(typ, code), sport: 2001, dport: 2001}, "192.0.2.10").frame(), nil))
		}
	}
}

// guarded is inside → NAPT → firewall that lets only port 53 out.
func guarded() *builder {
	b := natted(pool())
	fw := b.add("fw", element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{
		{Name: "dns", Filters: []headerspace.Filter{filter(headerspace.DPort, one(53))}},
	}})
	n := len(b.g.Nodes) - 2
	b.wire(n, element.NAPTOutside, fw, 0)
	b.wire(fw, 0, b.out(outside), 0)
	b.wire(fw, 1, b.add("fw/deny", element.Discard{Reason: "deny"}), 0)
	return b
}

func TestADroppedPacketLeavesNoTraceInState(t *testing.T) {
	c := guarded().chain()
	for range 10 { // more than there are ports
		dropped(t, c.Process(0, inside, udp(1000, 80).frame(), nil), "deny")
	}
	if s := c.Sessions(0); len(s) != 0 {
		t.Fatalf("dropped packets left %v", s)
	}
}

func TestADroppedPacketDoesNotRefreshAnEntry(t *testing.T) {
	b := natted(pool())
	n := len(b.g.Nodes) - 1
	ttl := b.add("ttl", element.DecTTL{})
	b.wire(n, element.NAPTOutside, ttl, 0)
	b.wire(ttl, 0, b.out(outside), 0)
	b.wire(ttl, 1, b.add("drop", element.Discard{Reason: "expired"}), 0)
	c := b.chain()
	only(t, c.Process(0, inside, udp(1000, 53).frame(), nil))
	dying := udp(1000, 53)
	dying.ttl = 1
	dropped(t, c.Process(seconds(15), inside, dying.frame(), nil), "expired")
	if s := c.Sessions(seconds(15)); len(s) != 1 || s[0].Idle != seconds(15) {
		t.Fatalf("the entry was refreshed by a dropped packet: %+v", s)
	}
	only(t, c.Process(seconds(16), inside, udp(1000, 53).frame(), nil))
}

func TestOnlyTheCopyThatLeavesKeepsItsState(t *testing.T) {
	b := newBuilder()
	tee := b.add("tee", element.Tee{Outs: 2})
	first, second := b.add("first", pool()), b.add("second", pool())
	b.wire(b.in(inside), 0, tee, 0)
	b.wire(tee, 0, first, element.NAPTInside)
	b.wire(tee, 1, second, element.NAPTInside)
	b.wire(first, element.NAPTOutside, b.add("drop", element.Discard{Reason: "deny"}), 0)
	b.wire(second, element.NAPTOutside, b.out(outside), 0)
	c := b.chain()
	r := c.Process(0, inside, udp(1000, 53).frame(), nil)
	if len(r.Out) != 1 || len(r.Drops) != 1 {
		t.Fatalf("got %+v", r)
	}
	if s := c.Sessions(0); len(s) != 1 || s[0].Node != "second" {
		t.Fatalf("bindings are %v, want only one of second", s)
	}
}

// answering is inside ⇄ NAPT ⇄ router ⇄ outside; the router's answers go back through the NAPT.
func answering() *builder {
	b := natted(pool())
	n := len(b.g.Nodes) - 1
	ttl, answer := b.add("rt/ttl", element.DecTTL{}), b.add("rt/expired", element.ICMPError{Type: 11, Source: ip("192.0.2.1")})
	b.wire(n, element.NAPTOutside, ttl, 0)
	b.wire(ttl, element.TTLAlive, b.out(outside), 0)
	b.wire(ttl, element.TTLExpired, answer, 0)
	b.wire(answer, 0, n, element.NAPTOutside)
	return b
}

func TestARouterBehindTheNATAnswersAndTheBindingStays(t *testing.T) {
	c := answering().chain()
	dying := udp(1000, 53)
	dying.ttl = 1
	got := only(t, c.Process(0, inside, dying.frame(), nil))
	if quote := dying.frame()[14:]; !bytes.Equal(got[42:], quote) {
		t.Errorf("quoted %x, want what was sent: %x", got[42:], quote)
	}
	if sum16(got[14:34]) != 0xffff || sum16(got[34:]) != 0xffff {
		t.Error("a checksum of the answer is wrong")
	}
	if len(c.Sessions(0)) != 1 {
		t.Error("a packet that was answered leaves its binding, as one that left")
	}
}

// nested is the two-zone chain: zones a and b both use 10.0.0.0/8, each behind its own NAPT; a common
// NAPT follows. a is interface 0, b interface 2.
func nested() *builder {
	b := newBuilder()
	zone := b.g.Interfaces[inside]
	zone.Name = "b"
	zone.In, zone.Out = b.add("b/in", element.Input{Interface: "b"}), b.add("b/out", element.Output{Interface: "b"})
	b.g.Interfaces = append(b.g.Interfaces, zone)
	zonePool := func(a string) element.NAPT { e := pool(); e.Pool = []netip.Addr{ip(a)}; return e }
	na, nb, isp := b.add("nat-a", zonePool("100.64.0.1")), b.add("nat-b", zonePool("100.64.0.2")), b.add("isp", pool())
	split := b.add("split", element.Lookup{Outs: 3, NoRoute: 2, Routes: []element.Route{
		{Prefix: prefix("100.64.0.1/32"), Out: 0}, {Prefix: prefix("100.64.0.2/32"), Out: 1},
	}})
	for i, n := range map[int]int{0: na, 2: nb} {
		b.wire(b.in(i), 0, n, element.NAPTInside)
		b.wire(n, element.NAPTInside, b.out(i), 0)
		b.wire(n, element.NAPTOutside, isp, element.NAPTInside)
	}
	b.wire(isp, element.NAPTOutside, b.out(outside), 0)
	b.wire(b.in(outside), 0, isp, element.NAPTOutside)
	b.wire(isp, element.NAPTInside, split, 0)
	b.wire(split, 0, na, element.NAPTOutside)
	b.wire(split, 1, nb, element.NAPTOutside)
	return b
}

func TestTwoZonesWithTheSameAddressesGetTheirOwnAnswers(t *testing.T) {
	b := nested()
	c := New(&b.g, Options{})
	for zone, port := range map[int]uint16{0: 2001, 2: 2002} {
		frame := pkt{sport: 1000, dport: 53, to: New(&b.g, Options{}).links[zone].mac}.frame()
		choose := func(n Binding, allowed func(netip.AddrPort) bool) (netip.AddrPort, bool) {
			at := ap("192.0.2.10:2000")
			if n.Node != "isp" {
				at = netip.AddrPortFrom(map[string]netip.Addr{"nat-a": ip("100.64.0.1"), "nat-b": ip("100.64.0.2")}[n.Node], 2003)
			} else {
				at = netip.AddrPortFrom(at.Addr(), port)
			}
			return at, allowed(at)
		}
		want(t, c.Process(0, zone, frame, choose), sent(pkt{src: "192.0.2.10", sport: port, dport: 53}))
	}
	for zone, port := range map[int]uint16{0: 2001, 2: 2002} {
		r := c.Process(0, outside, back(udp(53, port), "192.0.2.10").frame(), nil)
		if only(t, r); r.Out[0].Interface != zone {
			t.Errorf("the answer to port %d went to interface %d, want %d", port, r.Out[0].Interface, zone)
		}
	}
}

func TestANAPTMayEndAnOpeningThatIsStuckForASecondAndNoOtherEntry(t *testing.T) {
	syn := pkt{proto: 6, flags: "S", sport: 1, dport: 80}
	answer := back(pkt{proto: 6, flags: "SA", sport: 80, dport: 2000}, "192.0.2.10")
	ack := pkt{proto: 6, flags: "A", sport: 1, dport: 80}
	for name, c := range map[string]struct {
		first                  pkt
		answered, acknowledged bool
		idle                   time.Duration
		want                   string
	}{
		"not answered for a second":     {first: syn, idle: time.Second},
		"not answered for not so long":  {first: syn, idle: time.Second - 1, want: "nat may not end the entry for 10.0.0.2:1 → 198.51.100.1:80: protocol 6, acknowledged: false, idle for 999.999999ms"},
		"answered":                      {first: syn, answered: true, idle: time.Second},
		"acknowledged":                  {first: syn, answered: true, acknowledged: true, idle: time.Second, want: "nat may not end the entry for 10.0.0.2:1 → 198.51.100.1:80: protocol 6, acknowledged: true, idle for 1s"},
		"a protocol without an opening": {first: udp(1, 80), idle: time.Second, want: "nat may not end the entry for 10.0.0.2:1 → 198.51.100.1:80: protocol 17, acknowledged: false, idle for 1s"},
		"too old to be an entry anyway": {first: syn, idle: 10*time.Second + 1, want: "nat has no entry for 10.0.0.2:1 → 198.51.100.1:80"},
	} {
		t.Run(name, func(t *testing.T) {
			chain := natted(pool()).chain()
			only(t, chain.Process(0, inside, c.first.frame(), choosing("192.0.2.10:2000")))
			if c.answered {
				only(t, chain.Process(0, outside, answer.frame(), nil))
			}
			if c.acknowledged {
				only(t, chain.Process(0, inside, ack.frame(), nil))
			}
			b := Binding{Node: "nat", Proto: 6, Inside: ap("10.0.0.2:1"), Remote: ap("198.51.100.1:80")}
			if c.first.proto == 0 {
				b.Proto = protoUDP
			}
			err := chain.Evict(c.idle, b)
			if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil && got != c.want {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if n := len(chain.Sessions(c.idle)); err == nil && n != 0 {
				t.Errorf("%d entries are left", n)
			}
		})
	}
	if err := natted(pool()).chain().Evict(0, Binding{Node: "tan", Inside: ap("10.0.0.2:1"), Remote: ap("198.51.100.1:80")}); fmt.Sprint(err) != `there is no NAPT "tan"` {
		t.Error(err)
	}
}
