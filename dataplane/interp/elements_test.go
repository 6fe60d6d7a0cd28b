package interp

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
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
	if got := only(t, oneElement(element.DecTTL{}).Process(0, inside, frame, nil)); !bytes.Equal(got, want) {
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
	c := oneElement(element.DecTTL{})
	frame := pkt{ttl: 1}.frame()
	dropped(t, c.Process(0, inside, frame, nil), "expired")
	frame[22], frame[24] = 0, frame[24]+1
	dropped(t, c.Process(0, inside, frame, nil), "expired")
	want(t, c.Process(0, inside, pkt{ttl: 2}.frame(), nil), sent(pkt{ttl: 1}))
}

func TestATTLGuardLetsPassWhatHasTheTTLAndChangesNothing(t *testing.T) {
	for name, c := range map[string]struct{ min, ttl uint8 }{
		"a neighbour's packet, none but neighbours wanted": {255, 255},
		"a packet from behind one router, two allowed":     {253, 254},
		"the least TTL that passes":                        {64, 64},
		"a TTL of one where any will do":                   {1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			want(t, oneElement(element.TTLGuard{Min: c.min}).Process(0, inside, pkt{ttl: c.ttl}.frame(), nil), sent(pkt{ttl: c.ttl}))
		})
	}
	for name, c := range map[string]struct{ min, ttl uint8 }{
		"a packet from behind one router, none but neighbours wanted": {255, 254},
		"one less than the least TTL":                                 {64, 63},
	} {
		t.Run(name, func(t *testing.T) {
			dropped(t, oneElement(element.TTLGuard{Min: c.min}).Process(0, inside, pkt{ttl: c.ttl}.frame(), nil), "fail")
		})
	}
}

func TestSetFieldWritesItsFieldAndTheChecksums(t *testing.T) {
	later := pkt{proto: layers.IPProtocolTCP, frag: 7, payload: make([]byte, 16)}
	tcp := pkt{proto: layers.IPProtocolTCP, sport: 5, dport: 6}
	for name, c := range map[string]struct {
		field     headerspace.Field
		value     headerspace.Value
		got, want pkt
	}{
		"source":                              {headerspace.Src, headerspace.Addr(ip("203.0.113.9")), pkt{}, pkt{src: "203.0.113.9"}},
		"source of TCP":                       {headerspace.Src, headerspace.Addr(ip("203.0.113.9")), tcp, pkt{proto: 6, sport: 5, dport: 6, src: "203.0.113.9"}},
		"source of ICMP":                      {headerspace.Src, headerspace.Addr(ip("203.0.113.9")), ping(3), pkt{proto: 1, icmp: echoRequest, sport: 3, src: "203.0.113.9"}},
		"source of a later fragment":          {headerspace.Src, headerspace.Addr(ip("203.0.113.9")), later, pkt{proto: 6, frag: 7, payload: make([]byte, 16), src: "203.0.113.9"}},
		"destination":                         {headerspace.Dst, headerspace.Addr(ip("203.0.113.9")), pkt{}, pkt{dst: "203.0.113.9"}},
		"source port":                         {headerspace.SPort, headerspace.V(9), tcp, pkt{proto: 6, sport: 9, dport: 6}},
		"destination port":                    {headerspace.DPort, headerspace.V(9), tcp, pkt{proto: 6, sport: 5, dport: 9}},
		"a port of ICMP: nothing":             {headerspace.DPort, headerspace.V(9), ping(3), ping(3)},
		"a port of a later fragment: nothing": {headerspace.SPort, headerspace.V(9), later, later},
		"TTL":                                 {headerspace.TTL, headerspace.V(7), pkt{}, pkt{ttl: 7}},
		"VID of a tag keeps its priority":     {headerspace.VLAN, headerspace.V(9), pkt{vlan: []uint16{0xb005}}, pkt{vlan: []uint16{0xb009}}},
		"VID without a tag makes one, priority 0": {headerspace.VLAN, headerspace.V(9), pkt{}, pkt{vlan: []uint16{9}}},
		"no VLAN strips the tag":                  {headerspace.VLAN, headerspace.V(4096), pkt{vlan: []uint16{0xb005}}, pkt{}},
		"no VLAN without a tag: nothing":          {headerspace.VLAN, headerspace.V(4096), pkt{}, pkt{}},
	} {
		t.Run(name, func(t *testing.T) {
			chain := oneElement(element.SetField{Field: c.field, Value: c.value})
			want(t, chain.Process(0, inside, c.got.frame(), nil), sent(c.want))
		})
	}
}

