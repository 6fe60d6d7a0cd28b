package napt

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// asymmetric is a router with its default route outside, and a NAPT: what comes back for a host that the router has no
// route to inside goes out again.
func asymmetric(name string) *graph.Graph {
	b := new(draw.Builder)
	b.Graph.Chain = name
	inside, outside := b.PlainLinks()
	faces := b.Router("rt", draw.Addr4(172, 16, 0, 1), 2, draw.Hairpins, []draw.Route{
		{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Face: 0},
		{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Face: 1},
	})
	b.Link(inside, faces[0])
	left, right := draw.OneNAPT(b, 0)
	b.Link(faces[1], left)
	b.Link(right, outside)
	return &b.Graph
}

func TestAFlowHasOneBindingWhicheverWayItsPacketsComeToTheNAPT(t *testing.T) {
	rig.NeedHarness(t)
	for _, cut := range []string{rig.PartitionByHost, rig.PartitionByHash} {
		t.Run(cut, func(t *testing.T) {
			g := asymmetric(t.Name())
			r := rig.Started(t, g, 1, cut)
			for i := range 200 {
				a := netip.AddrPortFrom(draw.Addr4(33, 0, i, 1), 53)
				b := netip.AddrPortFrom(draw.Addr4(69, 0, i, 1), 5190)
				oneBinding(t, r, g, a, b)
			}
			if err := r.Finish(t.Context(), time.Second); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAFlowBetweenTwoNAPTsHasOneBindingWhetherItPassesTheFirstOrNot has a router without a route to the pool of the first of two NAPTs. A backend's reply
// turns round there, and leaves by the second one; so does what answers that: it comes to the backend as the flow that began, but not by the first
// NAPT. The load balancer between them changes by what a device's hash would tell the flow's shard.
func TestAFlowBetweenTwoNAPTsHasOneBindingWhetherItPassesTheFirstOrNot(t *testing.T) {
	rig.NeedHarness(t)
	for _, cut := range []string{rig.PartitionByHost, rig.PartitionByHash} {
		t.Run(cut, func(t *testing.T) {
			g := draw.InOrder(t.Name(), "nrbn")
			r := rig.Started(t, g, 1, cut)
			random := rand.New(rand.NewPCG(1, 2))
			back := func(out draw.Sent) draw.Sent {
				reply, ok := packets.Reply(random, out.Frame, 0, nil)
				if !ok {
					t.Fatal("no reply")
				}
				return r.Must(t, time.Second, draw.Sent{Iface: 1, Frame: reply})
			}
			for i := range 50 {
				begun := r.Must(t, time.Second, draw.UDP(g, 0, netip.AddrPortFrom(draw.Addr4(192, 168, 1, i), 53), netip.AddrPortFrom(draw.Addr4(172, 31, 1, 1), 80)))
				if again := back(back(begun)); rig.EndsOf(t, again) != rig.EndsOf(t, begun) {
					t.Fatalf("the flow has two bindings: %v and %v", rig.EndsOf(t, begun), rig.EndsOf(t, again))
				}
			}
			if err := r.Finish(t.Context(), time.Second); err != nil {
				t.Error(err)
			}
		})
	}
}

// oneBinding sends from a to b, has b reply, which goes out again, sends from b to a, and complains about that.
func oneBinding(t *testing.T, r *rig.Rig, g *graph.Graph, a, b netip.AddrPort) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(packets.Number(a.Addr()))))
	out := r.Must(t, time.Second, draw.UDP(g, 0, a, b))
	reply, ok := packets.Reply(random, out.Frame, 0, nil)
	if !ok {
		t.Fatal("no reply")
	}
	turned := r.Must(t, time.Second, draw.Sent{Iface: 1, Frame: reply})
	direct := r.Must(t, time.Second, draw.UDP(g, 0, b, a))
	if x, y := rig.EndsOf(t, turned), rig.EndsOf(t, direct); x != y {
		t.Fatalf("%v → %v has two bindings: %v and %v", b, a, x, y)
	}
	for _, about := range []draw.Sent{turned, direct} {
		r.Must(t, time.Second, complaint(g, about))
	}
}

// complaint is an error about a packet that left.
func complaint(g *graph.Graph, about draw.Sent) draw.Sent {
	v, _ := packets.Parse(about.Frame)
	return draw.Sent{Iface: about.Iface, Frame: draw.Ethernet(g, about.Iface, packets.IPv4{
		Src: 0x08080808, Dst: v.IP.Src, Proto: packets.ProtoICMP, TTL: 64, Payload: packets.ICMP(3, 1, 0, v.IP.Bytes()),
	})}
}

// TestWhatComesBackAndGoesOutAgainHasOneBindingAmongSeveralWorkers has the other directions of flows begun from both sides.
// Where two workers would have to look at their state, the packet is dropped and counted, and no binding is a wrong one.
func TestWhatComesBackAndGoesOutAgainHasOneBindingAmongSeveralWorkers(t *testing.T) {
	rig.NeedHarness(t)
	for _, cut := range []string{rig.PartitionByHost, rig.PartitionByHash} {
		for _, workers := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d workers", cut, workers), func(t *testing.T) {
				t.Parallel()
				r, err := rig.New(asymmetric(t.Name()))
				if err != nil {
					t.Fatal(err)
				}
				r.Workers, r.Cut = workers, cut
				rig.DriveInTurn(t, r, rig.Scale(60_000, 15_000))
				// A device's hash is the same for both directions, but of flows without ports.
				if dropped := r.Stats.Drops[rig.NotOurs]; cut == rig.PartitionByHost && dropped > 0 != (workers > 1) {
					t.Errorf("%d workers drop %d packets as %s", workers, dropped, rig.NotOurs)
				}
			})
		}
	}
}

