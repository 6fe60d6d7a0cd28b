package rig

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/packets"
)

// Pair is a chain in the engine and in the oracle, which must agree on every packet that it is sent.
type Pair struct {
	*testing.T
	Rig  *Rig
	Now  time.Duration
	Tags []packets.Tag // of what is sent
	Last []byte        // frame that left
}

// NewPair compiles the spec of a chain, as a user writes it. All neighbours are static.
func NewPair(t *testing.T, spec string) *Pair {
	t.Helper()
	NeedHarness(t)
	r := Compile(t, spec)
	r.Workers = 1
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Engine.Kill)
	return &Pair{T: t, Rig: r, Now: time.Second}
}

// Compile compiles the spec of a chain, and gives each neighbor an address of its own.
func Compile(t *testing.T, spec string) *Rig {
	t.Helper()
	text := "apiVersion: nfv.sinter.dev/v1alpha1\nkind: ServiceChain\nmetadata: {name: own}\nspec:\n" + spec
	b, findings := manifest.Parse("chain.yaml", []byte(text), os.ReadFile)
	if findings.HasErrors() {
		t.Fatal(findings)
	}
	g, findings := graph.Build(b.Chains[0], graph.Inputs{Functions: b.Functions, Files: b.Files})
	if findings.HasErrors() {
		t.Fatal(b.Locate(findings))
	}
	for i := range g.Interfaces {
		mac := g.Interfaces[i].MAC
		draw.Populate(&g.Interfaces[i], i)
		if mac != nil {
			g.Interfaces[i].MAC = mac
		}
	}
	r, err := New(g)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Send puts an IP packet in by an interface, and tells what came of it.
func (p *Pair) Send(iface string, ip packets.IPv4) string { return p.sendBytes(iface, ip.Bytes()) }

func (p *Pair) sendBytes(iface string, ip []byte) string {
	p.Helper()
	i := slices.IndexFunc(p.Rig.Graph.Interfaces, func(f graph.Interface) bool { return f.Name == iface })
	var mac packets.MAC
	copy(mac[:], p.Rig.Graph.Interfaces[i].MAC)
	frame := packets.Ethernet(mac, packets.MAC{2, 9, 0, 0, 0, byte(i)}, p.Tags, packets.EtherIPv4, ip, nil)
	p.Now += time.Millisecond
	before := maps.Clone(p.Rig.Stats.Drops)
	left, err := p.Rig.Run(p.Context(), Step{Now: p.Now, Packets: []draw.Sent{{Iface: i, Frame: frame}}})
	if err != nil {
		p.Fatal(err)
	}
	var out []string
	for _, o := range left[0] {
		out = append(out, fmt.Sprintf("%s: %s", p.Rig.Graph.Interfaces[o.Iface].Name, summary(p.T, o.Frame)))
		p.Last = o.Frame
	}
	for _, reason := range slices.Sorted(maps.Keys(p.Rig.Stats.Drops)) {
		if p.Rig.Stats.Drops[reason] != before[reason] {
			out = append(out, "drop "+reason)
		}
	}
	return strings.Join(out, "; ")
}

// Wants sends a packet and compares what came of it.
func (p *Pair) Wants(iface string, ip packets.IPv4, want string) {
	p.Helper()
	if got := p.Send(iface, ip); got != want {
		p.Errorf("%v > %v, protocol %d, into %s became\n%s\nwanted\n%s", packets.Addr(ip.Src), packets.Addr(ip.Dst), ip.Proto, iface, got, want)
	}
}

// summary is a frame in a line.
func summary(t *testing.T, frame []byte) string {
	t.Helper()
	v, ok := packets.Parse(frame)
	if !ok || v.EtherType != packets.EtherIPv4 {
		t.Fatalf("no IP packet was sent: %x", frame)
	}
	text := fmt.Sprintf("%v > %v ttl %d", packets.Addr(v.IP.Src), packets.Addr(v.IP.Dst), v.IP.TTL)
	for _, tag := range v.Tags {
		text += fmt.Sprintf(" vlan %d", tag.TCI&0xfff)
	}
	if v.IP.Fragment() {
		text += fmt.Sprintf(" at %d", v.IP.Offset*8)
	}
	b := v.IP.Payload
	switch {
	case v.IP.Offset != 0:
	case v.IP.Proto == packets.ProtoICMP && len(b) >= 8:
		text += fmt.Sprintf(" icmp %d/%d", b[0], b[1])
	case v.IP.Proto == packets.ProtoTCP && len(b) >= 20:
		text += fmt.Sprintf(" tcp %d > %d flags %#x seq %d ack %d", binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:]), b[13],
			binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:]))
	case v.IP.Proto == packets.ProtoUDP && len(b) >= 8:
		text += fmt.Sprintf(" udp %d > %d", binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:]))
	default:
		text += fmt.Sprintf(" protocol %d", v.IP.Proto)
	}
	return text
}
