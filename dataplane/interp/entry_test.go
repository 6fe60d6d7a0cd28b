package interp

import (
	"bytes"
	"encoding/binary"
	"net"
	"testing"

	"github.com/gopacket/gopacket/layers"
	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func TestEntryDropsWhatNoFunctionShouldSee(t *testing.T) {
	edit := func(p pkt, f func(b []byte)) []byte {
		b := p.frame()
		f(b)
		return b
	}
	// fix makes the header checksum right again after an edit of the header.
	fix := func(f func(h []byte)) func([]byte) {
		return func(b []byte) {
			h := b[14:]
			f(h)
			h[10], h[11] = 0, 0
			binary.BigEndian.PutUint16(h[10:], checksum(h[:20]))
		}
	}
	for name, c := range map[string]struct {
		frame []byte
		want  string
	}{
		"13 bytes are no Ethernet header":                {make([]byte, 13), "truncated"},
		"a frame for another host":                       {pkt{to: hostMAC}.frame(), "other-host"},
		"an IP broadcast frame":                          {pkt{to: broadcast}.frame(), "other-host"},
		"an ARP broadcast":                               {append(append(append([]byte{}, broadcast...), hostMAC...), 0x08, 0x06), "arp"},
		"a tagged ARP broadcast":                         {append(append(append([]byte{}, broadcast...), hostMAC...), 0x81, 0, 0, 5, 0x08, 0x06), "arp"},
		"a tag without its four bytes":                   {append(append(append([]byte{}, insideMAC...), hostMAC...), 0x81, 0, 0), "truncated"},
		"a broadcast tag cut short could be ARP, but no": {append(append(append([]byte{}, broadcast...), hostMAC...), 0x81, 0, 0), "other-host"},
		"two tags":                                        {pkt{vlan: []uint16{5, 6}}.frame(), "vlan-stacked"},
		"a VLAN that the interface has not":               {pkt{vlan: []uint16{6}}.frame(), "vlan-unknown"},
		"a reserved VLAN":                                 {pkt{vlan: []uint16{4095}}.frame(), "vlan-unknown"},
		"a priority tag before another":                   {pkt{vlan: []uint16{0xe000, 5}}.frame(), "vlan-stacked"},
		"IPv6":                                            {edit(pkt{}, func(b []byte) { b[12], b[13] = 0x86, 0xdd }), "ipv6"},
		"another EtherType":                               {edit(pkt{}, func(b []byte) { b[12], b[13] = 0x88, 0xcc }), "not-ip"},
		"19 bytes of IP header":                           {pkt{}.frame()[:33], "truncated"},
		"version 5":                                       {edit(pkt{}, func(b []byte) { b[14] = 0x55 }), "malformed"},
		"a header of 16 bytes":                            {edit(pkt{}, func(b []byte) { b[14] = 0x44 }), "malformed"},
		"a total length within the header":                {edit(pkt{}, fix(func(h []byte) { h[2], h[3] = 0, 19 })), "malformed"},
		"a frame shorter than the total length":           {pkt{}.frame()[:48], "truncated"},
		"a wrong header checksum":                         {edit(pkt{}, func(b []byte) { b[24] ^= 1 }), "bad-checksum"},
		"a first fragment without its UDP header":         {edit(pkt{frag: 0x2000}, fix(func(h []byte) { h[3] = 27 })), "truncated"},
		"a source in 0.0.0.0/8":                           {pkt{src: "0.1.2.3"}.frame(), "martian"},
		"a loopback source":                               {pkt{src: "127.0.0.1"}.frame(), "martian"},
		"a multicast source":                              {pkt{src: "224.0.0.1"}.frame(), "martian"},
		"a source in 240.0.0.0/4":                         {pkt{src: "255.255.255.255"}.frame(), "martian"},
		"a multicast destination":                         {pkt{dst: "239.1.1.1"}.frame(), "martian"},
		"a broadcast destination":                         {pkt{dst: "255.255.255.255"}.frame(), "martian"},
		"both a wrong checksum and a martian: first rule": {edit(pkt{src: "127.0.0.1"}, func(b []byte) { b[24] ^= 1 }), "bad-checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			dropped(t, oneElement(element.Counter{}).Process(0, inside, c.frame, nil), c.want)
		})
	}
}

