package interp

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
)

// The wires of the tests' stop.
const (
	wireInside = iota + 2
	wireOutside
)

// stopped is a chain in which packets pass an element, a stop and another element on their way out, and only the stop on their way in.
func stopped(before, behind element.Element) *graph.Graph {
	return stoppedWhen(element.StopUnwatched, before, behind)
}

// stoppedWhen is such a chain with a stop that is down at times.
func stoppedWhen(down element.WhenDown, before, behind element.Element) *graph.Graph {
	b := testbed.New()
	first, last := b.Add("before", before), b.Add("behind", behind)
	expired := b.Add("expired", element.Discard{Reason: "expired"})
	s := b.Add("ips", element.Stop{Interfaces: [element.StopSides]string{"ips/inside", "ips/outside"}, WhenDown: down})
	b.Wire(b.In(testbed.Inside), 0, first, 0)
	b.Wire(first, 0, s, element.StopInside)
	b.Wire(s, element.StopOutside, last, 0)
	b.Wire(last, 0, b.Out(testbed.Outside), 0)
	for _, n := range []int{first, last} {
		if len(b.Graph.Nodes[n].Out) > 1 {
			b.Wire(n, 1, expired, 0)
		}
	}
	b.Wire(b.In(testbed.Outside), 0, s, element.StopOutside)
	b.Wire(s, element.StopInside, b.Out(testbed.Inside), 0)
	b.Graph.AddWires(s, [element.StopSides]netip.Addr{testbed.Addr("10.0.0.1"), testbed.Addr("192.0.2.1")})
	return &b.Graph
}

// away sends a frame to the stop, and gives what the stop gets.
func sendAway(t *testing.T, c *Chain, iface int, frame []byte, wire int) []byte {
	t.Helper()
	r := c.Process(0, iface, frame, nil)
	if len(r.Out) != 1 || r.Out[0].Interface != wire || !r.Out[0].Tagged {
		t.Fatalf("got %+v, want one frame with a continuation out of wire %d", r, wire)
	}
	return r.Out[0].Frame
}

func TestAPacketGoesOnBehindAStopAsItWasBefore(t *testing.T) {
	c := start(stopped(element.DecTTL{}, element.DecTTL{}))
	at := sendAway(t, c, testbed.Inside, testbed.UDP(5, 6).Frame(), wireInside)
	if mac := []byte{0x02, 0x73, 0x6e, 0, 0, wireOutside}; !bytes.Equal(at[:6], mac) {
		t.Errorf("the frame is to % x, want the address of the other side, % x", at[:6], mac)
	}
	if ttl := at[14+8]; ttl != 63 {
		t.Errorf("the stop sees TTL %d, want 63: what is before it has been done", ttl)
	}
	testbed.Want(t, c.Process(0, wireOutside, at, nil), testbed.Sent(testbed.Packet{Sport: 5, Dport: 6, TTL: 62}))
	if n := c.Counters()["ips/outside/untagged"]; n.Packets != 0 {
		t.Errorf("%d packets came in without a continuation, want none", n.Packets)
	}
}

func TestTheNextHopIsKnownBehindAStop(t *testing.T) {
	via := testbed.Addr("192.0.2.99")
	route := element.Lookup{Routes: []element.Route{{Prefix: testbed.Prefix("0.0.0.0/0"), Via: via}}, NoRoute: 1, Outs: 2}
	c := start(stopped(route, element.DecTTL{}))
	r := c.Process(0, wireOutside, sendAway(t, c, testbed.Inside, testbed.UDP(5, 6).Frame(), wireInside), nil)
	if len(r.Out) != 1 || r.Out[0].NextHop != via {
		t.Errorf("got %+v, want a frame to %v, that the chain chose before the stop", r, via)
	}
}