func TestSetFieldDSCPLeavesECNAlone(t *testing.T) {
	c := oneElement(element.SetField{Field: headerspace.DSCP, Value: headerspace.V(10)})
	got := only(t, c.Process(0, inside, pkt{}.frame(), nil))
	if got[15] != 10<<2|1 {
		t.Errorf("TOS byte is %#x, want DSCP 10 and ECN 1", got[15])
	}
	if sum16(got[14:34]) != 0xffff {
		t.Error("the header checksum is wrong")
	}
}

func TestATagSetAfterAStripIsNew(t *testing.T) {
	b := newBuilder()
	b.line(
		b.add("f/strip", element.SetField{Field: headerspace.VLAN, Value: headerspace.V(4096)}),
		b.add("f/tag", element.SetField{Field: headerspace.VLAN, Value: headerspace.V(7)}),
	)
	want(t, b.chain().Process(0, inside, pkt{vlan: []uint16{0xb005}}.frame(), nil), sent(pkt{vlan: []uint16{7}}))
}

func filter(f headerspace.Field, s headerspace.Set) headerspace.Filter {
	return headerspace.Filter{}.With(f, s)
}

func TestTheFirstRuleThatMatchesDecides(t *testing.T) {
	dns, low := filter(headerspace.DPort, one(53)), filter(headerspace.DPort, headerspace.Range(0, 1023))
	c := oneElement(element.Classifier{Outs: 4, Default: 3, Rules: []element.Rule{
		{Name: "dns", Filters: []headerspace.Filter{dns, filter(headerspace.DPort, one(5353))}, Out: 0, Count: true},
		{Name: "low", Filters: []headerspace.Filter{low}, Out: 1},
		{Name: "from-net", Filters: []headerspace.Filter{filter(headerspace.Src, headerspace.Prefix(prefix("10.9.0.0/16")))}, Out: 2},
	}})
	want(t, c.Process(0, inside, pkt{sport: 1, dport: 53}.frame(), nil), sent(pkt{sport: 1, dport: 53}))
	want(t, c.Process(0, inside, pkt{sport: 1, dport: 5353}.frame(), nil), sent(pkt{sport: 1, dport: 5353}))
	dropped(t, c.Process(0, inside, pkt{sport: 1, dport: 80}.frame(), nil), "1")
	dropped(t, c.Process(0, inside, pkt{sport: 1, dport: 8080, src: "10.9.1.1"}.frame(), nil), "2")
	dropped(t, c.Process(0, inside, pkt{sport: 1, dport: 8080}.frame(), nil), "3")
	if got := c.Counters()["dns"]; got.Packets != 2 || got.Bytes != 2*49 {
		t.Errorf("rule dns counted %+v, want 2 packets of 49 bytes", got)
	}
}

func TestAFilterOnAFieldThatThePacketLacksDoesNotMatch(t *testing.T) {
	everyPort := filter(headerspace.DPort, headerspace.Range(0, 65535))
	c := oneElement(element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{{Name: "ported", Filters: []headerspace.Filter{everyPort}}}})
	only(t, c.Process(0, inside, pkt{}.frame(), nil))
	only(t, c.Process(0, inside, pkt{frag: 0x2000}.frame(), nil))
	dropped(t, c.Process(0, inside, pkt{frag: 3}.frame(), nil), "1")
	dropped(t, c.Process(0, inside, ping(1).frame(), nil), "1")

	untagged := filter(headerspace.VLAN, headerspace.Of(4096))
	c = oneElement(element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{{Name: "untagged", Filters: []headerspace.Filter{untagged}}}})
	only(t, c.Process(0, inside, pkt{}.frame(), nil))
	only(t, c.Process(0, inside, pkt{vlan: []uint16{0}}.frame(), nil)) // a priority tag
	dropped(t, c.Process(0, inside, pkt{vlan: []uint16{3}}.frame(), nil), "1")
}

