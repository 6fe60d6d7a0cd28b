package oracle_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
)

// choosing always answers with the endpoint.
func choosing(s string) interp.Chooser {
	return func(_ pass.Binding, allowed func(netip.AddrPort) bool) (netip.AddrPort, bool) {
		return testbed.AddrPort(s), allowed(testbed.AddrPort(s))
	}
}

func TestAFlowIsTranslatedThereAndBack(t *testing.T) {
	for name, c := range map[string]struct{ there, translated, reply, delivered testbed.Packet }{
		"UDP": {
			testbed.UDP(1000, 53),
			testbed.Packet{Src: "192.0.2.10", Sport: 2002, Dport: 53},
			testbed.UDP(53, 2002),
			testbed.Packet{Src: "198.51.100.1", Dst: "10.0.0.2", Sport: 53, Dport: 1000},
		},
		"TCP": {
			testbed.Packet{Proto: 6, Sport: 1000, Dport: 80, Flags: "S"},
			testbed.Packet{Proto: 6, Src: "192.0.2.10", Sport: 2002, Dport: 80, Flags: "S"},
			testbed.Packet{Proto: 6, Sport: 80, Dport: 2002, Flags: "SA"},
			testbed.Packet{Proto: 6, Src: "198.51.100.1", Dst: "10.0.0.2", Sport: 80, Dport: 1000, Flags: "SA"},
		},
		"ping": {
			testbed.Ping(1000),
			testbed.Packet{Proto: 1, ICMP: testbed.EchoRequest, Src: "192.0.2.10", Sport: 2002},
			testbed.Packet{Proto: 1, ICMP: testbed.EchoReply, Dport: 2002},
			testbed.Packet{Proto: 1, ICMP: testbed.EchoReply, Src: "198.51.100.1", Dst: "10.0.0.2", Dport: 1000},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := start(&testbed.Natted(testbed.Pool()).Graph)
			testbed.Want(t, c2.Process(0, testbed.Inside, c.there.Frame(), choosing("192.0.2.10:2002")), testbed.Sent(c.translated))
			testbed.Want(t, c2.Process(1, testbed.Outside, testbed.Back(c.reply, "192.0.2.10").Frame(), nil), testbed.Delivered(c.delivered))
			testbed.Want(t, c2.Process(2, testbed.Inside, c.there.Frame(), nil), testbed.Sent(c.translated))
		})
	}
}

func TestAUDPChecksumOfZeroStaysZeroAndOneThatBecomesZeroIsWrittenAsOnes(t *testing.T) {
	c := start(&testbed.Natted(testbed.Pool()).Graph)
	frame := testbed.UDP(1000, 53).Frame()
	frame[40], frame[41] = 0, 0
	got := testbed.Only(t, c.Process(0, testbed.Inside, frame, nil))
	if got[40] != 0 || got[41] != 0 {
		t.Errorf("no checksum became %x", got[40:42])
	}
	// The checksum that the rewritten packet would have to have is 0 if the received one is what the sum moves by.
	right := testbed.Sent(testbed.Packet{Src: "192.0.2.10", Sport: 2000, Dport: 53}).Frame()
	was := testbed.UDP(1000, 53).Frame()
	move := header.Delta(append(was[26:34:34], was[34:36]...), append(right[26:34:34], right[34:36]...))
	was[40], was[41] = byte(move>>8), byte(move)
	got = testbed.Only(t, c.Process(0, testbed.Inside, was, nil))
	if got[40] != 0xff || got[41] != 0xff {
		t.Errorf("a checksum that becomes zero is written %x, want ffff", got[40:42])
	}
}

