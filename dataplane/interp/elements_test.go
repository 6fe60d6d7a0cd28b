package interp

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
)

// TestARouterHopByteForByte is worked by hand: TTL 64 → 63 takes 0x0100 from a header word, so
// the checksum 0xf462 grows by 0x0100 (RFC 1624: HC' = ~(~HC + ~m + m')).
func TestARouterHopByteForByte(t *testing.T) {
	frame := unhex(t, `02736e000000 0200000000aa 0800
		45000020 12344000 4011f462 0a000002 c6336401
		03e80035 000c0000 68692121`)
	want := unhex(t, `0200000000bb 02736e000001 0800
		45000020 12344000 3f11f562 0a000002 c6336401
		03e80035 000c0000 68692121`)
	if got := testbed.Only(t, start(testbed.OneElement(element.DecTTL{})).Process(0, testbed.Inside, frame, nil)); !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}

func unhex(t *testing.T, s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTTLOneAndZeroLeaveByExpired(t *testing.T) {
	c := start(testbed.OneElement(element.DecTTL{}))
	frame := testbed.Packet{TTL: 1}.Frame()
	testbed.Dropped(t, c.Process(0, testbed.Inside, frame, nil), "expired")
	frame[22], frame[24] = 0, frame[24]+1
	testbed.Dropped(t, c.Process(0, testbed.Inside, frame, nil), "expired")
	testbed.Want(t, c.Process(0, testbed.Inside, testbed.Packet{TTL: 2}.Frame(), nil), testbed.Sent(testbed.Packet{TTL: 1}))
}

func TestATTLGuardLetsPassWhatHasTheTTLAndChangesNothing(t *testing.T) {
	for name, c := range map[string]struct{ min, ttl uint8 }{
		"a neighbour's packet, none but neighbours wanted": {255, 255},
		"a packet from behind one router, two allowed":     {253, 254},
		"the least TTL that passes":                        {64, 64},
		"a TTL of one where any will do":                   {1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			testbed.Want(t, start(testbed.OneElement(element.TTLGuard{Min: c.min})).Process(0, testbed.Inside, testbed.Packet{TTL: c.ttl}.Frame(), nil), testbed.Sent(testbed.Packet{TTL: c.ttl}))
		})
	}
	for name, c := range map[string]struct{ min, ttl uint8 }{
		"a packet from behind one router, none but neighbours wanted": {255, 254},
		"one less than the least TTL":                                 {64, 63},
	} {
		t.Run(name, func(t *testing.T) {
			testbed.Dropped(t, start(testbed.OneElement(element.TTLGuard{Min: c.min})).Process(0, testbed.Inside, testbed.Packet{TTL: c.ttl}.Frame(), nil), "fail")
		})
	}
}

func TestSetFieldWritesItsFieldAndTheChecksums(t *testing.T) {
	later := testbed.Packet{Proto: layers.IPProtocolTCP, Frag: 7, Payload: make([]byte, 16)}
	tcp := testbed.Packet{Proto: layers.IPProtocolTCP, Sport: 5, Dport: 6}
	for name, c := range map[string]struct {
		field     headerspace.Field
		value     headerspace.Value
		got, want testbed.Packet
	}{
		"source":                              {headerspace.Src, headerspace.Addr(testbed.Addr("203.0.113.9")), testbed.Packet{}, testbed.Packet{Src: "203.0.113.9"}},
		"source of TCP":                       {headerspace.Src, headerspace.Addr(testbed.Addr("203.0.113.9")), tcp, testbed.Packet{Proto: 6, Sport: 5, Dport: 6, Src: "203.0.113.9"}},
		"source of ICMP":                      {headerspace.Src, headerspace.Addr(testbed.Addr("203.0.113.9")), testbed.Ping(3), testbed.Packet{Proto: 1, ICMP: testbed.EchoRequest, Sport: 3, Src: "203.0.113.9"}},
		"source of a later fragment":          {headerspace.Src, headerspace.Addr(testbed.Addr("203.0.113.9")), later, testbed.Packet{Proto: 6, Frag: 7, Payload: make([]byte, 16), Src: "203.0.113.9"}},
		"destination":                         {headerspace.Dst, headerspace.Addr(testbed.Addr("203.0.113.9")), testbed.Packet{}, testbed.Packet{Dst: "203.0.113.9"}},
		"source port":                         {headerspace.SPort, headerspace.V(9), tcp, testbed.Packet{Proto: 6, Sport: 9, Dport: 6}},
		"destination port":                    {headerspace.DPort, headerspace.V(9), tcp, testbed.Packet{Proto: 6, Sport: 5, Dport: 9}},
		"a port of ICMP: nothing":             {headerspace.DPort, headerspace.V(9), testbed.Ping(3), testbed.Ping(3)},
		"a port of a later fragment: nothing": {headerspace.SPort, headerspace.V(9), later, later},
		"TTL":                                 {headerspace.TTL, headerspace.V(7), testbed.Packet{}, testbed.Packet{TTL: 7}},
		"VID of a tag keeps its priority":     {headerspace.VLAN, headerspace.V(9), testbed.Packet{VLAN: []uint16{0xb005}}, testbed.Packet{VLAN: []uint16{0xb009}}},
		"VID without a tag makes one, priority 0": {headerspace.VLAN, headerspace.V(9), testbed.Packet{}, testbed.Packet{VLAN: []uint16{9}}},
		"no VLAN strips the tag":                  {headerspace.VLAN, headerspace.V(4096), testbed.Packet{VLAN: []uint16{0xb005}}, testbed.Packet{}},
		"no VLAN without a tag: nothing":          {headerspace.VLAN, headerspace.V(4096), testbed.Packet{}, testbed.Packet{}},
	} {
		t.Run(name, func(t *testing.T) {
			chain := start(testbed.OneElement(element.SetField{Field: c.field, Value: c.value}))
			testbed.Want(t, chain.Process(0, testbed.Inside, c.got.Frame(), nil), testbed.Sent(c.want))
		})
	}
}

