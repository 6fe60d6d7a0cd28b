package stateful

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// A multitude of flows passes a stateful firewall, a load balancer, a NAPT and a router with several next hops, of which all packets pass all.
// Sessions end all the time, others have their lines, and the decisions of most are kept short. The long form has 10 million packets of 240,000
// flows for each size of the decision cache:
//
//	go test ./test/differential/suites/stateful -count=1 -timeout 2h -run Multitude -v

// multitude is the chain; room is for that many flows.
func multitude(name string, room int) *graph.Graph {
	b := new(draw.Builder)
	b.Graph.Chain = name
	s, end := b.PlainLinks()
	join := func(left, right draw.Side) {
		b.Link(s, left)
		s = right
	}
	join(b.Follows("fw", element.Tracking{Timeouts: draw.Timeouts, Max: room, Table: "fw/flows", Full: "fw/full"}, false))
	lb := b.Add("lb", "balancer", element.Balancer{
		Virtual: []netip.Addr{draw.Addr4(172, 31, 1, 1)}, MaxSessions: room, Timeouts: draw.Timeouts,
		NoBackend: "no-backend", Full: "full", NoSession: "no-session",
		Backends: []element.Backend{{Addr: draw.Addr4(20, 1, 1, 2), Weight: 3}, {Addr: draw.Addr4(40, 1, 1, 3), Port: 8080, Weight: 1}},
	})
	clients, backends := graph.Edge{To: lb, Port: element.BalancerClients}, graph.Edge{To: lb, Port: element.BalancerBackends}
	join(draw.Side{In: clients, Outs: []graph.Edge{clients}}, draw.Side{In: backends, Outs: []graph.Edge{backends}})
	nat := element.NAPT{PortMin: 1024, PortMax: 65535, Timeouts: draw.Timeouts, MaxSessions: room}
	for i := range 16 {
		nat.Pool = append(nat.Pool, draw.Addr4(100, 64, 0, 1+i))
	}
	join(b.NAPT("nat", nat))
	faces := b.Router("rt", draw.Addr4(172, 16, 0, 1), 2, draw.Discards, []draw.Route{
		{Prefix: netip.MustParsePrefix("100.64.0.0/24"), Face: 0},
		{Prefix: netip.MustParsePrefix("0.0.0.0/3"), Face: 1, Via: draw.Addr4(192, 168, 1, 3)},
		{Prefix: netip.MustParsePrefix("32.0.0.0/4"), Face: 1, Via: draw.Addr4(192, 168, 1, 4)},
		{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Face: 1, Via: draw.Addr4(192, 168, 1, 5)},
	})
	join(faces[0], faces[1])
	b.Link(s, end)
	return &b.Graph
}

// talk is a flow: of what its next packet is made.
type talk struct {
	host, server netip.AddrPort
	udp, opened  bool
	out          []byte // the last frame that left, to which the far end replies
}

// says is the next packet of the host, and what it is.
func (k *talk) says(g *graph.Graph, r *rand.Rand) draw.Sent {
	from, to := packets.Number(k.host.Addr()), packets.Number(k.server.Addr())
	ip := packets.IPv4{Src: from, Dst: to, Proto: packets.ProtoUDP, TTL: uint8(2 + r.IntN(200)), ID: uint16(r.Uint32())}
	data := make([]byte, r.IntN(24))
	if k.udp {
		ip.Payload = packets.UDP(from, to, k.host.Port(), k.server.Port(), data)
		return draw.Sent{Iface: 0, Frame: draw.Ethernet(g, 0, ip)}
	}
	flags := uint8(packets.ACK)
	switch n := r.IntN(64); {
	case !k.opened || n == 0:
		flags, data = packets.SYN, nil
	case n == 1:
		flags |= packets.FIN
	case n == 2:
		flags |= packets.RST
	}
	k.opened = flags&packets.RST == 0
	ip.Proto, ip.Payload = packets.ProtoTCP, packets.TCP(from, to, k.host.Port(), k.server.Port(), flags, r.Uint32(), nil, data)
	return draw.Sent{Iface: 0, Frame: draw.Ethernet(g, 0, ip)}
}

