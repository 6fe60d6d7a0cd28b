package interp

import (
	"fmt"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

// behaving is a NAPT that maps and filters so.
func behaving(mapping, filtering element.Dependence) element.NAPT {
	e := pool()
	e.Mapping, e.Filtering = mapping, filtering
	return e
}

// outbound is a packet from inside to a remote.
func outbound(remote string, sport, dport uint16) pkt {
	return pkt{dst: remote, sport: sport, dport: dport}
}

// outer is a packet of a remote to the NAT.
func outer(remote string, sport, dport uint16) pkt {
	return pkt{src: remote, dst: "192.0.2.10", sport: sport, dport: dport, to: outsideMAC, from: routerMAC}
}

// inner is a packet of a remote as the host gets it.
func inner(remote string, sport, dport uint16) pkt {
	return delivered(pkt{src: remote, dst: "10.0.0.2", sport: sport, dport: dport})
}

func TestFlowsOfAnInsidePortShareAnOutsidePortAsFarAsTheMappingSays(t *testing.T) {
	flows := []pkt{outbound("198.51.100.1", 1000, 53), outbound("198.51.100.1", 1000, 54), outbound("198.51.100.2", 1000, 53), outbound("198.51.100.1", 1001, 53)}
	for mapping, ports := range map[element.Dependence][]uint16{
		element.EndpointIndependent:     {2000, 2000, 2000, 2001}, // RFC 4787 REQ-1
		element.AddressDependent:        {2000, 2000, 2001, 2002},
		element.AddressAndPortDependent: {2000, 2001, 2002, 2003},
	} {
		t.Run(mapping.String(), func(t *testing.T) {
			c := natted(behaving(mapping, element.AddressAndPortDependent)).chain()
			for range 2 {
				for i, f := range flows {
					translated := pkt{src: "192.0.2.10", dst: f.dst, sport: ports[i], dport: f.dport}
					want(t, c.Process(0, inside, f.frame(), nil), sent(translated))
					want(t, c.Process(0, outside, outer(f.dst, f.dport, ports[i]).frame(), nil), inner(f.dst, f.dport, f.sport))
				}
			}
		})
	}
}

func TestTheFilterSaysWhoMayBeginAFlow(t *testing.T) {
	for filter, passes := range map[element.Dependence][3]bool{ // the remote; another port of it; a stranger
		element.EndpointIndependent:     {true, true, true},
		element.AddressDependent:        {true, true, false},
		element.AddressAndPortDependent: {true, false, false},
	} {
		t.Run(filter.String(), func(t *testing.T) {
			c := natted(behaving(element.EndpointIndependent, filter)).chain()
			remotes := []pkt{outer("198.51.100.1", 53, 2000), outer("198.51.100.1", 54, 2000), outer("198.51.100.2", 53, 2000)}
			for _, p := range remotes {
				dropped(t, c.Process(0, outside, p.frame(), nil), "nat-no-binding")
			}
			only(t, c.Process(0, inside, outbound("198.51.100.1", 1000, 53).frame(), nil))
			for i, p := range remotes {
				if !passes[i] {
					dropped(t, c.Process(0, outside, p.frame(), nil), "nat-no-binding")
					continue
				}
				want(t, c.Process(0, outside, p.frame(), nil), inner(p.src, p.sport, 1000))
				want(t, c.Process(0, inside, outbound(p.src, 1000, p.sport).frame(), nil), sent(pkt{src: "192.0.2.10", dst: p.src, sport: 2000, dport: p.sport}))
			}
		})
	}
}

func TestAMappingLivesAsLongAsOneOfItsFlows(t *testing.T) {
	c := natted(behaving(element.EndpointIndependent, element.EndpointIndependent)).chain()
	only(t, c.Process(0, inside, outbound("198.51.100.1", 1000, 53).frame(), nil))
	want(t, c.Process(seconds(15), outside, outer("198.51.100.2", 7, 2000).frame(), nil), inner("198.51.100.2", 7, 1000))
	want(t, c.Process(seconds(30), outside, outer("198.51.100.3", 7, 2000).frame(), nil), inner("198.51.100.3", 7, 1000)) // by the second flow
	want(t, c.Process(seconds(50), outside, outer("198.51.100.3", 7, 2000).frame(), nil), inner("198.51.100.3", 7, 1000))
	if s := c.Sessions(seconds(50)); len(s) != 1 || s[0].Remote != ap("198.51.100.3:7") {
		t.Errorf("sessions %v, want that of the last flow alone", s)
	}
	dropped(t, c.Process(seconds(71), outside, outer("198.51.100.3", 7, 2000).frame(), nil), "nat-no-binding")
}

func TestAFlowThatADroppedPacketBeginsFromOutsideWasNeverThere(t *testing.T) {
	b := newBuilder()
	n, dec := b.add("nat", behaving(element.EndpointIndependent, element.EndpointIndependent)), b.add("ttl", element.DecTTL{})
	b.wire(b.in(inside), 0, n, element.NAPTInside)
	b.wire(n, element.NAPTOutside, b.out(outside), 0)
	b.wire(b.in(outside), 0, n, element.NAPTOutside)
	b.wire(n, element.NAPTInside, dec, 0)
	b.wire(dec, 0, b.out(inside), 0)
	b.wire(dec, 1, b.add("drop", element.Discard{Reason: "expired"}), 0)
	c := b.chain()
	only(t, c.Process(0, inside, outbound("198.51.100.1", 1000, 53).frame(), nil))
	p := outer("198.51.100.2", 7, 2000)
	p.ttl = 1
	dropped(t, c.Process(0, outside, p.frame(), nil), "expired")
	if s := c.Sessions(0); len(s) != 1 {
		t.Errorf("sessions %v, want the first alone", s)
	}
}

func TestFlowsFromOutsideAreAsManyAsThereMayBe(t *testing.T) {
	e := behaving(element.EndpointIndependent, element.EndpointIndependent)
	e.MaxSessions = 2
	c := natted(e).chain()
	only(t, c.Process(0, inside, outbound("198.51.100.1", 1000, 53).frame(), nil))
	only(t, c.Process(0, outside, outer("198.51.100.2", 7, 2000).frame(), nil))
	dropped(t, c.Process(0, outside, outer("198.51.100.3", 7, 2000).frame(), nil), "nat-exhausted")
	dropped(t, c.Process(0, inside, outbound("198.51.100.3", 1000, 7).frame(), nil), "nat-exhausted")
	only(t, c.Process(0, inside, outbound("198.51.100.2", 1000, 7).frame(), nil))
}

func TestAMappingHas64FlowsWithOneAddressWhereTheFilterAsksForIt(t *testing.T) {
	c := natted(behaving(element.EndpointIndependent, element.AddressDependent)).chain()
	for port := range uint16(64) {
		only(t, c.Process(0, inside, outbound("198.51.100.1", 1000, 53+port).frame(), nil))
	}
	dropped(t, c.Process(0, inside, outbound("198.51.100.1", 1000, 200).frame(), nil), "nat-exhausted")
	dropped(t, c.Process(0, outside, outer("198.51.100.1", 200, 2000).frame(), nil), "nat-exhausted")
	only(t, c.Process(0, inside, outbound("198.51.100.2", 1000, 200).frame(), nil))
	only(t, c.Process(0, inside, outbound("198.51.100.1", 1001, 200).frame(), nil))
}

func TestPingsOfOneIdentifierShareAnIdentifierAndRepliesOfStrangersDoNotPass(t *testing.T) {
	c := natted(behaving(element.EndpointIndependent, element.EndpointIndependent)).chain()
	for _, remote := range []string{"198.51.100.1", "198.51.100.2"} {
		p := ping(1000)
		p.dst = remote
		want(t, c.Process(0, inside, p.frame(), nil), sent(pkt{proto: 1, icmp: echoRequest, src: "192.0.2.10", dst: remote, sport: 2000}))
	}
	stranger := pkt{proto: 1, icmp: echoReply, src: "198.51.100.3", dst: "192.0.2.10", dport: 2000, to: outsideMAC, from: routerMAC}
	dropped(t, c.Process(0, outside, stranger.frame(), nil), "nat-no-binding")
}

func TestAnOpeningThatSharesItsPortGivesUpItsSessionAlone(t *testing.T) {
	syn := func(dport uint16) pkt { return pkt{proto: 6, flags: "S", sport: 1, dport: dport} }
	c := natted(behaving(element.EndpointIndependent, element.AddressAndPortDependent)).chain()
	only(t, c.Process(0, inside, syn(80).frame(), nil))
	only(t, c.Process(0, inside, syn(81).frame(), nil))
	of := func(port int) Binding {
		return Binding{Node: "nat", Proto: 6, Inside: ap("10.0.0.2:1"), Remote: ap(fmt.Sprintf("198.51.100.1:%d", port))}
	}
	if err := c.Evict(seconds(2), of(80)); err != nil {
		t.Fatal(err)
	}
	if err := c.Evict(seconds(2), of(80)); err == nil {
		t.Error("a session ended twice")
	}
	answer := back(pkt{proto: 6, flags: "SA", sport: 81, dport: 2000}, "192.0.2.10")
	only(t, c.Process(seconds(2), outside, answer.frame(), nil))
}

func TestAnEnginesChoiceForAMappingHoldsForItsOtherFlows(t *testing.T) {
	c := natted(behaving(element.EndpointIndependent, element.AddressAndPortDependent)).chain()
	shown := func(sport, dport uint16) pkt { return pkt{src: "192.0.2.10", sport: sport, dport: dport} }
	follow(t, c, 0, udp(1, 53), shown(2002, 53))
	follow(t, c, 0, udp(1, 54), shown(2002, 54))
	follow(t, c, 0, udp(1, 55), shown(2003, 55), MismatchOutput)
	follow(t, c, 0, udp(2, 53), shown(2002, 53), MismatchChoice)
}
