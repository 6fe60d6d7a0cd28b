package napt

import (
	"slices"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestLimitsOfNAPTsInARowAreThoseOfTheFirst: NAPTs that are merged have one session for a flow, which counts for the host that the first one sees.
func TestLimitsOfNAPTsInARowAreThoseOfTheFirst(t *testing.T) {
	g := draw.Pools(t.Name(), false, 4, 4)
	limits := element.SubscriberLimits{PrefixLen: 32, MaxSessions: 9, MaxPorts: 3, Reason: "nat0" + draw.SubscriberLimit}
	for i, n := range g.Nodes {
		if e, ok := n.Element.(element.NAPT); ok {
			e.Limits = limits
			g.Nodes[i].Element = e
			break
		}
	}
	r := rig.Started(t, g, 1, rig.PartitionByHost)
	if !slices.ContainsFunc(r.Result.Runs, func(run synth.Run) bool { return len(run.Nodes) == 2 }) {
		t.Fatalf("the NAPTs are not merged: %v", r.Result.Runs)
	}
	var all []draw.Sent
	for host := range uint32(2) {
		for port := range uint16(5) {
			p := packets.IPv4{Src: 0x0a000002 + host, Dst: 0x08080808, Proto: packets.ProtoUDP, TTL: 64}
			p.Payload = packets.UDP(p.Src, p.Dst, 5000+port, 53, []byte("question"))
			all = append(all, draw.Sent{Iface: 0, Frame: draw.Ethernet(r.Graph, 0, p)})
		}
	}
	left, err := r.Run(t.Context(), rig.Step{Now: time.Second, Packets: all})
	if err != nil {
		t.Fatal(err)
	}
	for i, out := range left {
		if want := i%5 < limits.MaxPorts; (len(out) == 1) != want {
			t.Errorf("host %d, flow %d: %d frames leave, want some: %t", i/5, i%5, len(out), want)
		}
	}
	if n := r.Stats.Drops[limits.Reason]; n != 4 {
		t.Errorf("%d packets are dropped as %s, want 4: %v", n, limits.Reason, r.Stats.Drops)
	}
	if err := r.Finish(t.Context(), time.Second); err != nil {
		t.Error(err)
	}
	if err := r.Forget(t.Context(), time.Second); err != nil {
		t.Error(err)
	}
}