func TestEveryFieldIsReadWhereItIs(t *testing.T) {
	synAck := pkt{proto: 6, sport: 7, dport: 8, flags: "SA", ttl: 9, vlan: []uint16{0x6003}}
	unreachable := pkt{proto: 1, icmp: layers.CreateICMPv4TypeCode(3, 1), sport: 1}
	for name, c := range map[string]struct {
		p     pkt
		field headerspace.Field
		set   headerspace.Set
	}{
		"VLAN":              {synAck, headerspace.VLAN, one(3)},
		"source":            {synAck, headerspace.Src, headerspace.Prefix(prefix("10.0.0.2/32"))},
		"holed destination": {synAck, headerspace.Dst, headerspace.Prefix(prefix("9.0.0.0/8")).Union(headerspace.Prefix(prefix("198.51.100.1/32")))},
		"protocol":          {synAck, headerspace.Proto, one(6)},
		"DSCP":              {synAck, headerspace.DSCP, one(0x2e)},
		"TTL":               {synAck, headerspace.TTL, one(9)},
		"source port":       {synAck, headerspace.SPort, one(7)},
		"destination port":  {synAck, headerspace.DPort, one(8)},
		"TCP flags":         {synAck, headerspace.TCPFlags, one(0x12)},
		"ICMP type":         {unreachable, headerspace.ICMPType, one(3)},
		"ICMP code":         {unreachable, headerspace.ICMPCode, one(1)},
		"whole":             {synAck, headerspace.Frag, one(headerspace.FragWhole)},
		"first fragment":    {pkt{frag: 0x2000}, headerspace.Frag, one(headerspace.FragFirst)},
		"later fragment":    {pkt{frag: 0x2001}, headerspace.Frag, one(headerspace.FragLater)},
		"last fragment":     {pkt{frag: 0x0001}, headerspace.Frag, one(headerspace.FragLater)},
	} {
		t.Run(name, func(t *testing.T) {
			rule := element.Rule{Name: "r", Filters: []headerspace.Filter{filter(c.field, c.set)}}
			only(t, oneElement(element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{rule}}).Process(0, inside, c.p.frame(), nil))
		})
	}
}

func TestLookupTakesTheLongestPrefixAndNotesItsNextHop(t *testing.T) {
	b := newBuilder()
	b.g.Interfaces[outside].Neighbors = append(b.g.Interfaces[outside].Neighbors, b.g.Interfaces[inside].Neighbors...)
	l := b.add("f/lookup", element.Lookup{Outs: 2, NoRoute: 1, Routes: []element.Route{
		{Prefix: prefix("198.51.0.0/16"), Out: 1},
		{Prefix: prefix("198.51.100.0/24"), Via: ip("192.0.2.7"), Out: 0},
		{Prefix: prefix("192.0.2.0/24"), Out: 0},
	}})
	b.line(l)
	b.wire(l, 1, b.add("f/no", element.Discard{Reason: "no-route"}), 0)
	c := b.chain()
	r := c.Process(0, inside, pkt{}.frame(), nil)
	only(t, r)
	if !r.Out[0].Unresolved || r.Out[0].NextHop != ip("192.0.2.7") {
		t.Errorf("sent to %+v, want it to wait for 192.0.2.7", r.Out[0])
	}
	r = c.Process(0, inside, pkt{dst: "192.0.2.9"}.frame(), nil)
	if only(t, r); r.Out[0].NextHop != ip("192.0.2.9") {
		t.Errorf("an on-link destination is its own next hop, got %v", r.Out[0].NextHop)
	}
	dropped(t, c.Process(0, inside, pkt{dst: "198.51.1.1"}.frame(), nil), "no-route")
	dropped(t, c.Process(0, inside, pkt{dst: "8.8.8.8"}.frame(), nil), "no-route")
}

func TestALookupWithoutViaForgetsTheNextHopOfTheOneBefore(t *testing.T) {
	b := newBuilder()
	b.line(
		b.add("a/lookup", element.Lookup{Outs: 1, Routes: []element.Route{{Prefix: prefix("0.0.0.0/0"), Via: ip("192.0.2.7")}}}),
		b.add("b/lookup", element.Lookup{Outs: 1, Routes: []element.Route{{Prefix: prefix("0.0.0.0/0")}}}),
	)
	if r := b.chain().Process(0, inside, pkt{}.frame(), nil); r.Out[0].NextHop != ip("192.0.2.254") {
		t.Errorf("next hop is %v, want the gateway", r.Out[0].NextHop)
	}
}