func TestEveryRemoteGetsItsOwnBindingAndNoOtherRemoteGetsIn(t *testing.T) {
	c := start(&testbed.Natted(testbed.Pool()).Graph)
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(1000, 53).Frame(), choosing("192.0.2.10:2000")))
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(1000, 54).Frame(), choosing("192.0.2.10:2001")))
	if n := len(c.Sessions(0)); n != 2 {
		t.Fatalf("%d bindings, want one per remote port", n)
	}
	testbed.Dropped(t, c.Process(0, testbed.Outside, testbed.Back(testbed.UDP(53, 2001), "192.0.2.10").Frame(), nil), "nat-no-binding")
	testbed.Dropped(t, c.Process(0, testbed.Outside, testbed.Back(testbed.UDP(99, 2000), "192.0.2.10").Frame(), nil), "nat-no-binding")
	testbed.Dropped(t, c.Process(0, testbed.Outside, testbed.Back(testbed.Packet{Proto: 6, Sport: 53, Dport: 2000}, "192.0.2.10").Frame(), nil), "nat-no-binding")
	testbed.Dropped(t, c.Process(0, testbed.Outside, testbed.Back(testbed.UDP(53, 2000), "192.0.2.11").Frame(), nil), "nat-no-binding")
	testbed.Only(t, c.Process(0, testbed.Outside, testbed.Back(testbed.UDP(53, 2000), "192.0.2.10").Frame(), nil))
}

func TestTheNATDropsWhatItCannotTranslate(t *testing.T) {
	c := start(&testbed.Natted(testbed.Pool()).Graph)
	for name, k := range map[string]struct {
		p    testbed.Packet
		in   int
		want string
	}{
		"a first fragment":        {testbed.Packet{Frag: 0x2000}, testbed.Inside, "nat-fragment"},
		"a later fragment":        {testbed.Packet{Frag: 7}, testbed.Inside, "nat-fragment"},
		"a fragment from outside": {testbed.Back(testbed.Packet{Frag: 7}, "192.0.2.10"), testbed.Outside, "nat-fragment"},
		"AH":                      {testbed.Packet{Proto: 51}, testbed.Inside, "nat-unsupported"},
		"DCCP":                    {testbed.Packet{Proto: 33}, testbed.Inside, "nat-unsupported"},
		"UDP-Lite":                {testbed.Packet{Proto: 136}, testbed.Inside, "nat-unsupported"},
		"source quench": {
			testbed.Packet{Proto: 1, ICMP: layers.CreateICMPv4TypeCode(4, 0), Payload: testbed.UDP(1, 2).Frame()[14:]}, testbed.Inside, "nat-unsupported",
		},
		"source quench, outside":       {errorOf(4, testbed.Packet{Src: "192.0.2.10", Sport: 2000, Dport: 53}), testbed.Outside, "nat-no-binding"},
		"an echo reply from inside":    {testbed.Packet{Proto: 1, ICMP: testbed.EchoReply, Dport: 1}, testbed.Inside, "nat-unsupported"},
		"an address mask request":      {testbed.Packet{Proto: 1, ICMP: layers.CreateICMPv4TypeCode(17, 0)}, testbed.Inside, "nat-unsupported"},
		"another protocol, outside":    {testbed.Back(testbed.Packet{Proto: 4}, "192.0.2.10"), testbed.Outside, "nat-no-binding"},
		"an echo request from outside": {testbed.Back(testbed.Ping(1), "192.0.2.10"), testbed.Outside, "nat-no-binding"},
		"an error without quote":       {testbed.Back(testbed.Packet{Proto: 1, ICMP: testbed.Expired}, "192.0.2.10"), testbed.Outside, "nat-no-binding"},
		"an error from inside, no flow": {
			testbed.Packet{Proto: 1, ICMP: testbed.Expired, Payload: testbed.UDP(1, 2).Frame()[14:]}, testbed.Inside, "nat-unsupported",
		},
	} {
		t.Run(name, func(t *testing.T) { testbed.Dropped(t, c.Process(0, k.in, k.p.Frame(), nil), k.want) })
	}
}

