package netns

import (
	"bytes"
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// vlans is plain with VLAN 10 on both interfaces; the host outside has a MAC address there and another one without a tag.
const vlans = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: vlans}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24, vlans: [10]}
  - name: outside
    address: 198.51.100.1/24
    vlans: [10]
    neighbors:
    - {address: 198.51.100.80, mac: "02:00:00:00:00:01"}
    - {address: 198.51.100.80, mac: "02:00:00:00:00:0a", vlan: 10}
  functions:
  - name: rt
    router:
      routes:
      - {prefix: 10.0.0.0/24, port: inside}
      - {prefix: 198.51.100.0/24, port: outside}
  path: [inside, rt, outside]
`

// TestAVLANTagIsABoundaryOnKernelInterfaces sends frames with and without a tag through a chain, by kernels that take
// tags out of frames and keep them beside.
func TestAVLANTagIsABoundaryOnKernelInterfaces(t *testing.T) {
	lab.Require(t)
	tag := func(tci uint16) []packets.Tag { return []packets.Tag{{TPID: packets.TPID8021Q, TCI: tci}} }
	untagged, inVLAN10 := packets.MAC{2, 0, 0, 0, 0, 1}, packets.MAC{2, 0, 0, 0, 0, 10}
	for name, binds := range map[string][]string{"by AF_PACKET": officeBinds, "by AF_XDP": xdpBinds} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.engine = lab.StartEngine(t, s.box, binds)
			s.engine.Load(t, lab.Compile(t, lab.ParseText(t, vlans)))
			w := wires{s.host.Wire(t, "eth0", lab.LargeSlot), s.peer.Wire(t, "eth0", lab.LargeSlot)}
			in, out := s.box.MAC(t, "inside"), s.box.MAC(t, "outside")
			frame := func(to, from packets.MAC, tags []packets.Tag, ttl uint8, port uint16) []byte {
				p := packets.IPv4{Src: number(officeHost), Dst: number(officePeer), Proto: packets.ProtoUDP, TTL: ttl}
				p.Payload = packets.UDP(p.Src, p.Dst, port, 9, []byte("over the boundary?"))
				return packets.Ethernet(to, from, tags, packets.EtherIPv4, p.Bytes(), nil)
			}
			want := [][]byte{
				frame(inVLAN10, out, tag(0xa00a), 63, 1),
				frame(untagged, out, nil, 63, 2), // a priority tag is no VLAN
				frame(untagged, out, nil, 63, 4), // behind the packet of VLAN 11, which does not come
			}
			if err := w.inside.Send(
				frame(in, w.inside.MAC, tag(0xa00a), 64, 1), frame(in, w.inside.MAC, tag(0xe000), 64, 2),
				frame(in, w.inside.MAC, tag(11), 64, 3), frame(in, w.inside.MAC, nil, 64, 4),
			); err != nil {
				t.Fatal(err)
			}
			w.outside.Wait(t, "a packet behind one of another VLAN", func(f []byte) bool {
				if v, ok := packets.Parse(f); !ok || v.EtherType != packets.EtherIPv4 {
					return false
				}
				if !bytes.Equal(f, want[0]) {
					t.Errorf("there came\n%s\nwant\n%s", packets.Describe(f), packets.Describe(want[0]))
				}
				want = want[1:]
				return len(want) == 0
			})
			if n := s.engine.Dropped(t, "vlan-unknown"); n != 1 {
				t.Errorf("%d frames are counted as vlan-unknown, want that of VLAN 11", n)
			}
		})
	}
}

// TestAHostInAVLANIsToldWhyItsPacketsDied sends packets with and without a tag that expire, or whose neighbour is silent.
func TestAHostInAVLANIsToldWhyItsPacketsDied(t *testing.T) {
	t.Parallel() // waits more than it works
	lab.Require(t)
	s := newSite(t)
	s.engine = lab.StartEngine(t, s.box, officeBinds)
	s.engine.Load(t, lab.Compile(t, lab.ParseText(t, vlans)))
	w := s.host.Wire(t, "eth0", lab.LargeSlot)
	to, host, silent := s.box.MAC(t, "inside"), number(officeHost), number("198.51.100.99")
	for vlan, tags := range map[uint16][]packets.Tag{0: nil, 10: {{TPID: packets.TPID8021Q, TCI: 10}}} {
		for icmp, p := range map[[2]byte]packets.IPv4{
			{11, 0}: {Src: host, Dst: silent, Proto: packets.ProtoUDP, TTL: 1},
			{3, 1}:  {Src: host, Dst: silent, Proto: packets.ProtoUDP, TTL: 64},
			{3, 3}:  {Src: host, Dst: number("10.0.0.1"), Proto: packets.ProtoUDP, TTL: 64},
		} {
			p.Payload = packets.UDP(p.Src, p.Dst, 7, 9, []byte("anybody?"))
			// The engine does not know the host in its VLAN before it hears of it.
			neighbour := packets.ARP(packets.ARPRequest, w.MAC, host, packets.MAC{}, number("10.0.0.1"))
			if err := w.Send(
				packets.Ethernet(packets.Broadcast, w.MAC, tags, packets.EtherARP, neighbour, nil),
				packets.Ethernet(to, w.MAC, tags, packets.EtherIPv4, p.Bytes(), nil),
			); err != nil {
				t.Fatal(err)
			}
			w.Wait(t, "an ICMP error", func(f []byte) bool {
				v, ok := packets.Parse(f)
				if !ok || v.EtherType != packets.EtherIPv4 || v.IP.Proto != packets.ProtoICMP || v.DstMAC != w.MAC {
					return false
				}
				if got := [2]byte(v.IP.Payload); got != icmp || !slices.Equal(v.Tags, tags) || v.IP.Src != number("10.0.0.1") {
					t.Errorf("to a packet of VLAN %d there came\n%s\nwant ICMP %v in its VLAN from the interface", vlan, packets.Describe(f), icmp)
				}
				return true
			})
		}
	}
}
