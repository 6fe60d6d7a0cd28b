package oracle_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
)

const subscriberLimit = "nat/subscriber-limit"

// limiting is a NAPT that limits its subscribers.
func limiting(prefix, sessions, ports int) element.NAPT {
	e := behaving(element.EndpointIndependent, element.EndpointIndependent)
	e.PortMax = 2099
	e.Limits = element.SubscriberLimits{PrefixLen: prefix, MaxSessions: sessions, MaxPorts: ports, Reason: subscriberLimit}
	return e
}

func TestASubscriberHasNoMoreSessionsThanItsLimit(t *testing.T) {
	c := start(&testbed.Natted(limiting(32, 2, 9)).Graph)
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(1, 53).Frame(), nil))
	testbed.Only(t, c.Process(testbed.Seconds(1), testbed.Inside, testbed.Packet{Proto: 6, Sport: 1, Dport: 80}.Frame(), nil))
	testbed.Dropped(t, c.Process(testbed.Seconds(1), testbed.Inside, testbed.UDP(2, 53).Frame(), nil), subscriberLimit)
	testbed.Dropped(t, c.Process(testbed.Seconds(1), testbed.Inside, testbed.Ping(3).Frame(), nil), subscriberLimit)
	testbed.Dropped(t, c.Process(testbed.Seconds(1), testbed.Inside, testbed.UDP(1, 54).Frame(), nil), subscriberLimit) // by a port that it has
	testbed.Only(t, c.Process(testbed.Seconds(1), testbed.Inside, testbed.UDP(1, 53).Frame(), nil))                     // known
	testbed.Only(t, c.Process(testbed.Seconds(1), testbed.Inside, ofHost("10.0.0.3", testbed.UDP(2, 53)).Frame(), nil))
	testbed.Only(t, c.Process(testbed.Seconds(12), testbed.Inside, testbed.UDP(2, 53).Frame(), nil)) // the TCP opening is over
	testbed.Dropped(t, c.Process(testbed.Seconds(12), testbed.Inside, testbed.UDP(3, 53).Frame(), nil), subscriberLimit)
}

func TestASubscriberHasNoMorePortsOfEachProtocolThanItsLimit(t *testing.T) {
	c := start(&testbed.Natted(limiting(32, 5, 1)).Graph)
	for dport := range uint16(3) {
		testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(1000, 53+dport).Frame(), nil)) // all by one port
	}
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.UDP(1001, 53).Frame(), nil), subscriberLimit)
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.Packet{Proto: 6, Sport: 1001, Dport: 80}.Frame(), nil))
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.Ping(7).Frame(), nil))
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.UDP(1000, 99).Frame(), nil), subscriberLimit) // five sessions
}

func TestInsideAddressesOfOnePrefixAreOneSubscriber(t *testing.T) {
	c := start(&testbed.Natted(limiting(24, 2, 2)).Graph)
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(1, 53).Frame(), nil))
	testbed.Only(t, c.Process(0, testbed.Inside, ofHost("10.0.0.200", testbed.UDP(1, 53)).Frame(), nil))
	testbed.Dropped(t, c.Process(0, testbed.Inside, ofHost("10.0.0.3", testbed.UDP(1, 53)).Frame(), nil), subscriberLimit)
	testbed.Only(t, c.Process(0, testbed.Inside, ofHost("10.0.1.3", testbed.UDP(1, 53)).Frame(), nil))
}

func TestWhatBeginsOutsideCountsForTheSubscriber(t *testing.T) {
	c := start(&testbed.Natted(limiting(32, 2, 9)).Graph)
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(1000, 53).Frame(), choosing("192.0.2.10:2000")))
	testbed.Only(t, c.Process(0, testbed.Outside, outer("198.51.100.7", 7, 2000).Frame(), nil))
	testbed.Dropped(t, c.Process(0, testbed.Outside, outer("198.51.100.8", 7, 2000).Frame(), nil), subscriberLimit)
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.UDP(1001, 53).Frame(), nil), subscriberLimit)
}

func TestAPacketThatIsDroppedLaterCountsForNobody(t *testing.T) {
	b := testbed.New()
	n, drop := b.Add("nat", limiting(32, 1, 1)), b.Add("drop", element.Discard{Reason: "late"})
	b.Wire(b.In(testbed.Inside), 0, n, element.NAPTInside)
	b.Wire(n, element.NAPTOutside, drop, 0)
	b.Wire(b.In(testbed.Outside), 0, n, element.NAPTOutside)
	b.Wire(n, element.NAPTInside, b.Out(testbed.Inside), 0)
	c := start(&b.Graph)
	for i := range uint16(3) {
		testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.UDP(1+i, 53).Frame(), nil), "late")
	}
}

// TestAnEngineMayCountWhatItHasNotReclaimed: what other workers have counts until they have looked at it.
func TestAnEngineMayCountWhatItHasNotReclaimed(t *testing.T) {
	c := start(&testbed.Natted(limiting(32, 2, 2)).Graph)
	_, diff := c.ProcessAgainst(0, testbed.Inside, testbed.UDP(1, 53).Frame(), interp.Seen{Result: pass.Result{Drops: []pass.Drop{{Reason: subscriberLimit}}}})
	if k := kinds(diff); len(k) != 1 || !k[interp.MismatchExhausted] {
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
		c := start(&testbed.Natted(e).Graph)
		testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(1, 53).Frame(), nil))
		_, diff := c.ProcessAgainst(e.Timeouts.UDP+after, testbed.Inside, testbed.UDP(2, 53).Frame(), interp.Seen{Result: pass.Result{Drops: []pass.Drop{{Reason: subscriberLimit}}}})
		if kinds(diff)[interp.MismatchExhausted] != told || len(diff) > 1 {
			t.Errorf("%v after a session was over: got %v, want a mismatch: %t", after, diff, told)
		}
	}
}

