package differential

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
	"github.com/sinter-nfv/sinter/test/packets"
)

// NAPTs in a row, and what lies between them.

// rejecting is a row of NAPTs; behind the first one lies a firewall that rejects data from outside. If split, the second one ends its run
// anyway, as the firewall looks at its addresses.
func rejecting(name string, napts int, split bool) *graph.Graph {
	b := new(builder)
	b.g.Chain = name
	s, end := b.plainLinks()
	forth := element.Classifier{Outs: 1}
	if split {
		forth.Rules = []element.Rule{{Name: "first", Filters: []hs.Filter{where(hs.Src, hs.Single(hs.Addr(addr4(100, 64, 0, 1))))}}}
	}
	back := element.Classifier{Outs: 3, Rules: []element.Rule{
		{Name: "data", Out: 2, Filters: []hs.Filter{where(hs.TCPFlags, hs.Masked(hs.TCPFlags, packets.PSH, packets.PSH))}},
	}}
	for i := range napts {
		left, right := oneNAPT(b, i)
		b.link(s, left)
		s = right
		if i == 0 {
			left, right = b.filter("fw", forth, back)
			b.link(s, left)
			s = right
		}
	}
	b.link(s, end)
	return &b.g
}

func TestAResetBetweenNAPTsLeavesByTheSessionOfWhatItAnswers(t *testing.T) {
	needHarness(t)
	for _, cut := range []string{partitionByHost, partitionByHash, "address:0"} {
		for napts := 2; napts <= 3; napts++ {
			for _, split := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d NAPTs, split %t", cut, napts, split), func(t *testing.T) {
					t.Parallel()
					r := started(t, rejecting(t.Name(), napts, split), 3, cut)
					for i := range 100 {
						resetOf(t, r, netip.AddrPortFrom(addr4(10, 0, 0, i), 1000), netip.AddrPortFrom(addr4(8, 8, i, 8), 80))
					}
					if err := r.finish(t.Context(), time.Second); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// resetOf opens a connection that is answered, and has the far end send data, which a firewall rejects.
func resetOf(t *testing.T, r *rig, from, to netip.AddrPort) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(packets.Number(from.Addr()))))
	a, b := packets.Number(from.Addr()), packets.Number(to.Addr())
	syn := packets.IPv4{Src: a, Dst: b, Proto: packets.ProtoTCP, TTL: 64, Payload: packets.TCP(a, b, from.Port(), to.Port(), packets.SYN, 1, nil, nil)}
	out := r.must(t, time.Second, sent{0, ethernet(r.g, 0, syn)})
	reply := func(flags uint8, data []byte) sent {
		f, ok := packets.Reply(random, out.frame, flags, data)
		if !ok {
			t.Fatal("no reply")
		}
		return sent{1, f}
	}
	r.must(t, time.Second, reply(packets.SYN|packets.ACK, nil))
	reset := r.must(t, time.Second, reply(packets.PSH|packets.ACK, []byte("data")))
	if x, y := endsOf(t, out), endsOf(t, reset); x != y || reset.iface != 1 {
		t.Fatalf("%v → %v left as %v, and the reset as %v by interface %d", from, to, x, y, reset.iface)
	}
}

// pools are NAPTs in a row with so many addresses each. If routed, a router lies behind the first.
func pools(name string, routed bool, addresses ...int) *graph.Graph {
	b := new(builder)
	b.g.Chain = name
	s, end := b.plainLinks()
	for i, n := range addresses {
		e := element.NAPT{PortMin: 1024, PortMax: 65535, Timeouts: timeouts, MaxSessions: 1 << 17}
		for a := range n {
			e.Pool = append(e.Pool, addr4(100, 64, i, 1+a))
		}
		left, right := b.napt(fmt.Sprintf("nat%d", i), e)
		b.link(s, left)
		s = right
		if i == 0 && routed {
			faces := b.router("rt", addr4(172, 16, 0, 1), 2, discards, []route{
				{prefix: netip.MustParsePrefix("100.64.0.0/16"), face: 0},
				{prefix: netip.MustParsePrefix("0.0.0.0/0"), face: 1},
			})
			b.link(s, faces[0])
			s = faces[1]
		}
	}
	b.link(s, end)
	return &b.g
}

// gre is a packet of a host.
func gre(g *graph.Graph, host int, to uint32, ttl uint8) sent {
	return sent{0, ethernet(g, 0, packets.IPv4{Src: 0x0a000000 + uint32(host), Dst: to, Proto: 47, TTL: ttl, Payload: []byte{0, 0, 8, 0, 1, 2, 3, 4}})}
}

// started is a chain's rig, with a running engine.
func started(t *testing.T, g *graph.Graph, workers int, cut string) *rig {
	t.Helper()
	needHarness(t)
	r, err := newRig(g)
	if err != nil {
		t.Fatal(err)
	}
	r.workers, r.cut = workers, cut
	if err := r.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.engine.kill)
	return r
}

func TestFlowsWithoutPortsTakeTheAddressThatTheirSourceTells(t *testing.T) {
	r := started(t, pools(t.Name(), false, 4), 3, partitionByHost)
	for i, k := range []struct {
		host int
		to   uint32
		want byte
	}{{4, 0x08080808, 1}, {5, 0x08080808, 2}, {8, 0x08080808, 3}, {9, 0x08080808, 4}, {9, 0x08080809, 2}, {9, 0x08080808, 4}} {
		out := r.must(t, time.Second, gre(r.g, k.host, k.to, 64))
		if v, _ := packets.Parse(out.frame); v.IP.Src != 0x64400000+uint32(k.want) {
			t.Errorf("packet %d leaves by %v, want 100.64.0.%d", i, packets.Addr(v.IP.Src), k.want)
		}
	}
	left, err := r.run(t.Context(), step{time.Second, []sent{gre(r.g, 10, 0x08080808, 64)}})
	if err != nil || len(left[0]) > 0 || r.stats.drops["nat-exhausted"] != 1 {
		t.Errorf("a fifth host: %d frames, %v, %v", len(left[0]), r.stats.drops, err)
	}
}

