package differential

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/test/packets"
)

// asymmetric is a router with its default route outside, and a NAPT: what comes back for a host that the router has no
// route to inside goes out again.
func asymmetric(name string) *graph.Graph {
	b := new(builder)
	b.g.Chain = name
	inside, outside := b.plainLinks()
	faces := b.router("rt", addr4(172, 16, 0, 1), 2, hairpins, []route{
		{prefix: netip.MustParsePrefix("10.0.0.0/8"), face: 0},
		{prefix: netip.MustParsePrefix("0.0.0.0/0"), face: 1},
	})
	b.link(inside, faces[0])
	left, right := oneNAPT(b, 0)
	b.link(faces[1], left)
	b.link(right, outside)
	return &b.g
}

// udp is a packet into an interface.
func udp(g *graph.Graph, iface int, src, dst netip.AddrPort) sent {
	from, to := packets.Number(src.Addr()), packets.Number(dst.Addr())
	ip := packets.IPv4{Src: from, Dst: to, Proto: packets.ProtoUDP, TTL: 64, Payload: packets.UDP(from, to, src.Port(), dst.Port(), []byte("datagram"))}
	return sent{iface, ethernet(g, iface, ip)}
}

// ethernet is a packet's frame from a neighbour to an interface.
func ethernet(g *graph.Graph, iface int, ip packets.IPv4) []byte {
	var dst, src packets.MAC
	copy(dst[:], g.Interfaces[iface].MAC)
	copy(src[:], g.Interfaces[iface].Neighbors[0].MAC)
	return packets.Ethernet(dst, src, nil, packets.EtherIPv4, ip.Bytes(), nil)
}

// must runs one packet and gives the only frame that left.
func (r *rig) must(t *testing.T, now time.Duration, p sent) sent {
	t.Helper()
	left, err := r.run(t.Context(), step{now, []sent{p}})
	if err != nil {
		t.Fatal(err)
	}
	if len(left[0]) != 1 {
		t.Fatalf("%d frames left, want 1 (drops so far: %v), upon\n%s", len(left[0]), r.stats.drops, packets.Describe(p.frame))
	}
	return left[0][0]
}

func TestAFlowHasOneBindingWhicheverWayItsPacketsComeToTheNAPT(t *testing.T) {
	needHarness(t)
	for _, cut := range []string{partitionByHost, partitionByHash} {
		t.Run(cut, func(t *testing.T) {
			g := asymmetric(t.Name())
			r := started(t, g, 1, cut)
			for i := range 200 {
				a := netip.AddrPortFrom(addr4(33, 0, i, 1), 53)
				b := netip.AddrPortFrom(addr4(69, 0, i, 1), 5190)
				oneBinding(t, r, g, a, b)
			}
			if err := r.finish(t.Context(), time.Second); err != nil {
				t.Error(err)
			}
		})
	}
}

// oneBinding sends from a to b, has b reply, which goes out again, sends from b to a, and complains about that.
func oneBinding(t *testing.T, r *rig, g *graph.Graph, a, b netip.AddrPort) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(packets.Number(a.Addr()))))
	out := r.must(t, time.Second, udp(g, 0, a, b))
	reply, ok := packets.Reply(random, out.frame, 0, nil)
	if !ok {
		t.Fatal("no reply")
	}
	turned := r.must(t, time.Second, sent{1, reply})
	direct := r.must(t, time.Second, udp(g, 0, b, a))
	if x, y := endsOf(t, turned), endsOf(t, direct); x != y {
		t.Fatalf("%v → %v has two bindings: %v and %v", b, a, x, y)
	}
	for _, about := range []sent{turned, direct} {
		r.must(t, time.Second, complaint(g, about))
	}
}

// complaint is an error about a packet that left.
func complaint(g *graph.Graph, about sent) sent {
	v, _ := packets.Parse(about.frame)
	return sent{about.iface, ethernet(g, about.iface, packets.IPv4{
		Src: 0x08080808, Dst: v.IP.Src, Proto: packets.ProtoICMP, TTL: 64, Payload: packets.ICMP(3, 1, 0, v.IP.Bytes()),
	})}
}