func TestBindingsEndWhenIdleLongerThanTheirTimeout(t *testing.T) {
	tcp := func(flags string) testbed.Packet {
		return testbed.Packet{Proto: 6, Sport: 1000, Dport: 80, Flags: flags}
	}
	answer := func(flags string) testbed.Packet {
		return testbed.Back(testbed.Packet{Proto: 6, Sport: 80, Dport: 2000, Flags: flags}, "192.0.2.10")
	}
	type event struct {
		at float64
		in int
		p  testbed.Packet
	}
	for name, c := range map[string]struct {
		events  []event
		timeout float64
	}{
		"UDP":                                {[]event{{0, testbed.Inside, testbed.UDP(1000, 80)}}, 20},
		"ping":                               {[]event{{0, testbed.Inside, testbed.Ping(1000)}}, 5},
		"UDP refreshed from outside":         {[]event{{0, testbed.Inside, testbed.UDP(1000, 80)}, {7, testbed.Outside, testbed.Back(testbed.UDP(80, 2000), "192.0.2.10")}}, 27},
		"TCP of one direction":               {[]event{{0, testbed.Inside, tcp("S")}, {9, testbed.Inside, tcp("S")}}, 19},
		"TCP of both directions":             {[]event{{0, testbed.Inside, tcp("S")}, {1, testbed.Outside, answer("SA")}, {2, testbed.Inside, tcp("A")}}, 102},
		"TCP without the handshake's end":    {[]event{{0, testbed.Inside, tcp("S")}, {1, testbed.Outside, answer("SA")}}, 11},
		"TCP after FIN from inside":          {[]event{{0, testbed.Inside, tcp("S")}, {1, testbed.Outside, answer("SA")}, {2, testbed.Inside, tcp("FA")}}, 12},
		"TCP after RST from outside":         {[]event{{0, testbed.Inside, tcp("S")}, {1, testbed.Outside, answer("R")}, {2, testbed.Inside, tcp("A")}}, 12},
		"TCP with FIN and traffic after it":  {[]event{{0, testbed.Inside, tcp("S")}, {1, testbed.Outside, answer("F")}, {8, testbed.Outside, answer("A")}}, 18},
		"TCP: an error about it is no usage": {[]event{{0, testbed.Inside, tcp("S")}, {5, testbed.Outside, testbed.ErrorTo("192.0.2.10", testbed.Packet{Proto: 6, Src: "192.0.2.10", Sport: 2000, Dport: 80})}}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := start(&testbed.Natted(testbed.Pool()).Graph)
			for _, e := range c.events {
				testbed.Only(t, c2.Process(testbed.Seconds(e.at), e.in, e.p.Frame(), choosing("192.0.2.10:2000")))
			}
			if n := len(c2.Sessions(testbed.Seconds(c.timeout))); n != 1 {
				t.Errorf("after exactly %vs the binding is gone", c.timeout)
			}
			if n := len(c2.Sessions(testbed.Seconds(c.timeout) + 1)); n != 0 {
				t.Errorf("after more than %vs the binding is still there", c.timeout)
			}
		})
	}
}

// errorOf is an ICMP error of a type from a router outside.
func errorOf(typ uint8, quote testbed.Packet) testbed.Packet {
	p := testbed.ErrorTo("192.0.2.10", quote)
	p.ICMP = layers.CreateICMPv4TypeCode(typ, 0)
	return p
}

func TestPortsAreUniquePerProtocolAndRunOut(t *testing.T) {
	c := start(&testbed.Natted(testbed.Pool()).Graph)
	for i := range uint16(4) {
		testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(1000+i, 53).Frame(), nil))
	}
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.UDP(1004, 53).Frame(), nil), "nat-exhausted")
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.Packet{Proto: 6, Sport: 1, Dport: 2}.Frame(), nil)) // another protocol
	seen := map[string]bool{}
	for _, s := range c.Sessions(0) {
		key := fmt.Sprint(s.Proto, s.Outside)
		if seen[key] {
			t.Errorf("two bindings share %s", key)
		}
		seen[key] = true
	}
	testbed.Only(t, c.Process(testbed.Seconds(20)+1, testbed.Inside, testbed.UDP(1004, 53).Frame(), nil))
}