func TestAnErrorBehindAStopIsFromWhereThePacketCameIn(t *testing.T) {
	b := testbed.New()
	s := b.Add("ips", element.Stop{Interfaces: [element.StopSides]string{"ips/inside", "ips/outside"}})
	refuse := b.Add("refuse", element.ICMPError{Type: 3, Code: 13})
	b.Wire(b.In(testbed.Inside), 0, s, element.StopInside)
	b.Wire(s, element.StopOutside, refuse, 0)
	b.Wire(refuse, 0, b.Out(testbed.Inside), 0)
	b.Wire(s, element.StopInside, b.Out(testbed.Inside), 0)
	b.Wire(b.In(testbed.Outside), 0, b.Out(testbed.Inside), 0)
	b.Graph.AddWires(s, [element.StopSides]netip.Addr{testbed.Addr("10.0.0.1"), testbed.Addr("192.0.2.1")})
	c := start(&b.Graph)
	at := sendAway(t, c, testbed.Inside, testbed.UDP(5, 6).Frame(), wireInside)
	for name, k := range map[string]struct {
		frame []byte
		from  string
	}{
		"with its continuation": {at, "10.0.0.1"},
		"without":               {slices.Concat(at[:6], testbed.HostMAC, at[12:]), "192.0.2.1"},
	} {
		got := testbed.Only(t, c.Process(0, wireOutside, k.frame, nil))
		if src := netip.AddrFrom4([4]byte(got[26:30])); src != testbed.Addr(k.from) {
			t.Errorf("%s the error is from %v, want %s", name, src, k.from)
		}
	}
}

// knows is what a program has.
func knows(stops, hops bool) *Known {
	return &Known{Leaves: func(string) bool { return stops }, Notes: func(netip.Addr) bool { return hops }}
}

func TestAPacketAtAStopGoesOnInTheNextChainWithItsNextHop(t *testing.T) {
	via := testbed.Addr("192.0.2.99")
	route := element.Lookup{Routes: []element.Route{{Prefix: testbed.Prefix("0.0.0.0/0"), Via: via}}, NoRoute: 1, Outs: 2}
	c := start(stopped(route, element.DecTTL{}))
	at := sendAway(t, c, testbed.Inside, testbed.UDP(5, 6).Frame(), wireInside)
	for range 2 { // changes
		c = c.Continue(stopped(element.DecTTL{}, element.Counter{}), Options{Known: knows(true, false)})
	}
	r := c.Process(0, wireOutside, at, nil)
	if len(r.Out) != 1 || r.Out[0].NextHop != via || r.Out[0].Frame[14+8] != 64 {
		t.Errorf("got %+v, want a frame to %v with TTL 64: the next hop of the chain before, and what is behind the stop by now", r, via)
	}
	if n := c.Counters()["ips/outside/untagged"]; n.Packets != 0 {
		t.Errorf("%d packets came in without a continuation, want none", n.Packets)
	}
}

func TestANextHopOfTheChainBeforeIsForgottenAtAFurtherStop(t *testing.T) {
	via := testbed.Addr("192.0.2.99")
	route := element.Lookup{Routes: []element.Route{{Prefix: testbed.Prefix("0.0.0.0/0"), Via: via}}, NoRoute: 1, Outs: 2}
	for _, noted := range []bool{true, false} {
		c := start(stopped(route, element.DecTTL{}))
		at := sendAway(t, c, testbed.Inside, testbed.UDP(5, 6).Frame(), wireInside)
		next := stopped(route, element.DecTTL{})
		s := slices.IndexFunc(next.Nodes, func(n graph.Node) bool { return n.Name == "ips" })
		last := next.Nodes[s].Out[element.StopOutside]
		next.Nodes[s].Out[element.StopOutside] = graph.Edge{To: s, Port: element.StopOutside} // and goes back through it
		next.Nodes[s].Out[element.StopInside] = last
		c = c.Continue(next, Options{Known: knows(true, noted)})
		r := c.Process(0, wireInside, sendAway(t, c, wireOutside, at, wireOutside), nil)
		if len(r.Out) != 1 || (r.Out[0].NextHop == via) != noted {
			t.Errorf("got %+v, want a frame to %v: %t", r, via, noted)
		}
	}
}

