package netns

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// flooded is a network of many hosts, one of which means harm, behind a stateful firewall, a router and a NAPT.
const flooded = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: flooded}
spec:
  interfaces:
  - {name: inside, address: 10.1.0.1/16}
  - {name: outside, address: 198.51.100.1/24, mtu: 1400}
  functions:
  - {name: fw, firewall: {stateful: true, default: Drop, rules: [{from: Inside, action: Accept}]}}
  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}}
  - {name: nat, napt: {pool: [198.51.100.16-198.51.100.23]}}
  path: [inside, fw, rt, nat, outside]
`

const (
	floodedHost = "10.1.0.2"
	floodedPeer = "198.51.100.2"
	// many frames are of more hosts than a worker has entries for neighbours.
	some, many = 5_000, 20_000
)

// field is the flooded network: hosts of the inside that talk to a peer, and a wire on which somebody sends what they like.
type field struct {
	lan, wan *lab.Space
	box      *lab.Space
	engine   *lab.Engine
	wire     *lab.Wire
	router   packets.MAC // the engine's
	clients  []*client
	asked    int
	hosts    int // that have begun to talk
	rng      *rand.Rand
	all      *testing.T // whose subtests are floods
}

func newField(t *testing.T) *field {
	t.Helper()
	f := &field{lan: lab.New(t, "lan"), wan: lab.New(t, "wan"), box: lab.New(t, "engine"), rng: rand.New(rand.NewPCG(1, 2)), all: t}
	lab.Cable(t, lab.End{Space: f.lan, Device: "eth0", Address: floodedHost + "/16"}, lab.End{Space: f.box, Device: "lan"})
	lab.Cable(t, lab.End{Space: f.wan, Device: "eth0", Address: floodedPeer + "/24"}, lab.End{Space: f.box, Device: "wan"})
	f.lan.Run(t, "ip", "route", "add", "default", "via", "10.1.0.1")
	f.lan.Run(t, "ip", "route", "add", "local", "10.1.64.0/18", "dev", "lo") // other hosts' addresses
	serveEcho(t, f.wan, "0.0.0.0:80")
	f.engine = lab.StartEngine(t, f.box, []string{"inside=lan", "outside=wan"})
	f.engine.Load(t, lab.Compile(t, lab.ParseText(t, flooded)))
	f.wire, f.router = f.lan.Wire(t, "eth0", lab.LargeSlot), f.box.MAC(t, "lan")
	for i := range 40 {
		f.begin(t, []string{"udp", "tcp"}[i%2])
	}
	return f
}

// begin has another host of the inside begin to talk. There is no bound within which it can: a SYN is sent again, as a datagram is below. One that was
// sent more than twice is worth a look.
func (f *field) begin(t *testing.T, network string) {
	t.Helper()
	f.hosts++
	start := time.Now()
	c, err := dialWithin(lab.Patience, f.lan, network, fmt.Sprintf("10.1.%d.%d:0", 64+f.hosts/250, 1+f.hosts%250), floodedPeer+":80")
	if took := time.Since(start); err != nil || took > 2*time.Second {
		t.Logf("a host that begins to talk by %s has no connection for %s", network, took)
		f.examine(t, nil)
	}
	if err != nil {
		t.Fatalf("a host that begins to talk by %s: %v", network, err)
	}
	f.all.Cleanup(func() { _ = c.Close() })
	// The reply waits until its host is known, and gives way to what waits for others meanwhile (docs/threat-model.md): a datagram is sent again then.
	lab.Until(t, lab.Patience, func() error {
		if err := c.answered([]byte(fmt.Sprint("host ", f.hosts))); err != nil {
			return fmt.Errorf("a host that begins to talk by %s: %w", network, err)
		}
		return nil
	})
	f.clients = append(f.clients, c)
}

// talk has the next of those that talk say something.
func (f *field) talk(t *testing.T) {
	t.Helper()
	c := f.clients[f.asked%len(f.clients)]
	f.asked++
	if err := c.answered([]byte(fmt.Sprint("text ", f.asked))); err != nil {
		f.examine(t, c)
		t.Fatalf("%s from %s, after %d texts: %v", c.LocalAddr().Network(), c.LocalAddr(), f.asked, err)
	}
}

// examine says what is known when a host has no answer: this is rare, and by whom its packets are lost is told by counters alone. c is its
// connection, if it has one.
func (f *field) examine(t *testing.T, c *client) {
	t.Helper()
	before := f.engine.Counters(t)
	if c != nil {
		t.Logf("another text: %v", c.answered([]byte("another text")))
	}
	after := f.engine.Counters(t)
	for i, p := range after.GetPorts() {
		was := before.GetPorts()[i]
		t.Logf("%s meanwhile: %d received, %d sent, %d missed", p.GetInterface(), p.GetRxPackets()-was.GetRxPackets(), p.GetTxPackets()-was.GetTxPackets(), p.GetRxMissed()-was.GetRxMissed())
	}
	t.Logf("dropped meanwhile: %s", grown(dropsOf(before), dropsOf(after)))
	list, err := f.engine.Neighbors(t.Context())
	states := map[string]int{}
	for _, n := range list {
		states[n.GetState()]++
		if host := n.GetAddress(); host == number(floodedPeer) || host >= number("10.1.64.0") && host < number("10.1.65.0") {
			t.Logf("the engine has neighbor %v", n)
		}
	}
	t.Logf("the engine has neighbors in states %v, %v", states, err)
	for _, s := range []*lab.Space{f.lan, f.wan} {
		t.Logf("%s has\n%s%s", s.Name, s.Run(t, "ip", "neigh"), s.Run(t, "cat", "/proc/net/netstat", "/proc/net/snmp"))
	}
}

// received is how many frames the engine has of the inside.
func (f *field) received(t *testing.T) uint64 {
	t.Helper()
	for _, p := range f.engine.Counters(t).GetPorts() {
		if p.GetInterface() == "inside" {
			return p.GetRxPackets() + p.GetRxMissed()
		}
	}
	t.Fatal("the engine has no interface inside")
	return 0
}

func (f *field) drops(t *testing.T) map[string]uint64 {
	t.Helper()
	return dropsOf(f.engine.Counters(t))
}

func dropsOf(s *controlpb.Stats) map[string]uint64 {
	out := map[string]uint64{}
	for _, d := range s.GetDrops() {
		out[d.GetReason()] = d.GetPackets()
	}
	return out
}

// grown is what was dropped between two readings, by reason.
func grown(before, after map[string]uint64) string {
	var list []string
	for _, reason := range slices.Sorted(maps.Keys(after)) {
		if n := after[reason] - before[reason]; n > 0 {
			list = append(list, fmt.Sprintf("%s %d", reason, n))
		}
	}
	return strings.Join(list, ", ")
}

// flood sends the frames while hosts talk. It is no faster than the engine takes them: what a device loses is not its matter.
func (f *field) flood(t *testing.T, n int, frame func(i int) []byte) {
	t.Helper()
	for i := 0; i < n; i += lab.Batch {
		var frames [][]byte
		for j := range lab.Batch {
			frames = append(frames, frame(i+j))
		}
		before := f.received(t)
		if err := f.wire.Send(frames...); err != nil {
			t.Fatal(err)
		}
		lab.Until(t, lab.Patience, func() error {
			if got := f.received(t); got < before+lab.Batch {
				return fmt.Errorf("the engine has taken %d of %d frames", got-before, lab.Batch)
			}
			return nil
		})
		if i/lab.Batch%8 == 0 {
			f.talk(t)
		}
	}
}

// ip is a frame with a packet for the engine's MAC, from anybody's.
func (f *field) ip(p packets.IPv4) []byte {
	if p.TTL == 0 {
		p.TTL = 64
	}
	return packets.Ethernet(f.router, f.anyMAC(), nil, packets.EtherIPv4, p.Bytes(), nil)
}

func (f *field) anyMAC() packets.MAC {
	r := f.rng.Uint32()
	return packets.MAC{0x06, 1, byte(r >> 24), byte(r >> 16), byte(r >> 8), byte(r)}
}

// udp is a datagram to the peer, from a host of the inside that is none.
func (f *field) udp(host int, sport, dport uint16, body []byte) packets.IPv4 {
	p := packets.IPv4{Src: number("10.1.128.0") + uint32(host), Dst: number(floodedPeer), Proto: packets.ProtoUDP}
	p.Payload = packets.UDP(p.Src, p.Dst, sport, dport, body)
	return p
}

// flood is frames that somebody sends.
type flood struct {
	name  string
	n     int
	frame func(i int) []byte
	drops string // a reason under which frames of it are counted; empty: they may all pass
}

// manyHosts are floods that come of many addresses, or of many flows.
func (f *field) manyHosts() []flood {
	arp := func(op uint16, mac packets.MAC, sender, target uint32) []byte {
		return packets.Ethernet(f.router, mac, nil, packets.EtherARP, packets.ARP(op, mac, sender, packets.MAC{}, target), nil)
	}
	return []flood{
		{"SYN of many hosts", many, func(i int) []byte {
			p := packets.IPv4{Src: number("10.1.128.0") + uint32(i), Dst: number(floodedPeer), Proto: packets.ProtoTCP}
			p.Payload = packets.TCP(p.Src, p.Dst, uint16(1024+i), 80, 2, uint32(i), nil, nil)
			return f.ip(p)
		}, ""},
		{"UDP flows of one host", some, func(i int) []byte { return f.ip(f.udp(7, uint16(1024+i), 9, nil)) }, ""},
		{"pings of many hosts to the interface", some, func(i int) []byte {
			return f.ip(packets.IPv4{
				Src: number("10.1.128.0") + uint32(i), Dst: number("10.1.0.1"), Proto: packets.ProtoICMP, Payload: packets.ICMP(8, 0, uint32(i), nil),
			})
		}, "neighbor-unresolved"},
		{"ARP of many hosts", many, func(i int) []byte {
			return arp(packets.ARPRequest, f.anyMAC(), number("10.1.128.0")+uint32(i), number("10.1.0.1"))
		}, "arp"},
		{"ARP that claims the address of those who talk", some, func(i int) []byte {
			return arp(packets.ARPReply, f.anyMAC(), number(fmt.Sprintf("10.1.64.%d", 1+i%41)), number("10.1.0.1"))
		}, "arp"},
	}
}

// oddPackets are floods of packets that take more than others.
func (f *field) oddPackets() []flood {
	return []flood{
		{"first fragments without the rest", some, func(i int) []byte {
			p := f.udp(i, 1024, 9, make([]byte, 64))
			p.ID, p.MF = uint16(i), true
			return f.ip(p)
		}, "fw/invalid"},
		{"later fragments without the first", some, func(i int) []byte {
			p := f.udp(i, 1024, 9, make([]byte, 64))
			p.ID, p.Offset = uint16(i), 8
			return f.ip(p)
		}, "fw/invalid"},
		{"TTL 1", some, func(i int) []byte {
			p := f.udp(i, 1024, 9, nil)
			p.TTL = 1
			return f.ip(p)
		}, "icmp-rate"},
		{"IP options", some, func(i int) []byte {
			p := f.udp(i, 1024, 9, nil)
			p.Options = packets.Options(f.rng)
			return f.ip(p)
		}, ""},
		{"packets that are too big", some, func(i int) []byte {
			p := f.udp(i%100, 1024, 9, make([]byte, 1440))
			p.DF = true
			return f.ip(p)
		}, "too-big-answered"},
		{"frames that are damaged", some, func(i int) []byte {
			for {
				if b := packets.Odd(f.rng, f.ip(f.udp(i, 1024, 9, nil))); len(b) >= 14 { // which a veth takes
					return b
				}
			}
		}, "bad-checksum"},
		{"tiny frames", some, func(i int) []byte { return f.ip(f.udp(i, 1024, 9, nil))[:14+i%20] }, "truncated"},
	}
}

// Whoever floods one network costs those that talk nothing, and those that begin to talk no more than the documents say.
func TestThoseWhoTalkLoseNothingInFloods(t *testing.T) {
	lab.Require(t)
	f := newField(t)
	for _, flood := range append(f.manyHosts(), f.oddPackets()...) {
		t.Run(flood.name, func(t *testing.T) {
			before := f.drops(t)
			f.flood(t, flood.n, flood.frame)
			for range f.clients {
				f.talk(t)
			}
			f.begin(t, "udp")
			f.begin(t, "tcp")
			after := f.drops(t)
			dropped := grown(before, after)
			t.Logf("drops: %s", dropped)
			if flood.drops != "" && after[flood.drops] == before[flood.drops] {
				t.Errorf("no packet was dropped as %s; there were %s", flood.drops, dropped)
			}
		})
	}
}
