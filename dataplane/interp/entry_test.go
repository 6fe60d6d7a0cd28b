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
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
)

func TestEntryDropsWhatNoFunctionShouldSee(t *testing.T) {
	edit := func(p testbed.Packet, f func(b []byte)) []byte {
		b := p.Frame()
		f(b)
		return b
	}
	// fix makes the header checksum right again after an edit of the header.
	fix := func(f func(h []byte)) func([]byte) {
		return func(b []byte) {
			h := b[14:]
			f(h)
			h[10], h[11] = 0, 0
			binary.BigEndian.PutUint16(h[10:], header.Checksum(h[:20]))
		}
	}
	for name, c := range map[string]struct {
		frame []byte
		want  string
	}{
		"13 bytes are no Ethernet header":                {make([]byte, 13), "truncated"},
		"a frame for another host":                       {testbed.Packet{To: testbed.HostMAC}.Frame(), "other-host"},
		"an IP broadcast frame":                          {testbed.Packet{To: broadcast}.Frame(), "other-host"},
		"an ARP broadcast":                               {append(append(append([]byte{}, broadcast...), testbed.HostMAC...), 0x08, 0x06), "arp"},
		"a tagged ARP broadcast":                         {append(append(append([]byte{}, broadcast...), testbed.HostMAC...), 0x81, 0, 0, 5, 0x08, 0x06), "arp"},
		"a tag without its four bytes":                   {append(append(append([]byte{}, testbed.InsideMAC...), testbed.HostMAC...), 0x81, 0, 0), "truncated"},
		"a broadcast tag cut short could be ARP, but no": {append(append(append([]byte{}, broadcast...), testbed.HostMAC...), 0x81, 0, 0), "other-host"},
		"two tags":                                        {testbed.Packet{VLAN: []uint16{5, 6}}.Frame(), "vlan-stacked"},
		"a VLAN that the interface has not":               {testbed.Packet{VLAN: []uint16{6}}.Frame(), "vlan-unknown"},
		"a reserved VLAN":                                 {testbed.Packet{VLAN: []uint16{4095}}.Frame(), "vlan-unknown"},
		"a priority tag before another":                   {testbed.Packet{VLAN: []uint16{0xe000, 5}}.Frame(), "vlan-stacked"},
		"IPv6":                                            {edit(testbed.Packet{}, func(b []byte) { b[12], b[13] = 0x86, 0xdd }), "ipv6"},
		"another EtherType":                               {edit(testbed.Packet{}, func(b []byte) { b[12], b[13] = 0x88, 0xcc }), "not-ip"},
		"19 bytes of IP header":                           {testbed.Packet{}.Frame()[:33], "truncated"},
		"version 5":                                       {edit(testbed.Packet{}, func(b []byte) { b[14] = 0x55 }), "malformed"},
		"a header of 16 bytes":                            {edit(testbed.Packet{}, func(b []byte) { b[14] = 0x44 }), "malformed"},
		"a total length within the header":                {edit(testbed.Packet{}, fix(func(h []byte) { h[2], h[3] = 0, 19 })), "malformed"},
		"a frame shorter than the total length":           {testbed.Packet{}.Frame()[:48], "truncated"},
		"a wrong header checksum":                         {edit(testbed.Packet{}, func(b []byte) { b[24] ^= 1 }), "bad-checksum"},
		"a first fragment without its UDP header":         {edit(testbed.Packet{Frag: 0x2000}, fix(func(h []byte) { h[3] = 27 })), "truncated"},
		"a source in 0.0.0.0/8":                           {testbed.Packet{Src: "0.1.2.3"}.Frame(), "martian"},
		"a loopback source":                               {testbed.Packet{Src: "127.0.0.1"}.Frame(), "martian"},
		"a multicast source":                              {testbed.Packet{Src: "224.0.0.1"}.Frame(), "martian"},
		"a source in 240.0.0.0/4":                         {testbed.Packet{Src: "255.255.255.255"}.Frame(), "martian"},
		"a multicast destination":                         {testbed.Packet{Dst: "239.1.1.1"}.Frame(), "martian"},
		"a broadcast destination":                         {testbed.Packet{Dst: "255.255.255.255"}.Frame(), "martian"},
		"both a wrong checksum and a martian: first rule": {edit(testbed.Packet{Src: "127.0.0.1"}, func(b []byte) { b[24] ^= 1 }), "bad-checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			testbed.Dropped(t, start(testbed.OneElement(element.Counter{})).Process(0, testbed.Inside, c.frame, nil), c.want)
		})
	}
}

