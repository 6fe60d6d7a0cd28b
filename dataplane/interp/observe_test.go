package interp

import (
	"maps"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

func TestObservedFlowsAreAsTheyAreThere(t *testing.T) {
	c := oneElement(element.Observe{Name: "mon"})
	udp, tcp := pkt{sport: 1000, dport: 53, payload: make([]byte, 72)}, pkt{proto: layers.IPProtocolTCP, sport: 5, dport: 6}
	for range 3 {
		want(t, c.Process(0, inside, udp.frame(), nil), sent(udp))
	}
	want(t, c.Process(0, inside, tcp.frame(), nil), sent(tcp))
	want(t, c.Process(0, inside, ping(77).frame(), nil), sent(ping(77)))
	later := pkt{proto: layers.IPProtocolTCP, frag: 7, payload: make([]byte, 16)}
	want(t, c.Process(0, inside, later.frame(), nil), sent(later))
	got := map[uint8]Count{}
	for f, n := range c.Observed("mon") {
		switch {
		case f.Proto == 17 && (f.Src.Port() != 1000 || f.Dst.Port() != 53), f.Proto == 1 && (f.Src.Port() != 0 || f.Dst.Port() != 8<<8), f.Interface != inside:
			t.Errorf("%+v has other ports or another interface than its packets", f)
		}
		was := got[f.Proto]
		got[f.Proto] = Count{was.Packets + n.Packets, was.Bytes + n.Bytes}
	}
	if want := (map[uint8]Count{17: {3, 300}, 6: {2, 47 + 36}, 1: {1, 35}}); !maps.Equal(got, want) {
		t.Errorf("by protocol: got %v, want %v", got, want)
	}
	if n := len(c.Observed("mon")); n != 4 {
		t.Errorf("%d flows, want 4: the later fragment has no ports", n)
	}
}

// TestWhatIsDroppedLaterIsObserved and what is only looked at is not.
func TestWhatIsDroppedLaterIsObserved(t *testing.T) {
	b := newBuilder()
	o, d := b.add("mon/flows", element.Observe{Name: "mon"}), b.add("drop", element.Discard{Reason: "late"})
	b.wire(b.in(inside), 0, o, 0)
	b.wire(o, 0, d, 0)
	c := b.chain()
	dropped(t, c.Process(0, inside, pkt{}.frame(), nil), "late")
	c.Peek(time.Second, inside, pkt{}.frame(), func(Step) {})
	var all uint64
	for _, n := range c.Observed("mon") {
		all += n.Packets
	}
	if all != 1 || len(c.Observed("mon")) != 1 {
		t.Errorf("%d packets of %d flows were observed, want 1 of 1", all, len(c.Observed("mon")))
	}
}
