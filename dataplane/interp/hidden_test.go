package interp

import (
	"maps"
	"net/netip"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// from is a UDP packet to port 53 after translation.
func from(a string, port uint16) pkt { return pkt{src: a, sport: port, dport: 53} }

// dying is a packet that the router of answering answers, so that its binding stays hidden.
func dying(sport uint16) pkt { return pkt{sport: sport, dport: 53, ttl: 1} }

// follow runs a packet from inside that an engine is seen to send outside; want are the kinds of mismatches.
func follow(t *testing.T, c *Chain, at float64, p, seen pkt, want ...Kind) {
	t.Helper()
	seen.ttl = 64
	if c.routes() {
		seen.ttl = 63
	}
	_, diff := c.ProcessAgainst(seconds(at), inside, p.frame(), seenFrame(seen))
	got := kinds(diff)
	for _, k := range want {
		if !got[k] {
			t.Fatalf("want a mismatch of kind %s, got %v", k, diff)
		}
	}
	if len(want) == 0 && len(diff) != 0 {
		t.Fatal(diff)
	}
}

// routes tells whether the chain has a router.
func (c *Chain) routes() bool {
	for _, n := range c.graph.Nodes {
		if _, ok := n.Element.(element.DecTTL); ok {
			return true
		}
	}
	return false
}

func TestAHiddenEndpointGivesWayToAFlowThatShowsItAndTakesTheOneThatItShows(t *testing.T) {
	c := answering().chain()
	only(t, c.Process(0, inside, dying(1).frame(), nil)) // the guess is port 2000
	follow(t, c, 0, udp(2, 53), from("192.0.2.10", 2000))
	follow(t, c, 0, udp(1, 53), from("192.0.2.10", 2003))
	for host, port := range map[uint16]uint16{1: 2003, 2: 2000} {
		p := back(udp(53, port), "192.0.2.10")
		want(t, c.Process(0, outside, p.frame(), nil), delivered(pkt{src: "198.51.100.1", dst: "10.0.0.2", sport: 53, dport: host}))
	}
}

func TestAShownEndpointGivesWayToNoOther(t *testing.T) {
	c := answering().chain()
	follow(t, c, 0, udp(1, 53), from("192.0.2.10", 2000))
	only(t, c.Process(0, inside, dying(1).frame(), nil)) // answered, but shown before
	follow(t, c, 0, udp(2, 53), from("192.0.2.10", 2000), MismatchChoice)
}

func TestAHiddenEndpointWithNowhereToGoIsUnknownUntilItShows(t *testing.T) {
	c := answering().chain()
	only(t, c.Process(0, inside, dying(1).frame(), nil))
	for i := range uint16(3) {
		follow(t, c, 0, udp(2+i, 53), from("192.0.2.10", 2001+i))
	}
	follow(t, c, 1, udp(5, 53), from("192.0.2.10", 2000))
	unknown := 0
	for _, s := range c.Sessions(seconds(1)) {
		if !s.Outside.IsValid() {
			unknown++
		}
	}
	if n := len(c.Sessions(seconds(1))); n != 5 || unknown != 1 {
		t.Fatalf("%d bindings, %d of them unknown, want 5 and 1", n, unknown)
	}
	only(t, c.Process(seconds(2), inside, dying(1).frame(), nil)) // still bound: the answer comes back
	follow(t, c, 2, udp(5, 53), from("192.0.2.10", 2000))
	// The bindings that had 2001 to 2003 have expired.
	follow(t, c, 20.5, udp(1, 53), from("192.0.2.10", 2002))
	p := back(udp(53, 2002), "192.0.2.10")
	want(t, c.Process(seconds(20.5), outside, p.frame(), nil), delivered(pkt{src: "198.51.100.1", dst: "10.0.0.2", sport: 53, dport: 1}))
	for _, s := range c.Sessions(seconds(20.5)) {
		if !s.Outside.IsValid() {
			t.Errorf("%v is unknown although it was shown", s)
		}
	}
}

// maskedBut leads what leaves a NAPT with two addresses through a function that writes a field, but for packets of VLAN 3.
func maskedBut(field headerspace.Field, value headerspace.Value) *Chain {
	e := pool()
	e.Pool, e.PortMax = append(e.Pool, ip("192.0.2.11")), 2063
	b := natted(e)
	kind, mask := b.add("kind", element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{
		{Name: "vlan", Filters: []headerspace.Filter{filter(headerspace.VLAN, one(3))}},
	}}), b.add("mask", element.SetField{Field: field, Value: value})
	b.wire(b.node("nat"), element.NAPTOutside, kind, 0)
	b.wire(kind, 0, b.out(outside), 0)
	b.wire(kind, 1, mask, 0)
	b.wire(mask, 0, b.out(outside), 0)
	return b.chain()
}