// TestTransportHeadersAreJudgedByWhoReadsThem has headers that no host would take: a router forwards them
// (RFC 1812 section 5.2.2), rules on their fields do not match, NAPTs drop them.
func TestTransportHeadersAreJudgedByWhoReadsThem(t *testing.T) {
	edit := func(p testbed.Packet, f func(b []byte)) []byte {
		b := p.Frame()
		f(b)
		return b
	}
	fix := func(f func(h []byte)) func([]byte) {
		return func(b []byte) {
			h := b[14:]
			f(h)
			h[10], h[11] = 0, 0
			binary.BigEndian.PutUint16(h[10:], header.Checksum(h[:20]))
		}
	}
	tcp := testbed.Packet{Proto: layers.IPProtocolTCP}
	any16 := headerspace.Range(0, 65535)
	for name, frame := range map[string][]byte{
		"a TCP header cut by the total length":   edit(tcp, fix(func(h []byte) { h[3] = 39 })),
		"a UDP header cut by the total length":   edit(testbed.Packet{}, fix(func(h []byte) { h[3] = 27 })),
		"an ICMP header cut by the total length": edit(testbed.Ping(1), fix(func(h []byte) { h[3] = 27 })),
		"a TCP header of 16 bytes":               edit(tcp, func(b []byte) { b[46] = 0x40 }),
		"a TCP header longer than the packet":    edit(tcp, func(b []byte) { b[46] = 0xf0 }),
		"a UDP length of 7":                      edit(testbed.Packet{}, func(b []byte) { b[39] = 7 }),
		"a UDP length beyond the packet":         edit(testbed.Packet{}, func(b []byte) { b[39] = 16 }),
	} {
		t.Run(name, func(t *testing.T) {
			got := testbed.Only(t, start(testbed.OneElement(element.DecTTL{})).Process(0, testbed.Inside, frame, nil))
			want := bytes.Clone(frame[14:])
			want[8]--
			want[10], want[11] = 0, 0
			binary.BigEndian.PutUint16(want[10:], header.Checksum(want[:20]))
			if !bytes.Equal(got[14:], want) {
				t.Fatalf("forwarded as %x, want %x", got[14:], want)
			}
			for _, f := range []headerspace.Filter{
				testbed.Filter(headerspace.SPort, any16), testbed.Filter(headerspace.DPort, any16),
				testbed.Filter(headerspace.TCPFlags, headerspace.Range(0, 255)), testbed.Filter(headerspace.ICMPType, headerspace.Range(0, 255)),
			} {
				rule := element.Rule{Name: "r", Filters: []headerspace.Filter{f}, Out: 1}
				testbed.Only(t, start(testbed.OneElement(element.Classifier{Outs: 2, Rules: []element.Rule{rule}})).Process(0, testbed.Inside, frame, nil))
			}
			testbed.Dropped(t, start(&testbed.Natted(testbed.Pool()).Graph).Process(0, testbed.Inside, frame, nil), "nat-unsupported")
		})
	}
}

func TestEntryLetsOddButLegalPacketsPassUnchanged(t *testing.T) {
	edit := func(p testbed.Packet, f func(b []byte)) []byte {
		b := p.Frame()
		f(b)
		return b
	}
	routerAlert := layers.IPv4Option{OptionType: 148, OptionLength: 4, OptionData: []byte{0, 0}}
	for name, frame := range map[string][]byte{
		"IP options":                            testbed.Packet{Options: []layers.IPv4Option{routerAlert}}.Frame(),
		"Ethernet padding":                      testbed.Packet{Padding: 9}.Frame(),
		"a tag with priority":                   testbed.Packet{VLAN: []uint16{0xa005}}.Frame(),
		"a service tag":                         edit(testbed.Packet{VLAN: []uint16{9}}, func(b []byte) { b[12], b[13] = 0x88, 0xa8 }),
		"a wrong UDP checksum":                  edit(testbed.Packet{}, func(b []byte) { b[40] = 0xab }),
		"a first fragment of a longer datagram": edit(testbed.Packet{Frag: 0x2000}, func(b []byte) { b[39] = 200 }),
		"a later fragment of 8 bytes":           testbed.Packet{Proto: layers.IPProtocolTCP, Frag: 5, Payload: make([]byte, 8)}.Frame(),
		"another protocol, empty":               testbed.Packet{Proto: layers.IPProtocolIPIP, Payload: []byte{}}.Frame(),
		"the reserved flag": edit(testbed.Packet{}, func(b []byte) {
			b[20], b[24], b[25] = 0x80, 0, 0
			binary.BigEndian.PutUint16(b[24:], header.Checksum(b[14:34]))
		}),
	} {
		t.Run(name, func(t *testing.T) {
			got := testbed.Only(t, start(testbed.OneElement(element.Counter{})).Process(0, testbed.Inside, frame, nil))
			if string(got[12:]) != string(frame[12:]) {
				t.Fatalf("changed on its way\n got %x\nwant %x", got[12:], frame[12:])
			}
			if string(got[:12]) != string(testbed.RouterMAC)+string(testbed.OutsideMAC) {
				t.Fatalf("sent to %v by %v", net.HardwareAddr(got[:6]), net.HardwareAddr(got[6:12]))
			}
		})
	}
}