func TestFramesThatTheChainDidNotSendAwayAreCountedAndGoOnBehindTheStop(t *testing.T) {
	c := start(stopped(element.DecTTL{}, element.DecTTL{}))
	sent := testbed.UDP(5, 6).Frame()
	at := sendAway(t, c, testbed.Inside, sent, wireInside)
	old := c.Continue(stopped(element.DecTTL{}, element.DecTTL{}), Options{Known: knows(false, true)})
	other := stopped(element.DecTTL{}, element.DecTTL{})
	other.Interfaces[testbed.Inside].Name = "renamed"
	unknown := slices.Clone(at)
	unknown[11]++ // a number that the chain has not given
	own := testbed.UDP(5, 6)
	for name, k := range map[string]struct {
		chain *Chain
		frame []byte
		ttl   uint8
	}{
		"a packet of the stop's own":                   {c, frameFor(wireOutside, own), 63},
		"a forged continuation":                        {c, unknown, 62},
		"at a stop to which the program sends nothing": {old, at, 62},
		"by an interface that the chain has no more":   {c.Continue(other, Options{}), at, 62},
		"nor has it later":                             {old.Continue(stopped(element.DecTTL{}, element.DecTTL{}), Options{}), at, 62},
	} {
		before := k.chain.Counters()["ips/outside/untagged"].Packets
		own.TTL = k.ttl
		testbed.Want(t, k.chain.Process(0, wireOutside, k.frame, nil), testbed.Sent(own))
		own.TTL = 0
		if n := k.chain.Counters()["ips/outside/untagged"].Packets - before; n != 1 {
			t.Errorf("%s: %d are counted, want 1", name, n)
		}
	}
}

func TestAFrameThatComesBackByTheSideThatItLeftByIsOnItsWayIn(t *testing.T) {
	c := start(stopped(element.DecTTL{}, element.DecTTL{}))
	at := sendAway(t, c, testbed.Inside, testbed.UDP(5, 6).Frame(), wireInside)
	frame := slices.Concat(macOf(wireInside), at[6:12], reply.Frame()[12:])
	testbed.Want(t, c.Process(0, wireInside, frame, nil), testbed.Delivered(reply))
	if n := c.Counters()["ips/inside/untagged"].Packets; n != 1 {
		t.Errorf("%d are counted, want 1: nobody sent it to that side", n)
	}
}

func macOf(iface byte) []byte { return []byte{0x02, 0x73, 0x6e, 0, 0, iface} }

// frameFor is a frame to an interface.
func frameFor(iface byte, p testbed.Packet) []byte { return slices.Concat(macOf(iface), p.Frame()[6:]) }

func TestAPacketThatAStopDropsHasLeft(t *testing.T) {
	b := testbed.Natted(testbed.Pool())
	s := b.Add("ips", element.Stop{Interfaces: [element.StopSides]string{"ips/inside", "ips/outside"}})
	out := b.Out(testbed.Outside)
	for n := range b.Graph.Nodes {
		for o, e := range b.Graph.Nodes[n].Out {
			if e.To == out {
				b.Graph.Nodes[n].Out[o] = graph.Edge{To: s, Port: element.StopInside}
			}
		}
	}
	b.Wire(s, element.StopOutside, out, 0)
	b.Wire(s, element.StopInside, b.Out(testbed.Inside), 0)
	b.Graph.AddWires(s, [element.StopSides]netip.Addr{testbed.Addr("10.0.0.1"), testbed.Addr("192.0.2.1")})
	c := start(&b.Graph)
	sendAway(t, c, testbed.Inside, testbed.UDP(5, 6).Frame(), wireInside)
	if n := len(c.Sessions(0)); n != 1 {
		t.Errorf("there are %d sessions, want 1: the NAPT has translated the packet", n)
	}
}

func TestAPacketThatDoesNotFitAWireIsDropped(t *testing.T) {
	g := stopped(element.DecTTL{}, element.DecTTL{})
	g.Interfaces[wireInside].MTU = 100
	for _, df := range []bool{false, true} {
		p := testbed.Packet{Sport: 5, Dport: 6, DF: df, Payload: make([]byte, 73)}
		testbed.Dropped(t, start(g).Process(0, testbed.Inside, p.Frame(), nil), "too-big")
	}
}

