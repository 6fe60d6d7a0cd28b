package oracle_test

import (
	"fmt"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
)

// behaving is a NAPT that maps and filters so.
func behaving(mapping, filtering element.Dependence) element.NAPT {
	e := testbed.Pool()
	e.Mapping, e.Filtering = mapping, filtering
	return e
}

// outbound is a packet from inside to a remote.
func outbound(remote string, sport, dport uint16) testbed.Packet {
	return testbed.Packet{Dst: remote, Sport: sport, Dport: dport}
}

// outer is a packet of a remote to the NAT.
func outer(remote string, sport, dport uint16) testbed.Packet {
	return testbed.Packet{Src: remote, Dst: "192.0.2.10", Sport: sport, Dport: dport, To: testbed.OutsideMAC, From: testbed.RouterMAC}
}

// inner is a packet of a remote as the host gets it.
func inner(remote string, sport, dport uint16) testbed.Packet {
	return testbed.Delivered(testbed.Packet{Src: remote, Dst: "10.0.0.2", Sport: sport, Dport: dport})
}

func TestFlowsOfAnInsidePortShareAnOutsidePortAsFarAsTheMappingSays(t *testing.T) {
	flows := []testbed.Packet{outbound("198.51.100.1", 1000, 53), outbound("198.51.100.1", 1000, 54), outbound("198.51.100.2", 1000, 53), outbound("198.51.100.1", 1001, 53)}
	for mapping, ports := range map[element.Dependence][]uint16{
		element.EndpointIndependent:     {2000, 2000, 2000, 2001}, // RFC 4787 REQ-1
		element.AddressDependent:        {2000, 2000, 2001, 2002},
		element.AddressAndPortDependent: {2000, 2001, 2002, 2003},
	} {
		t.Run(mapping.String(), func(t *testing.T) {
			c := start(&testbed.Natted(behaving(mapping, element.AddressAndPortDependent)).Graph)
			for range 2 {
				for i, f := range flows {
					translated := testbed.Packet{Src: "192.0.2.10", Dst: f.Dst, Sport: ports[i], Dport: f.Dport}
					testbed.Want(t, c.Process(0, testbed.Inside, f.Frame(), nil), testbed.Sent(translated))
					testbed.Want(t, c.Process(0, testbed.Outside, outer(f.Dst, f.Dport, ports[i]).Frame(), nil), inner(f.Dst, f.Dport, f.Sport))
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
			c := start(&testbed.Natted(behaving(element.EndpointIndependent, filter)).Graph)
			remotes := []testbed.Packet{outer("198.51.100.1", 53, 2000), outer("198.51.100.1", 54, 2000), outer("198.51.100.2", 53, 2000)}
			for _, p := range remotes {
				testbed.Dropped(t, c.Process(0, testbed.Outside, p.Frame(), nil), "nat-no-binding")
			}
			testbed.Only(t, c.Process(0, testbed.Inside, outbound("198.51.100.1", 1000, 53).Frame(), nil))
			for i, p := range remotes {
				if !passes[i] {
					testbed.Dropped(t, c.Process(0, testbed.Outside, p.Frame(), nil), "nat-no-binding")
					continue
				}
				testbed.Want(t, c.Process(0, testbed.Outside, p.Frame(), nil), inner(p.Src, p.Sport, 1000))
				testbed.Want(t, c.Process(0, testbed.Inside, outbound(p.Src, 1000, p.Sport).Frame(), nil), testbed.Sent(testbed.Packet{Src: "192.0.2.10", Dst: p.Src, Sport: 2000, Dport: p.Sport}))
			}
		})
	}
}

func TestAMappingLivesAsLongAsOneOfItsFlows(t *testing.T) {
	c := start(&testbed.Natted(behaving(element.EndpointIndependent, element.EndpointIndependent)).Graph)
	testbed.Only(t, c.Process(0, testbed.Inside, outbound("198.51.100.1", 1000, 53).Frame(), nil))
	testbed.Want(t, c.Process(testbed.Seconds(15), testbed.Outside, outer("198.51.100.2", 7, 2000).Frame(), nil), inner("198.51.100.2", 7, 1000))
	testbed.Want(t, c.Process(testbed.Seconds(30), testbed.Outside, outer("198.51.100.3", 7, 2000).Frame(), nil), inner("198.51.100.3", 7, 1000)) // by the second flow
	testbed.Want(t, c.Process(testbed.Seconds(50), testbed.Outside, outer("198.51.100.3", 7, 2000).Frame(), nil), inner("198.51.100.3", 7, 1000))
	if s := c.Sessions(testbed.Seconds(50)); len(s) != 1 || s[0].Remote != testbed.AddrPort("198.51.100.3:7") {
		t.Errorf("sessions %v, want that of the last flow alone", s)
	}
	testbed.Dropped(t, c.Process(testbed.Seconds(71), testbed.Outside, outer("198.51.100.3", 7, 2000).Frame(), nil), "nat-no-binding")
}

func TestAFlowThatADroppedPacketBeginsFromOutsideWasNeverThere(t *testing.T) {
	b := testbed.New()
	n, dec := b.Add("nat", behaving(element.EndpointIndependent, element.EndpointIndependent)), b.Add("ttl", element.DecTTL{})
	b.Wire(b.In(testbed.Inside), 0, n, element.NAPTInside)
	b.Wire(n, element.NAPTOutside, b.Out(testbed.Outside), 0)
	b.Wire(b.In(testbed.Outside), 0, n, element.NAPTOutside)
	b.Wire(n, element.NAPTInside, dec, 0)
	b.Wire(dec, 0, b.Out(testbed.Inside), 0)
	b.Wire(dec, 1, b.Add("drop", element.Discard{Reason: "expired"}), 0)
	c := start(&b.Graph)
	testbed.Only(t, c.Process(0, testbed.Inside, outbound("198.51.100.1", 1000, 53).Frame(), nil))
	p := outer("198.51.100.2", 7, 2000)
	p.TTL = 1
	testbed.Dropped(t, c.Process(0, testbed.Outside, p.Frame(), nil), "expired")
	if s := c.Sessions(0); len(s) != 1 {
		t.Errorf("sessions %v, want the first alone", s)
	}
}

func TestFlowsFromOutsideAreAsManyAsThereMayBe(t *testing.T) {
	e := behaving(element.EndpointIndependent, element.EndpointIndependent)
	e.MaxSessions = 2
	c := start(&testbed.Natted(e).Graph)
	testbed.Only(t, c.Process(0, testbed.Inside, outbound("198.51.100.1", 1000, 53).Frame(), nil))
	testbed.Only(t, c.Process(0, testbed.Outside, outer("198.51.100.2", 7, 2000).Frame(), nil))
	testbed.Dropped(t, c.Process(0, testbed.Outside, outer("198.51.100.3", 7, 2000).Frame(), nil), "nat-exhausted")
	testbed.Dropped(t, c.Process(0, testbed.Inside, outbound("198.51.100.3", 1000, 7).Frame(), nil), "nat-exhausted")
	testbed.Only(t, c.Process(0, testbed.Inside, outbound("198.51.100.2", 1000, 7).Frame(), nil))
}

func TestAMappingHas64FlowsWithOneAddressWhereTheFilterAsksForIt(t *testing.T) {
	c := start(&testbed.Natted(behaving(element.EndpointIndependent, element.AddressDependent)).Graph)
	for port := range uint16(64) {
		testbed.Only(t, c.Process(0, testbed.Inside, outbound("198.51.100.1", 1000, 53+port).Frame(), nil))
	}
	testbed.Dropped(t, c.Process(0, testbed.Inside, outbound("198.51.100.1", 1000, 200).Frame(), nil), "nat-exhausted")
	testbed.Dropped(t, c.Process(0, testbed.Outside, outer("198.51.100.1", 200, 2000).Frame(), nil), "nat-exhausted")
	testbed.Only(t, c.Process(0, testbed.Inside, outbound("198.51.100.2", 1000, 200).Frame(), nil))
	testbed.Only(t, c.Process(0, testbed.Inside, outbound("198.51.100.1", 1001, 200).Frame(), nil))
}

func TestPingsOfOneIdentifierShareAnIdentifierAndRepliesOfStrangersDoNotPass(t *testing.T) {
	c := start(&testbed.Natted(behaving(element.EndpointIndependent, element.EndpointIndependent)).Graph)
	for _, remote := range []string{"198.51.100.1", "198.51.100.2"} {
		p := testbed.Ping(1000)
		p.Dst = remote
		testbed.Want(t, c.Process(0, testbed.Inside, p.Frame(), nil), testbed.Sent(testbed.Packet{Proto: 1, ICMP: testbed.EchoRequest, Src: "192.0.2.10", Dst: remote, Sport: 2000}))
	}
	stranger := testbed.Packet{Proto: 1, ICMP: testbed.EchoReply, Src: "198.51.100.3", Dst: "192.0.2.10", Dport: 2000, To: testbed.OutsideMAC, From: testbed.RouterMAC}
	testbed.Dropped(t, c.Process(0, testbed.Outside, stranger.Frame(), nil), "nat-no-binding")
}

func TestAnOpeningThatSharesItsPortGivesUpItsSessionAlone(t *testing.T) {
	syn := func(dport uint16) testbed.Packet { return testbed.Packet{Proto: 6, Flags: "S", Sport: 1, Dport: dport} }
	c := start(&testbed.Natted(behaving(element.EndpointIndependent, element.AddressAndPortDependent)).Graph)
	testbed.Only(t, c.Process(0, testbed.Inside, syn(80).Frame(), nil))
	testbed.Only(t, c.Process(0, testbed.Inside, syn(81).Frame(), nil))
	of := func(port int) pass.Binding {
		return pass.Binding{Node: "nat", Proto: 6, Inside: testbed.AddrPort("10.0.0.2:1"), Remote: testbed.AddrPort(fmt.Sprintf("198.51.100.1:%d", port))}
	}
	if err := c.Evict(testbed.Seconds(2), of(80)); err != nil {
		t.Fatal(err)
	}
	if err := c.Evict(testbed.Seconds(2), of(80)); err == nil {
		t.Error("a session ended twice")
	}
	answer := testbed.Back(testbed.Packet{Proto: 6, Flags: "SA", Sport: 81, Dport: 2000}, "192.0.2.10")
	testbed.Only(t, c.Process(testbed.Seconds(2), testbed.Outside, answer.Frame(), nil))
}

func TestAnEnginesChoiceForAMappingHoldsForItsOtherFlows(t *testing.T) {
	c := start(&testbed.Natted(behaving(element.EndpointIndependent, element.AddressAndPortDependent)).Graph)
	shown := func(sport, dport uint16) testbed.Packet {
		return testbed.Packet{Src: "192.0.2.10", Sport: sport, Dport: dport}
	}
	follow(t, c, 0, testbed.UDP(1, 53), shown(2002, 53))
	follow(t, c, 0, testbed.UDP(1, 54), shown(2002, 54))
	follow(t, c, 0, testbed.UDP(1, 55), shown(2003, 55), interp.MismatchOutput)
	follow(t, c, 0, testbed.UDP(2, 53), shown(2002, 53), interp.MismatchChoice)
}
