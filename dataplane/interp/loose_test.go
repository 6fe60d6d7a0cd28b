package interp

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// follow runs a packet from inside that an engine is seen to send outside by a new session of the NAPTs; want are the kinds of mismatches.
func follow(t *testing.T, c *Chain, at float64, p, seen pkt, want ...Kind) {
	t.Helper()
	chose(t, c, at, p, seen, []Choice{choice(p, seen.src, seen.sport, "nat")}, want...)
}

// chose is follow with the engine's choices.
func chose(t *testing.T, c *Chain, at float64, p, seen pkt, choices []Choice, want ...Kind) {
	t.Helper()
	if seen.ttl = 64; c.routes() {
		seen.ttl = 63
	}
	_, diff := c.ProcessAgainst(seconds(at), inside, p.frame(), sentOutside(p, seen, append([]Choice{}, choices...)...))
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

// bothNAPTs is the choice of an engine that keeps one session for zone a's NAPT and the common one.
func bothNAPTs(p pkt, port uint16) []Choice {
	return []Choice{choice(p, "192.0.2.10", port, "nat-a", "isp")}
}

func shownAs(port uint16) pkt { return pkt{src: "192.0.2.10", sport: port, dport: 53} }

// comesBack sends an answer to an outside port, which the zone's host 1 must get.
func comesBack(t *testing.T, c *Chain, at float64, port uint16) {
	t.Helper()
	seen := Seen{Result: Result{Out: []Out{{Interface: inside, Frame: delivered(pkt{src: "198.51.100.1", dst: "10.0.0.2", sport: 53, dport: 1}).frame()}}}}
	if _, diff := c.ProcessAgainst(seconds(at), outside, back(udp(53, port), "192.0.2.10").frame(), seen); len(diff) != 0 {
		t.Fatal(diff)
	}
}

func TestWhatFollowsFromALooseEndpointMovesWithIt(t *testing.T) {
	c := partlyNested().chain()
	first, second := udp(1, 53), udp(2, 54)
	chose(t, c, 0, first, shownAs(2001), bothNAPTs(first, 2001)) // nat-a's has port 2000 …
	taken := choice(second, "100.64.0.1", 2000, "nat-a")
	chose(t, c, 1, second, pkt{src: "100.64.0.1", sport: 2000, dport: 54}, []Choice{taken}) // … which is another's now
	chose(t, c, 2, first, shownAs(2001), nil)
	comesBack(t, c, 3, 2001)
	if s := c.Sessions(seconds(3)); len(s) != 3 {
		t.Errorf("bindings %v, want one of nat-a and isp for the first flow and one of nat-a for the second", s)
	}
}

func TestALooseEndpointWithNowhereToGoIsNoneOfThePool(t *testing.T) {
	c := partlyNested().chain()
	first := udp(1, 53)
	chose(t, c, 0, first, shownAs(2001), bothNAPTs(first, 2001))
	for i := range uint16(4) {
		p := udp(2+i, 54)
		chose(t, c, 1, p, pkt{src: "100.64.0.1", sport: 2000 + i, dport: 54}, []Choice{choice(p, "100.64.0.1", 2000+i, "nat-a")})
	}
	chose(t, c, 2, first, shownAs(2001), nil)
	comesBack(t, c, 3, 2001)
	another := udp(7, 53) // begins where the pool is taken: to the engine it is not
	chose(t, c, 4, another, shownAs(2002), bothNAPTs(another, 2002))
}

func TestALooseEndpointIsFoundByNoStranger(t *testing.T) {
	c := partlyNested().chain()
	first := udp(1, 53)
	chose(t, c, 0, first, shownAs(2001), bothNAPTs(first, 2001))
	p := back(udp(53, 2000), "100.64.0.1")
	if _, diff := c.ProcessAgainst(0, outside, p.frame(), Seen{Result: Result{Drops: []Drop{{element.ReasonNATNoBinding}}}}); len(diff) != 0 {
		t.Error(diff)
	}
}

// TestAReservationLeavesALooseEndpointAlone has a port reserved that stands for one which the
// engine never chose: nothing was lost by it.
func TestAReservationLeavesALooseEndpointAlone(t *testing.T) {
	before := partlyNested().chain()
	p := udp(1, 53)
	chose(t, before, 0, p, shownAs(2001), bothNAPTs(p, 2001)) // nat-a's has port 2000
	b := partlyNested()
	node := &b.g.Nodes[b.node("nat-a")]
	e := node.Element.(element.NAPT)
	e.Reserved = []element.Reserved{{Proto: 17, Addr: ip("100.64.0.1"), First: 2000, Last: 2000}}
	node.Element = e
	after := before.Continue(&b.g, Options{})
	comesBack(t, after, 1, 2001)
	chose(t, after, 2, p, shownAs(2001), nil)
}

// routedBetween is nestedRouter with the router between the two NAPTs, if they are uneven or not.
func routedBetween(uneven bool) *Chain { return routerBetween(nestedRouter(uneven)) }

func routerBetween(b *builder) *Chain {
	natA, isp, ttl := b.node("nat-a"), b.node("isp"), b.node("rt/ttl")
	b.wire(natA, element.NAPTOutside, ttl, 0)
	b.wire(ttl, element.TTLAlive, isp, element.NAPTInside)
	b.wire(b.node("rt/expired"), 0, natA, element.NAPTOutside)
	b.wire(isp, element.NAPTOutside, b.out(outside), 0)
	return b.chain()
}

// answered runs a packet that the router between the NAPTs answers: to the engine, only zone a's NAPT has a session. want are the kinds of
// mismatches.
func answered(t *testing.T, c *Chain, at float64, port uint16, want ...Kind) {
	t.Helper()
	p := pkt{sport: 1, dport: 53, ttl: 1}
	seen := Seen{Result: c.Peek(seconds(at), inside, p.frame(), nil), Choices: []Choice{choice(p, "100.64.0.1", port, "nat-a")}}
	only(t, seen.Result)
	_, diff := c.ProcessAgainst(seconds(at), inside, p.frame(), seen)
	if got := slices.Collect(maps.Keys(kinds(diff))); !slices.Equal(got, want) {
		t.Fatalf("mismatches of kinds %v, want %v: %v", got, want, diff)
	}
}

func TestALooseEndpointBecomesWhatTheEngineChooses(t *testing.T) {
	c := routedBetween(false)
	p := udp(1, 53)
	chose(t, c, 0, p, shownAs(2001), bothNAPTs(p, 2001))
	answered(t, c, 1, 2003)
	chose(t, c, 2, p, shownAs(2001), nil)
	comesBack(t, c, 3, 2001)
	for _, s := range c.Sessions(seconds(3)) {
		if s.Loose || s.Node == "nat-a" && s.Outside != ap("100.64.0.1:2003") {
			t.Errorf("%+v, want what was chosen", s)
		}
	}
}

// TestAnEndpointMayBeChosenAgainWhereItsFlowGoesOnByAnotherSession has the session of what the router answers end at the engine, unseen, while
// the flow lives by that of both NAPTs. The first has the shorter timeout, 15 s.
func TestAnEndpointMayBeChosenAgainWhereItsFlowGoesOnByAnotherSession(t *testing.T) {
	c := routedBetween(true)
	p := udp(1, 53)
	chose(t, c, 0, p, shownAs(2001), bothNAPTs(p, 2001))
	answered(t, c, 1, 2003)
	chose(t, c, 14, p, shownAs(2001), nil)
	answered(t, c, 15, 2004, MismatchChoice)
	chose(t, c, 25, p, shownAs(2001), nil)
	answered(t, c, 26, 2005)
	comesBack(t, c, 27, 2001)
	for _, s := range c.Sessions(seconds(27)) {
		if s.Node == "nat-a" && s.Outside != ap("100.64.0.1:2005") {
			t.Errorf("%+v, want what was chosen last", s)
		}
	}
}

// TestAnEndpointMayBeChosenAgainWhereItsFlowWentOnByAnotherSession: the session of both NAPTs has ended, too, by the second one's timeout of 10 s.
// It was used later than the other, which the flow has outlived by it.
func TestAnEndpointMayBeChosenAgainWhereItsFlowWentOnByAnotherSession(t *testing.T) {
	b := nestedRouter(true)
	isp := b.g.Nodes[b.node("isp")].Element.(element.NAPT)
	isp.Timeouts.UDP = 10 * time.Second
	b.g.Nodes[b.node("isp")].Element = isp
	c := routerBetween(b)
	p := udp(1, 53)
	answered(t, c, 0, 2003)
	chose(t, c, 10, p, shownAs(2001), bothNAPTs(p, 2001))
	answered(t, c, 15, 2004, MismatchChoice)
	answered(t, c, 22, 2004)
	for _, s := range c.Sessions(seconds(22)) {
		if s.Node == "nat-a" && s.Outside != ap("100.64.0.1:2004") {
			t.Errorf("%+v, want what was chosen last", s)
		}
	}
}

// stateOf is all that look-ups in a chain's NAPTs can find.
func stateOf(c *Chain) (inside map[flow]entry, outside map[seat]flow) {
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
		"to another loose one":             port(2002),
		"to one whose binding has expired": port(2000),
	} {
		t.Run(name, func(t *testing.T) {
			b := partlyNested()
			c := b.chain()
			first, second := c.means[b.node("nat-a")].(*nat), c.means[b.node("isp")].(*nat)
			for i, now := range []float64{0, 5, 5} {
				p := udp(1+uint16(i), 53)
				chose(t, c, now, p, shownAs(2000+uint16(i)), bothNAPTs(p, 2000+uint16(i)))
			}
			wasInside, wasOutside := stateOf(c)
			e := first.outside[seat{at: port(2001)}]
			r := c.newRun(seconds(21), nil)
			r.moveTo(e, at)
			if e.out != at || e.loose || first.outside[seat{at: at}] != e {
				t.Fatalf("the entry is at %v, loose %t, want %v", e.out, e.loose, at)
			}
			r.start(inside, udp(2, 53).frame())
			if len(r.res.Out) != 1 || len(second.inside) > 3 {
				t.Fatalf("%d frames; the NAPT behind has %d entries, want one per flow", len(r.res.Out), len(second.inside))
			}
			r.abandon()
			if isInside, isOutside := stateOf(c); !maps.EqualFunc(isInside, wasInside, sameEntry) || !maps.Equal(isOutside, wasOutside) {
				t.Errorf("state was\n%v\n%v, is\n%v\n%v", wasInside, wasOutside, isInside, isOutside)
			}
		})
	}
}