// endsOf are source and destination of a frame.
func endsOf(t *testing.T, s sent) [2]netip.AddrPort {
	t.Helper()
	v, ok := packets.Parse(s.frame)
	if !ok {
		t.Fatal("no frame")
	}
	src, dst := ends(v.IP.Bytes())
	return [2]netip.AddrPort{src, dst}
}

// TestWhatComesBackAndGoesOutAgainHasOneBindingAmongSeveralWorkers has the other directions of flows begun from both sides.
// Where two workers would have to look at their state, the packet is dropped and counted, and no binding is a wrong one.
func TestWhatComesBackAndGoesOutAgainHasOneBindingAmongSeveralWorkers(t *testing.T) {
	needHarness(t)
	for _, cut := range []string{partitionByHost, partitionByHash} {
		for _, workers := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d workers", cut, workers), func(t *testing.T) {
				t.Parallel()
				r, err := newRig(asymmetric(t.Name()))
				if err != nil {
					t.Fatal(err)
				}
				r.workers, r.cut = workers, cut
				driveRig(t, r, scale(60_000, 15_000))
				// A device's hash is the same for both directions, but of flows without ports.
				if dropped := r.stats.drops[notOurs]; cut == partitionByHost && dropped > 0 != (workers > 1) {
					t.Errorf("%d workers drop %d packets as %s", workers, dropped, notOurs)
				}
			})
		}
	}
}

// astray is a router between two NAPTs that has no route to the first one's pool: what it answers
// to hosts inside leaves by the second one.
func astray(name string) *graph.Graph {
	b := new(builder)
	b.g.Chain = name
	inside, outside := b.plainLinks()
	faces := b.router("rt", addr4(172, 16, 0, 1), 2, discards, []route{
		{prefix: netip.MustParsePrefix("10.0.0.0/8"), face: 0},
		{prefix: netip.MustParsePrefix("0.0.0.0/0"), face: 1},
	})
	for i, s := range []struct{ from, to side }{{inside, faces[0]}, {faces[1], outside}} {
		left, right := oneNAPT(b, i)
		b.link(s.from, left)
		b.link(right, s.to)
	}
	return &b.g
}

// TestResetsThatLeaveByAnotherNAPTNeedTwoShards: the second NAPT tells the shard by the router's
// end of the flow, the first one by the host's. Where two workers would have to look at their
// state, packet and reset are dropped, counted, and leave no session.
func TestResetsThatLeaveByAnotherNAPTNeedTwoShards(t *testing.T) {
	needHarness(t)
	for _, cut := range []string{partitionByHost, partitionByHash} {
		for _, workers := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d workers", cut, workers), func(t *testing.T) {
				t.Parallel()
				r, err := newRig(astray(t.Name()))
				if err != nil {
					t.Fatal(err)
				}
				r.workers, r.cut = workers, cut
				driveRig(t, r, scale(60_000, 15_000))
				if dropped := r.stats.drops[notOurs]; dropped > 0 != (workers > 1) {
					t.Errorf("%d workers drop %d packets as %s", workers, dropped, notOurs)
				}
			})
		}
	}
}

// TestAFlowDoesNotGiveWayToWhatItsOwnPacketBegins has a packet pass a firewall that is full, as one of its flow, and come back to the other side
// as one that begins a flow.
func TestAFlowDoesNotGiveWayToWhatItsOwnPacketBegins(t *testing.T) {
	p := newPair(t, `  interfaces:
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
	syn := tcpTo("10.5.0.9", "10.0.0.7", packets.SYN, "")
	p.wants("outside", syn, "inside: 10.5.0.9 > 10.0.0.7 ttl 63 tcp 40000 > 80 flags 0x2 seq 1000 ack 0")
	p.now += 2 * time.Second // an opening that nobody answers for a second gives way
	other := ipFrom("10.0.0.7", "10.5.0.9")
	other.Proto, other.Payload = packets.ProtoTCP, packets.TCP(other.Src, other.Dst, 80, 40000, packets.SYN, 5000, nil, nil)
	p.wants("inside", other, "drop fw/full")
	p.wants("outside", syn, "inside: 10.5.0.9 > 10.0.0.7 ttl 63 tcp 40000 > 80 flags 0x2 seq 1000 ack 0")
	if err := p.r.finish(t.Context(), p.now); err != nil {
		t.Error(err)
	}
}
