package netns

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestNoStaleFrameLeavesAfterALinkWasDown sends numbered packets before, while and after the interface outside is
// down: those of the time between must not come out when it is up again.
func TestNoStaleFrameLeavesAfterALinkWasDown(t *testing.T) {
	lab.Require(t, "ping")
	for _, c := range []struct {
		name  string
		binds []string
	}{
		{"by AF_PACKET", officeBinds},
		{"by AF_XDP", xdpBinds},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			s.peer.Run(t, "ip", "route", "add", "default", "via", officeOutside)
			s.engine = lab.StartEngine(t, s.box, c.binds)
			s.engine.Load(t, lab.Compile(t, lab.ParseText(t, plain)))
			s.host.Run(t, "ping", "-n", "-q", "-c", "1", "-W", "5", officePeer)
			for range 2 {
				s.linkDownAndUp(t)
			}
		})
	}
}

// Numbers of the packets sent in a phase begin here.
const (
	whileUp   = 1 << 16
	whileDown = 2 << 16
	upAgain   = 3 << 16
)

func (s *site) linkDownAndUp(t *testing.T) {
	t.Helper()
	w := wires{s.host.Wire(t, "eth0", lab.LargeSlot), s.peer.Wire(t, "eth0", lab.LargeSlot)}
	box := s.box.MAC(t, "inside")
	send := func(n uint32) {
		p := packets.IPv4{Src: number(officeHost), Dst: number(officePeer), Proto: packets.ProtoUDP, TTL: 64}
		p.Payload = packets.UDP(p.Src, p.Dst, 5000, 9, binary.BigEndian.AppendUint32(nil, n))
		if err := w.inside.Send(packets.Ethernet(box, w.inside.MAC, nil, packets.EtherIPv4, p.Bytes(), nil)); err != nil {
			t.Fatal(err)
		}
	}
	came := map[uint32]int{}
	until := func(what string, number uint32) {
		w.outside.Wait(t, what, func(f []byte) bool {
			v, ok := packets.Parse(f)
			if !ok || v.EtherType != packets.EtherIPv4 || v.IP.Proto != packets.ProtoUDP || len(f) < 46 {
				return false
			}
			n := binary.BigEndian.Uint32(f[42:])
			came[n]++
			return n >= number
		})
	}
	dropped := s.engine.Dropped(t, "tx-full")
	send(whileUp)
	until("the packet before", whileUp)

	s.box.Run(t, "ip", "link", "set", "outside", "down")
	time.Sleep(300 * time.Millisecond) // the engine has noticed
	const lost = 300
	for n := range uint32(lost) {
		send(whileDown + n)
		time.Sleep(time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	s.box.Run(t, "ip", "link", "set", "outside", "up")
	for n := range uint32(50) { // the engine notices
		time.Sleep(20 * time.Millisecond)
		send(upAgain + n)
	}
	until("a packet after", upAgain+49)
	for n, times := range came {
		if n >= whileDown && n < upAgain {
			t.Fatalf("packet %d, sent while the link was down, came out after it", n-whileDown)
		}
		if times != 1 {
			t.Errorf("packet %#x came %d times", n, times)
		}
	}
	if n := s.engine.Dropped(t, "tx-full") - dropped; n < lost {
		t.Errorf("%d packets are counted as tx-full, want the %d that were sent while the link was down", n, lost)
	}
}