// TestTransportHeadersAreJudgedByWhoReadsThem has headers that no host would take: a router forwards them
// (RFC 1812 section 5.2.2), rules on their fields do not match, NAPTs drop them.
func TestTransportHeadersAreJudgedByWhoReadsThem(t *testing.T) {
	edit := func(p pkt, f func(b []byte)) []byte {
		b := p.frame()
		f(b)
		return b
	}
	fix := func(f func(h []byte)) func([]byte) {
		return func(b []byte) {
			h := b[14:]
			f(h)
			h[10], h[11] = 0, 0
			binary.BigEndian.PutUint16(h[10:], checksum(h[:20]))
		}
	}
	tcp := pkt{proto: layers.IPProtocolTCP}
	any16 := headerspace.Range(0, 65535)
	for name, frame := range map[string][]byte{
		"a TCP header cut by the total length":   edit(tcp, fix(func(h []byte) { h[3] = 39 })),
		"a UDP header cut by the total length":   edit(pkt{}, fix(func(h []byte) { h[3] = 27 })),
		"an ICMP header cut by the total length": edit(ping(1), fix(func(h []byte) { h[3] = 27 })),
		"a TCP header of 16 bytes":               edit(tcp, func(b []byte) { b[46] = 0x40 }),
		"a TCP header longer than the packet":    edit(tcp, func(b []byte) { b[46] = 0xf0 }),
		"a UDP length of 7":                      edit(pkt{}, func(b []byte) { b[39] = 7 }),
		"a UDP length beyond the packet":         edit(pkt{}, func(b []byte) { b[39] = 16 }),
	} {
		t.Run(name, func(t *testing.T) {
			got := only(t, oneElement(element.DecTTL{}).Process(0, inside, frame, nil))
			want := bytes.Clone(frame[14:])
			want[8]--
			want[10], want[11] = 0, 0
			binary.BigEndian.PutUint16(want[10:], checksum(want[:20]))
			if !bytes.Equal(got[14:], want) {
				t.Fatalf("forwarded as %x, want %x", got[14:], want)
			}
			for _, f := range []headerspace.Filter{
				filter(headerspace.SPort, any16), filter(headerspace.DPort, any16),
				filter(headerspace.TCPFlags, headerspace.Range(0, 255)), filter(headerspace.ICMPType, headerspace.Range(0, 255)),
			} {
				rule := element.Rule{Name: "r", Filters: []headerspace.Filter{f}, Out: 1}
				only(t, oneElement(element.Classifier{Outs: 2, Rules: []element.Rule{rule}}).Process(0, inside, frame, nil))
			}
			dropped(t, natted(pool()).chain().Process(0, inside, frame, nil), "nat-unsupported")
		})
	}
}

func TestEntryLetsOddButLegalPacketsPassUnchanged(t *testing.T) {
	edit := func(p pkt, f func(b []byte)) []byte {
		b := p.frame()
		f(b)
		return b
	}
	routerAlert := layers.IPv4Option{OptionType: 148, OptionLength: 4, OptionData: []byte{0, 0}}
	for name, frame := range map[string][]byte{
		"IP options":                            pkt{options: []layers.IPv4Option{routerAlert}}.frame(),
		"Ethernet padding":                      pkt{padding: 9}.frame(),
		"a tag with priority":                   pkt{vlan: []uint16{0xa005}}.frame(),
		"a service tag":                         edit(pkt{vlan: []uint16{9}}, func(b []byte) { b[12], b[13] = 0x88, 0xa8 }),
		"a wrong UDP checksum":                  edit(pkt{}, func(b []byte) { b[40] = 0xab }),
		"a first fragment of a longer datagram": edit(pkt{frag: 0x2000}, func(b []byte) { b[39] = 200 }),
		"a later fragment of 8 bytes":           pkt{proto: layers.IPProtocolTCP, frag: 5, payload: make([]byte, 8)}.frame(),
		"another protocol, empty":               pkt{proto: layers.IPProtocolIPIP, payload: []byte{}}.frame(),
		"the reserved flag": edit(pkt{}, func(b []byte) {
			b[20], b[24], b[25] = 0x80, 0, 0
			binary.BigEndian.PutUint16(b[24:], checksum(b[14:34]))
		}),
	} {
		t.Run(name, func(t *testing.T) {
			got := only(t, oneElement(element.Counter{}).Process(0, inside, frame, nil))
			if string(got[12:]) != string(frame[12:]) {
				t.Fatalf("changed on its way\n got %x\nwant %x", got[12:], frame[12:])
			}
			if string(got[:12]) != string(routerMAC)+string(outsideMAC) {
				t.Fatalf("sent to %v by %v", net.HardwareAddr(got[:6]), net.HardwareAddr(got[6:12]))
			}
		})
	}
}