func TestSessionsAreBounded(t *testing.T) {
	e := testbed.Pool()
	e.MaxSessions = 2
	c := start(&testbed.Natted(e).Graph)
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(1, 53).Frame(), nil))
	testbed.Only(t, c.Process(testbed.Seconds(1), testbed.Inside, testbed.UDP(2, 53).Frame(), nil))
	testbed.Dropped(t, c.Process(testbed.Seconds(20), testbed.Inside, testbed.UDP(3, 53).Frame(), nil), "nat-exhausted")
	testbed.Only(t, c.Process(testbed.Seconds(20.5), testbed.Inside, testbed.UDP(3, 53).Frame(), nil))
	testbed.Dropped(t, c.Process(testbed.Seconds(20.5), testbed.Inside, testbed.UDP(4, 53).Frame(), nil), "nat-exhausted")
}

func TestAChoiceMustBeFreeAndOfThePool(t *testing.T) {
	c := start(&testbed.Natted(testbed.Pool()).Graph)
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(1, 53).Frame(), choosing("192.0.2.10:2001")))
	for _, taken := range []string{"192.0.2.10:2001", "192.0.2.10:1999", "192.0.2.10:2004", "192.0.2.11:2000"} {
		testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.UDP(2, 53).Frame(), choosing(taken)), "nat-exhausted")
	}
}

func TestErrorsFromOutsideReachTheSenderWithItsOwnAddressesQuoted(t *testing.T) {
	for name, k := range map[string]struct{ there, translated testbed.Packet }{
		"UDP":              {testbed.UDP(1000, 53), testbed.Packet{Src: "192.0.2.10", Sport: 2001, Dport: 53}},
		"UDP, 8 bytes":     {testbed.Packet{Sport: 1000, Dport: 53, Payload: []byte{}}, testbed.Packet{Src: "192.0.2.10", Sport: 2001, Dport: 53, Payload: []byte{}}},
		"TCP":              {testbed.Packet{Proto: 6, Sport: 1000, Dport: 53}, testbed.Packet{Proto: 6, Src: "192.0.2.10", Sport: 2001, Dport: 53}},
		"ping":             {testbed.Ping(1000), testbed.Packet{Proto: 1, ICMP: testbed.EchoRequest, Src: "192.0.2.10", Sport: 2001}},
		"TCP with options": {testbed.Packet{Proto: 6, Sport: 1000, Dport: 53, Options: []layers.IPv4Option{{OptionType: 1}}}, testbed.Packet{Proto: 6, Src: "192.0.2.10", Sport: 2001, Dport: 53, Options: []layers.IPv4Option{{OptionType: 1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(&testbed.Natted(testbed.Pool()).Graph)
			testbed.Want(t, c.Process(0, testbed.Inside, k.there.Frame(), choosing("192.0.2.10:2001")), testbed.Sent(k.translated))
			testbed.Want(t, c.Process(0, testbed.Outside, testbed.ErrorTo("192.0.2.10", k.translated).Frame(), nil), testbed.Delivered(testbed.ErrorTo("10.0.0.2", k.there)))
		})
	}
}

func TestAQuoteCutBehindEightBytesKeepsWhatItHasOfChecksumsRight(t *testing.T) {
	c := start(&testbed.Natted(testbed.Pool()).Graph)
	there, translated := testbed.Packet{Proto: 6, Sport: 1000, Dport: 53}, testbed.Packet{Proto: 6, Src: "192.0.2.10", Sport: 2001, Dport: 53}
	testbed.Only(t, c.Process(0, testbed.Inside, there.Frame(), choosing("192.0.2.10:2001")))
	cut := func(dst string, p testbed.Packet) testbed.Packet {
		e := testbed.ErrorTo(dst, p)
		e.Payload = e.Payload[:28]
		return e
	}
	testbed.Want(t, c.Process(0, testbed.Outside, cut("192.0.2.10", translated).Frame(), nil), testbed.Delivered(cut("10.0.0.2", there)))
	short := testbed.ErrorTo("192.0.2.10", translated)
	short.Payload = short.Payload[:27]
	testbed.Dropped(t, c.Process(0, testbed.Outside, short.Frame(), nil), "nat-no-binding")
}

func TestErrorsFromInsideShowOnlyTheOutside(t *testing.T) {
	c := start(&testbed.Natted(testbed.Pool()).Graph)
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(1000, 53).Frame(), choosing("192.0.2.10:2001")))
	arrived := testbed.Packet{Src: "198.51.100.1", Dst: "192.0.2.10", Sport: 53, Dport: 2001}
	deliveredThen := testbed.Packet{Src: "198.51.100.1", Dst: "10.0.0.2", Sport: 53, Dport: 1000}
	unreachable := layers.CreateICMPv4TypeCode(3, 3)
	in := testbed.Packet{Proto: 1, ICMP: unreachable, Payload: deliveredThen.Frame()[14:]}
	out := testbed.Packet{Proto: 1, ICMP: unreachable, Src: "192.0.2.10", Payload: arrived.Frame()[14:]}
	testbed.Want(t, c.Process(0, testbed.Inside, in.Frame(), nil), testbed.Sent(out))
}