func TestATeeSendsACopyToEachOutputInOrder(t *testing.T) {
	b := newBuilder()
	tee := b.add("f/tee", element.Tee{Outs: 3})
	mark := b.add("f/mark", element.SetField{Field: headerspace.TTL, Value: headerspace.V(5)})
	b.wire(b.in(inside), 0, tee, 0)
	b.wire(tee, 0, mark, 0)
	b.wire(mark, 0, b.out(outside), 0)
	b.wire(tee, 1, b.add("f/drop", element.Discard{Reason: "deny"}), 0)
	b.wire(tee, 2, b.out(outside), 0)
	r := b.chain().Process(0, inside, pkt{}.frame(), nil)
	if len(r.Out) != 2 || !slices.Equal(r.Drops, []Drop{{"deny"}}) {
		t.Fatalf("want two frames and one drop, got %d and %v", len(r.Out), r.Drops)
	}
	if first, second := sent(pkt{ttl: 5}).frame(), sent(pkt{}).frame(); !bytes.Equal(r.Out[0].Frame, first) || !bytes.Equal(r.Out[1].Frame, second) {
		t.Error("the copies are mixed up, or one sees what was written to the other")
	}
}

func TestCountersCountDroppedPacketsWithTagAndPadding(t *testing.T) {
	b := newBuilder()
	count := b.add("f/count", element.Counter{})
	b.wire(b.in(inside), 0, count, 0)
	b.wire(count, 0, b.add("f/drop", element.Discard{Reason: "deny"}), 0)
	c := b.chain()
	dropped(t, c.Process(0, inside, pkt{vlan: []uint16{3}, padding: 5}.frame(), nil), "deny")
	if got := c.Counters()["f/count"]; got != (Count{1, 49 + 4 + 5}) {
		t.Errorf("counted %+v, want 1 packet of 58 bytes", got)
	}
}

// expiring is a chain whose router kills what has TTL 1 and answers to inside.
func expiring(e element.ICMPError) *builder {
	b := newBuilder()
	ttl, answer := b.add("rt/ttl", element.DecTTL{}), b.add("rt/expired", e)
	b.line(ttl)
	b.wire(ttl, element.TTLExpired, answer, 0)
	b.wire(answer, 0, b.out(inside), 0)
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
	got := only(t, expiring(element.ICMPError{Type: 11}).chain().Process(0, inside, frame, nil))
	if !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}

func TestAnErrorQuotesThePacketAsItIsThereAndAtMost548Bytes(t *testing.T) {
	b := newBuilder()
	dst := b.add("a/dst", element.SetField{Field: headerspace.Dst, Value: headerspace.Addr(ip("203.0.113.5"))})
	answer := b.add("a/unreachable", element.ICMPError{Type: 3, Code: 13, Source: ip("172.16.0.1")})
	b.wire(b.in(inside), 0, dst, 0)
	b.wire(dst, 0, answer, 0)
	b.wire(answer, 0, b.out(inside), 0)
	long := pkt{payload: bytes.Repeat([]byte("x"), 600)}
	got := only(t, b.chain().Process(0, inside, long.frame(), nil))
	if len(got) != 14+576 {
		t.Fatalf("the answer has %d bytes, want 14 + 576", len(got))
	}
	long.dst = "203.0.113.5"
	if quote := long.frame()[14:][:548]; !bytes.Equal(got[42:], quote) {
		t.Error("the quote is not the packet as it was rewritten, checksums included")
	}
	if src := got[26:30]; !bytes.Equal(src, []byte{172, 16, 0, 1}) {
		t.Errorf("source is %v, want the element's", src)
	}
	if got[34] != 3 || got[35] != 13 {
		t.Errorf("type %d code %d, want 3 and 13", got[34], got[35])
	}
	if sum16(got[14:34]) != 0xffff || sum16(got[34:]) != 0xffff {
		t.Error("a checksum of the answer is wrong")
	}
}

func TestNoErrorIsSentAboutErrorsAndLaterFragments(t *testing.T) {
	c := expiring(element.ICMPError{Type: 11}).chain()
	for _, typ := range []uint8{3, 4, 5, 11, 12} {
		dropped(t, c.Process(0, inside, pkt{ttl: 1, proto: 1, icmp: layers.CreateICMPv4TypeCode(typ, 0)}.frame(), nil), "icmp-suppressed")
	}
	dropped(t, c.Process(0, inside, pkt{ttl: 1, frag: 5}.frame(), nil), "icmp-suppressed")
	only(t, c.Process(0, inside, pkt{ttl: 1, frag: 0x2000}.frame(), nil))
	only(t, c.Process(0, inside, pkt{ttl: 1, proto: 1, icmp: echoReply, dport: 4}.frame(), nil))
}

func echoing() *Chain {
	b := newBuilder()
	echo := b.add("inside/echo", element.EchoResponder{})
	b.wire(b.in(inside), 0, echo, 0)
	b.wire(echo, 0, b.out(inside), 0)
	return b.chain()
}

