package interp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

const subscriberLimit = "nat/subscriber-limit"

// limiting is a NAPT that limits its subscribers.
func limiting(prefix, sessions, ports int) element.NAPT {
	e := behaving(element.EndpointIndependent, element.EndpointIndependent)
	e.PortMax = 2099
	e.Limits = element.SubscriberLimits{PrefixLen: prefix, MaxSessions: sessions, MaxPorts: ports, Reason: subscriberLimit}
	return e
}

// of is the packet as another host sends it.
func (p pkt) of(host string) pkt {
	p.src = host
	return p
}

func TestASubscriberHasNoMoreSessionsThanItsLimit(t *testing.T) {
	c := natted(limiting(32, 2, 9)).chain()
	only(t, c.Process(0, inside, udp(1, 53).frame(), nil))
	only(t, c.Process(seconds(1), inside, pkt{proto: 6, sport: 1, dport: 80}.frame(), nil))
	dropped(t, c.Process(seconds(1), inside, udp(2, 53).frame(), nil), subscriberLimit)
	dropped(t, c.Process(seconds(1), inside, ping(3).frame(), nil), subscriberLimit)
	dropped(t, c.Process(seconds(1), inside, udp(1, 54).frame(), nil), subscriberLimit) // by a port that it has
	only(t, c.Process(seconds(1), inside, udp(1, 53).frame(), nil))                     // known
	only(t, c.Process(seconds(1), inside, udp(2, 53).of("10.0.0.3").frame(), nil))
	only(t, c.Process(seconds(12), inside, udp(2, 53).frame(), nil)) // the TCP opening is over
	dropped(t, c.Process(seconds(12), inside, udp(3, 53).frame(), nil), subscriberLimit)
}

func TestASubscriberHasNoMorePortsOfEachProtocolThanItsLimit(t *testing.T) {
	c := natted(limiting(32, 5, 1)).chain()
	for dport := range uint16(3) {
		only(t, c.Process(0, inside, udp(1000, 53+dport).frame(), nil)) // all by one port
	}
	dropped(t, c.Process(0, inside, udp(1001, 53).frame(), nil), subscriberLimit)
	only(t, c.Process(0, inside, pkt{proto: 6, sport: 1001, dport: 80}.frame(), nil))
	only(t, c.Process(0, inside, ping(7).frame(), nil))
	dropped(t, c.Process(0, inside, udp(1000, 99).frame(), nil), subscriberLimit) // five sessions
}

func TestInsideAddressesOfOnePrefixAreOneSubscriber(t *testing.T) {
	c := natted(limiting(24, 2, 2)).chain()
	only(t, c.Process(0, inside, udp(1, 53).frame(), nil))
	only(t, c.Process(0, inside, udp(1, 53).of("10.0.0.200").frame(), nil))
	dropped(t, c.Process(0, inside, udp(1, 53).of("10.0.0.3").frame(), nil), subscriberLimit)
	only(t, c.Process(0, inside, udp(1, 53).of("10.0.1.3").frame(), nil))
}

func TestWhatBeginsOutsideCountsForTheSubscriber(t *testing.T) {
	c := natted(limiting(32, 2, 9)).chain()
	only(t, c.Process(0, inside, udp(1000, 53).frame(), choosing("192.0.2.10:2000")))
	only(t, c.Process(0, outside, outer("198.51.100.7", 7, 2000).frame(), nil))
	dropped(t, c.Process(0, outside, outer("198.51.100.8", 7, 2000).frame(), nil), subscriberLimit)
	dropped(t, c.Process(0, inside, udp(1001, 53).frame(), nil), subscriberLimit)
}

func TestAPacketThatIsDroppedLaterCountsForNobody(t *testing.T) {
	b := newBuilder()
	n, drop := b.add("nat", limiting(32, 1, 1)), b.add("drop", element.Discard{Reason: "late"})
	b.wire(b.in(inside), 0, n, element.NAPTInside)
	b.wire(n, element.NAPTOutside, drop, 0)
	b.wire(b.in(outside), 0, n, element.NAPTOutside)
	b.wire(n, element.NAPTInside, b.out(inside), 0)
	c := b.chain()
	for i := range uint16(3) {
		dropped(t, c.Process(0, inside, udp(1+i, 53).frame(), nil), "late")
	}
}

// TestAnEngineMayCountWhatItHasNotReclaimed: what other workers have counts until they have looked at it.
func TestAnEngineMayCountWhatItHasNotReclaimed(t *testing.T) {
	c := natted(limiting(32, 2, 2)).chain()
	_, diff := c.ProcessAgainst(0, inside, udp(1, 53).frame(), Seen{Result: Result{Drops: []Drop{{subscriberLimit}}}})
	if k := kinds(diff); len(k) != 1 || !k[MismatchExhausted] {
		t.Fatalf("got %v, want only the kind exhausted", diff)
	}
	if n := len(c.Sessions(0)); n != 0 {
		t.Errorf("there are %d sessions, want none", n)
	}
}

