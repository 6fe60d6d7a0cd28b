package oracle_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
)

// The wires of the stop of wired.
const (
	wireInside = iota + 2
	wireOutside
)

// wired is a chain with a function outside of it.
func wired(packets int, down element.WhenDown) *interp.Chain {
	b := chain(table(func(p *element.Passing) { p.Packets = packets }))
	s := b.Add("ips/ips", element.Stop{Interfaces: [element.StopSides]string{"ips/inside", "ips/outside"}, WhenDown: down})
	b.Wire(b.Node("ips/through-0"), 0, s, element.StopInside)
	b.Wire(b.Node("ips/through-1"), 0, s, element.StopOutside)
	b.Wire(s, element.StopOutside, b.Node("ips/passed-0"), 0)
	b.Wire(s, element.StopInside, b.Node("ips/passed-1"), 0)
	b.Graph.AddWires(s, [element.StopSides]netip.Addr{testbed.Addr("10.0.0.1"), testbed.Addr("192.0.2.1")})
	return interp.New(&b.Graph, interp.Options{})
}

func TestPacketsThatComeBackCount(t *testing.T) {
	s := &passing{T: t, c: wired(2, element.StopUnwatched)}
	sent := testbed.UDP(1, 53).Frame()
	for _, want := range []string{"through 1", "past"} {
		out := testbed.Only(t, s.c.Process(0, testbed.Inside, sent, nil))
		back := s.c.Process(0, wireOutside, out, nil)
		testbed.Want(t, back, testbed.Sent(testbed.UDP(1, 53)))
		s.has(want)
	}
	testbed.Want(t, s.c.Process(0, testbed.Inside, sent, nil), testbed.Sent(testbed.UDP(1, 53)))
}

func TestPacketsThatTheFunctionMadeDoNotCount(t *testing.T) {
	s := &passing{T: t, c: wired(1, element.StopUnwatched)}
	out := testbed.Only(t, s.c.Process(0, testbed.Inside, testbed.UDP(1, 53).Frame(), nil))
	made := slices.Concat(out[:6], testbed.HostMAC, out[12:])
	testbed.Want(t, s.c.Process(0, wireOutside, made, nil), testbed.Sent(testbed.UDP(1, 53)))
	s.has()
	if n := s.c.Counters()["ips/outside/untagged"].Packets; n != 1 {
		t.Errorf("%d came in without a continuation, want 1", n)
	}
}

func TestPacketsThatGoPastAFunctionThatIsDownCount(t *testing.T) {
	s := &passing{T: t, c: wired(1, element.StopOpen)}
	s.c.SetDown("ips/ips", true)
	testbed.Want(t, s.c.Process(0, testbed.Inside, testbed.UDP(1, 53).Frame(), nil), testbed.Sent(testbed.UDP(1, 53)))
	s.has("past")
}

// TestAPacketCountsWhenItLeaves has packets come to the function again behind it, from the other side, as ones of the same flow: their ends are alike.
func TestAPacketCountsWhenItLeaves(t *testing.T) {
	b := chain(table(func(p *element.Passing) { p.Packets = 1 }))
	b.Wire(b.Node("judge-0"), 0, b.Node("ips/bypass-1"), 0)
	s := &passing{T: t, c: interp.New(&b.Graph, interp.Options{})}
	p := testbed.Packet{Src: "10.0.0.2", Dst: "10.0.0.2", Proto: layers.IPProtocolGRE}
	for _, went := range []struct{ through, past uint64 }{{2, 0}, {2, 2}} {
		testbed.Only(t, s.c.Process(0, testbed.Inside, p.Frame(), nil))
		s.has("past")
		n := s.c.Counters()
		if through, past := n["ips/through-0"].Packets+n["ips/through-1"].Packets, n["ips/past-0"].Packets+n["ips/past-1"].Packets; through != went.through || past != went.past {
			t.Errorf("%d went through and %d past, want %v", through, past, went)
		}
	}
}