func TestAStopThatIsDownDoesAsItSays(t *testing.T) {
	for when, k := range map[element.WhenDown]struct {
		out, in func(t *testing.T, r pass.Result)
	}{
		element.StopUnwatched: {leftBy(wireInside), leftBy(wireOutside)},
		element.StopClosed:    {droppedAs("ips/down"), droppedAs("ips/down")},
		element.StopOpen: {
			func(t *testing.T, r pass.Result) {
				testbed.Want(t, r, testbed.Sent(testbed.Packet{Sport: 5, Dport: 6, TTL: 62}))
			},
			func(t *testing.T, r pass.Result) { testbed.Want(t, r, testbed.Delivered(reply)) },
		},
	} {
		t.Run(when.String(), func(t *testing.T) {
			c := start(stoppedWhen(when, element.DecTTL{}, element.DecTTL{}))
			sendAway(t, c, testbed.Inside, testbed.UDP(5, 6).Frame(), wireInside) // it is up
			c.SetDown("ips", true)
			k.out(t, c.Process(0, testbed.Inside, testbed.UDP(5, 6).Frame(), nil))
			k.in(t, c.Process(0, testbed.Outside, frameFor(testbed.Outside, reply), nil))
			c.SetDown("another", true)
			c.SetDown("ips", false)
			sendAway(t, c, testbed.Inside, testbed.UDP(5, 6).Frame(), wireInside)
		})
	}
}

// reply is from a host outside.
var reply = testbed.Packet{Src: "198.51.100.1", Dst: "10.0.0.2", Sport: 6, Dport: 5}

func leftBy(wire int) func(*testing.T, pass.Result) {
	return func(t *testing.T, r pass.Result) {
		t.Helper()
		if len(r.Out) != 1 || r.Out[0].Interface != wire || !r.Out[0].Tagged {
			t.Errorf("got %+v, want one frame with a continuation out of wire %d", r, wire)
		}
	}
}

func droppedAs(reason string) func(*testing.T, pass.Result) {
	return func(t *testing.T, r pass.Result) { t.Helper(); testbed.Dropped(t, r, reason) }
}

func TestWhatGoesPastAStopIsCountedAndKeepsItsNextHop(t *testing.T) {
	via := testbed.Addr("192.0.2.99")
	route := element.Lookup{Routes: []element.Route{{Prefix: testbed.Prefix("0.0.0.0/0"), Via: via}}, NoRoute: 1, Outs: 2}
	c := start(stoppedWhen(element.StopOpen, route, element.DecTTL{}))
	if n, known := c.Counters()["ips/bypassed"]; !known || n.Packets != 0 {
		t.Errorf("the counter is %+v, known: %t; want 0: none has come", n, known)
	}
	c.SetDown("ips", true)
	frame := testbed.UDP(5, 6).Frame()
	if r := c.Process(0, testbed.Inside, frame, nil); len(r.Out) != 1 || r.Out[0].NextHop != via {
		t.Errorf("got %+v, want a frame to %v", r, via)
	}
	if got, want := c.Counters()["ips/bypassed"], (pass.Count{Packets: 1, Bytes: uint64(len(frame))}); got != want {
		t.Errorf("counted are %+v, want %+v", got, want)
	}
	c = c.Continue(stoppedWhen(element.StopOpen, route, element.DecTTL{}), Options{})
	if r := c.Process(0, testbed.Inside, frame, nil); len(r.Out) != 1 || r.Out[0].Interface != testbed.Outside {
		t.Errorf("got %+v, want that the function is down yet with another program", r)
	}
}

func TestTheMTUOfAWireIsNotAskedWhileItsStopIsDown(t *testing.T) {
	p := testbed.Packet{Sport: 5, Dport: 6, Payload: make([]byte, 73)}
	for when, want := range map[element.WhenDown]func(*testing.T, pass.Result){
		element.StopUnwatched: droppedAs("too-big"),
		element.StopClosed:    droppedAs("ips/down"),
		element.StopOpen: func(t *testing.T, r pass.Result) {
			t.Helper()
			if len(r.Out) != 1 || r.Out[0].Interface != testbed.Outside {
				t.Errorf("got %+v, want the packet out of the chain", r)
			}
		},
	} {
		g := stoppedWhen(when, element.DecTTL{}, element.DecTTL{})
		g.Interfaces[wireInside].MTU = 100
		c := start(g)
		c.SetDown("ips", true)
		want(t, c.Process(0, testbed.Inside, p.Frame(), nil))
	}
}