// inVLAN3 is a packet that maskedBut leaves as it is.
func inVLAN3(p pkt) pkt {
	p.vlan = []uint16{3}
	return p
}

// TestAFlowThatShowsItsPortAloneMayHaveAnyAddress has all leave from 192.0.2.99, but for a VLAN.
func TestAFlowThatShowsItsPortAloneMayHaveAnyAddress(t *testing.T) {
	c := maskedBut(headerspace.Src, headerspace.Addr(ip("192.0.2.99")))
	masked := func(port uint16) pkt { return pkt{src: "192.0.2.99", sport: port, dport: 80} }
	shown := func(address string, port uint16) pkt {
		return inVLAN3(pkt{src: address, sport: port, dport: 80})
	}
	follow(t, c, 0, udp(1, 80), masked(2005)) // the guess is 192.0.2.10
	follow(t, c, 0, inVLAN3(udp(2, 80)), shown("192.0.2.10", 2005))
	follow(t, c, 0, udp(1, 80), masked(2005))
	follow(t, c, 0, inVLAN3(udp(1, 80)), shown("192.0.2.11", 2005))
	follow(t, c, 0, inVLAN3(udp(1, 80)), shown("192.0.2.11", 2006), MismatchOutput)
	follow(t, c, 0, udp(3, 80), masked(2007))
	follow(t, c, 0, udp(3, 80), masked(2008), MismatchOutput) // its port is no guess
}

// TestADisplacedFlowThatShowsItsAddressAloneGoesBackToIt has all leave from port 1000, but for a VLAN.
func TestADisplacedFlowThatShowsItsAddressAloneGoesBackToIt(t *testing.T) {
	c := maskedBut(headerspace.SPort, headerspace.V(1000))
	masked := func(a string) pkt { return pkt{src: a, sport: 1000, dport: 80} }
	third, shown := inVLAN3(udp(3, 80)), inVLAN3(pkt{src: "192.0.2.10", sport: 2000, dport: 80})
	follow(t, c, 0, udp(1, 80), masked("192.0.2.10")) // the guess is port 2000
	follow(t, c, 0, udp(2, 80), masked("192.0.2.11")) // from which on free ports are looked for
	follow(t, c, 0, third, shown)                     // not the first one's then
	follow(t, c, 0, udp(1, 80), masked("192.0.2.10")) // which has another port of its address
	if s := c.Sessions(0); len(s) != 3 {
		t.Errorf("bindings %v, want one for each of three flows", s)
	}
}

func TestADisplacedFlowThatShowsAnEndpointInUseIsToldAsAChoice(t *testing.T) {
	c := answering().chain()
	only(t, c.Process(0, inside, dying(1).frame(), nil))
	for i := range uint16(3) {
		follow(t, c, 0, udp(2+i, 53), from("192.0.2.10", 2001+i))
	}
	follow(t, c, 1, udp(5, 53), from("192.0.2.10", 2000))
	follow(t, c, 2, udp(1, 53), from("192.0.2.10", 2000), MismatchChoice)
}

func TestWhatFollowsFromAHiddenEndpointMovesWithIt(t *testing.T) {
	c := partlyHidden().chain()
	follow(t, c, 0, udp(1, 53), from("192.0.2.10", 2001))                       // nat-a's guess is port 2000
	follow(t, c, 1, udp(2, 54), pkt{src: "100.64.0.1", sport: 2000, dport: 54}) // which shows it to be another's
	follow(t, c, 2, udp(1, 53), from("192.0.2.10", 2001))
	p := back(udp(53, 2001), "192.0.2.10")
	want(t, c.Process(seconds(3), outside, p.frame(), nil), delivered(pkt{src: "198.51.100.1", dst: "10.0.0.2", sport: 53, dport: 1}))
	if s := c.Sessions(seconds(3)); len(s) != 3 {
		t.Errorf("bindings %v, want one of nat-a and isp for the first flow and one of nat-a for the second", s)
	}
}