func TestSetFieldDSCPLeavesECNAlone(t *testing.T) {
	c := start(testbed.OneElement(element.SetField{Field: headerspace.DSCP, Value: headerspace.V(10)}))
	got := testbed.Only(t, c.Process(0, testbed.Inside, testbed.Packet{}.Frame(), nil))
	if got[15] != 10<<2|1 {
		t.Errorf("TOS byte is %#x, want DSCP 10 and ECN 1", got[15])
	}
	if header.Sum(got[14:34]) != 0xffff {
		t.Error("the header checksum is wrong")
	}
}

func TestATagSetAfterAStripIsNew(t *testing.T) {
	b := testbed.New()
	b.Line(
		b.Add("f/strip", element.SetField{Field: headerspace.VLAN, Value: headerspace.V(4096)}),
		b.Add("f/tag", element.SetField{Field: headerspace.VLAN, Value: headerspace.V(7)}),
	)
	testbed.Want(t, start(&b.Graph).Process(0, testbed.Inside, testbed.Packet{VLAN: []uint16{0xb005}}.Frame(), nil), testbed.Sent(testbed.Packet{VLAN: []uint16{7}}))
}

func TestTheFirstRuleThatMatchesDecides(t *testing.T) {
	dns, low := testbed.Filter(headerspace.DPort, testbed.One(53)), testbed.Filter(headerspace.DPort, headerspace.Range(0, 1023))
	c := start(testbed.OneElement(element.Classifier{Outs: 4, Default: 3, Rules: []element.Rule{
		{Name: "dns", Filters: []headerspace.Filter{dns, testbed.Filter(headerspace.DPort, testbed.One(5353))}, Out: 0, Count: true},
		{Name: "low", Filters: []headerspace.Filter{low}, Out: 1},
		{Name: "from-net", Filters: []headerspace.Filter{testbed.Filter(headerspace.Src, headerspace.Prefix(testbed.Prefix("10.9.0.0/16")))}, Out: 2},
	}}))
	testbed.Want(t, c.Process(0, testbed.Inside, testbed.Packet{Sport: 1, Dport: 53}.Frame(), nil), testbed.Sent(testbed.Packet{Sport: 1, Dport: 53}))
	testbed.Want(t, c.Process(0, testbed.Inside, testbed.Packet{Sport: 1, Dport: 5353}.Frame(), nil), testbed.Sent(testbed.Packet{Sport: 1, Dport: 5353}))
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.Packet{Sport: 1, Dport: 80}.Frame(), nil), "1")
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.Packet{Sport: 1, Dport: 8080, Src: "10.9.1.1"}.Frame(), nil), "2")
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.Packet{Sport: 1, Dport: 8080}.Frame(), nil), "3")
	if got := c.Counters()["dns"]; got.Packets != 2 || got.Bytes != 2*49 {
		t.Errorf("rule dns counted %+v, want 2 packets of 49 bytes", got)
	}
}

