package interp

import (
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
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
func (b *builder) hosts(list ...string) {
	i := &b.g.Interfaces[inside]
	for _, a := range list {
		i.Neighbors = append(i.Neighbors, everywhere(graph.Neighbor{Addr: ip(a), MAC: hostMAC})...)
	}
}

// fixedAlone is inside ⇄ static-nat ⇄ outside; what is of no mapping is dropped as "rest".
func fixedAlone() *Chain {
	b := newBuilder()
	b.hosts("10.0.0.3", "10.0.0.13")
	n, rest := b.add("fixed", fixed), b.add("rest", element.Discard{Reason: "rest"})
	b.wire(b.in(inside), 0, n, element.StaticInside)
	b.wire(n, element.StaticOutside, b.out(outside), 0)
	b.wire(b.in(outside), 0, n, element.StaticOutside)
	b.wire(n, element.StaticInside, b.out(inside), 0)
	b.wire(n, element.StaticInsideRest, rest, 0)
	b.wire(n, element.StaticOutsideRest, rest, 0)
	return b.chain()
}

// ofHost is a packet of a host inside.
func ofHost(src string, p pkt) pkt {
	p.src = src
	return p
}

func TestAFixedTranslationHoldsInBothDirections(t *testing.T) {
	tcp := func(sport, dport uint16) pkt { return pkt{proto: 6, sport: sport, dport: dport, flags: "S"} }
	for name, c := range map[string]struct {
		in           int
		p            pkt
		address      string // that it gets
		sport, dport uint16 // that it gets, if others
		payload      []byte
	}{
		"a host of a network":          {in: inside, p: ofHost("10.0.0.13", udp(1000, 53)), address: "203.0.113.69"},
		"to a host of a network":       {in: outside, p: back(udp(53, 1000), "203.0.113.69"), address: "10.0.0.13"},
		"a host's ping":                {in: inside, p: ofHost("10.0.0.3", ping(7)), address: "203.0.113.1"},
		"a ping to a host":             {in: outside, p: back(ping(7), "203.0.113.1"), address: "10.0.0.3"},
		"a first fragment":             {in: outside, p: back(pkt{proto: 17, sport: 5, dport: 6, frag: 0x2000}, "203.0.113.1"), address: "10.0.0.3"},
		"a later fragment":             {in: inside, p: ofHost("10.0.0.3", pkt{proto: 6, frag: 7, payload: make([]byte, 16)}), address: "203.0.113.1"},
		"a protocol without ports":     {in: inside, p: ofHost("10.0.0.3", pkt{proto: 47, payload: make([]byte, 8)}), address: "203.0.113.1"},
		"to a forwarded port":          {in: outside, p: back(tcp(1000, 8080), "192.0.2.10"), address: "10.0.0.2", dport: 80},
		"to the last forwarded port":   {in: outside, p: back(tcp(1000, 8081), "192.0.2.10"), address: "10.0.0.2", dport: 81},
		"from the last forwarded port": {in: inside, p: tcp(81, 1000), address: "192.0.2.10", sport: 8081},
	} {
		t.Run(name, func(t *testing.T) {
			w := delivered(c.p)
			if c.in == inside {
				w = sent(c.p)
				w.src = c.address
			} else {
				w.dst = c.address
			}
			if c.sport != 0 {
				w.sport = c.sport
			}
			if c.dport != 0 {
				w.dport = c.dport
			}
			want(t, fixedAlone().Process(0, c.in, c.p.frame(), nil), w)
		})
	}
}

func TestWhatIsOfNoFixedTranslationIsLeftAlone(t *testing.T) {
	tcp := func(sport, dport uint16) pkt { return pkt{proto: 6, sport: sport, dport: dport, flags: "S"} }
	quench := layers.CreateICMPv4TypeCode(layers.ICMPv4TypeSourceQuench, 0)
	for name, c := range map[string]struct {
		in int
		p  pkt
	}{
		"a port beside those forwarded":            {outside, back(tcp(1000, 8082), "192.0.2.10")},
		"another protocol":                         {outside, back(udp(1000, 8080), "192.0.2.10")},
		"a ping to an address with ports":          {outside, back(ping(3), "192.0.2.10")},
		"a first fragment to a forwarded port":     {outside, back(pkt{proto: 6, sport: 9, dport: 8080, frag: 0x2000}, "192.0.2.10")},
		"another port of the host":                 {inside, tcp(82, 1000)},
		"a protocol whose checksum has addresses":  {inside, ofHost("10.0.0.3", pkt{proto: 136, payload: make([]byte, 8)})},
		"source quench":                            {outside, back(pkt{proto: 1, icmp: quench}, "203.0.113.1")},
		"a network's neighbour":                    {outside, back(udp(1, 2), "203.0.113.72")},
		"an error about a packet of no mapping":    {outside, errorTo("192.0.2.10", pkt{proto: 6, src: "192.0.2.10", sport: 8082, dport: 5})},
		"an error to another than the quoted host": {outside, errorTo("192.0.2.10", pkt{src: "203.0.113.1", sport: 8, dport: 5})},
	} {
		t.Run(name, func(t *testing.T) {
			dropped(t, fixedAlone().Process(0, c.in, c.p.frame(), nil), "rest")
		})
	}
}

func TestErrorsAboutFixedTranslationsAreTranslatedWithWhatTheyQuote(t *testing.T) {
	forwarded := pkt{proto: 6, src: "192.0.2.10", sport: 8081, dport: 99, flags: "SA"}
	own := pkt{src: "203.0.113.69", sport: 7, dport: 9}
	t.Run("from outside, of a forwarded port", func(t *testing.T) {
		quote := forwarded
		quote.src, quote.sport = "10.0.0.2", 81
		want(t, fixedAlone().Process(0, outside, errorTo("192.0.2.10", forwarded).frame(), nil), delivered(errorTo("10.0.0.2", quote)))
	})
	t.Run("from outside, of an address", func(t *testing.T) {
		quote := own
		quote.src = "10.0.0.13"
		want(t, fixedAlone().Process(0, outside, errorTo("203.0.113.69", own).frame(), nil), delivered(errorTo("10.0.0.13", quote)))
	})
	for name, c := range map[string]struct{ from, as string }{
		"from inside, of a host that has no address outside": {"10.0.0.99", "192.0.2.10"},
		"from inside, of a host that has an address outside": {"10.0.0.3", "203.0.113.1"},
	} {
		t.Run(name, func(t *testing.T) {
			quote := pkt{proto: 6, src: "198.51.100.1", dst: "10.0.0.2", sport: 99, dport: 81, flags: "S"}
			p := pkt{proto: 1, icmp: expired, src: c.from, dst: "198.51.100.1", payload: quote.frame()[14:]}
			quote.dst, quote.dport = "192.0.2.10", 8081
			w := sent(pkt{proto: 1, icmp: expired, src: c.as, dst: "198.51.100.1", payload: quote.frame()[14:]})
			want(t, fixedAlone().Process(0, inside, p.frame(), nil), w)
		})
	}
	t.Run("from inside, with an outside address as source", func(t *testing.T) {
		quote := pkt{proto: 6, src: "198.51.100.1", dst: "10.0.0.2", sport: 99, dport: 81}
		p := pkt{proto: 1, icmp: expired, src: "203.0.113.1", dst: "198.51.100.1", payload: quote.frame()[14:]}
		dropped(t, fixedAlone().Process(0, inside, p.frame(), nil), "rest")
	})
}

func TestReservedPortsAreNotChosen(t *testing.T) {
	e := pool()
	e.Reserved = []element.Reserved{{Proto: 17, Addr: ip("192.0.2.10"), First: 2001, Last: 2003}}
	c := natted(e).chain()
	want(t, c.Process(0, inside, udp(1000, 53).frame(), nil), sent(pkt{src: "192.0.2.10", sport: 2000, dport: 53}))
	dropped(t, c.Process(0, inside, udp(1001, 53).frame(), nil), "nat-exhausted")
	for i := range uint16(4) { // of another protocol
		only(t, c.Process(0, inside, pkt{proto: 6, sport: 1000 + i, dport: 80, flags: "S"}.frame(), nil))
	}
}

// TestANewReservationEndsWhatHasThePortAndNothingElse has a port reserved while two flows go on.
func TestANewReservationEndsWhatHasThePortAndNothingElse(t *testing.T) {
	before := natted(pool()).chain()
	only(t, before.Process(0, inside, udp(1000, 53).frame(), choosing("192.0.2.10:2000")))
	only(t, before.Process(0, inside, udp(1001, 53).frame(), choosing("192.0.2.10:2001")))
	e := pool()
	e.Reserved = []element.Reserved{{Proto: 17, Addr: ip("192.0.2.10"), First: 2001, Last: 2001}}
	after := before.Continue(&natted(e).g, Options{})
	only(t, after.Process(1, outside, back(udp(53, 2000), "192.0.2.10").frame(), nil))
	dropped(t, after.Process(1, outside, back(udp(53, 2001), "192.0.2.10").frame(), nil), "nat-no-binding")
	want(t, after.Process(1, inside, udp(1000, 53).frame(), nil), sent(pkt{src: "192.0.2.10", sport: 2000, dport: 53}))
}

// hairpinned is a NAPT with fixed translations whose hosts inside reach each other by them.
func hairpinned() *Chain {
	b := newBuilder()
	b.hosts("10.0.0.20")
	e := pool()
	e.PortMin, e.PortMax = 2000, 2003
	n, s, again := b.add("nat", e), b.add("fixed", fixed), b.add("again", fixed)
	no := b.add("no", element.Discard{Reason: element.ReasonNATNoBinding})
	to := func(name string, set headerspace.Set) int {
		f := headerspace.Filter{}.With(headerspace.Dst, set)
		return b.add(name, element.Classifier{Rules: []element.Rule{{Name: name, Filters: []headerspace.Filter{f}, Out: 1}}, Outs: 2})
	}
	outsides := fixed.Addresses(element.StaticOutside)
	behindNAT, behindFixed := to("behind-nat", outsides), to("behind-fixed", outsides)
	b.wire(b.in(inside), 0, s, element.StaticInside)
	b.wire(b.in(outside), 0, s, element.StaticOutside)
	b.wire(s, element.StaticInside, b.out(inside), 0)
	b.wire(s, element.StaticOutside, behindFixed, 0)
	b.wire(s, element.StaticInsideRest, n, element.NAPTInside)
	b.wire(s, element.StaticOutsideRest, n, element.NAPTOutside)
	b.wire(n, element.NAPTInside, b.out(inside), 0)
	b.wire(n, element.NAPTOutside, behindNAT, 0)
	b.wire(behindNAT, 0, b.out(outside), 0)
	b.wire(behindNAT, 1, again, element.StaticOutside)
	b.wire(again, element.StaticInside, b.out(inside), 0)
	b.wire(again, element.StaticOutsideRest, no, 0)
	b.wire(behindFixed, 0, b.out(outside), 0)
	b.wire(behindFixed, 1, s, element.StaticOutside)
	return b.chain()
}

// TestHostsInsideReachAForwardByItsOutsideAddress: the server sees the client's outside address and port (RFC 4787 REQ-9a).
func TestHostsInsideReachAForwardByItsOutsideAddress(t *testing.T) {
	c := hairpinned()
	hello := ofHost("10.0.0.20", pkt{proto: 6, sport: 1000, dport: 8080, dst: "192.0.2.10", flags: "S"})
	want(t, c.Process(0, inside, hello.frame(), choosing("192.0.2.10:2002")), delivered(pkt{proto: 6, src: "192.0.2.10", dst: "10.0.0.2", sport: 2002, dport: 80, flags: "S"}))
	reply := ofHost("10.0.0.2", pkt{proto: 6, sport: 80, dport: 2002, dst: "192.0.2.10", flags: "SA"})
	want(t, c.Process(1, inside, reply.frame(), nil), delivered(pkt{proto: 6, src: "192.0.2.10", dst: "10.0.0.20", sport: 8080, dport: 1000, flags: "SA"}))
	dropped(t, c.Process(2, inside, ofHost("10.0.0.20", pkt{proto: 6, sport: 1000, dport: 9999, dst: "192.0.2.10", flags: "S"}).frame(), nil), "nat-no-binding")
}

// TestErrorsAboutHairpinnedPacketsComeBack: the server refuses, and the client learns it with its own packet quoted (RFC 5508 REQ-7).
func TestErrorsAboutHairpinnedPacketsComeBack(t *testing.T) {
	c := hairpinned()
	hello := ofHost("10.0.0.20", pkt{proto: 6, sport: 1000, dport: 8080, dst: "192.0.2.10", flags: "S"})
	got := only(t, c.Process(0, inside, hello.frame(), choosing("192.0.2.10:2002")))
	refusal := pkt{proto: 1, icmp: expired, src: "10.0.0.2", dst: "192.0.2.10", payload: got[14:]}
	want(t, c.Process(1, inside, refusal.frame(), nil), delivered(pkt{proto: 1, icmp: expired, src: "192.0.2.10", dst: "10.0.0.20", payload: hello.frame()[14:]}))
}