// TestFlowsWithoutPortsAreBoundAtEachNAPTOfARow has hosts of which some are answered behind the first NAPT: they have its addresses, though
// they never come to the second.
func TestFlowsWithoutPortsAreBoundAtEachNAPTOfARow(t *testing.T) {
	for _, cut := range []string{partitionByHost, partitionByHash, "address:0"} {
		t.Run(cut, func(t *testing.T) {
			t.Parallel()
			r := started(t, pools(t.Name(), true, 4, 6, 3), 3, cut)
			random := rand.New(rand.NewPCG(1, 2))
			const to = 0x08080808
			for host := range 2 {
				r.must(t, time.Second, gre(r.g, host, to, 1)) // time exceeded
			}
			var outs []sent
			for host := 2; host < 4; host++ {
				outs = append(outs, r.must(t, time.Second, gre(r.g, host, to, 64)))
			}
			left, err := r.run(t.Context(), step{time.Second, []sent{gre(r.g, 4, to, 64)}})
			if err != nil || len(left[0]) > 0 || r.stats.drops["nat-exhausted"] != 1 {
				t.Fatalf("a fifth host for four addresses: %d frames, %v, %v", len(left[0]), r.stats.drops, err)
			}
			for _, out := range outs {
				f, _ := packets.Reply(random, out.frame, 0, make([]byte, 8))
				in, _ := packets.Parse(r.must(t, time.Second, sent{1, f}).frame)
				// The host answers it, and somebody on the way answers the first.
				about := ethernet(r.g, 0, packets.IPv4{Src: in.IP.Dst, Dst: to, Proto: packets.ProtoICMP, TTL: 64, Payload: packets.ICMP(3, 2, 0, in.IP.Bytes())})
				if out := r.must(t, time.Second, sent{0, about}); out.iface != 1 {
					t.Errorf("the error leaves by interface %d", out.iface)
				}
				if in := r.must(t, time.Second, complaint(r.g, out)); in.iface != 0 {
					t.Errorf("the complaint leaves by interface %d", in.iface)
				}
			}
			if err := r.finish(t.Context(), time.Second); err != nil {
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
	r := started(t, pools(t.Name(), false, one...), 3, partitionByHost)
	out := r.must(t, time.Second, gre(r.g, 1, 0x08080808, 64))
	if v, _ := packets.Parse(out.frame); out.iface != 1 || v.IP.Src != packets.Number(addr4(100, 64, len(one)-1, 1)) {
		t.Errorf("it leaves by %v and interface %d", packets.Addr(v.IP.Src), out.iface)
	}
	reply, _ := packets.Reply(rand.New(rand.NewPCG(1, 2)), out.frame, 0, make([]byte, 8))
	if in := r.must(t, time.Second, sent{1, reply}); in.iface != 0 {
		t.Errorf("the reply leaves by interface %d", in.iface)
	}
	if _, err := newRig(pools(t.Name(), false, append(one, 1)...)); err == nil || !strings.Contains(err.Error(), "tables: there are 257, want at most 256") {
		t.Errorf("one NAPT more: %v", err)
	}
	if err := r.finish(t.Context(), time.Second); err != nil {
		t.Error(err)
	}
}

// TestAnAnswerComesBackThroughAsManyNAPTsAsThePacketPassed has each NAPT's choice read, so that each keeps a session of every flow, and a router
// behind the last, which resets.
func TestAnAnswerComesBackThroughAsManyNAPTsAsThePacketPassed(t *testing.T) {
	b := new(builder)
	b.g.Chain = t.Name()
	s, end := b.plainLinks()
	const napts = 40
	for i := range napts {
		left, right := oneNAPT(b, i)
		b.link(s, left)
		reads := element.Classifier{Outs: 1, Rules: []element.Rule{
			{Name: "first", Filters: []hs.Filter{where(hs.Src, hs.Single(hs.Addr(addr4(100, 64, i, 1))))}},
		}}
		left, s = b.filter(fmt.Sprintf("fw%d", i), reads, element.Classifier{Outs: 1})
		b.link(right, left)
	}
	faces := b.router("rt", addr4(172, 16, 0, 1), 2, discards, []route{
		{prefix: netip.MustParsePrefix("100.64.0.0/16"), face: 0},
		{prefix: netip.MustParsePrefix("0.0.0.0/0"), face: 1},
	})
	b.link(s, faces[0])
	b.link(faces[1], end)
	r := started(t, &b.g, 3, partitionByHost)
	from, to := packets.Number(addr4(10, 0, 0, 1)), packets.Number(addr4(172, 16, 0, 1))
	syn := packets.IPv4{Src: from, Dst: to, Proto: packets.ProtoTCP, TTL: 64, Payload: packets.TCP(from, to, 1000, 80, packets.SYN, 1, nil, nil)}
	reset := r.must(t, time.Second, sent{0, ethernet(r.g, 0, syn)})
	if v, _ := packets.Parse(reset.frame); reset.iface != 0 || v.IP.Dst != from || v.IP.Src != to {
		t.Errorf("what comes back: %v → %v, by interface %d", packets.Addr(v.IP.Src), packets.Addr(v.IP.Dst), reset.iface)
	}
	if err := r.finish(t.Context(), time.Second); err != nil {
		t.Error(err)
	}
}