func TestAFilterOnAFieldThatThePacketLacksDoesNotMatch(t *testing.T) {
	everyPort := testbed.Filter(headerspace.DPort, headerspace.Range(0, 65535))
	c := start(testbed.OneElement(element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{{Name: "ported", Filters: []headerspace.Filter{everyPort}}}}))
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.Packet{}.Frame(), nil))
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.Packet{Frag: 0x2000}.Frame(), nil))
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.Packet{Frag: 3}.Frame(), nil), "1")
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.Ping(1).Frame(), nil), "1")

	untagged := testbed.Filter(headerspace.VLAN, headerspace.Of(4096))
	c = start(testbed.OneElement(element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{{Name: "untagged", Filters: []headerspace.Filter{untagged}}}}))
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.Packet{}.Frame(), nil))
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.Packet{VLAN: []uint16{0}}.Frame(), nil)) // a priority tag
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.Packet{VLAN: []uint16{3}}.Frame(), nil), "1")
}

func TestEveryFieldIsReadWhereItIs(t *testing.T) {
	synAck := testbed.Packet{Proto: 6, Sport: 7, Dport: 8, Flags: "SA", TTL: 9, VLAN: []uint16{0x6003}}
	unreachable := testbed.Packet{Proto: 1, ICMP: layers.CreateICMPv4TypeCode(3, 1), Sport: 1}
	for name, c := range map[string]struct {
		p     testbed.Packet
		field headerspace.Field
		set   headerspace.Set
	}{
		"VLAN":              {synAck, headerspace.VLAN, testbed.One(3)},
		"source":            {synAck, headerspace.Src, headerspace.Prefix(testbed.Prefix("10.0.0.2/32"))},
		"holed destination": {synAck, headerspace.Dst, headerspace.Prefix(testbed.Prefix("9.0.0.0/8")).Union(headerspace.Prefix(testbed.Prefix("198.51.100.1/32")))},
		"protocol":          {synAck, headerspace.Proto, testbed.One(6)},
		"DSCP":              {synAck, headerspace.DSCP, testbed.One(0x2e)},
		"TTL":               {synAck, headerspace.TTL, testbed.One(9)},
		"source port":       {synAck, headerspace.SPort, testbed.One(7)},
		"destination port":  {synAck, headerspace.DPort, testbed.One(8)},
		"TCP flags":         {synAck, headerspace.TCPFlags, testbed.One(0x12)},
		"ICMP type":         {unreachable, headerspace.ICMPType, testbed.One(3)},
		"ICMP code":         {unreachable, headerspace.ICMPCode, testbed.One(1)},
		"whole":             {synAck, headerspace.Frag, testbed.One(headerspace.FragWhole)},
		"first fragment":    {testbed.Packet{Frag: 0x2000}, headerspace.Frag, testbed.One(headerspace.FragFirst)},
		"later fragment":    {testbed.Packet{Frag: 0x2001}, headerspace.Frag, testbed.One(headerspace.FragLater)},
		"last fragment":     {testbed.Packet{Frag: 0x0001}, headerspace.Frag, testbed.One(headerspace.FragLater)},
	} {
		t.Run(name, func(t *testing.T) {
			rule := element.Rule{Name: "r", Filters: []headerspace.Filter{testbed.Filter(c.field, c.set)}}
			testbed.Only(t, start(testbed.OneElement(element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{rule}})).Process(0, testbed.Inside, c.p.Frame(), nil))
		})
	}
}

func TestLookupTakesTheLongestPrefixAndNotesItsNextHop(t *testing.T) {
	b := testbed.New()
	b.Graph.Interfaces[testbed.Outside].Neighbors = append(b.Graph.Interfaces[testbed.Outside].Neighbors, b.Graph.Interfaces[testbed.Inside].Neighbors...)
	l := b.Add("f/lookup", element.Lookup{Outs: 2, NoRoute: 1, Routes: []element.Route{
		{Prefix: testbed.Prefix("198.51.0.0/16"), Out: 1},
		{Prefix: testbed.Prefix("198.51.100.0/24"), Via: testbed.Addr("192.0.2.7"), Out: 0},
		{Prefix: testbed.Prefix("192.0.2.0/24"), Out: 0},
	}})
	b.Line(l)
	b.Wire(l, 1, b.Add("f/no", element.Discard{Reason: "no-route"}), 0)
	c := start(&b.Graph)
	r := c.Process(0, testbed.Inside, testbed.Packet{}.Frame(), nil)
	testbed.Only(t, r)
	if !r.Out[0].Unresolved || r.Out[0].NextHop != testbed.Addr("192.0.2.7") {
		t.Errorf("sent to %+v, want it to wait for 192.0.2.7", r.Out[0])
	}
	r = c.Process(0, testbed.Inside, testbed.Packet{Dst: "192.0.2.9"}.Frame(), nil)
	if testbed.Only(t, r); r.Out[0].NextHop != testbed.Addr("192.0.2.9") {
		t.Errorf("an on-link destination is its own next hop, got %v", r.Out[0].NextHop)
	}
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.Packet{Dst: "198.51.1.1"}.Frame(), nil), "no-route")
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.Packet{Dst: "8.8.8.8"}.Frame(), nil), "no-route")
}