func sameEntry(a, b entry) bool {
	return a.flow == b.flow && a.out == b.out && a.loose == b.loose && a.source == b.source &&
		maps.EqualFunc(a.sessions, b.sessions, func(a, b *session) bool { return reflect.DeepEqual(a, b) })
}

// answersBetween is nested, with shorter timeouts at first. What comes from outside with a TTL of 1 is answered between the NAPTs.
func answersBetween() *Chain {
	b := nested()
	for name, timeout := range map[string]time.Duration{"nat-a": 15 * time.Second, "isp": 20 * time.Second} {
		e, _ := b.g.Nodes[b.node(name)].Element.(element.NAPT)
		e.Timeouts.UDP = timeout
		b.g.Nodes[b.node(name)].Element = e
	}
	expired := b.add("expired", element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{{Name: "last", Filters: []headerspace.Filter{filter(headerspace.TTL, one(1))}}}})
	answer := b.add("answer", element.ICMPError{Type: 11, Source: ip("192.0.2.1")})
	b.wire(b.node("isp"), element.NAPTInside, expired, 0)
	b.wire(expired, 0, answer, 0)
	b.wire(answer, 0, b.node("isp"), element.NAPTInside)
	b.wire(expired, 1, b.node("split"), 0)
	return b.chain()
}

