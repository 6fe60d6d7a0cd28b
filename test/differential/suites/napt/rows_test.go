package napt

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// NAPTs in a row, and what lies between them.

// rejecting is a row of NAPTs; behind the first one lies a firewall that rejects data from outside. If split, the second one ends its run
// anyway, as the firewall looks at its addresses.
func rejecting(name string, napts int, split bool) *graph.Graph {
	b := new(draw.Builder)
	b.Graph.Chain = name
	s, end := b.PlainLinks()
	forth := element.Classifier{Outs: 1}
	if split {
		forth.Rules = []element.Rule{{Name: "first", Filters: []hs.Filter{draw.Where(hs.Src, hs.Single(hs.Addr(draw.Addr4(100, 64, 0, 1))))}}}
	}
	back := element.Classifier{Outs: 3, Rules: []element.Rule{
		{Name: "data", Out: 2, Filters: []hs.Filter{draw.Where(hs.TCPFlags, hs.Masked(hs.TCPFlags, packets.PSH, packets.PSH))}},
	}}
	for i := range napts {
		left, right := draw.OneNAPT(b, i)
		b.Link(s, left)
		s = right
		if i == 0 {
			left, right = b.Filter("fw", forth, back)
			b.Link(s, left)
			s = right
		}
	}
	b.Link(s, end)
	return &b.Graph
}

func TestAResetBetweenNAPTsLeavesByTheSessionOfWhatItAnswers(t *testing.T) {
	rig.NeedHarness(t)
	for _, cut := range []string{rig.PartitionByHost, rig.PartitionByHash, "address:0"} {
		for napts := 2; napts <= 3; napts++ {
			for _, split := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d NAPTs, split %t", cut, napts, split), func(t *testing.T) {
					t.Parallel()
					r := rig.Started(t, rejecting(t.Name(), napts, split), 3, cut)
					for i := range 100 {
						resetOf(t, r, netip.AddrPortFrom(draw.Addr4(10, 0, 0, i), 1000), netip.AddrPortFrom(draw.Addr4(8, 8, i, 8), 80))
					}
					if err := r.Finish(t.Context(), time.Second); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// resetOf opens a connection that is answered, and has the far end send data, which a firewall rejects.
func resetOf(t *testing.T, r *rig.Rig, from, to netip.AddrPort) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(packets.Number(from.Addr()))))
	a, b := packets.Number(from.Addr()), packets.Number(to.Addr())
	syn := packets.IPv4{Src: a, Dst: b, Proto: packets.ProtoTCP, TTL: 64, Payload: packets.TCP(a, b, from.Port(), to.Port(), packets.SYN, 1, nil, nil)}
	out := r.Must(t, time.Second, draw.Sent{Iface: 0, Frame: draw.Ethernet(r.Graph, 0, syn)})
	reply := func(flags uint8, data []byte) draw.Sent {
		f, ok := packets.Reply(random, out.Frame, flags, data)
		if !ok {
			t.Fatal("no reply")
		}
		return draw.Sent{Iface: 1, Frame: f}
	}
	r.Must(t, time.Second, reply(packets.SYN|packets.ACK, nil))
	reset := r.Must(t, time.Second, reply(packets.PSH|packets.ACK, []byte("data")))
	if x, y := rig.EndsOf(t, out), rig.EndsOf(t, reset); x != y || reset.Iface != 1 {
		t.Fatalf("%v → %v left as %v, and the reset as %v by interface %d", from, to, x, y, reset.Iface)
	}
}

// gre is a packet of a host.
func gre(g *graph.Graph, host int, to uint32, ttl uint8) draw.Sent {
	ip := packets.IPv4{Src: 0x0a000000 + uint32(host), Dst: to, Proto: 47, TTL: ttl, Payload: []byte{0, 0, 8, 0, 1, 2, 3, 4}}
	return draw.Sent{Iface: 0, Frame: draw.Ethernet(g, 0, ip)}
}

func TestFlowsWithoutPortsTakeTheAddressThatTheirSourceTells(t *testing.T) {
	r := rig.Started(t, draw.Pools(t.Name(), false, 4), 3, rig.PartitionByHost)
	for i, k := range []struct {
		host int
		to   uint32
		want byte
	}{{4, 0x08080808, 1}, {5, 0x08080808, 2}, {8, 0x08080808, 3}, {9, 0x08080808, 4}, {9, 0x08080809, 2}, {9, 0x08080808, 4}} {
		out := r.Must(t, time.Second, gre(r.Graph, k.host, k.to, 64))
		if v, _ := packets.Parse(out.Frame); v.IP.Src != 0x64400000+uint32(k.want) {
			t.Errorf("packet %d leaves by %v, want 100.64.0.%d", i, packets.Addr(v.IP.Src), k.want)
		}
	}
	left, err := r.Run(t.Context(), rig.Step{Now: time.Second, Packets: []draw.Sent{gre(r.Graph, 10, 0x08080808, 64)}})
	if err != nil || len(left[0]) > 0 || r.Stats.Drops["nat-exhausted"] != 1 {
		t.Errorf("a fifth host: %d frames, %v, %v", len(left[0]), r.Stats.Drops, err)
	}
}

