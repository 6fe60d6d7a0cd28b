package oracle_test

import (
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
)

// fixed is a network with addresses of its own, a host with one, and ports of a third address.
var fixed = element.StaticNAT{Mappings: []element.StaticMapping{
	{Inside: netip.MustParsePrefix("10.0.0.8/29"), Outside: netip.MustParsePrefix("203.0.113.64/29")},
	{Inside: netip.MustParsePrefix("10.0.0.3/32"), Outside: netip.MustParsePrefix("203.0.113.1/32")},
	{
		Proto: 6, Inside: netip.MustParsePrefix("10.0.0.2/32"), Outside: netip.MustParsePrefix("192.0.2.10/32"),
		InsidePort: 80, OutsidePort: 8080, Ports: 2,
	},
}}

// hosts makes addresses inside those of the host.
func hosts(b *testbed.Builder, list ...string) {
	i := &b.Graph.Interfaces[testbed.Inside]
	for _, a := range list {
		i.Neighbors = append(i.Neighbors, testbed.Everywhere(graph.Neighbor{Addr: testbed.Addr(a), MAC: testbed.HostMAC})...)
	}
}

// fixedAlone is inside ⇄ static-nat ⇄ outside; what is of no mapping is dropped as "rest".
func fixedAlone() *interp.Chain {
	b := testbed.New()
	hosts(b, "10.0.0.3", "10.0.0.13")
	n, rest := b.Add("fixed", fixed), b.Add("rest", element.Discard{Reason: "rest"})
	b.Wire(b.In(testbed.Inside), 0, n, element.StaticInside)
	b.Wire(n, element.StaticOutside, b.Out(testbed.Outside), 0)
	b.Wire(b.In(testbed.Outside), 0, n, element.StaticOutside)
	b.Wire(n, element.StaticInside, b.Out(testbed.Inside), 0)
	b.Wire(n, element.StaticInsideRest, rest, 0)
	b.Wire(n, element.StaticOutsideRest, rest, 0)
	return start(&b.Graph)
}

// ofHost is a packet of a host inside.
func ofHost(src string, p testbed.Packet) testbed.Packet {
	p.Src = src
	return p
}

func TestAFixedTranslationHoldsInBothDirections(t *testing.T) {
	tcp := func(sport, dport uint16) testbed.Packet {
		return testbed.Packet{Proto: 6, Sport: sport, Dport: dport, Flags: "S"}
	}
	for name, c := range map[string]struct {
		in           int
		p            testbed.Packet
		address      string // that it gets
		sport, dport uint16 // that it gets, if others
		payload      []byte
	}{
		"a host of a network":          {in: testbed.Inside, p: ofHost("10.0.0.13", testbed.UDP(1000, 53)), address: "203.0.113.69"},
		"to a host of a network":       {in: testbed.Outside, p: testbed.Back(testbed.UDP(53, 1000), "203.0.113.69"), address: "10.0.0.13"},
		"a host's ping":                {in: testbed.Inside, p: ofHost("10.0.0.3", testbed.Ping(7)), address: "203.0.113.1"},
		"a ping to a host":             {in: testbed.Outside, p: testbed.Back(testbed.Ping(7), "203.0.113.1"), address: "10.0.0.3"},
		"a first fragment":             {in: testbed.Outside, p: testbed.Back(testbed.Packet{Proto: 17, Sport: 5, Dport: 6, Frag: 0x2000}, "203.0.113.1"), address: "10.0.0.3"},
		"a later fragment":             {in: testbed.Inside, p: ofHost("10.0.0.3", testbed.Packet{Proto: 6, Frag: 7, Payload: make([]byte, 16)}), address: "203.0.113.1"},
		"a protocol without ports":     {in: testbed.Inside, p: ofHost("10.0.0.3", testbed.Packet{Proto: 47, Payload: make([]byte, 8)}), address: "203.0.113.1"},
		"to a forwarded port":          {in: testbed.Outside, p: testbed.Back(tcp(1000, 8080), "192.0.2.10"), address: "10.0.0.2", dport: 80},
		"to the last forwarded port":   {in: testbed.Outside, p: testbed.Back(tcp(1000, 8081), "192.0.2.10"), address: "10.0.0.2", dport: 81},
		"from the last forwarded port": {in: testbed.Inside, p: tcp(81, 1000), address: "192.0.2.10", sport: 8081},
	} {
		t.Run(name, func(t *testing.T) {
			w := testbed.Delivered(c.p)
			if c.in == testbed.Inside {
				w = testbed.Sent(c.p)
				w.Src = c.address
			} else {
				w.Dst = c.address
			}
			if c.sport != 0 {
				w.Sport = c.sport
			}
			if c.dport != 0 {
				w.Dport = c.dport
			}
			testbed.Want(t, fixedAlone().Process(0, c.in, c.p.Frame(), nil), w)
		})
	}
}