// stops sends a packet to an outside port that is answered between the NAPTs, or dropped there.
func stops(t *testing.T, c *Chain, at float64, port uint16, bound bool) {
	t.Helper()
	p := back(udp(53, port), "192.0.2.10")
	p.ttl = 1
	seen := Result{Drops: []Drop{{element.ReasonNATNoBinding}}}
	if bound {
		seen = c.Peek(seconds(at), outside, p.frame(), nil)
		only(t, seen)
	}
	if _, diff := c.ProcessAgainst(seconds(at), outside, p.frame(), Seen{Result: seen}); len(diff) != 0 {
		t.Error(diff)
	}
}

// joint is a chain with a flow for which the engine has one session of two NAPTs; the first has the shorter timeout, 15 s.
func joint(t *testing.T) (*Chain, pkt) {
	t.Helper()
	c, p := answersBetween(), udp(1, 53)
	chose(t, c, 0, p, shownAs(2001), bothNAPTs(p, 2001))
	return c, p
}

func TestAJointSessionEndsWithTheShortestTimeout(t *testing.T) {
	c, p := joint(t)
	stops(t, c, 15, 2001, true)
	stops(t, c, 31, 2001, false)
	chose(t, c, 32, p, shownAs(2002), bothNAPTs(p, 2002))
	comesBack(t, c, 33, 2002)
}

// TestAJointSessionIsThatOfTheFirstNAPTToo has packets use it which never come to the first NAPT.
func TestAJointSessionIsThatOfTheFirstNAPTToo(t *testing.T) {
	c, p := joint(t)
	stops(t, c, 10, 2001, true)
	stops(t, c, 20, 2001, true)
	comesBack(t, c, 30, 2001)
	stops(t, c, 40, 2001, true)
	chose(t, c, 50, p, shownAs(2001), nil)
	stops(t, c, 66, 2001, false)
}