func TestAPriorityTagIsTakenOff(t *testing.T) {
	for _, tci := range []uint16{0, 0xe000, 0x1000} {
		got := testbed.Only(t, start(testbed.OneElement(element.Counter{})).Process(0, testbed.Inside, testbed.Packet{VLAN: []uint16{tci}}.Frame(), nil))
		if want := (testbed.Packet{}).Frame(); string(got[12:]) != string(want[12:]) {
			t.Errorf("tag %#x:\n got %x\nwant %x", tci, got[12:], want[12:])
		}
	}
}

func TestATagDoesNotLeaveByAnInterfaceThatHasNotItsVLAN(t *testing.T) {
	for _, c := range []struct {
		vid  uint64
		want string
	}{{9, ""}, {8, "vlan-unknown"}, {0, "vlan-unknown"}, {4096, ""}} {
		r := start(testbed.OneElement(element.SetField{Field: headerspace.VLAN, Value: headerspace.V(c.vid)})).Process(0, testbed.Inside, testbed.Packet{VLAN: []uint16{5}}.Frame(), nil)
		if c.want == "" {
			testbed.Only(t, r)
		} else {
			testbed.Dropped(t, r, c.want)
		}
	}
}

func TestNeighboursAreKeptPerVLAN(t *testing.T) {
	b := testbed.New()
	there := net.HardwareAddr{2, 0, 0, 0, 0, 9}
	for i := range b.Graph.Interfaces[testbed.Outside].Neighbors {
		if n := &b.Graph.Interfaces[testbed.Outside].Neighbors[i]; n.VLAN == 9 {
			n.MAC = there
		}
	}
	b.Line(b.Add("f/e", element.Counter{}))
	c := start(&b.Graph)
	for vid, want := range map[uint16]net.HardwareAddr{5: testbed.RouterMAC, 9: there} {
		if got := testbed.Only(t, c.Process(0, testbed.Inside, testbed.Packet{VLAN: []uint16{vid}}.Frame(), nil)); string(got[:6]) != string(want) {
			t.Errorf("VLAN %d: sent to %v, want %v", vid, net.HardwareAddr(got[:6]), want)
		}
	}
}

func TestAFrameEndsInExactlyOnePlaceWhereverItIsCut(t *testing.T) {
	c := start(testbed.OneElement(element.DecTTL{}))
	for _, p := range []testbed.Packet{{}, {VLAN: []uint16{3}}, {Proto: layers.IPProtocolTCP}, testbed.Ping(1)} {
		frame := p.Frame()
		for n := range frame {
			r := c.Process(0, testbed.Inside, frame[:n:n], nil)
			if len(r.Out) != 0 || len(r.Drops) != 1 {
				t.Fatalf("%d of %d bytes: %d frames and drops %v", n, len(frame), len(r.Out), r.Drops)
			}
		}
	}
}

func TestNoGarbageBreaksTheChain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := start(&testbed.Answering().Graph)
		only := testbed.Packet{Src: "192.0.2.10", Sport: 2000, Dport: 53}
		c.Process(0, testbed.Inside, testbed.UDP(1000, 53).Frame(), nil)
		for range 5 {
			in := rapid.IntRange(testbed.Inside, testbed.Outside).Draw(t, "interface")
			p := rapid.SampledFrom([]testbed.Packet{{}, {TTL: 1}, {Proto: 6}, testbed.Ping(1), testbed.ErrorTo("192.0.2.10", only), testbed.Back(testbed.UDP(53, 2000), "192.0.2.10")}).Draw(t, "packet")
			p.To = c.links[in].mac
			frame := p.Frame()
			for range rapid.IntRange(0, 6).Draw(t, "edits") {
				frame[rapid.IntRange(12, len(frame)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
			}
			if h := 14 + header.Len(frame[14:]); h >= 34 && h <= len(frame) {
				frame[24], frame[25] = 0, 0
				binary.BigEndian.PutUint16(frame[24:], header.Checksum(frame[14:h]))
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
				if header.Sum(ip[:header.Len(ip)]) != 0xffff {
					t.Fatalf("%x became %x with a bad header checksum", frame, o.Frame)
				}
			}
		}
	})
}