func TestWhatIsOfNoFixedTranslationIsLeftAlone(t *testing.T) {
	tcp := func(sport, dport uint16) testbed.Packet {
		return testbed.Packet{Proto: 6, Sport: sport, Dport: dport, Flags: "S"}
	}
	quench := layers.CreateICMPv4TypeCode(layers.ICMPv4TypeSourceQuench, 0)
	for name, c := range map[string]struct {
		in int
		p  testbed.Packet
	}{
		"a port beside those forwarded":            {testbed.Outside, testbed.Back(tcp(1000, 8082), "192.0.2.10")},
		"another protocol":                         {testbed.Outside, testbed.Back(testbed.UDP(1000, 8080), "192.0.2.10")},
		"a ping to an address with ports":          {testbed.Outside, testbed.Back(testbed.Ping(3), "192.0.2.10")},
		"a first fragment to a forwarded port":     {testbed.Outside, testbed.Back(testbed.Packet{Proto: 6, Sport: 9, Dport: 8080, Frag: 0x2000}, "192.0.2.10")},
		"another port of the host":                 {testbed.Inside, tcp(82, 1000)},
		"a protocol whose checksum has addresses":  {testbed.Inside, ofHost("10.0.0.3", testbed.Packet{Proto: 136, Payload: make([]byte, 8)})},
		"source quench":                            {testbed.Outside, testbed.Back(testbed.Packet{Proto: 1, ICMP: quench}, "203.0.113.1")},
		"a network's neighbour":                    {testbed.Outside, testbed.Back(testbed.UDP(1, 2), "203.0.113.72")},
		"an error about a packet of no mapping":    {testbed.Outside, testbed.ErrorTo("192.0.2.10", testbed.Packet{Proto: 6, Src: "192.0.2.10", Sport: 8082, Dport: 5})},
		"an error to another than the quoted host": {testbed.Outside, testbed.ErrorTo("192.0.2.10", testbed.Packet{Src: "203.0.113.1", Sport: 8, Dport: 5})},
	} {
		t.Run(name, func(t *testing.T) {
			testbed.Dropped(t, fixedAlone().Process(0, c.in, c.p.Frame(), nil), "rest")
		})
	}
}

