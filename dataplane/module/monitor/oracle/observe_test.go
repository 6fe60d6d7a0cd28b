package oracle_test

import (
	"maps"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
	"github.com/sinter-nfv/sinter/dataplane/module/monitor/oracle"
)

func TestObservedFlowsAreAsTheyAreThere(t *testing.T) {
	c := interp.New(testbed.OneElement(element.Observe{Name: "mon"}), interp.Options{})
	udp, tcp := testbed.Packet{Sport: 1000, Dport: 53, Payload: make([]byte, 72)}, testbed.Packet{Proto: layers.IPProtocolTCP, Sport: 5, Dport: 6}
	for range 3 {
		testbed.Want(t, c.Process(0, testbed.Inside, udp.Frame(), nil), testbed.Sent(udp))
	}
	testbed.Want(t, c.Process(0, testbed.Inside, tcp.Frame(), nil), testbed.Sent(tcp))
	testbed.Want(t, c.Process(0, testbed.Inside, testbed.Ping(77).Frame(), nil), testbed.Sent(testbed.Ping(77)))
	later := testbed.Packet{Proto: layers.IPProtocolTCP, Frag: 7, Payload: make([]byte, 16)}
	testbed.Want(t, c.Process(0, testbed.Inside, later.Frame(), nil), testbed.Sent(later))
	got := map[uint8]pass.Count{}
	for f, n := range oracle.ObservedBy(c.Chain, "mon") {
		switch {
		case f.Proto == 17 && (f.Src.Port() != 1000 || f.Dst.Port() != 53), f.Proto == 1 && (f.Src.Port() != 0 || f.Dst.Port() != 8<<8), f.Interface != testbed.Inside:
			t.Errorf("%+v has other ports or another interface than its packets", f)
		}
		was := got[f.Proto]
		got[f.Proto] = pass.Count{Packets: was.Packets + n.Packets, Bytes: was.Bytes + n.Bytes}
	}
	if want := (map[uint8]pass.Count{17: {Packets: 3, Bytes: 300}, 6: {Packets: 2, Bytes: 47 + 36}, 1: {Packets: 1, Bytes: 35}}); !maps.Equal(got, want) {
		t.Errorf("by protocol: got %v, want %v", got, want)
	}
	if n := len(oracle.ObservedBy(c.Chain, "mon")); n != 4 {
		t.Errorf("%d flows, want 4: the later fragment has no ports", n)
	}
}

// TestWhatIsDroppedLaterIsObserved and what is only looked at is not.
func TestWhatIsDroppedLaterIsObserved(t *testing.T) {
	b := testbed.New()
	o, d := b.Add("mon/flows", element.Observe{Name: "mon"}), b.Add("drop", element.Discard{Reason: "late"})
	b.Wire(b.In(testbed.Inside), 0, o, 0)
	b.Wire(o, 0, d, 0)
	c := interp.New(&b.Graph, interp.Options{})
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.Packet{}.Frame(), nil), "late")
	c.Peek(time.Second, testbed.Inside, testbed.Packet{}.Frame(), func(pass.Step) {})
	var all uint64
	for _, n := range oracle.ObservedBy(c.Chain, "mon") {
		all += n.Packets
	}
	if all != 1 || len(oracle.ObservedBy(c.Chain, "mon")) != 1 {
		t.Errorf("%d packets of %d flows were observed, want 1 of 1", all, len(oracle.ObservedBy(c.Chain, "mon")))
	}
}