func TestALookupWithoutViaForgetsTheNextHopOfTheOneBefore(t *testing.T) {
	b := testbed.New()
	b.Line(
		b.Add("a/lookup", element.Lookup{Outs: 1, Routes: []element.Route{{Prefix: testbed.Prefix("0.0.0.0/0"), Via: testbed.Addr("192.0.2.7")}}}),
		b.Add("b/lookup", element.Lookup{Outs: 1, Routes: []element.Route{{Prefix: testbed.Prefix("0.0.0.0/0")}}}),
	)
	if r := start(&b.Graph).Process(0, testbed.Inside, testbed.Packet{}.Frame(), nil); r.Out[0].NextHop != testbed.Addr("192.0.2.254") {
		t.Errorf("next hop is %v, want the gateway", r.Out[0].NextHop)
	}
}

func TestATeeSendsACopyToEachOutputInOrder(t *testing.T) {
	b := testbed.New()
	tee := b.Add("f/tee", element.Tee{Outs: 3})
	mark := b.Add("f/mark", element.SetField{Field: headerspace.TTL, Value: headerspace.V(5)})
	b.Wire(b.In(testbed.Inside), 0, tee, 0)
	b.Wire(tee, 0, mark, 0)
	b.Wire(mark, 0, b.Out(testbed.Outside), 0)
	b.Wire(tee, 1, b.Add("f/drop", element.Discard{Reason: "deny"}), 0)
	b.Wire(tee, 2, b.Out(testbed.Outside), 0)
	r := start(&b.Graph).Process(0, testbed.Inside, testbed.Packet{}.Frame(), nil)
	if len(r.Out) != 2 || !slices.Equal(r.Drops, []pass.Drop{{Reason: "deny"}}) {
		t.Fatalf("want two frames and one drop, got %d and %v", len(r.Out), r.Drops)
	}
	if first, second := testbed.Sent(testbed.Packet{TTL: 5}).Frame(), testbed.Sent(testbed.Packet{}).Frame(); !bytes.Equal(r.Out[0].Frame, first) || !bytes.Equal(r.Out[1].Frame, second) {
		t.Error("the copies are mixed up, or one sees what was written to the other")
	}
}

func TestCountersCountDroppedPacketsWithTagAndPadding(t *testing.T) {
	b := testbed.New()
	count := b.Add("f/count", element.Counter{})
	b.Wire(b.In(testbed.Inside), 0, count, 0)
	b.Wire(count, 0, b.Add("f/drop", element.Discard{Reason: "deny"}), 0)
	c := start(&b.Graph)
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.Packet{VLAN: []uint16{3}, Padding: 5}.Frame(), nil), "deny")
	if got := c.Counters()["f/count"]; got != (pass.Count{Packets: 1, Bytes: 49 + 4 + 5}) {
		t.Errorf("counted %+v, want 1 packet of 58 bytes", got)
	}
}

// expiring is a chain whose router kills what has TTL 1 and answers to inside.
func expiring(e element.ICMPError) *testbed.Builder {
	b := testbed.New()
	ttl, answer := b.Add("rt/ttl", element.DecTTL{}), b.Add("rt/expired", e)
	b.Line(ttl)
	b.Wire(ttl, element.TTLExpired, answer, 0)
	b.Wire(answer, 0, b.Out(testbed.Inside), 0)
	return b
}