// TestFlowsWithoutPortsAreBoundAtEachNAPTOfARow has hosts of which some are answered behind the first NAPT: they have its addresses, though
// they never come to the second.
func TestFlowsWithoutPortsAreBoundAtEachNAPTOfARow(t *testing.T) {
	for _, cut := range []string{rig.PartitionByHost, rig.PartitionByHash, "address:0"} {
		t.Run(cut, func(t *testing.T) {
			t.Parallel()
			r := rig.Started(t, draw.Pools(t.Name(), true, 4, 6, 3), 3, cut)
			random := rand.New(rand.NewPCG(1, 2))
			const to = 0x08080808
			for host := range 2 {
				r.Must(t, time.Second, gre(r.Graph, host, to, 1)) // time exceeded
			}
			var outs []draw.Sent
			for host := 2; host < 4; host++ {
				outs = append(outs, r.Must(t, time.Second, gre(r.Graph, host, to, 64)))
			}
			left, err := r.Run(t.Context(), rig.Step{Now: time.Second, Packets: []draw.Sent{gre(r.Graph, 4, to, 64)}})
			if err != nil || len(left[0]) > 0 || r.Stats.Drops["nat-exhausted"] != 1 {
				t.Fatalf("a fifth host for four addresses: %d frames, %v, %v", len(left[0]), r.Stats.Drops, err)
			}
			for _, out := range outs {
				f, _ := packets.Reply(random, out.Frame, 0, make([]byte, 8))
				in, _ := packets.Parse(r.Must(t, time.Second, draw.Sent{Iface: 1, Frame: f}).Frame)
				// The host answers it, and somebody on the way answers the first.
				about := draw.Ethernet(r.Graph, 0, packets.IPv4{
					Src: in.IP.Dst, Dst: to, Proto: packets.ProtoICMP, TTL: 64, Payload: packets.ICMP(3, 2, 0, in.IP.Bytes()),
				})
				if out := r.Must(t, time.Second, draw.Sent{Iface: 0, Frame: about}); out.Iface != 1 {
					t.Errorf("the error leaves by interface %d", out.Iface)
				}
				if in := r.Must(t, time.Second, complaint(r.Graph, out)); in.Iface != 0 {
					t.Errorf("the complaint leaves by interface %d", in.Iface)
				}
			}
			if err := r.Finish(t.Context(), time.Second); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAPacketUsesTheStateOfAsManyNAPTsAsAChainCanHave has a row in which each NAPT keeps a session of a packet without ports.
func TestAPacketUsesTheStateOfAsManyNAPTsAsAChainCanHave(t *testing.T) {
	one := make([]int, program.MaxTables)
	for i := range one {
		one[i] = 1
	}
	r := rig.Started(t, draw.Pools(t.Name(), false, one...), 3, rig.PartitionByHost)
	out := r.Must(t, time.Second, gre(r.Graph, 1, 0x08080808, 64))
	if v, _ := packets.Parse(out.Frame); out.Iface != 1 || v.IP.Src != packets.Number(draw.Addr4(100, 64, len(one)-1, 1)) {
		t.Errorf("it leaves by %v and interface %d", packets.Addr(v.IP.Src), out.Iface)
	}
	reply, _ := packets.Reply(rand.New(rand.NewPCG(1, 2)), out.Frame, 0, make([]byte, 8))
	if in := r.Must(t, time.Second, draw.Sent{Iface: 1, Frame: reply}); in.Iface != 0 {
		t.Errorf("the reply leaves by interface %d", in.Iface)
	}
	if _, err := rig.New(draw.Pools(t.Name(), false, append(one, 1)...)); err == nil || !strings.Contains(err.Error(), "tables: there are 257, want at most 256") {
		t.Errorf("one NAPT more: %v", err)
	}
	if err := r.Finish(t.Context(), time.Second); err != nil {
		t.Error(err)
	}
}

// TestAnAnswerComesBackThroughAsManyNAPTsAsThePacketPassed has each NAPT's choice read, so that each keeps a session of every flow, and a router
// behind the last, which resets.
func TestAnAnswerComesBackThroughAsManyNAPTsAsThePacketPassed(t *testing.T) {
	b := new(draw.Builder)
	b.Graph.Chain = t.Name()
	s, end := b.PlainLinks()
	const napts = 40
	for i := range napts {
		left, right := draw.OneNAPT(b, i)
		b.Link(s, left)
		reads := element.Classifier{Outs: 1, Rules: []element.Rule{
			{Name: "first", Filters: []hs.Filter{draw.Where(hs.Src, hs.Single(hs.Addr(draw.Addr4(100, 64, i, 1))))}},
		}}
		left, s = b.Filter(fmt.Sprintf("fw%d", i), reads, element.Classifier{Outs: 1})
		b.Link(right, left)
	}
	faces := b.Router("rt", draw.Addr4(172, 16, 0, 1), 2, draw.Discards, []draw.Route{
		{Prefix: netip.MustParsePrefix("100.64.0.0/16"), Face: 0},
		{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Face: 1},
	})
	b.Link(s, faces[0])
	b.Link(faces[1], end)
	r := rig.Started(t, &b.Graph, 3, rig.PartitionByHost)
	from, to := packets.Number(draw.Addr4(10, 0, 0, 1)), packets.Number(draw.Addr4(172, 16, 0, 1))
	syn := packets.IPv4{Src: from, Dst: to, Proto: packets.ProtoTCP, TTL: 64, Payload: packets.TCP(from, to, 1000, 80, packets.SYN, 1, nil, nil)}
	reset := r.Must(t, time.Second, draw.Sent{Iface: 0, Frame: draw.Ethernet(r.Graph, 0, syn)})
	if v, _ := packets.Parse(reset.Frame); reset.Iface != 0 || v.IP.Dst != from || v.IP.Src != to {
		t.Errorf("what comes back: %v → %v, by interface %d", packets.Addr(v.IP.Src), packets.Addr(v.IP.Dst), reset.Iface)
	}
	if err := r.Finish(t.Context(), time.Second); err != nil {
		t.Error(err)
	}
}
