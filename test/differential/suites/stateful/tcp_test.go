package stateful

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// follow runs connections, packet by packet, with pauses about as long as timeouts.
func follow(t *testing.T, r *rig.Rig, seed uint64, n int) error {
	tcp := draw.TCPTraffic{Traffic: draw.NewTraffic(seed, r.Graph, r.Result.Program), Connections: 4}
	now := time.Second
	for r.Stats.Packets < n {
		s := rig.Step{Now: now}
		for range 1 + tcp.IntN(6) {
			s.Packets = append(s.Packets, tcp.Next())
		}
		left, err := r.Run(t.Context(), s)
		if err != nil {
			return err
		}
		for i, p := range s.Packets {
			tcp.Saw(p, left[i])
		}
		now += []time.Duration{
			time.Millisecond, time.Second,
			draw.Timeouts.TCPTransitory / 2, draw.Timeouts.TCPTransitory, draw.Timeouts.TCPTransitory + time.Millisecond,
			draw.Timeouts.TCP, draw.Timeouts.TCP + time.Millisecond,
		}[max(0, tcp.IntN(13)-6)]
		// Connections of long ago are left alone.
		if tcp.IntN(64) == 0 {
			tcp.Out, tcp.Good = draw.Ring{}, draw.Ring{}
		}
	}
	return r.Finish(t.Context(), now)
}