// TestAFlowThatIsBoundAgainGoesOnWithWhatTheNextNAPTKept has zone a's entry end while the common NAPT's lives on. The next packet is answered, so
// that nobody sees whether the new entry's port is the old one's.
func TestAFlowThatIsBoundAgainGoesOnWithWhatTheNextNAPTKeptOrNot(t *testing.T) {
	for name, shown := range map[string]uint16{"it does": 2001, "it does not": 2005} {
		t.Run(name, func(t *testing.T) {
			c := nestedRouter(true).chain()
			follow(t, c, 0, udp(1, 53), from("192.0.2.10", 2001))
			only(t, c.Process(seconds(17), inside, dying(1).frame(), nil))
			follow(t, c, 18, udp(1, 53), from("192.0.2.10", shown))
			follow(t, c, 18, udp(1, 53), from("192.0.2.10", shown))
			p := back(udp(53, shown), "192.0.2.10")
			want(t, c.Process(seconds(18), outside, p.frame(), nil), delivered(pkt{src: "198.51.100.1", dst: "10.0.0.2", sport: 53, dport: 1}))
		})
	}
}

// TestAFlowThatIsBoundAgainBeforeARouterGoesOnWithWhatTheNAPTBehindKeptOrNot is the same with the router between the two NAPTs: the next one
// does not see the packet that binds the flow again.
func TestAFlowThatIsBoundAgainBeforeARouterGoesOnWithWhatTheNAPTBehindKeptOrNot(t *testing.T) {
	for name, shown := range map[string]uint16{"it does": 2001, "it does not": 2005} {
		t.Run(name, func(t *testing.T) {
			b := nestedRouter(true)
			natA, isp, ttl := b.node("nat-a"), b.node("isp"), b.node("rt/ttl")
			b.wire(natA, element.NAPTOutside, ttl, 0)
			b.wire(ttl, element.TTLAlive, isp, element.NAPTInside)
			b.wire(b.node("rt/expired"), 0, natA, element.NAPTOutside)
			b.wire(isp, element.NAPTOutside, b.out(outside), 0)
			c := b.chain()
			follow(t, c, 0, udp(1, 53), from("192.0.2.10", 2001))
			seen := c.Peek(seconds(17), inside, dying(1).frame(), nil)
			only(t, seen)
			if _, diff := c.ProcessAgainst(seconds(17), inside, dying(1).frame(), seen); len(diff) != 0 {
				t.Fatal(diff)
			}
			follow(t, c, 18, udp(1, 53), from("192.0.2.10", shown))
			follow(t, c, 18, udp(1, 53), from("192.0.2.10", shown))
			p := back(udp(53, shown), "192.0.2.10")
			want(t, c.Process(seconds(18), outside, p.frame(), nil), delivered(pkt{src: "198.51.100.1", dst: "10.0.0.2", sport: 53, dport: 1}))
		})
	}
}

func TestAnAnswerAlongAGuessDoesNotProveIt(t *testing.T) {
	c := partlyHidden().chain()
	follow(t, c, 0, udp(1, 53), from("192.0.2.10", 2001))
	p := back(udp(53, 2001), "192.0.2.10")
	only(t, c.Process(0, outside, p.frame(), nil))
	follow(t, c, 1, udp(2, 54), pkt{src: "100.64.0.1", sport: 2000, dport: 54})
}

func TestAFlowToAnEndpointThatItIsGivenItselfComesBack(t *testing.T) {
	e := pool()
	e.PortMax = 2999
	b := natted(e)
	n := b.node("nat")
	own := b.add("own", element.Lookup{Outs: 2, NoRoute: 1, Routes: []element.Route{{Prefix: prefix("192.0.2.10/32"), Out: 0}}})
	b.wire(n, element.NAPTOutside, own, 0)
	b.wire(own, 0, n, element.NAPTOutside)
	b.wire(own, 1, b.out(outside), 0)
	for name, k := range map[string]struct{ src, chosen string }{
		"to its host":                 {"10.0.0.2", "192.0.2.10:2502"},
		"to a host that nobody knows": {"172.20.0.9", "192.0.2.10:2502"},
		"but not by another endpoint": {"10.0.0.2", "192.0.2.10:2503"},
		"but not a host nobody knows": {"172.20.0.9", "192.0.2.10:2503"},
	} {
		t.Run(name, func(t *testing.T) {
			frame := pkt{src: k.src, dst: "192.0.2.10", sport: 1, dport: 2502}.frame()
			seen := b.chain().Process(0, inside, frame, choosing(k.chosen))
			if _, diff := b.chain().ProcessAgainst(0, inside, frame, seen); len(diff) != 0 {
				t.Fatalf("%v, of %v", diff, seen.Drops)
			}
		})
	}
}