func TestAnErrorAboutAFirstFragmentOfATranslatedPacketIsTranslated(t *testing.T) {
	c := start(&testbed.Natted(testbed.Pool()).Graph)
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(1000, 53).Frame(), choosing("192.0.2.10:2001")))
	quote := testbed.Packet{Src: "192.0.2.10", Sport: 2001, Dport: 53, Frag: 0x2000}
	got := testbed.Only(t, c.Process(0, testbed.Outside, testbed.ErrorTo("192.0.2.10", quote).Frame(), nil))
	quote.Src, quote.Sport = "10.0.0.2", 1000
	back := testbed.ErrorTo("10.0.0.2", quote)
	back.Src, back.To, back.From = "203.0.113.99", testbed.HostMAC, testbed.InsideMAC
	back.TTL = got[22]
	if want := back.Frame(); !bytes.Equal(got[14:], want[14:]) {
		t.Errorf("got\n%x, want\n%x", got[14:], want[14:])
	}
	quote = testbed.Packet{Src: "192.0.2.10", Frag: 0x2001}
	testbed.Dropped(t, c.Process(0, testbed.Outside, testbed.ErrorTo("192.0.2.10", quote).Frame(), nil), "nat-no-binding")
}

func TestProtocolsWithoutPortsAreTranslatedByAddressWhereThatIsUnambiguous(t *testing.T) {
	gre := func(host string) []byte { return testbed.Packet{Proto: 47, Src: host}.Frame() }
	e := testbed.Pool()
	e.Pool = append(e.Pool, testbed.Addr("192.0.2.11"))
	c := start(&testbed.Natted(e).Graph)
	for i, host := range []string{"10.0.0.2", "10.0.0.3"} {
		outside := fmt.Sprintf("192.0.2.%d:0", 10+i)
		testbed.Want(t, c.Process(0, testbed.Inside, gre(host), choosing(outside)), testbed.Sent(testbed.Packet{Proto: 47, Src: outside[:len(outside)-2]}))
	}
	testbed.Dropped(t, c.Process(0, testbed.Inside, gre("10.0.0.4"), nil), "nat-exhausted")
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.Packet{Proto: 50, Src: "10.0.0.4"}.Frame(), nil))                      // another protocol
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.Packet{Proto: 47, Src: "10.0.0.4", Dst: "198.51.100.2"}.Frame(), nil)) // another remote
	got := testbed.Only(t, c.Process(0, testbed.Outside, testbed.Back(testbed.Packet{Proto: 47}, "192.0.2.11").Frame(), nil))
	if to := header.Addr(header.Dst(got[14:])); to != testbed.Addr("10.0.0.3") {
		t.Errorf("the second host's packet goes to %v", to)
	}
	testbed.Dropped(t, c.Process(0, testbed.Outside, testbed.Back(testbed.Packet{Proto: 132}, "192.0.2.11").Frame(), nil), "nat-no-binding")
	testbed.Only(t, c.Process(testbed.Seconds(20)+1, testbed.Inside, gre("10.0.0.4"), nil)) // UDP's timeout is over
}