func TestTheEngineFollowsTCPConnectionsAsTheUnmergedChainDoes(t *testing.T) {
	rig.NeedHarness(t)
	for name, napts := range map[string]int{"one NAPT": 1, "NAPTs in a row": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := rig.New(draw.InARow(t.Name(), napts, draw.OneNAPT))
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer r.Engine.Kill()
			if err := follow(t, r, 1, rig.Scale(100_000, 40_000)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestTheEngineChecksWindowsAsTheUnmergedChainDoes has few connections pass strict firewalls (f; turned round: F), NAPTs (n) among them: numbers are
// at the bounds of windows, ends of the range of numbers among them.
func TestTheEngineChecksWindowsAsTheUnmergedChainDoes(t *testing.T) {
	rig.NeedHarness(t)
	for _, functions := range []string{"f", "F", "fn", "nf", "ff", "fnF"} {
		t.Run(functions, func(t *testing.T) {
			t.Parallel()
			r, err := rig.New(draw.InARow(t.Name(), len(functions), func(b *draw.Builder, i int) (left, right draw.Side) {
				if functions[i] == 'n' {
					return draw.OneNAPT(b, i)
				}
				id := fmt.Sprint("fw", i)
				tracking := element.Tracking{Timeouts: draw.Timeouts, Max: draw.ManyFlows, Strict: true, Table: id + "/flows", Full: id + "/full"}
				return b.Follows(id, tracking, functions[i] == 'F')
			}))
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer r.Engine.Kill()
			if err := follow(t, r, 1, rig.Scale(60_000, 8_000)); err != nil {
				t.Fatal(err)
			}
			known := hits(t, r)
			t.Logf("%d packets, %d of flows that the cache knew; drops: %v", r.Stats.Packets, known, r.Stats.Drops)
			if known == 0 && functions != "fnF" {
				t.Error("no packet was checked by a cached decision")
			}
			if r.Stats.Drops["fw0-invalid"]+r.Stats.Drops["fw1-invalid"] == 0 {
				t.Error("no segment was invalid")
			}
		})
	}
}

// connection is a TCP connection through a NAPT, of which both ends are played.
type played struct {
	*testing.T
	r   *rig.Rig
	g   *graph.Graph
	now time.Duration
	// outside is the inside host's endpoint as the server sees it.
	outside netip.AddrPort
}

var client, server = netip.MustParseAddrPort("10.0.0.1:1025"), netip.MustParseAddrPort("8.8.8.8:80")

// says has one side send a segment, and tells whether it arrives.
func (p *played) says(iface int, flags uint8, s packets.Segment) bool {
	p.Helper()
	from, to := client, server
	if iface == 1 {
		from, to = server, p.outside
	}
	s.Scale = -1
	f := packets.Fields{
		VLAN: -1, Src: packets.Number(from.Addr()), Dst: packets.Number(to.Addr()), Proto: packets.ProtoTCP, TTL: 64, Sport: from.Port(), Dport: to.Port(),
		Flags: flags, Segment: &s,
	}
	var mac packets.MAC
	copy(mac[:], p.g.Interfaces[iface].MAC)
	tr := draw.NewTraffic(1, p.g, p.r.Result.Program)
	sent := draw.Sent{Iface: iface, Frame: packets.Build(tr.Rand, mac, packets.MAC{2}, f, nil)}
	left, err := p.r.Run(p.Context(), rig.Step{Now: p.now, Packets: []draw.Sent{sent}})
	if err != nil {
		p.Fatal(err)
	}
	if len(left[0]) == 1 && iface == 0 {
		p.outside = rig.EndsOf(p.T, left[0][0])[0]
	}
	return len(left[0]) == 1
}

// opens is a handshake: what the client sends next has the given number, what the server sends 1001.
func (p *played) opens(next uint32) {
	p.Helper()
	p.says(0, packets.SYN, packets.Segment{Seq: next - 1, Window: 512})
	p.says(1, packets.SYN|packets.ACK, packets.Segment{Seq: 1000, Ack: next, Window: 512})
	p.says(0, packets.ACK, packets.Segment{Seq: next, Ack: 1001, Window: 512})
}

// idle lets time pass, and tells whether the server still gets through.
func (p *played) idle(d time.Duration) bool {
	p.Helper()
	p.now += d
	return p.says(1, packets.ACK, packets.Segment{Seq: 1001, Ack: 1, Window: 512})
}

func play(t *testing.T, test func(*testing.T, *played)) {
	t.Helper()
	rig.NeedHarness(t)
	g := draw.InARow(t.Name(), 1, draw.OneNAPT)
	r, err := rig.New(g)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.Engine.Kill()
	test(t, &played{T: t, r: r, g: g, now: time.Second})
}

const afterTransitory = 5 * time.Minute // of 1 minute; established connections have 10

func TestAConnectionWhosePortsAreUsedAgainAfterFINIsKeptAsLongAsAnyOther(t *testing.T) {
	play(t, func(t *testing.T, p *played) {
		p.opens(101)
		p.says(0, packets.FIN|packets.ACK, packets.Segment{Seq: 101, Ack: 1001, Window: 512})
		p.says(1, packets.FIN|packets.ACK, packets.Segment{Seq: 1001, Ack: 102, Window: 512})
		p.says(0, packets.ACK, packets.Segment{Seq: 102, Ack: 1002, Window: 512})
		p.opens(900_001)
		if !p.idle(afterTransitory) {
			t.Error("the server's data is dropped after 5 idle minutes")
		}
	})
}

func TestAnRSTOutsideTheWindowDoesNotCloseAConnection(t *testing.T) {
	for name, c := range map[string]struct {
		iface  int
		seq    uint32
		closes bool
	}{
		"from inside, far off":                {0, 0x70000000, false},
		"from inside, behind the window":      {0, 101 + 513, false},
		"from inside, before the window":      {0, 100, false},
		"from inside, as expected":            {0, 101, true},
		"from outside, far off":               {1, 0x70000000, false},
		"from outside, behind the window":     {1, 1001 + 513, false},
		"from outside, within the window":     {1, 1001 + 100, true},
		"from outside, as the client expects": {1, 1001, true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, p *played) {
				p.opens(101)
				for range 3 { // by cached decisions, too
					p.says(0, packets.ACK, packets.Segment{Seq: 101, Ack: 1001, Window: 512})
					p.says(1, packets.ACK, packets.Segment{Seq: 1001, Ack: 101, Window: 512})
				}
				p.says(c.iface, packets.RST, packets.Segment{Seq: c.seq})
				if p.idle(afterTransitory) == c.closes {
					t.Errorf("the binding is there after 5 minutes: %t", !c.closes)
				}
			})
		})
	}
}

func TestSYNAndSYNACKAloneDoNotEstablishAConnection(t *testing.T) {
	play(t, func(t *testing.T, p *played) {
		p.says(0, packets.SYN, packets.Segment{Seq: 100, Window: 512})
		p.says(1, packets.SYN|packets.ACK, packets.Segment{Seq: 1000, Ack: 101, Window: 512})
		if p.idle(afterTransitory) {
			t.Error("a handshake that is not over is kept for 5 minutes")
		}
	})
}