// ownHost is a NAPT with 100 addresses, and behind it a host whose answers to the second leave by a second NAPT.
func ownHost() *builder {
	e := pool()
	e.PortMin, e.PortMax = 1024, 65535
	second := e
	e.Pool, second.Pool = nil, []netip.Addr{ip("192.0.2.200")}
	for a := num(ip("192.0.2.10")); a < num(ip("192.0.2.110")); a++ {
		e.Pool = append(e.Pool, addr(a))
	}
	b := natted(e)
	n, host, behind := b.node("nat"), b.add("host", element.LocalHost{}), b.add("second", second)
	routes := b.add("routes", element.Lookup{Outs: 2, Routes: []element.Route{{Prefix: prefix("192.0.2.11/32"), Out: 1}}})
	b.wire(n, element.NAPTOutside, host, 0)
	b.wire(host, 0, routes, 0)
	b.wire(routes, 0, n, element.NAPTOutside)
	b.wire(routes, 1, behind, element.NAPTInside)
	b.wire(behind, element.NAPTOutside, b.out(outside), 0)
	b.wire(behind, element.NAPTInside, b.out(inside), 0)
	return b
}

func TestAnAnswerThatLeavesByAnotherNAPTShowsWhereItGoesTo(t *testing.T) {
	p := pkt{proto: 6, flags: "S", sport: 1, dport: 80}
	chosen := map[string]string{"nat": "192.0.2.11:1103", "second": "192.0.2.200:40000"}
	seen := ownHost().chain().Process(0, inside, p.frame(), func(b Binding, allowed func(netip.AddrPort) bool) (netip.AddrPort, bool) {
		return ap(chosen[b.Node]), allowed(ap(chosen[b.Node]))
	})
	only(t, seen)
	c := ownHost().chain()
	if _, diff := c.ProcessAgainst(0, inside, p.frame(), seen); len(diff) != 0 {
		t.Fatal(diff)
	}
	for _, s := range c.Sessions(0) {
		if s.Outside != ap(chosen[s.Node]) {
			t.Errorf("%v, want %s", s, chosen[s.Node])
		}
	}
}