func TestErrorsAboutFixedTranslationsAreTranslatedWithWhatTheyQuote(t *testing.T) {
	forwarded := testbed.Packet{Proto: 6, Src: "192.0.2.10", Sport: 8081, Dport: 99, Flags: "SA"}
	own := testbed.Packet{Src: "203.0.113.69", Sport: 7, Dport: 9}
	t.Run("from outside, of a forwarded port", func(t *testing.T) {
		quote := forwarded
		quote.Src, quote.Sport = "10.0.0.2", 81
		testbed.Want(t, fixedAlone().Process(0, testbed.Outside, testbed.ErrorTo("192.0.2.10", forwarded).Frame(), nil), testbed.Delivered(testbed.ErrorTo("10.0.0.2", quote)))
	})
	t.Run("from outside, of an address", func(t *testing.T) {
		quote := own
		quote.Src = "10.0.0.13"
		testbed.Want(t, fixedAlone().Process(0, testbed.Outside, testbed.ErrorTo("203.0.113.69", own).Frame(), nil), testbed.Delivered(testbed.ErrorTo("10.0.0.13", quote)))
	})
	for name, c := range map[string]struct{ from, as string }{
		"from inside, of a host that has no address outside": {"10.0.0.99", "192.0.2.10"},
		"from inside, of a host that has an address outside": {"10.0.0.3", "203.0.113.1"},
	} {
		t.Run(name, func(t *testing.T) {
			quote := testbed.Packet{Proto: 6, Src: "198.51.100.1", Dst: "10.0.0.2", Sport: 99, Dport: 81, Flags: "S"}
			p := testbed.Packet{Proto: 1, ICMP: testbed.Expired, Src: c.from, Dst: "198.51.100.1", Payload: quote.Frame()[14:]}
			quote.Dst, quote.Dport = "192.0.2.10", 8081
			w := testbed.Sent(testbed.Packet{Proto: 1, ICMP: testbed.Expired, Src: c.as, Dst: "198.51.100.1", Payload: quote.Frame()[14:]})
			testbed.Want(t, fixedAlone().Process(0, testbed.Inside, p.Frame(), nil), w)
		})
	}
	t.Run("from inside, with an outside address as source", func(t *testing.T) {
		quote := testbed.Packet{Proto: 6, Src: "198.51.100.1", Dst: "10.0.0.2", Sport: 99, Dport: 81}
		p := testbed.Packet{Proto: 1, ICMP: testbed.Expired, Src: "203.0.113.1", Dst: "198.51.100.1", Payload: quote.Frame()[14:]}
		testbed.Dropped(t, fixedAlone().Process(0, testbed.Inside, p.Frame(), nil), "rest")
	})
}

func TestReservedPortsAreNotChosen(t *testing.T) {
	e := testbed.Pool()
	e.Reserved = []element.Reserved{{Proto: 17, Addr: testbed.Addr("192.0.2.10"), First: 2001, Last: 2003}}
	c := start(&testbed.Natted(e).Graph)
	testbed.Want(t, c.Process(0, testbed.Inside, testbed.UDP(1000, 53).Frame(), nil), testbed.Sent(testbed.Packet{Src: "192.0.2.10", Sport: 2000, Dport: 53}))
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.UDP(1001, 53).Frame(), nil), "nat-exhausted")
	for i := range uint16(4) { // of another protocol
		testbed.Only(t, c.Process(0, testbed.Inside, testbed.Packet{Proto: 6, Sport: 1000 + i, Dport: 80, Flags: "S"}.Frame(), nil))
	}
}

// TestANewReservationEndsWhatHasThePortAndNothingElse has a port reserved while two flows go on.
func TestANewReservationEndsWhatHasThePortAndNothingElse(t *testing.T) {
	before := start(&testbed.Natted(testbed.Pool()).Graph)
	testbed.Only(t, before.Process(0, testbed.Inside, testbed.UDP(1000, 53).Frame(), choosing("192.0.2.10:2000")))
	testbed.Only(t, before.Process(0, testbed.Inside, testbed.UDP(1001, 53).Frame(), choosing("192.0.2.10:2001")))
	e := testbed.Pool()
	e.Reserved = []element.Reserved{{Proto: 17, Addr: testbed.Addr("192.0.2.10"), First: 2001, Last: 2001}}
	after := before.Continue(&testbed.Natted(e).Graph, interp.Options{})
	testbed.Only(t, after.Process(1, testbed.Outside, testbed.Back(testbed.UDP(53, 2000), "192.0.2.10").Frame(), nil))
	testbed.Dropped(t, after.Process(1, testbed.Outside, testbed.Back(testbed.UDP(53, 2001), "192.0.2.10").Frame(), nil), "nat-no-binding")
	testbed.Want(t, after.Process(1, testbed.Inside, testbed.UDP(1000, 53).Frame(), nil), testbed.Sent(testbed.Packet{Src: "192.0.2.10", Sport: 2000, Dport: 53}))
}