// TestAnEngineMayCountForAMomentWhatIsOver: one that has just looked does not look again for each packet.
func TestAnEngineMayCountForAMomentWhatIsOver(t *testing.T) {
	e := limiting(32, 1, 1)
	for after, told := range map[time.Duration]bool{time.Millisecond: false, 20 * time.Millisecond: true} {
		c := natted(e).chain()
		only(t, c.Process(0, inside, udp(1, 53).frame(), nil))
		_, diff := c.ProcessAgainst(e.Timeouts.UDP+after, inside, udp(2, 53).frame(), Seen{Result: Result{Drops: []Drop{{subscriberLimit}}}})
		if kinds(diff)[MismatchExhausted] != told || len(diff) > 1 {
			t.Errorf("%v after a session was over: got %v, want a mismatch: %t", after, diff, told)
		}
	}
}

func TestAPortRestsBeforeItIsUsedAgain(t *testing.T) {
	e := pool()
	e.PortMax, e.Quarantine = 2000, 120*time.Second
	c := natted(e).chain()
	only(t, c.Process(0, inside, udp(1, 53).frame(), nil))
	only(t, c.Process(0, inside, pkt{proto: 6, sport: 1, dport: 80}.frame(), nil)) // of another protocol
	only(t, c.Process(seconds(10), inside, udp(1, 53).frame(), nil))
	over := seconds(10) + e.Timeouts.UDP
	for _, at := range []time.Duration{over, over + 1, over + seconds(60), over + seconds(120) - 1} {
		r := c.Process(at, inside, udp(2, 53).frame(), nil)
		dropped(t, r, "nat-exhausted")
	}
	only(t, c.Process(over+seconds(120), inside, udp(2, 53).frame(), nil))
}

func TestAnInsideAddressKeepsItsOutsideAddressWhilePaired(t *testing.T) {
	e := pool()
	e.Pool, e.Paired, e.PortMax = append(e.Pool, ip("192.0.2.11")), true, 2001
	c := natted(e).chain()
	want(t, c.Process(0, inside, udp(1, 53).frame(), choosing("192.0.2.11:2000")), sent(pkt{src: "192.0.2.11", sport: 2000, dport: 53}))
	tcp := pkt{proto: 6, sport: 1, dport: 80}
	dropped(t, c.Process(0, inside, tcp.frame(), choosing("192.0.2.10:2000")), "nat-exhausted")
	only(t, c.Process(0, inside, tcp.frame(), choosing("192.0.2.11:2000")))
	only(t, c.Process(0, inside, udp(1, 53).of("10.0.0.3").frame(), choosing("192.0.2.10:2000"))) // another host
	only(t, c.Process(0, inside, udp(2, 53).frame(), nil))
	dropped(t, c.Process(0, inside, udp(3, 53).frame(), nil), "nat-exhausted") // the other address has a port
	only(t, c.Process(seconds(21), inside, udp(3, 53).frame(), choosing("192.0.2.10:2001")))
}

// TestThePortOfAnOpeningThatGaveWayRests ends one that nobody answered.
func TestThePortOfAnOpeningThatGaveWayRests(t *testing.T) {
	e := pool()
	e.PortMax, e.Quarantine = 2000, 60*time.Second
	c := natted(e).chain()
	opening := func(sport uint16) []byte { return pkt{proto: 6, sport: sport, dport: 80}.frame() }
	only(t, c.Process(0, inside, opening(1), nil))
	if err := c.Evict(seconds(2), Binding{Node: "nat", Proto: 6, Inside: ap("10.0.0.2:1"), Remote: ap("198.51.100.1:80")}); err != nil {
		t.Fatal(err)
	}
	dropped(t, c.Process(seconds(62)-1, inside, opening(2), nil), "nat-exhausted")
	only(t, c.Process(seconds(62), inside, opening(2), nil))
}

// TestAnEngineThatTakesAPortTooEarlyIsFoundOut: which port it takes is its choice, but for those that rest.
func TestAnEngineThatTakesAPortTooEarlyIsFoundOut(t *testing.T) {
	e := pool()
	e.Quarantine = 120 * time.Second
	c := natted(e).chain()
	only(t, c.Process(0, inside, udp(1, 53).frame(), choosing("192.0.2.10:2001")))
	for at, denied := range map[string]bool{"192.0.2.10:2001": true, "192.0.2.10:2002": false} {
		port := netip.MustParseAddrPort(at).Port()
		seen := natted(pool()).chain().Process(seconds(100), inside, udp(2, 53).frame(), choosing(at))
		_, diff := c.ProcessAgainst(seconds(100), inside, udp(2, 53).frame(), Seen{Result: seen, Choices: []Choice{choice(udp(2, 53), "192.0.2.10", port, "nat")}})
		if kinds(diff)[MismatchChoice] != denied {
			t.Errorf("%s: got %v, want a wrong choice: %t", at, diff, denied)
		}
	}
}