// TestWhatNoChoiceExplainsIsAMismatchSoon has an engine's frame that no choice leads to, where there are many to try.
func TestWhatNoChoiceExplainsIsAMismatchSoon(t *testing.T) {
	p := pkt{proto: 6, flags: "S", sport: 1, dport: 80}
	c := ownHost().chain()
	start := time.Now()
	if _, diff := c.ProcessAgainst(0, inside, p.frame(), Result{Drops: []Drop{{"elsewhere"}}}); len(diff) == 0 {
		t.Error("no mismatch")
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestTheChoiceThatExplainsIsFoundBehindAnotherThatIsReadToo has two NAPTs in a row with a rule behind each: that behind the first says nothing
// of its many endpoints.
func TestTheChoiceThatExplainsIsFoundBehindAnotherThatIsReadToo(t *testing.T) {
	first := pool()
	first.PortMin, first.PortMax = 1024, 65535
	second := first
	second.Pool = []netip.Addr{ip("192.0.2.20"), ip("192.0.2.21")}
	b := natted(first)
	n, next := b.node("nat"), b.add("second", second)
	reads := func(name, from string, then int) int {
		c := b.add(name, element.Classifier{Outs: 2, Rules: []element.Rule{
			{Name: name, Out: 1, Filters: []headerspace.Filter{filter(headerspace.Src, headerspace.Single(headerspace.Addr(ip(from))))}},
		}})
		b.wire(c, 0, then, 0)
		b.wire(c, 1, b.add(name+"/deny", element.Discard{Reason: name}), 0)
		return c
	}
	b.wire(n, element.NAPTOutside, reads("first", "172.31.0.1", next), 0)
	b.wire(next, element.NAPTOutside, reads("behind", "192.0.2.21", b.out(outside)), 0)
	if _, diff := b.chain().ProcessAgainst(0, inside, udp(1, 53).frame(), Result{Drops: []Drop{{"behind"}}}); len(diff) != 0 {
		t.Error(diff)
	}
}

// TestTwoChoicesThatExplainOnlyTogetherAreFound has two NAPTs in a row with a rule behind each; the second one's is met by few choices of the first.
func TestTwoChoicesThatExplainOnlyTogetherAreFound(t *testing.T) {
	first := pool()
	first.PortMin, first.PortMax = 1024, 65535
	b := natted(first)
	n, next := b.node("nat"), b.add("second", first)
	reads := func(name string, ports headerspace.Set, then int) int {
		c := b.add(name, element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{
			{Name: name, Filters: []headerspace.Filter{filter(headerspace.SPort, ports)}},
		}})
		b.wire(c, 0, then, 0)
		b.wire(c, 1, b.add(name+"/deny", element.Discard{Reason: name}), 0)
		return c
	}
	b.wire(n, element.NAPTOutside, reads("first", headerspace.Range(40000, 42000), next), 0)
	b.wire(next, element.NAPTOutside, reads("behind", headerspace.Range(1024, 40000), b.out(outside)), 0)
	if _, diff := b.chain().ProcessAgainst(0, inside, udp(1, 53).frame(), Result{Drops: []Drop{{"behind"}}}); len(diff) != 0 {
		t.Error(diff)
	}
}

func TestAnErrorAboutAResetShowsWhereTheResetWentTo(t *testing.T) {
	e := pool()
	e.PortMax = 65535
	b := natted(e)
	n, host, err := b.node("nat"), b.add("host", element.LocalHost{}), b.add("error", element.ICMPError{Type: 3, Source: ip("192.0.2.1")})
	to := b.add("to", element.SetField{Field: headerspace.Dst, Value: headerspace.Addr(ip("10.0.0.2"))})
	b.wire(n, element.NAPTOutside, host, 0)
	b.wire(host, 0, err, 0)
	b.wire(err, 0, to, 0)
	b.wire(to, 0, b.out(inside), 0)
	p := pkt{proto: 6, flags: "S", sport: 1, dport: 80}
	seen := b.chain().Process(0, inside, p.frame(), choosing("192.0.2.10:50003"))
	only(t, seen)
	c := b.chain()
	if _, diff := c.ProcessAgainst(0, inside, p.frame(), seen); len(diff) != 0 {
		t.Fatal(diff)
	}
	if s := c.Sessions(0); len(s) != 1 || s[0].Outside != ap("192.0.2.10:50003") {
		t.Errorf("bindings %v, want the quoted port", s)
	}
}

// state is all that look-ups in a chain's NAPTs can find.
func state(c *Chain) (inside map[flow]entry, outside map[seat]flow) {
	inside, outside = map[flow]entry{}, map[seat]flow{}
	for _, n := range c.nats() {
		for f, e := range n.inside {
			seen := *e
			seen.behind, seen.sessions = nil, map[remote]*session{}
			for to, s := range e.sessions {
				was := *s
				seen.sessions[to] = &was
			}
			inside[f] = seen
		}
		for at, e := range n.outside {
			outside[at] = e.flow
		}
	}
	return inside, outside
}

func TestMovesThatAreTakenBackLeaveNoTrace(t *testing.T) {
	port := func(n uint16) endpoint { return endpoint{17, num(ip("100.64.0.1")), n} }
	for name, at := range map[string]endpoint{
		"to a free endpoint":               port(2003),
		"to another hidden one":            port(2002),
		"to one whose binding has expired": port(2000),
		"to nowhere":                       {},
	} {
		t.Run(name, func(t *testing.T) {
			b := partlyHidden()
			c := b.chain()
			first, second := c.means[b.node("nat-a")].(*nat), c.means[b.node("isp")].(*nat)
			for i, now := range []float64{0, 5, 5} {
				r := c.newRun(seconds(now), nil, map[string][]wish{"nat-a": {{addr: true, port: true, at: port(2000 + uint16(i))}}})
				r.start(inside, udp(1+uint16(i), 53).frame())
			}
			wasInside, wasOutside := state(c)
			e := first.outside[seat{at: port(2001)}]
			r := c.newRun(seconds(21), nil, nil)
			if at == (endpoint{}) {
				at = first.nowhere(endpoint{proto: 17})
				first.exchange(r, e, nil, at)
			} else {
				first.move(r, e, at)
			}
			if e.out != at || first.outside[seat{at: at}] != e {
				t.Fatalf("the entry is at %v, want %v", e.out, at)
			}
			r.start(inside, udp(2, 53).frame())
			if len(r.res.Out) != 1 || len(second.inside) > 3 {
				t.Fatalf("%d frames; the NAPT behind has %d entries, want one per flow", len(r.res.Out), len(second.inside))
			}
			r.abandon()
			if isInside, isOutside := state(c); !maps.EqualFunc(isInside, wasInside, sameEntry) || !maps.Equal(isOutside, wasOutside) {
				t.Errorf("state was\n%v\n%v, is\n%v\n%v", wasInside, wasOutside, isInside, isOutside)
			}
		})
	}
}

func sameEntry(a, b entry) bool {
	return a.flow == b.flow && a.out == b.out && a.hidden == b.hidden && a.source == b.source &&
		maps.EqualFunc(a.sessions, b.sessions, func(a, b *session) bool { return *a == *b })
}

func TestACopyThatIsDroppedLeavesTheChoiceToTheOther(t *testing.T) {
	b := answering()
	nat, ttl := b.node("nat"), b.node("rt/ttl")
	tee, mark := b.add("tee", element.Tee{Outs: 2}), b.add("mark", element.SetField{Field: headerspace.DSCP, Value: headerspace.V(1)})
	fw := b.add("fw", element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{
		{Name: "marked", Filters: []headerspace.Filter{filter(headerspace.DSCP, one(1))}},
	}})
	b.wire(b.in(inside), 0, tee, 0)
	b.wire(tee, 0, mark, 0)
	b.wire(mark, 0, nat, element.NAPTInside)
	b.wire(tee, 1, nat, element.NAPTInside)
	b.wire(ttl, element.TTLAlive, fw, 0)
	b.wire(fw, 0, b.add("deny", element.Discard{Reason: "deny"}), 0)
	b.wire(fw, 1, b.out(outside), 0)
	c := b.chain()
	if r := c.Process(0, inside, dying(1).frame(), nil); len(r.Out) != 2 {
		t.Fatalf("both copies are answered: %+v", r)
	}
	seen := seenFrame(pkt{src: "192.0.2.10", sport: 2003, dport: 53, ttl: 63})
	seen.Drops = []Drop{{"deny"}}
	if _, diff := c.ProcessAgainst(0, inside, udp(1, 53).frame(), seen); len(diff) != 0 {
		t.Fatal(diff)
	}
}

