package oracle_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
	"github.com/sinter-nfv/sinter/dataplane/module/napt/oracle"
)

// follow runs a packet from inside that an engine is seen to send outside by a new session of the NAPTs; want are the kinds of mismatches.
func follow(t *testing.T, c *interp.Chain, at float64, p, seen testbed.Packet, want ...interp.Kind) {
	t.Helper()
	chose(t, c, at, p, seen, []oracle.Choice{choice(p, seen.Src, seen.Sport, "nat")}, want...)
}

// chose is follow with the engine's choices.
func chose(t *testing.T, c *interp.Chain, at float64, p, seen testbed.Packet, choices []oracle.Choice, want ...interp.Kind) {
	t.Helper()
	if seen.TTL = 64; routes(c) {
		seen.TTL = 63
	}
	_, diff := c.ProcessAgainst(testbed.Seconds(at), testbed.Inside, p.Frame(), sentOutside(p, seen, append([]oracle.Choice{}, choices...)...))
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
func routes(c *interp.Chain) bool {
	for _, n := range c.Graph.Nodes {
		if _, ok := n.Element.(element.DecTTL); ok {
			return true
		}
	}
	return false
}

// bothNAPTs is the choice of an engine that keeps one session for zone a's NAPT and the common one.
func bothNAPTs(p testbed.Packet, port uint16) []oracle.Choice {
	return []oracle.Choice{choice(p, "192.0.2.10", port, "nat-a", "isp")}
}

func shownAs(port uint16) testbed.Packet {
	return testbed.Packet{Src: "192.0.2.10", Sport: port, Dport: 53}
}

// comesBack sends an answer to an outside port, which the zone's host 1 must get.
func comesBack(t *testing.T, c *interp.Chain, at float64, port uint16) {
	t.Helper()
	seen := interp.Seen{Result: pass.Result{Out: []pass.Out{{Interface: testbed.Inside, Frame: testbed.Delivered(testbed.Packet{Src: "198.51.100.1", Dst: "10.0.0.2", Sport: 53, Dport: 1}).Frame()}}}}
	if _, diff := c.ProcessAgainst(testbed.Seconds(at), testbed.Outside, testbed.Back(testbed.UDP(53, port), "192.0.2.10").Frame(), seen); len(diff) != 0 {
		t.Fatal(diff)
	}
}

func TestWhatFollowsFromALooseEndpointMovesWithIt(t *testing.T) {
	c := start(&partlyNested().Graph)
	first, second := testbed.UDP(1, 53), testbed.UDP(2, 54)
	chose(t, c, 0, first, shownAs(2001), bothNAPTs(first, 2001)) // nat-a's has port 2000 …
	taken := choice(second, "100.64.0.1", 2000, "nat-a")
	chose(t, c, 1, second, testbed.Packet{Src: "100.64.0.1", Sport: 2000, Dport: 54}, []oracle.Choice{taken}) // … which is another's now
	chose(t, c, 2, first, shownAs(2001), nil)
	comesBack(t, c, 3, 2001)
	if s := c.Sessions(testbed.Seconds(3)); len(s) != 3 {
		t.Errorf("bindings %v, want one of nat-a and isp for the first flow and one of nat-a for the second", s)
	}
}

func TestALooseEndpointWithNowhereToGoIsNoneOfThePool(t *testing.T) {
	c := start(&partlyNested().Graph)
	first := testbed.UDP(1, 53)
	chose(t, c, 0, first, shownAs(2001), bothNAPTs(first, 2001))
	for i := range uint16(4) {
		p := testbed.UDP(2+i, 54)
		chose(t, c, 1, p, testbed.Packet{Src: "100.64.0.1", Sport: 2000 + i, Dport: 54}, []oracle.Choice{choice(p, "100.64.0.1", 2000+i, "nat-a")})
	}
	chose(t, c, 2, first, shownAs(2001), nil)
	comesBack(t, c, 3, 2001)
	another := testbed.UDP(7, 53) // begins where the pool is taken: to the engine it is not
	chose(t, c, 4, another, shownAs(2002), bothNAPTs(another, 2002))
}

func TestALooseEndpointIsFoundByNoStranger(t *testing.T) {
	c := start(&partlyNested().Graph)
	first := testbed.UDP(1, 53)
	chose(t, c, 0, first, shownAs(2001), bothNAPTs(first, 2001))
	p := testbed.Back(testbed.UDP(53, 2000), "100.64.0.1")
	if _, diff := c.ProcessAgainst(0, testbed.Outside, p.Frame(), interp.Seen{Result: pass.Result{Drops: []pass.Drop{{Reason: element.ReasonNATNoBinding}}}}); len(diff) != 0 {
		t.Error(diff)
	}
}

// TestAReservationLeavesALooseEndpointAlone has a port reserved that stands for one which the
// engine never chose: nothing was lost by it.
func TestAReservationLeavesALooseEndpointAlone(t *testing.T) {
	before := start(&partlyNested().Graph)
	p := testbed.UDP(1, 53)
	chose(t, before, 0, p, shownAs(2001), bothNAPTs(p, 2001)) // nat-a's has port 2000
	b := partlyNested()
	node := &b.Graph.Nodes[b.Node("nat-a")]
	e := node.Element.(element.NAPT)
	e.Reserved = []element.Reserved{{Proto: 17, Addr: testbed.Addr("100.64.0.1"), First: 2000, Last: 2000}}
	node.Element = e
	after := before.Continue(&b.Graph, interp.Options{})
	comesBack(t, after, 1, 2001)
	chose(t, after, 2, p, shownAs(2001), nil)
}

// routedBetween is nestedRouter with the router between the two NAPTs, if they are uneven or not.
func routedBetween(uneven bool) *interp.Chain { return routerBetween(nestedRouter(uneven)) }

func routerBetween(b *testbed.Builder) *interp.Chain {
	natA, isp, ttl := b.Node("nat-a"), b.Node("isp"), b.Node("rt/ttl")
	b.Wire(natA, element.NAPTOutside, ttl, 0)
	b.Wire(ttl, element.TTLAlive, isp, element.NAPTInside)
	b.Wire(b.Node("rt/expired"), 0, natA, element.NAPTOutside)
	b.Wire(isp, element.NAPTOutside, b.Out(testbed.Outside), 0)
	return start(&b.Graph)
}

// answered runs a packet that the router between the NAPTs answers: to the engine, only zone a's NAPT has a session. want are the kinds of
// mismatches.
func answered(t *testing.T, c *interp.Chain, at float64, port uint16, want ...interp.Kind) {
	t.Helper()
	p := testbed.Packet{Sport: 1, Dport: 53, TTL: 1}
	seen := interp.Seen{Result: c.Peek(testbed.Seconds(at), testbed.Inside, p.Frame(), nil), Told: told(choice(p, "100.64.0.1", port, "nat-a"))}
	testbed.Only(t, seen.Result)
	_, diff := c.ProcessAgainst(testbed.Seconds(at), testbed.Inside, p.Frame(), seen)
	if got := slices.Collect(maps.Keys(kinds(diff))); !slices.Equal(got, want) {
		t.Fatalf("mismatches of kinds %v, want %v: %v", got, want, diff)
	}
}

func TestALooseEndpointBecomesWhatTheEngineChooses(t *testing.T) {
	c := routedBetween(false)
	p := testbed.UDP(1, 53)
	chose(t, c, 0, p, shownAs(2001), bothNAPTs(p, 2001))
	answered(t, c, 1, 2003)
	chose(t, c, 2, p, shownAs(2001), nil)
	comesBack(t, c, 3, 2001)
	for _, s := range c.Sessions(testbed.Seconds(3)) {
		if s.Loose || s.Node == "nat-a" && s.Outside != testbed.AddrPort("100.64.0.1:2003") {
			t.Errorf("%+v, want what was chosen", s)
		}
	}
}

// TestAnEndpointMayBeChosenAgainWhereItsFlowGoesOnByAnotherSession has the session of what the router answers end at the engine, unseen, while
// the flow lives by that of both NAPTs. The first has the shorter timeout, 15 s.
func TestAnEndpointMayBeChosenAgainWhereItsFlowGoesOnByAnotherSession(t *testing.T) {
	c := routedBetween(true)
	p := testbed.UDP(1, 53)
	chose(t, c, 0, p, shownAs(2001), bothNAPTs(p, 2001))
	answered(t, c, 1, 2003)
	chose(t, c, 14, p, shownAs(2001), nil)
	answered(t, c, 15, 2004, interp.MismatchChoice)
	chose(t, c, 25, p, shownAs(2001), nil)
	answered(t, c, 26, 2005)
	comesBack(t, c, 27, 2001)
	for _, s := range c.Sessions(testbed.Seconds(27)) {
		if s.Node == "nat-a" && s.Outside != testbed.AddrPort("100.64.0.1:2005") {
			t.Errorf("%+v, want what was chosen last", s)
		}
	}
}

// TestAnEndpointMayBeChosenAgainWhereItsFlowWentOnByAnotherSession: the session of both NAPTs has ended, too, by the second one's timeout of 10 s.
// It was used later than the other, which the flow has outlived by it.
func TestAnEndpointMayBeChosenAgainWhereItsFlowWentOnByAnotherSession(t *testing.T) {
	b := nestedRouter(true)
	isp := b.Graph.Nodes[b.Node("isp")].Element.(element.NAPT)
	isp.Timeouts.UDP = 10 * time.Second
	b.Graph.Nodes[b.Node("isp")].Element = isp
	c := routerBetween(b)
	p := testbed.UDP(1, 53)
	answered(t, c, 0, 2003)
	chose(t, c, 10, p, shownAs(2001), bothNAPTs(p, 2001))
	answered(t, c, 15, 2004, interp.MismatchChoice)
	answered(t, c, 22, 2004)
	for _, s := range c.Sessions(testbed.Seconds(22)) {
		if s.Node == "nat-a" && s.Outside != testbed.AddrPort("100.64.0.1:2004") {
			t.Errorf("%+v, want what was chosen last", s)
		}
	}
}

func TestMovesThatAreTakenBackLeaveNoTrace(t *testing.T) {
	port := func(n uint16) flow.Endpoint {
		return flow.Endpoint{Proto: 17, Addr: header.Number(testbed.Addr("100.64.0.1")), Port: n}
	}
	for name, at := range map[string]flow.Endpoint{
		"to a free endpoint":               port(2003),
		"to another loose one":             port(2002),
		"to one whose binding has expired": port(2000),
	} {
		t.Run(name, func(t *testing.T) {
			b := partlyNested()
			c := start(&b.Graph)
			for i, now := range []float64{0, 5, 5} {
				p := testbed.UDP(1+uint16(i), 53)
				chose(t, c, now, p, shownAs(2000+uint16(i)), bothNAPTs(p, 2000+uint16(i)))
			}
			was := oracle.StateOf(c.Chain)
			r := c.NewRun(testbed.Seconds(21))
			if is, loose, found := oracle.Move(r, "nat-a", port(2001), at); is != at || loose || !found {
				t.Fatalf("the entry is at %v, loose %t, want %v", is, loose, at)
			}
			ip := testbed.UDP(2, 53).Frame()[14:]
			r.Walk(&pass.Packet{Entry: testbed.Inside, Entered: ip, IP: slices.Clone(ip)}, graph.Edge{To: b.In(testbed.Inside)})
			if entries := oracle.Entries(c.Chain, "isp"); len(r.Result.Out) != 1 || entries > 3 {
				t.Fatalf("%d frames; the NAPT behind has %d entries, want one per flow", len(r.Result.Out), entries)
			}
			r.Abandon()
			if is := oracle.StateOf(c.Chain); !is.Equal(was) {
				t.Errorf("state was\n%v, is\n%v", was, is)
			}
		})
	}
}

// answersBetween is nested, with shorter timeouts at first. What comes from outside with a TTL of 1 is answered between the NAPTs.
func answersBetween() *interp.Chain {
	b := nested()
	for name, timeout := range map[string]time.Duration{"nat-a": 15 * time.Second, "isp": 20 * time.Second} {
		e, _ := b.Graph.Nodes[b.Node(name)].Element.(element.NAPT)
		e.Timeouts.UDP = timeout
		b.Graph.Nodes[b.Node(name)].Element = e
	}
	expired := b.Add("expired", element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{{Name: "last", Filters: []headerspace.Filter{testbed.Filter(headerspace.TTL, testbed.One(1))}}}})
	answer := b.Add("answer", element.ICMPError{Type: 11, Source: testbed.Addr("192.0.2.1")})
	b.Wire(b.Node("isp"), element.NAPTInside, expired, 0)
	b.Wire(expired, 0, answer, 0)
	b.Wire(answer, 0, b.Node("isp"), element.NAPTInside)
	b.Wire(expired, 1, b.Node("split"), 0)
	return start(&b.Graph)
}

// stops sends a packet to an outside port that is answered between the NAPTs, or dropped there.
func stops(t *testing.T, c *interp.Chain, at float64, port uint16, bound bool) {
	t.Helper()
	p := testbed.Back(testbed.UDP(53, port), "192.0.2.10")
	p.TTL = 1
	seen := pass.Result{Drops: []pass.Drop{{Reason: element.ReasonNATNoBinding}}}
	if bound {
		seen = c.Peek(testbed.Seconds(at), testbed.Outside, p.Frame(), nil)
		testbed.Only(t, seen)
	}
	if _, diff := c.ProcessAgainst(testbed.Seconds(at), testbed.Outside, p.Frame(), interp.Seen{Result: seen}); len(diff) != 0 {
		t.Error(diff)
	}
}

// joint is a chain with a flow for which the engine has one session of two NAPTs; the first has the shorter timeout, 15 s.
func joint(t *testing.T) (*interp.Chain, testbed.Packet) {
	t.Helper()
	c, p := answersBetween(), testbed.UDP(1, 53)
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