// hairpinned is a NAPT with fixed translations whose hosts inside reach each other by them.
func hairpinned() *interp.Chain {
	b := testbed.New()
	hosts(b, "10.0.0.20")
	e := testbed.Pool()
	e.PortMin, e.PortMax = 2000, 2003
	n, s, again := b.Add("nat", e), b.Add("fixed", fixed), b.Add("again", fixed)
	no := b.Add("no", element.Discard{Reason: element.ReasonNATNoBinding})
	to := func(name string, set headerspace.Set) int {
		f := headerspace.Filter{}.With(headerspace.Dst, set)
		return b.Add(name, element.Classifier{Rules: []element.Rule{{Name: name, Filters: []headerspace.Filter{f}, Out: 1}}, Outs: 2})
	}
	outsides := fixed.Addresses(element.StaticOutside)
	behindNAT, behindFixed := to("behind-nat", outsides), to("behind-fixed", outsides)
	b.Wire(b.In(testbed.Inside), 0, s, element.StaticInside)
	b.Wire(b.In(testbed.Outside), 0, s, element.StaticOutside)
	b.Wire(s, element.StaticInside, b.Out(testbed.Inside), 0)
	b.Wire(s, element.StaticOutside, behindFixed, 0)
	b.Wire(s, element.StaticInsideRest, n, element.NAPTInside)
	b.Wire(s, element.StaticOutsideRest, n, element.NAPTOutside)
	b.Wire(n, element.NAPTInside, b.Out(testbed.Inside), 0)
	b.Wire(n, element.NAPTOutside, behindNAT, 0)
	b.Wire(behindNAT, 0, b.Out(testbed.Outside), 0)
	b.Wire(behindNAT, 1, again, element.StaticOutside)
	b.Wire(again, element.StaticInside, b.Out(testbed.Inside), 0)
	b.Wire(again, element.StaticOutsideRest, no, 0)
	b.Wire(behindFixed, 0, b.Out(testbed.Outside), 0)
	b.Wire(behindFixed, 1, s, element.StaticOutside)
	return start(&b.Graph)
}

// TestHostsInsideReachAForwardByItsOutsideAddress: the server sees the client's outside address and port (RFC 4787 REQ-9a).
func TestHostsInsideReachAForwardByItsOutsideAddress(t *testing.T) {
	c := hairpinned()
	hello := ofHost("10.0.0.20", testbed.Packet{Proto: 6, Sport: 1000, Dport: 8080, Dst: "192.0.2.10", Flags: "S"})
	testbed.Want(t, c.Process(0, testbed.Inside, hello.Frame(), choosing("192.0.2.10:2002")), testbed.Delivered(testbed.Packet{Proto: 6, Src: "192.0.2.10", Dst: "10.0.0.2", Sport: 2002, Dport: 80, Flags: "S"}))
	reply := ofHost("10.0.0.2", testbed.Packet{Proto: 6, Sport: 80, Dport: 2002, Dst: "192.0.2.10", Flags: "SA"})
	testbed.Want(t, c.Process(1, testbed.Inside, reply.Frame(), nil), testbed.Delivered(testbed.Packet{Proto: 6, Src: "192.0.2.10", Dst: "10.0.0.20", Sport: 8080, Dport: 1000, Flags: "SA"}))
	testbed.Dropped(t, c.Process(2, testbed.Inside, ofHost("10.0.0.20", testbed.Packet{Proto: 6, Sport: 1000, Dport: 9999, Dst: "192.0.2.10", Flags: "S"}).Frame(), nil), "nat-no-binding")
}

// TestErrorsAboutHairpinnedPacketsComeBack: the server refuses, and the client learns it with its own packet quoted (RFC 5508 REQ-7).
func TestErrorsAboutHairpinnedPacketsComeBack(t *testing.T) {
	c := hairpinned()
	hello := ofHost("10.0.0.20", testbed.Packet{Proto: 6, Sport: 1000, Dport: 8080, Dst: "192.0.2.10", Flags: "S"})
	got := testbed.Only(t, c.Process(0, testbed.Inside, hello.Frame(), choosing("192.0.2.10:2002")))
	refusal := testbed.Packet{Proto: 1, ICMP: testbed.Expired, Src: "10.0.0.2", Dst: "192.0.2.10", Payload: got[14:]}
	testbed.Want(t, c.Process(1, testbed.Inside, refusal.Frame(), nil), testbed.Delivered(testbed.Packet{Proto: 1, ICMP: testbed.Expired, Src: "192.0.2.10", Dst: "10.0.0.20", Payload: hello.Frame()[14:]}))
}