// TestTimeExceededByteForByte is the answer to the packet of TestARouterHopByteForByte with TTL 1.
func TestTimeExceededByteForByte(t *testing.T) {
	frame := unhex(t, `02736e000000 0200000000aa 8100 0005 0800
		45000020 12344000 01113363 0a000002 c6336401
		03e80035 000c0000 68692121 eeee`)
	want := unhex(t, `0200000000aa 02736e000000 8100 0005 0800
		45c0003c 00000000 400165ff 0a000001 0a000002
		0b00 674c 00000000
		45000020 12344000 01113363 0a000002 c6336401
		03e80035 000c0000 68692121`)
	got := testbed.Only(t, start(&expiring(element.ICMPError{Type: 11}).Graph).Process(0, testbed.Inside, frame, nil))
	if !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}

func TestAnErrorQuotesThePacketAsItIsThereAndAtMost548Bytes(t *testing.T) {
	b := testbed.New()
	dst := b.Add("a/dst", element.SetField{Field: headerspace.Dst, Value: headerspace.Addr(testbed.Addr("203.0.113.5"))})
	answer := b.Add("a/unreachable", element.ICMPError{Type: 3, Code: 13, Source: testbed.Addr("172.16.0.1")})
	b.Wire(b.In(testbed.Inside), 0, dst, 0)
	b.Wire(dst, 0, answer, 0)
	b.Wire(answer, 0, b.Out(testbed.Inside), 0)
	long := testbed.Packet{Payload: bytes.Repeat([]byte("x"), 600)}
	got := testbed.Only(t, start(&b.Graph).Process(0, testbed.Inside, long.Frame(), nil))
	if len(got) != 14+576 {
		t.Fatalf("the answer has %d bytes, want 14 + 576", len(got))
	}
	long.Dst = "203.0.113.5"
	if quote := long.Frame()[14:][:548]; !bytes.Equal(got[42:], quote) {
		t.Error("the quote is not the packet as it was rewritten, checksums included")
	}
	if src := got[26:30]; !bytes.Equal(src, []byte{172, 16, 0, 1}) {
		t.Errorf("source is %v, want the element's", src)
	}
	if got[34] != 3 || got[35] != 13 {
		t.Errorf("type %d code %d, want 3 and 13", got[34], got[35])
	}
	if header.Sum(got[14:34]) != 0xffff || header.Sum(got[34:]) != 0xffff {
		t.Error("a checksum of the answer is wrong")
	}
}

func TestNoErrorIsSentAboutErrorsAndLaterFragments(t *testing.T) {
	c := start(&expiring(element.ICMPError{Type: 11}).Graph)
	for _, typ := range []uint8{3, 4, 5, 11, 12} {
		testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.Packet{TTL: 1, Proto: 1, ICMP: layers.CreateICMPv4TypeCode(typ, 0)}.Frame(), nil), "icmp-suppressed")
	}
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.Packet{TTL: 1, Frag: 5}.Frame(), nil), "icmp-suppressed")
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.Packet{TTL: 1, Frag: 0x2000}.Frame(), nil))
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.Packet{TTL: 1, Proto: 1, ICMP: testbed.EchoReply, Dport: 4}.Frame(), nil))
}

func echoing() *Chain {
	b := testbed.New()
	echo := b.Add("inside/echo", element.EchoResponder{})
	b.Wire(b.In(testbed.Inside), 0, echo, 0)
	b.Wire(echo, 0, b.Out(testbed.Inside), 0)
	return start(&b.Graph)
}

func TestAPingIsAnsweredWithTagOptionsAndPayload(t *testing.T) {
	options := []layers.IPv4Option{{OptionType: 148, OptionLength: 4, OptionData: []byte{0, 0}}}
	request := testbed.Packet{Proto: 1, ICMP: testbed.EchoRequest, Sport: 77, Dst: "10.0.0.1", TTL: 3, VLAN: []uint16{0x6005}, Options: options}
	reply := testbed.Packet{Proto: 1, ICMP: testbed.EchoReply, Dport: 77, Src: "10.0.0.1", Dst: "10.0.0.2", TTL: 64, VLAN: []uint16{0x6005}, Options: options}
	testbed.Want(t, echoing().Process(0, testbed.Inside, request.Frame(), nil), testbed.Delivered(reply))
}

func TestOnlyWholeEchoRequestsAreAnswered(t *testing.T) {
	c := echoing()
	for name, p := range map[string]testbed.Packet{
		"UDP":                    {},
		"echo reply":             {Proto: 1, ICMP: testbed.EchoReply, Dport: 1},
		"first fragment of ping": {Proto: 1, ICMP: testbed.EchoRequest, Sport: 1, Frag: 0x2000},
		"later fragment of ping": {Proto: 1, ICMP: testbed.EchoRequest, Sport: 1, Frag: 0x0002},
	} {
		t.Run(name, func(t *testing.T) { testbed.Dropped(t, c.Process(0, testbed.Inside, p.Frame(), nil), "local") })
	}
}

