package netns

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// plain is a router between a host inside and one outside.
const plain = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: plain}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 198.51.100.1/24}
  functions:
  - name: rt
    router:
      routes:
      - {prefix: 10.0.0.0/24, port: inside}
      - {prefix: 198.51.100.0/24, port: outside}
  path: [inside, rt, outside]
`

// TestFragmentsArriveAsTheyWereSent sends a datagram of 3,008 bytes in three fragments through a router: nobody on the
// way may put them together, change their order or lose one.
func TestFragmentsArriveAsTheyWereSent(t *testing.T) {
	lab.Require(t, "ping")
	two := []string{"--workers", "2", "--", "--lcores", "0@0,1@0,2@0"}
	for _, c := range []struct {
		name  string
		binds []string
		flags []string
	}{
		{"by AF_PACKET, one worker", officeBinds, nil},
		{"by AF_PACKET, two workers", officeBinds, two},
		{"by AF_XDP", xdpBinds, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			s.peer.Run(t, "ip", "route", "add", "default", "via", officeOutside)
			s.engine = lab.StartEngine(t, s.box, c.binds, c.flags...)
			s.engine.Load(t, lab.Compile(t, lab.ParseText(t, plain)))
			s.host.Run(t, "ping", "-n", "-q", "-c", "1", "-W", "5", officePeer) // both learn their neighbours
			w := wires{s.host.Wire(t, "eth0", lab.LargeSlot), s.peer.Wire(t, "eth0", lab.LargeSlot)}
			for n := range 8 {
				s.fragmented(t, w, uint16(5000+n))
			}
			out := s.host.Run(t, "ping", "-n", "-q", "-c", "5", "-i", "0.05", "-W", "5", "-s", "3000", officePeer)
			if !strings.Contains(out, " 5 received") {
				t.Errorf("pings of 3,008 bytes, in three fragments:\n%s", out)
			}
		})
	}
}

// wires are the raw ends of both cables.
type wires struct{ inside, outside *lab.Wire }

// fragmented sends a datagram from inside in three fragments, and compares what arrives outside.
func (s *site) fragmented(t *testing.T, w wires, port uint16) {
	t.Helper()
	datagram := packets.UDP(number(officeHost), number(officePeer), port, 9, bytes.Repeat([]byte{0xa5, 1, 2, byte(port)}, 750))
	var sent, want, got [][]byte
	const part = 1480
	for at := 0; at < len(datagram); at += part {
		p := packets.IPv4{
			Src: number(officeHost), Dst: number(officePeer), Proto: packets.ProtoUDP, TTL: 64, ID: port,
			MF: at+part < len(datagram), Offset: uint16(at / 8), Payload: datagram[at:min(at+part, len(datagram))],
		}
		sent = append(sent, packets.Ethernet(s.box.MAC(t, "inside"), w.inside.MAC, nil, packets.EtherIPv4, p.Bytes(), nil))
		p.TTL--
		want = append(want, packets.Ethernet(w.outside.MAC, s.box.MAC(t, "outside"), nil, packets.EtherIPv4, p.Bytes(), nil))
	}
	if err := w.inside.Send(sent...); err != nil {
		t.Fatal(err)
	}
	w.outside.Wait(t, fmt.Sprintf("the last fragment of the datagram from port %d", port), func(f []byte) bool {
		v, ok := packets.Parse(f)
		if ok && v.EtherType == packets.EtherIPv4 && v.IP.Proto == packets.ProtoUDP {
			got = append(got, bytes.Clone(f))
		}
		return len(got) == len(want)
	})
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("fragment %d came as\n%s\nwant\n%s", i+1, packets.Describe(got[i]), packets.Describe(want[i]))
		}
	}
}