func TestContinuationsOfEnginesMayDiffer(t *testing.T) {
	g := stopped(element.DecTTL{}, element.DecTTL{})
	frame := testbed.UDP(5, 6).Frame()
	at := sendAway(t, start(g), testbed.Inside, frame, wireInside)
	for name, k := range map[string]struct {
		change func(f []byte)
		same   bool
	}{
		"another number":       {func(f []byte) { f[10] ^= 0x55 }, true},
		"no continuation":      {func(f []byte) { f[6] = 0x00 }, false},
		"another destination":  {func(f []byte) { f[5]++ }, false},
		"another packet in it": {func(f []byte) { f[len(f)-1]++ }, false},
	} {
		seen := slices.Clone(at)
		k.change(seen)
		_, diff := start(g).ProcessAgainst(0, testbed.Inside, frame, Seen{Result: pass.Result{Out: []pass.Out{{Interface: wireInside, Frame: seen}}}})
		if (len(diff) == 0) != k.same {
			t.Errorf("%s: %v", name, diff)
		}
	}
}

// twoStops is a chain in which a packet from inside passes one stop and its copy another one, or both pass the first one; they leave with TTL 7 and 9.
func twoStops(ways int) *graph.Graph {
	b := testbed.New()
	tee := b.Add("tee", element.Tee{Outs: 2})
	b.Wire(b.In(testbed.Inside), 0, tee, 0)
	b.Wire(b.In(testbed.Outside), 0, b.Out(testbed.Inside), 0)
	for i, ttl := range []uint64{7, 9} {
		set := b.Add(fmt.Sprint("ttl", ttl), element.SetField{Field: headerspace.TTL, Value: headerspace.V(ttl)})
		b.Wire(tee, i, set, 0)
		name := fmt.Sprint("ips", i)
		if i >= ways {
			b.Wire(set, 0, b.Node("ips0"), element.StopInside)
			continue
		}
		s := b.Add(name, element.Stop{Interfaces: [element.StopSides]string{name + "/inside", name + "/outside"}, WhenDown: element.StopOpen})
		b.Wire(set, 0, s, element.StopInside)
		b.Wire(s, element.StopOutside, b.Out(testbed.Outside), 0)
		b.Wire(s, element.StopInside, b.Out(testbed.Inside), 0)
	}
	for i := range ways {
		b.Graph.AddWires(b.Node(fmt.Sprint("ips", i)), [element.StopSides]netip.Addr{testbed.Addr("10.0.0.1"), testbed.Addr("192.0.2.1")})
	}
	return &b.Graph
}

func TestWhatGoesPastStopsBySeveralWaysHasNoOrder(t *testing.T) {
	for ways, same := range map[int]bool{1: false, 2: true} {
		down := func() *Chain {
			c := start(twoStops(ways))
			for i := range ways {
				c.SetDown(fmt.Sprint("ips", i), true)
			}
			return c
		}
		frame := testbed.UDP(5, 6).Frame()
		out := down().Process(0, testbed.Inside, frame, nil).Out
		if len(out) != 2 || out[0].Interface != testbed.Outside || out[1].Interface != testbed.Outside {
			t.Fatalf("got %+v, want two frames outside", out)
		}
		slices.Reverse(out)
		_, diff := down().ProcessAgainst(0, testbed.Inside, frame, Seen{Result: pass.Result{Out: out}})
		if (len(diff) == 0) != same {
			t.Errorf("by %d ways, in the other order: %v", ways, diff)
		}
		_, diff = down().ProcessAgainst(0, testbed.Inside, frame, Seen{Result: pass.Result{Out: out[:1]}})
		if len(diff) == 0 {
			t.Errorf("by %d ways, one is missing: nothing was found", ways)
		}
	}
}