func TestATimestampRequestIsTranslatedByItsIdentifierAndRepliesOfAnyCodePass(t *testing.T) {
	c := start(&testbed.Natted(testbed.Pool()).Graph)
	of := func(typ, code uint8) layers.ICMPv4TypeCode { return layers.CreateICMPv4TypeCode(typ, code) }
	request := testbed.Packet{Proto: 1, ICMP: of(13, 0), Sport: 1000}
	request.Src = "192.0.2.10"
	translated := request
	translated.Sport = 2001
	request.Src = ""
	testbed.Want(t, c.Process(0, testbed.Inside, request.Frame(), choosing("192.0.2.10:2001")), testbed.Sent(translated))
	for _, code := range []uint8{0, 7} {
		for _, typ := range []uint8{14, 0} {
			testbed.Only(t, c.Process(0, testbed.Outside, testbed.Back(testbed.Packet{Proto: 1, ICMP: of(typ, code), Sport: 2001, Dport: 2001}, "192.0.2.10").Frame(), nil))
		}
	}
}

// guarded is inside → NAPT → firewall that lets only port 53 out.
func guarded() *testbed.Builder {
	b := testbed.Natted(testbed.Pool())
	fw := b.Add("fw", element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{
		{Name: "dns", Filters: []headerspace.Filter{testbed.Filter(headerspace.DPort, testbed.One(53))}},
	}})
	n := len(b.Graph.Nodes) - 2
	b.Wire(n, element.NAPTOutside, fw, 0)
	b.Wire(fw, 0, b.Out(testbed.Outside), 0)
	b.Wire(fw, 1, b.Add("fw/deny", element.Discard{Reason: "deny"}), 0)
	return b
}

func TestADroppedPacketLeavesNoTraceInState(t *testing.T) {
	c := start(&guarded().Graph)
	for range 10 { // more than there are ports
		testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.UDP(1000, 80).Frame(), nil), "deny")
	}
	if s := c.Sessions(0); len(s) != 0 {
		t.Fatalf("dropped packets left %v", s)
	}
}

func TestADroppedPacketDoesNotRefreshAnEntry(t *testing.T) {
	b := testbed.Natted(testbed.Pool())
	n := len(b.Graph.Nodes) - 1
	ttl := b.Add("ttl", element.DecTTL{})
	b.Wire(n, element.NAPTOutside, ttl, 0)
	b.Wire(ttl, 0, b.Out(testbed.Outside), 0)
	b.Wire(ttl, 1, b.Add("drop", element.Discard{Reason: "expired"}), 0)
	c := start(&b.Graph)
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(1000, 53).Frame(), nil))
	dying := testbed.UDP(1000, 53)
	dying.TTL = 1
	testbed.Dropped(t, c.Process(testbed.Seconds(15), testbed.Inside, dying.Frame(), nil), "expired")
	if s := c.Sessions(testbed.Seconds(15)); len(s) != 1 || s[0].Idle != testbed.Seconds(15) {
		t.Fatalf("the entry was refreshed by a dropped packet: %+v", s)
	}
	testbed.Only(t, c.Process(testbed.Seconds(16), testbed.Inside, testbed.UDP(1000, 53).Frame(), nil))
}

