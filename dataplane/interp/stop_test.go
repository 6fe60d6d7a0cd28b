package interp

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
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
	b := testbed.New()
	first, last := b.Add("before", before), b.Add("behind", behind)
	expired := b.Add("expired", element.Discard{Reason: "expired"})
	s := b.Add("ips", element.Stop{Interfaces: [element.StopSides]string{"ips/inside", "ips/outside"}})
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

func TestFramesThatTheChainDidNotSendAwayAreCountedAndGoOnBehindTheStop(t *testing.T) {
	c := start(stopped(element.DecTTL{}, element.DecTTL{}))
	sent := testbed.UDP(5, 6).Frame()
	at := sendAway(t, c, testbed.Inside, sent, wireInside)
	old := c.Continue(stopped(element.DecTTL{}, element.DecTTL{}), Options{})
	unknown := slices.Clone(at)
	unknown[11]++ // a number that the chain has not given
	own := testbed.UDP(5, 6)
	for name, k := range map[string]struct {
		chain *Chain
		frame []byte
		ttl   uint8
	}{
		"a packet of the stop's own": {c, frameFor(wireOutside, own), 63},
		"a forged continuation":      {c, unknown, 62},
		"of the program before":      {old, at, 62},
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
	p := testbed.Packet{Src: "198.51.100.1", Dst: "10.0.0.2", Sport: 6, Dport: 5}
	frame := slices.Concat(macOf(wireInside), at[6:12], p.Frame()[12:])
	testbed.Want(t, c.Process(0, wireInside, frame, nil), testbed.Delivered(p))
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