// copied is inside ⇄ NAPT ⇄ tee to the outside interface twice, once with TTL 7, and then to the inside one.
func copied() *builder {
	b := natted(pool())
	b.g.Interfaces[inside].Gateway = ip("10.0.0.2")
	tee, ttl := b.add("tee", element.Tee{Outs: 3}), b.add("ttl", element.SetField{Field: headerspace.TTL, Value: headerspace.V(7)})
	b.wire(b.node("nat"), element.NAPTOutside, tee, 0)
	b.wire(tee, 0, b.out(outside), 0)
	b.wire(tee, 1, ttl, 0)
	b.wire(ttl, 0, b.out(outside), 0)
	b.wire(tee, 2, b.out(inside), 0)
	return b
}

func TestOnlyFramesOfTheSameInterfaceHaveAnOrder(t *testing.T) {
	first, second := from("192.0.2.10", 2002), from("192.0.2.10", 2002)
	second.ttl = 7
	a := Out{Interface: outside, Frame: sent(first).frame()}
	b := Out{Interface: outside, Frame: sent(second).frame()}
	c := Out{Interface: inside, Frame: delivered(first).frame()}
	for name, k := range map[string]struct {
		seen []Out
		want Kind
	}{
		"as the chain sends":                {[]Out{a, b, c}, ""},
		"the other interface first":         {[]Out{c, a, b}, ""},
		"the other interface between":       {[]Out{a, c, b}, ""},
		"two of an interface the wrong way": {[]Out{c, b, a}, MismatchOrder},
		"one missing":                       {[]Out{a, c}, MismatchOutput},
	} {
		t.Run(name, func(t *testing.T) {
			order := []int{}
			for _, o := range k.seen {
				order = append(order, o.Interface)
			}
			chain := copied().chain()
			_, diff := chain.ProcessAgainst(0, inside, udp(1, 53).frame(), Result{Out: k.seen})
			if got := kinds(diff); k.want == "" && len(diff) != 0 || k.want != "" && (len(diff) != 1 || !got[k.want]) {
				t.Errorf("want kind %q, got %v", k.want, diff)
			}
			for i, o := range k.seen {
				if o.Interface != order[i] {
					t.Fatal("the caller's list was sorted")
				}
			}
			if s := chain.Sessions(time.Second); len(s) != 1 || s[0].Outside != netip.MustParseAddrPort("192.0.2.10:2002") {
				t.Errorf("bindings %v, want the port that was shown", s)
			}
		})
	}
}