func TestOnlyTheCopyThatLeavesKeepsItsState(t *testing.T) {
	b := testbed.New()
	tee := b.Add("tee", element.Tee{Outs: 2})
	first, second := b.Add("first", testbed.Pool()), b.Add("second", testbed.Pool())
	b.Wire(b.In(testbed.Inside), 0, tee, 0)
	b.Wire(tee, 0, first, element.NAPTInside)
	b.Wire(tee, 1, second, element.NAPTInside)
	b.Wire(first, element.NAPTOutside, b.Add("drop", element.Discard{Reason: "deny"}), 0)
	b.Wire(second, element.NAPTOutside, b.Out(testbed.Outside), 0)
	c := start(&b.Graph)
	r := c.Process(0, testbed.Inside, testbed.UDP(1000, 53).Frame(), nil)
	if len(r.Out) != 1 || len(r.Drops) != 1 {
		t.Fatalf("got %+v", r)
	}
	if s := c.Sessions(0); len(s) != 1 || s[0].Node != "second" {
		t.Fatalf("bindings are %v, want only one of second", s)
	}
}

func TestARouterBehindTheNATAnswersAndTheBindingStays(t *testing.T) {
	c := start(&testbed.Answering().Graph)
	dying := testbed.UDP(1000, 53)
	dying.TTL = 1
	got := testbed.Only(t, c.Process(0, testbed.Inside, dying.Frame(), nil))
	if quote := dying.Frame()[14:]; !bytes.Equal(got[42:], quote) {
		t.Errorf("quoted %x, want what was sent: %x", got[42:], quote)
	}
	if header.Sum(got[14:34]) != 0xffff || header.Sum(got[34:]) != 0xffff {
		t.Error("a checksum of the answer is wrong")
	}
	if len(c.Sessions(0)) != 1 {
		t.Error("a packet that was answered leaves its binding, as one that left")
	}
}

// nested is the two-zone chain: zones a and b both use 10.0.0.0/8, each behind its own NAPT; a common
// NAPT follows. a is interface 0, b interface 2.
func nested() *testbed.Builder {
	b := testbed.New()
	zone := b.Graph.Interfaces[testbed.Inside]
	zone.Name = "b"
	zone.In, zone.Out = b.Add("b/in", element.Input{Interface: "b"}), b.Add("b/out", element.Output{Interface: "b"})
	b.Graph.Interfaces = append(b.Graph.Interfaces, zone)
	zonePool := func(a string) element.NAPT { e := testbed.Pool(); e.Pool = []netip.Addr{testbed.Addr(a)}; return e }
	na, nb, isp := b.Add("nat-a", zonePool("100.64.0.1")), b.Add("nat-b", zonePool("100.64.0.2")), b.Add("isp", testbed.Pool())
	split := b.Add("split", element.Lookup{Outs: 3, NoRoute: 2, Routes: []element.Route{
		{Prefix: testbed.Prefix("100.64.0.1/32"), Out: 0}, {Prefix: testbed.Prefix("100.64.0.2/32"), Out: 1},
	}})
	for i, n := range map[int]int{0: na, 2: nb} {
		b.Wire(b.In(i), 0, n, element.NAPTInside)
		b.Wire(n, element.NAPTInside, b.Out(i), 0)
		b.Wire(n, element.NAPTOutside, isp, element.NAPTInside)
	}
	b.Wire(isp, element.NAPTOutside, b.Out(testbed.Outside), 0)
	b.Wire(b.In(testbed.Outside), 0, isp, element.NAPTOutside)
	b.Wire(isp, element.NAPTInside, split, 0)
	b.Wire(split, 0, na, element.NAPTOutside)
	b.Wire(split, 1, nb, element.NAPTOutside)
	return b
}

