package interp

import (
	"bytes"
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
)

// tapLink is the interface of the tap.
const tapLink = 2

// tapped is a chain in which packets from inside are copied, pass an element, and leave.
func tapped(behind element.Element) *graph.Graph {
	b := testbed.New()
	copies, last := b.Add("ids/inside", element.Tee{Outs: 2}), b.Add("behind", behind)
	end := b.Add("ids/to-inside", element.Tap{Interface: "ids"})
	b.Wire(b.In(testbed.Inside), 0, copies, 0)
	b.Wire(copies, 0, last, 0)
	b.Wire(copies, 1, end, 0)
	b.Wire(last, 0, b.Out(testbed.Outside), 0)
	if len(b.Graph.Nodes[last].Out) > 1 {
		b.Wire(last, 1, b.Add("expired", element.Discard{Reason: "expired"}), 0)
	}
	b.Wire(b.In(testbed.Outside), 0, b.Out(testbed.Inside), 0)
	b.Graph.AddTap("ids", "ids", "ids/returned", testbed.Addr("10.0.0.1"))
	return &b.Graph
}

// by is the frame that left by an interface.
func by(t *testing.T, r pass.Result, iface int) []byte {
	t.Helper()
	i := slices.IndexFunc(r.Out, func(o pass.Out) bool { return o.Interface == iface })
	if i < 0 {
		t.Fatalf("got %+v, want a frame by interface %d", r, iface)
	}
	return r.Out[i].Frame
}

func TestATapHasThePacketAsItIsThere(t *testing.T) {
	c := start(tapped(element.DecTTL{}))
	r := c.Process(0, testbed.Inside, testbed.UDP(5, 6).Frame(), nil)
	if len(r.Out) != 2 || len(r.Drops) != 0 {
		t.Fatalf("got %+v, want the packet and a copy", r)
	}
	of := by(t, r, tapLink)
	if want := append([]byte{0x0a, 's', 'i', 'n', 't', 'r'}, c.links[tapLink].mac...); !bytes.Equal(of[:12], want) {
		t.Errorf("the copy has the addresses % x, want % x", of[:12], want)
	}
	if copied, sent := of[14+8], by(t, r, testbed.Outside)[14+8]; copied != 64 || sent != 63 {
		t.Errorf("the copy has TTL %d and the packet leaves with TTL %d, want 64 and 63", copied, sent)
	}
	r = c.Process(0, tapLink, slices.Concat(c.links[tapLink].mac, of[6:]), nil)
	testbed.Dropped(t, r, "ids/returned")
}

func TestAPacketGoesOnWhoseCopyIsTooBig(t *testing.T) {
	g := tapped(element.Counter{})
	g.Interfaces[tapLink].MTU = 30
	r := start(g).Process(0, testbed.Inside, testbed.UDP(5, 6).Frame(), nil)
	if len(r.Out) != 1 || r.Out[0].Interface != testbed.Outside || len(r.Drops) != 1 || r.Drops[0].Reason != "too-big" {
		t.Errorf("got %+v, want the packet outside, and its copy dropped as too-big", r)
	}
}