func TestAPriorityTagIsTakenOff(t *testing.T) {
	for _, tci := range []uint16{0, 0xe000, 0x1000} {
		got := only(t, oneElement(element.Counter{}).Process(0, inside, pkt{vlan: []uint16{tci}}.frame(), nil))
		if want := (pkt{}).frame(); string(got[12:]) != string(want[12:]) {
			t.Errorf("tag %#x:\n got %x\nwant %x", tci, got[12:], want[12:])
		}
	}
}

func TestATagDoesNotLeaveByAnInterfaceThatHasNotItsVLAN(t *testing.T) {
	for _, c := range []struct {
		vid  uint64
		want string
	}{{9, ""}, {8, "vlan-unknown"}, {0, "vlan-unknown"}, {4096, ""}} {
		r := oneElement(element.SetField{Field: headerspace.VLAN, Value: headerspace.V(c.vid)}).Process(0, inside, pkt{vlan: []uint16{5}}.frame(), nil)
		if c.want == "" {
			only(t, r)
		} else {
			dropped(t, r, c.want)
		}
	}
}

func TestNeighboursAreKeptPerVLAN(t *testing.T) {
	b := newBuilder()
	there := net.HardwareAddr{2, 0, 0, 0, 0, 9}
	for i := range b.g.Interfaces[outside].Neighbors {
		if n := &b.g.Interfaces[outside].Neighbors[i]; n.VLAN == 9 {
			n.MAC = there
		}
	}
	b.line(b.add("f/e", element.Counter{}))
	c := b.chain()
	for vid, want := range map[uint16]net.HardwareAddr{5: routerMAC, 9: there} {
		if got := only(t, c.Process(0, inside, pkt{vlan: []uint16{vid}}.frame(), nil)); string(got[:6]) != string(want) {
			t.Errorf("VLAN %d: sent to %v, want %v", vid, net.HardwareAddr(got[:6]), want)
		}
	}
}

func TestAFrameEndsInExactlyOnePlaceWhereverItIsCut(t *testing.T) {
	c := oneElement(element.DecTTL{})
	for _, p := range []pkt{{}, {vlan: []uint16{3}}, {proto: layers.IPProtocolTCP}, ping(1)} {
		frame := p.frame()
		for n := range frame {
			r := c.Process(0, inside, frame[:n:n], nil)
			if len(r.Out) != 0 || len(r.Drops) != 1 {
				t.Fatalf("%d of %d bytes: %d frames and drops %v", n, len(frame), len(r.Out), r.Drops)
			}
		}
	}
}

func TestNoGarbageBreaksTheChain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := answering().chain()
		only := pkt{src: "192.0.2.10", sport: 2000, dport: 53}
		c.Process(0, inside, udp(1000, 53).frame(), nil)
		for range 5 {
			in := rapid.IntRange(inside, outside).Draw(t, "interface")
			p := rapid.SampledFrom([]pkt{{}, {ttl: 1}, {proto: 6}, ping(1), errorTo("192.0.2.10", only), back(udp(53, 2000), "192.0.2.10")}).Draw(t, "packet")
			p.to = c.links[in].mac
			frame := p.frame()
			for range rapid.IntRange(0, 6).Draw(t, "edits") {
				frame[rapid.IntRange(12, len(frame)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
			}
			if h := 14 + headerLen(frame[14:]); h >= 34 && h <= len(frame) {
				frame[24], frame[25] = 0, 0
				binary.BigEndian.PutUint16(frame[24:], checksum(frame[14:h]))
			}
			frame = frame[:rapid.IntRange(len(frame)-40, len(frame)).Draw(t, "length")]
			r := c.Process(0, in, frame, nil)
			if len(r.Out)+len(r.Drops) != 1 {
				t.Fatalf("%x ended in %d frames and drops %v", frame, len(r.Out), r.Drops)
			}
			for _, o := range r.Out {
				ip := o.Frame[14:]
				if isTag(binary.BigEndian.Uint16(o.Frame[12:])) {
					ip = ip[4:]
				}
				if sum16(ip[:headerLen(ip)]) != 0xffff {
					t.Fatalf("%x became %x with a bad header checksum", frame, o.Frame)
				}
			}
		}
	})
}