func TestAPortRestsBeforeItIsUsedAgain(t *testing.T) {
	e := testbed.Pool()
	e.PortMax, e.Quarantine = 2000, 120*time.Second
	c := start(&testbed.Natted(e).Graph)
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(1, 53).Frame(), nil))
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.Packet{Proto: 6, Sport: 1, Dport: 80}.Frame(), nil)) // of another protocol
	testbed.Only(t, c.Process(testbed.Seconds(10), testbed.Inside, testbed.UDP(1, 53).Frame(), nil))
	over := testbed.Seconds(10) + e.Timeouts.UDP
	for _, at := range []time.Duration{over, over + 1, over + testbed.Seconds(60), over + testbed.Seconds(120) - 1} {
		r := c.Process(at, testbed.Inside, testbed.UDP(2, 53).Frame(), nil)
		testbed.Dropped(t, r, "nat-exhausted")
	}
	testbed.Only(t, c.Process(over+testbed.Seconds(120), testbed.Inside, testbed.UDP(2, 53).Frame(), nil))
}

func TestAnInsideAddressKeepsItsOutsideAddressWhilePaired(t *testing.T) {
	e := testbed.Pool()
	e.Pool, e.Paired, e.PortMax = append(e.Pool, testbed.Addr("192.0.2.11")), true, 2001
	c := start(&testbed.Natted(e).Graph)
	testbed.Want(t, c.Process(0, testbed.Inside, testbed.UDP(1, 53).Frame(), choosing("192.0.2.11:2000")), testbed.Sent(testbed.Packet{Src: "192.0.2.11", Sport: 2000, Dport: 53}))
	tcp := testbed.Packet{Proto: 6, Sport: 1, Dport: 80}
	testbed.Dropped(t, c.Process(0, testbed.Inside, tcp.Frame(), choosing("192.0.2.10:2000")), "nat-exhausted")
	testbed.Only(t, c.Process(0, testbed.Inside, tcp.Frame(), choosing("192.0.2.11:2000")))
	testbed.Only(t, c.Process(0, testbed.Inside, ofHost("10.0.0.3", testbed.UDP(1, 53)).Frame(), choosing("192.0.2.10:2000"))) // another host
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(2, 53).Frame(), nil))
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.UDP(3, 53).Frame(), nil), "nat-exhausted") // the other address has a port
	testbed.Only(t, c.Process(testbed.Seconds(21), testbed.Inside, testbed.UDP(3, 53).Frame(), choosing("192.0.2.10:2001")))
}

// TestThePortOfAnOpeningThatGaveWayRests ends one that nobody answered.
func TestThePortOfAnOpeningThatGaveWayRests(t *testing.T) {
	e := testbed.Pool()
	e.PortMax, e.Quarantine = 2000, 60*time.Second
	c := start(&testbed.Natted(e).Graph)
	opening := func(sport uint16) []byte { return testbed.Packet{Proto: 6, Sport: sport, Dport: 80}.Frame() }
	testbed.Only(t, c.Process(0, testbed.Inside, opening(1), nil))
	if err := c.Evict(testbed.Seconds(2), pass.Binding{Node: "nat", Proto: 6, Inside: testbed.AddrPort("10.0.0.2:1"), Remote: testbed.AddrPort("198.51.100.1:80")}); err != nil {
		t.Fatal(err)
	}
	testbed.Dropped(t, c.Process(testbed.Seconds(62)-1, testbed.Inside, opening(2), nil), "nat-exhausted")
	testbed.Only(t, c.Process(testbed.Seconds(62), testbed.Inside, opening(2), nil))
}

// TestAnEngineThatTakesAPortTooEarlyIsFoundOut: which port it takes is its choice, but for those that rest.
func TestAnEngineThatTakesAPortTooEarlyIsFoundOut(t *testing.T) {
	e := testbed.Pool()
	e.Quarantine = 120 * time.Second
	c := start(&testbed.Natted(e).Graph)
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(1, 53).Frame(), choosing("192.0.2.10:2001")))
	for at, denied := range map[string]bool{"192.0.2.10:2001": true, "192.0.2.10:2002": false} {
		port := netip.MustParseAddrPort(at).Port()
		seen := start(&testbed.Natted(testbed.Pool()).Graph).Process(testbed.Seconds(100), testbed.Inside, testbed.UDP(2, 53).Frame(), choosing(at))
		_, diff := c.ProcessAgainst(testbed.Seconds(100), testbed.Inside, testbed.UDP(2, 53).Frame(), interp.Seen{Result: seen, Told: told(choice(testbed.UDP(2, 53), "192.0.2.10", port, "nat"))})
		if kinds(diff)[interp.MismatchChoice] != denied {
			t.Errorf("%s: got %v, want a wrong choice: %t", at, diff, denied)
		}
	}
}