// astray is a router between two NAPTs that has no route to the first one's pool: what it answers
// to hosts inside leaves by the second one.
func astray(name string) *graph.Graph {
	b := new(draw.Builder)
	b.Graph.Chain = name
	inside, outside := b.PlainLinks()
	faces := b.Router("rt", draw.Addr4(172, 16, 0, 1), 2, draw.Discards, []draw.Route{
		{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Face: 0},
		{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Face: 1},
	})
	for i, s := range []struct{ from, to draw.Side }{{inside, faces[0]}, {faces[1], outside}} {
		left, right := draw.OneNAPT(b, i)
		b.Link(s.from, left)
		b.Link(right, s.to)
	}
	return &b.Graph
}

// TestResetsThatLeaveByAnotherNAPTNeedTwoShards: the second NAPT tells the shard by the router's
// end of the flow, the first one by the host's. Where two workers would have to look at their
// state, packet and reset are dropped, counted, and leave no session.
func TestResetsThatLeaveByAnotherNAPTNeedTwoShards(t *testing.T) {
	rig.NeedHarness(t)
	for _, cut := range []string{rig.PartitionByHost, rig.PartitionByHash} {
		for _, workers := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d workers", cut, workers), func(t *testing.T) {
				t.Parallel()
				r, err := rig.New(astray(t.Name()))
				if err != nil {
					t.Fatal(err)
				}
				r.Workers, r.Cut = workers, cut
				rig.DriveInTurn(t, r, rig.Scale(60_000, 15_000))
				if dropped := r.Stats.Drops[rig.NotOurs]; dropped > 0 != (workers > 1) {
					t.Errorf("%d workers drop %d packets as %s", workers, dropped, rig.NotOurs)
				}
			})
		}
	}
}

// TestAFlowDoesNotGiveWayToWhatItsOwnPacketBegins has a packet pass a firewall that is full, as one of its flow, and come back to the other side
// as one that begins a flow.
func TestAFlowDoesNotGiveWayToWhatItsOwnPacketBegins(t *testing.T) {
	p := rig.NewPair(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254, reversePath: "Off"}
  functions:
  - name: fw
    firewall:
      default: Accept
      stateful: true
      tracking: {maxFlows: 1}
  - name: rt
    router:
      routes:
      - {prefix: 0.0.0.0/0, port: outside, via: 192.0.2.254}
      - {prefix: 10.5.0.0/16, port: inside, via: 10.0.0.2}
  path: [inside, fw, rt, outside]
`)
	syn := draw.TCPTo("10.5.0.9", "10.0.0.7", packets.SYN, "")
	p.Wants("outside", syn, "inside: 10.5.0.9 > 10.0.0.7 ttl 63 tcp 40000 > 80 flags 0x2 seq 1000 ack 0")
	p.Now += 2 * time.Second // an opening that nobody answers for a second gives way
	other := draw.IP("10.0.0.7", "10.5.0.9")
	other.Proto, other.Payload = packets.ProtoTCP, packets.TCP(other.Src, other.Dst, 80, 40000, packets.SYN, 5000, nil, nil)
	p.Wants("inside", other, "drop fw/full")
	p.Wants("outside", syn, "inside: 10.5.0.9 > 10.0.0.7 ttl 63 tcp 40000 > 80 flags 0x2 seq 1000 ack 0")
	if err := p.Rig.Finish(t.Context(), p.Now); err != nil {
		t.Error(err)
	}
}