// hears is a reply of the far end, be it one to a session that is over.
func (k *talk) hears(r *rand.Rand) (draw.Sent, bool) {
	flags := uint8(packets.ACK)
	if r.IntN(8) == 0 {
		flags |= []uint8{packets.SYN, packets.FIN, packets.PSH}[r.IntN(3)]
	}
	f, ok := packets.Reply(r, k.out, flags, make([]byte, r.IntN(24)))
	return draw.Sent{Iface: 1, Frame: f}, ok
}

func talks(r *rand.Rand, n int) []talk {
	list := make([]talk, n)
	for i := range list {
		k := &list[i]
		k.host = netip.AddrPortFrom(draw.Addr4(10, i>>15, i>>7&255, 1+i&127), uint16(1024+r.IntN(60_000)))
		k.server = netip.AddrPortFrom(draw.Addr4(11+r.IntN(80), r.IntN(256), r.IntN(256), 1+r.IntN(254)), uint16(1+r.IntN(1000)))
		if i%3 == 0 {
			k.server = netip.AddrPortFrom(draw.Addr4(172, 31, 1, 1), uint16(80+r.IntN(4)))
		}
		k.udp = r.IntN(2) == 0
	}
	return list
}

func TestAMultitudeOfFlowsWhoseSessionsEnd(t *testing.T) {
	rig.NeedHarness(t)
	for _, cache := range []int{rig.FewDecisions, rig.ManyDecisions} {
		t.Run(fmt.Sprint(cache, " decisions"), func(t *testing.T) {
			t.Parallel()
			rig.Engines <- struct{}{}
			defer func() { <-rig.Engines }()
			flows := rig.Scale(240_000, 12_000)
			r, err := rig.New(multitude(t.Name(), 2*flows))
			if err != nil {
				t.Fatal(err)
			}
			r.Workers, r.Cache = 3, cache
			if err := r.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer r.Engine.Kill()
			random := rand.New(rand.NewPCG(rig.FirstSeed, 1))
			list := talks(random, flows)
			now, most := converse(t, r, random, list, time.Second, rig.Scale(10_000_000, 150_000))
			if most < flows {
				t.Errorf("at most %d sessions at one time, want as many as there are flows, %d", most, flows)
			}
			// Most fall silent, for longer than any session lasts.
			few := list[:flows/12]
			now, _ = converse(t, r, random, few, now, len(few)*int(draw.Timeouts.TCP/each)*5/4)
			t.Logf("%d packets in %v, %d sessions at one time, %d at the end; dropped: %v", r.Stats.Packets, now, most, len(r.Oracle.Sessions(now)), r.Stats.Drops)
			if err := r.Finish(t.Context(), now); err != nil {
				t.Error(err)
			}
			r.Count(nil)
		})
	}
}

// each is the time between two packets of a flow, on average.
const each = 12 * time.Second

// converse has flows say or hear something, n times in all, from a time on. It returns the time then, and the most sessions that there were.
func converse(t *testing.T, r *rig.Rig, random *rand.Rand, list []talk, now time.Duration, n int) (end time.Duration, most int) {
	t.Helper()
	pause := each * rig.Batch / time.Duration(len(list))
	for i := 0; i < n; i += rig.Batch {
		now += pause
		s := rig.Step{Now: now, Moves: r.DrawMoves(random)}
		var of []*talk
		for range rig.Batch {
			k := &list[random.IntN(len(list))]
			p, ok := draw.Sent{}, false
			if k.out != nil && random.IntN(2) == 0 {
				p, ok = k.hears(random)
			}
			if !ok {
				p = k.says(r.Graph, random)
			}
			s.Packets, of = append(s.Packets, p), append(of, k)
		}
		left, err := r.Run(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		r.History = nil // nobody shrinks it
		for i, out := range left {
			if s.Packets[i].Iface == 0 && len(out) == 1 && out[0].Iface == 1 {
				of[i].out = out[0].Frame
			}
		}
		if i>>20 != (i+rig.Batch)>>20 || i+rig.Batch >= n {
			most = max(most, len(r.Oracle.Sessions(now)))
		}
	}
	return now, most
}
