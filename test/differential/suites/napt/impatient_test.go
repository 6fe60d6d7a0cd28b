package napt

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// twoNAPTs is a row of two, which are one to flows, with timeouts of their own.
func twoNAPTs(name string, first, second element.Timeouts) *rowOfTwo {
	b := new(draw.Builder)
	b.Graph.Chain = name
	s, end := b.PlainLinks()
	for i, timeouts := range []element.Timeouts{first, second} {
		n := element.NAPT{Pool: []netip.Addr{draw.Addr4(100, 64, i, 1)}, PortMin: 1024, PortMax: 65535, Timeouts: timeouts, MaxSessions: 1 << 10}
		left, right := b.NAPT(fmt.Sprintf("nat%d", i), n)
		b.Link(s, left)
		s = right
	}
	b.Link(s, end)
	return &rowOfTwo{Builder: b}
}

type rowOfTwo struct{ *draw.Builder }

// opens is a packet of an inside host that begins a flow.
func (c *rowOfTwo) opens(proto uint8, port uint16) draw.Sent {
	from, to := packets.Number(draw.Addr4(10, 0, 0, 7)), packets.Number(draw.Addr4(8, 8, 8, 8))
	ip := packets.IPv4{Src: from, Dst: to, Proto: proto, TTL: 64}
	switch proto {
	case packets.ProtoTCP:
		ip.Payload = packets.TCP(from, to, port, 80, packets.SYN, 1, nil, nil)
	case packets.ProtoUDP:
		ip.Payload = packets.UDP(from, to, port, 53, []byte("datagram"))
	case packets.ProtoICMP:
		ip.Payload = packets.ICMP(packets.ICMPEchoRequest, 0, uint32(port)<<16, []byte("ping"))
	}
	return draw.Sent{Iface: 0, Frame: draw.Ethernet(&c.Graph, 0, ip)}
}

// TestASessionThroughNAPTsEndsWhenTheMostImpatientForgetsIt has the one with shorter timeouts first and last.
func TestASessionThroughNAPTsEndsWhenTheMostImpatientForgetsIt(t *testing.T) {
	rig.NeedHarness(t)
	patient := draw.Timeouts
	impatient := element.Timeouts{TCP: 300 * time.Second, TCPTransitory: 20 * time.Second, UDP: 7 * time.Second, ICMP: 3 * time.Second}
	for name, c := range map[string]*rowOfTwo{
		"the first": twoNAPTs(t.Name(), impatient, patient),
		"the last":  twoNAPTs(t.Name(), patient, impatient),
	} {
		t.Run(name, func(t *testing.T) {
			r := rig.Started(t, &c.Graph, 1, rig.PartitionByHost)
			if n := len(r.Result.Program.GetRuns()[0].GetSingle()); n != 2 {
				t.Fatalf("the first run is of %d NAPTs, want 2: they are not one", n)
			}
			now := time.Second
			for proto, timeout := range map[uint8]time.Duration{
				packets.ProtoTCP: impatient.TCPTransitory, packets.ProtoUDP: impatient.UDP, packets.ProtoICMP: impatient.ICMP,
			} {
				for port, idle := range map[uint16]time.Duration{5000: timeout, 5001: timeout + time.Millisecond} {
					out := r.Must(t, now, c.opens(proto, port))
					reply, ok := packets.Reply(rand.New(rand.NewPCG(1, 1)), out.Frame, packets.SYN|packets.ACK, nil)
					if !ok {
						t.Fatal("no reply")
					}
					now += idle
					left, err := r.Run(t.Context(), rig.Step{Now: now, Packets: []draw.Sent{{Iface: 1, Frame: reply}}})
					if err != nil {
						t.Fatal(err)
					}
					if got, want := len(left[0]) == 1, idle == timeout; got != want {
						t.Errorf("protocol %d, idle for %s of %s: the reply passes: %t, want %t", proto, idle, timeout, got, want)
					}
				}
			}
			if n := r.Stats.Drops[element.ReasonNATNoBinding]; n != 3 {
				t.Errorf("%d replies had no binding, want 3; all drops: %v", n, r.Stats.Drops)
			}
		})
	}
}