func TestAPingIsAnsweredWithTagOptionsAndPayload(t *testing.T) {
	options := []layers.IPv4Option{{OptionType: 148, OptionLength: 4, OptionData: []byte{0, 0}}}
	request := pkt{proto: 1, icmp: echoRequest, sport: 77, dst: "10.0.0.1", ttl: 3, vlan: []uint16{0x6005}, options: options}
	reply := pkt{proto: 1, icmp: echoReply, dport: 77, src: "10.0.0.1", dst: "10.0.0.2", ttl: 64, vlan: []uint16{0x6005}, options: options}
	want(t, echoing().Process(0, inside, request.frame(), nil), delivered(reply))
}

func TestOnlyWholeEchoRequestsAreAnswered(t *testing.T) {
	c := echoing()
	for name, p := range map[string]pkt{
		"UDP":                    {},
		"echo reply":             {proto: 1, icmp: echoReply, dport: 1},
		"first fragment of ping": {proto: 1, icmp: echoRequest, sport: 1, frag: 0x2000},
		"later fragment of ping": {proto: 1, icmp: echoRequest, sport: 1, frag: 0x0002},
	} {
		t.Run(name, func(t *testing.T) { dropped(t, c.Process(0, inside, p.frame(), nil), "local") })
	}
}

func TestAPacketWithoutNextHopIsDropped(t *testing.T) {
	b := newBuilder()
	b.wire(b.in(outside), 0, b.out(inside), 0)
	in := pkt{src: "198.51.100.1", dst: "203.0.113.1", to: outsideMAC}
	dropped(t, b.chain().Process(0, outside, in.frame(), nil), "no-next-hop")
}

func TestAPacketLargerThanTheMTUIsAnsweredIfItMayNotBeFragmented(t *testing.T) {
	b := newBuilder()
	b.line()
	b.wire(b.in(outside), 0, b.out(inside), 0)
	b.g.Interfaces[outside].MTU = 100
	c := b.chain()
	big := pkt{payload: make([]byte, 73)} // 101 bytes
	dropped(t, c.Process(0, inside, big.frame(), nil), "too-big")
	big.df = true
	r := c.Process(0, inside, big.frame(), nil)
	if !slices.Equal(r.Drops, []Drop{{"too-big-answered"}}) || len(r.Out) != 1 || r.Out[0].Interface != inside {
		t.Fatalf("want one answer to inside, got %+v", r)
	}
	got := r.Out[0].Frame
	if !bytes.Equal(got[26:30], []byte{10, 0, 0, 1}) {
		t.Errorf("the answer is from %v, want the inside interface's address", got[26:30])
	}
	if !bytes.Equal(got[34:36], []byte{3, 4}) || !bytes.Equal(got[40:42], []byte{0, 100}) {
		t.Errorf("ICMP header is %x, want type 3 code 4 and MTU 100", got[34:42])
	}
	big.payload = make([]byte, 72)
	want(t, c.Process(0, inside, big.frame(), nil), sent(big))
}

func TestALoopEnds(t *testing.T) {
	b := newBuilder()
	count := b.add("f/count", element.Counter{})
	b.wire(b.in(inside), 0, count, 0)
	b.wire(count, 0, count, 0)
	dropped(t, b.chain().Process(0, inside, pkt{}.frame(), nil), "loop")
}

func TestTheTraceTellsTheWayAndWhy(t *testing.T) {
	b := newBuilder()
	allow := element.Rule{Name: "allow-dns", Filters: []headerspace.Filter{filter(headerspace.DPort, one(53))}}
	b.line(
		b.add("fw/rules", element.Classifier{Outs: 1, Rules: []element.Rule{allow}}),
		b.add("rt/lookup", element.Lookup{Outs: 1, Routes: []element.Route{{Prefix: prefix("0.0.0.0/0"), Via: ip("192.0.2.254")}}}),
		b.add("rt/ttl", element.DecTTL{}),
	)
	var got []string
	New(&b.g, Options{Trace: func(s Step) { got = append(got, s.Node+": "+s.Note) }}).Process(0, inside, pkt{}.frame(), nil)
	want := []string{
		"inside/in: ", "fw/rules: rule allow-dns", "rt/lookup: route 0.0.0.0/0 via 192.0.2.254", "rt/ttl: ",
		"outside/out: next hop 192.0.2.254",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