func TestTwoZonesWithTheSameAddressesGetTheirOwnAnswers(t *testing.T) {
	b := nested()
	c := start(&b.Graph)
	for zone, port := range map[int]uint16{0: 2001, 2: 2002} {
		frame := testbed.Packet{Sport: 1000, Dport: 53, To: macOf(zone)}.Frame()
		choose := func(n pass.Binding, allowed func(netip.AddrPort) bool) (netip.AddrPort, bool) {
			at := testbed.AddrPort("192.0.2.10:2000")
			if n.Node != "isp" {
				at = netip.AddrPortFrom(map[string]netip.Addr{"nat-a": testbed.Addr("100.64.0.1"), "nat-b": testbed.Addr("100.64.0.2")}[n.Node], 2003)
			} else {
				at = netip.AddrPortFrom(at.Addr(), port)
			}
			return at, allowed(at)
		}
		testbed.Want(t, c.Process(0, zone, frame, choose), testbed.Sent(testbed.Packet{Src: "192.0.2.10", Sport: port, Dport: 53}))
	}
	for zone, port := range map[int]uint16{0: 2001, 2: 2002} {
		r := c.Process(0, testbed.Outside, testbed.Back(testbed.UDP(53, port), "192.0.2.10").Frame(), nil)
		if testbed.Only(t, r); r.Out[0].Interface != zone {
			t.Errorf("the answer to port %d went to interface %d, want %d", port, r.Out[0].Interface, zone)
		}
	}
}

func TestANAPTMayEndAnOpeningThatIsStuckForASecondAndNoOtherEntry(t *testing.T) {
	syn := testbed.Packet{Proto: 6, Flags: "S", Sport: 1, Dport: 80}
	answer := testbed.Back(testbed.Packet{Proto: 6, Flags: "SA", Sport: 80, Dport: 2000}, "192.0.2.10")
	ack := testbed.Packet{Proto: 6, Flags: "A", Sport: 1, Dport: 80}
	for name, c := range map[string]struct {
		first                  testbed.Packet
		answered, acknowledged bool
		idle                   time.Duration
		want                   string
	}{
		"not answered for a second":     {first: syn, idle: time.Second},
		"not answered for not so long":  {first: syn, idle: time.Second - 1, want: "nat may not end the entry for 10.0.0.2:1 → 198.51.100.1:80: protocol 6, acknowledged: false, idle for 999.999999ms"},
		"answered":                      {first: syn, answered: true, idle: time.Second},
		"acknowledged":                  {first: syn, answered: true, acknowledged: true, idle: time.Second, want: "nat may not end the entry for 10.0.0.2:1 → 198.51.100.1:80: protocol 6, acknowledged: true, idle for 1s"},
		"a protocol without an opening": {first: testbed.UDP(1, 80), idle: time.Second, want: "nat may not end the entry for 10.0.0.2:1 → 198.51.100.1:80: protocol 17, acknowledged: false, idle for 1s"},
		"too old to be an entry anyway": {first: syn, idle: 10*time.Second + 1, want: "nat has no entry for 10.0.0.2:1 → 198.51.100.1:80"},
	} {
		t.Run(name, func(t *testing.T) {
			chain := start(&testbed.Natted(testbed.Pool()).Graph)
			testbed.Only(t, chain.Process(0, testbed.Inside, c.first.Frame(), choosing("192.0.2.10:2000")))
			if c.answered {
				testbed.Only(t, chain.Process(0, testbed.Outside, answer.Frame(), nil))
			}
			if c.acknowledged {
				testbed.Only(t, chain.Process(0, testbed.Inside, ack.Frame(), nil))
			}
			b := pass.Binding{Node: "nat", Proto: 6, Inside: testbed.AddrPort("10.0.0.2:1"), Remote: testbed.AddrPort("198.51.100.1:80")}
			if c.first.Proto == 0 {
				b.Proto = header.UDP
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
	if err := start(&testbed.Natted(testbed.Pool()).Graph).Evict(0, pass.Binding{Node: "tan", Inside: testbed.AddrPort("10.0.0.2:1"), Remote: testbed.AddrPort("198.51.100.1:80")}); fmt.Sprint(err) != `there is no NAPT "tan"` {
		t.Error(err)
	}
}