func TestAPacketWithoutNextHopIsDropped(t *testing.T) {
	b := testbed.New()
	b.Wire(b.In(testbed.Outside), 0, b.Out(testbed.Inside), 0)
	in := testbed.Packet{Src: "198.51.100.1", Dst: "203.0.113.1", To: testbed.OutsideMAC}
	testbed.Dropped(t, start(&b.Graph).Process(0, testbed.Outside, in.Frame(), nil), "no-next-hop")
}

func TestAPacketLargerThanTheMTUIsAnsweredIfItMayNotBeFragmented(t *testing.T) {
	b := testbed.New()
	b.Line()
	b.Wire(b.In(testbed.Outside), 0, b.Out(testbed.Inside), 0)
	b.Graph.Interfaces[testbed.Outside].MTU = 100
	c := start(&b.Graph)
	big := testbed.Packet{Payload: make([]byte, 73)} // 101 bytes
	testbed.Dropped(t, c.Process(0, testbed.Inside, big.Frame(), nil), "too-big")
	big.DF = true
	r := c.Process(0, testbed.Inside, big.Frame(), nil)
	if !slices.Equal(r.Drops, []pass.Drop{{Reason: "too-big-answered"}}) || len(r.Out) != 1 || r.Out[0].Interface != testbed.Inside {
		t.Fatalf("want one answer to inside, got %+v", r)
	}
	got := r.Out[0].Frame
	if !bytes.Equal(got[26:30], []byte{10, 0, 0, 1}) {
		t.Errorf("the answer is from %v, want the inside interface's address", got[26:30])
	}
	if !bytes.Equal(got[34:36], []byte{3, 4}) || !bytes.Equal(got[40:42], []byte{0, 100}) {
		t.Errorf("ICMP header is %x, want type 3 code 4 and MTU 100", got[34:42])
	}
	big.Payload = make([]byte, 72)
	testbed.Want(t, c.Process(0, testbed.Inside, big.Frame(), nil), testbed.Sent(big))
}

func TestALoopEnds(t *testing.T) {
	b := testbed.New()
	count := b.Add("f/count", element.Counter{})
	b.Wire(b.In(testbed.Inside), 0, count, 0)
	b.Wire(count, 0, count, 0)
	testbed.Dropped(t, start(&b.Graph).Process(0, testbed.Inside, testbed.Packet{}.Frame(), nil), "loop")
}

func TestTheTraceTellsTheWayAndWhy(t *testing.T) {
	b := testbed.New()
	allow := element.Rule{Name: "allow-dns", Filters: []headerspace.Filter{testbed.Filter(headerspace.DPort, testbed.One(53))}}
	b.Line(
		b.Add("fw/rules", element.Classifier{Outs: 1, Rules: []element.Rule{allow}}),
		b.Add("rt/lookup", element.Lookup{Outs: 1, Routes: []element.Route{{Prefix: testbed.Prefix("0.0.0.0/0"), Via: testbed.Addr("192.0.2.254")}}}),
		b.Add("rt/ttl", element.DecTTL{}),
	)
	var got []string
	New(&b.Graph, Options{Trace: func(s pass.Step) { got = append(got, s.Node+": "+s.Note) }}).Process(0, testbed.Inside, testbed.Packet{}.Frame(), nil)
	want := []string{
		"inside/in: ", "fw/rules: rule allow-dns", "rt/lookup: route 0.0.0.0/0 via 192.0.2.254", "rt/ttl: ",
		"outside/out: next hop 192.0.2.254",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func BenchmarkFirewallOf8000Rules(b *testing.B) {
	e := element.Classifier{Outs: 1}
	for i := range 8000 {
		f := testbed.Filter(headerspace.Src, headerspace.Prefix(netip.PrefixFrom(header.Addr(uint32(i)<<12), 20))).And(headerspace.DPort, testbed.One(uint64(i)))
		e.Rules = append(e.Rules, element.Rule{Name: "r", Filters: []headerspace.Filter{f}})
	}
	c := start(testbed.OneElement(e))
	frame := testbed.UDP(1000, 53).Frame()
	for range b.N {
		c.Process(0, testbed.Inside, frame, nil)
	}
}
