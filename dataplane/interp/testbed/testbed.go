// Package testbed has what tests of the oracle share: a chain between two interfaces, packets of the hosts at them, and what is expected of
// a result. A test runs the chain of a graph by interp.New.
package testbed

import (
	"bytes"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

// Builder wires chains for tests: two interfaces and whatever elements.
type Builder struct{ Graph graph.Graph }

// The interfaces.
const (
	Inside  = 0
	Outside = 1
)

// Addresses of the interfaces, of the host inside, and of the gateway outside.
var (
	InsideMAC  = net.HardwareAddr{0x02, 0x73, 0x6e, 0, 0, 0}
	OutsideMAC = net.HardwareAddr{0x02, 0x73, 0x6e, 0, 0, 1}
	HostMAC    = net.HardwareAddr{0x02, 0, 0, 0, 0, 0xaa}
	RouterMAC  = net.HardwareAddr{0x02, 0, 0, 0, 0, 0xbb}
)

// vlans are those of both interfaces.
var vlans = []uint16{3, 5, 7, 9}

// Everywhere has a neighbour in each VLAN and without.
func Everywhere(n graph.Neighbor) (list []graph.Neighbor) {
	for _, n.VLAN = range append([]uint16{0}, vlans...) {
		list = append(list, n)
	}
	return list
}

// New makes the interfaces inside (10.0.0.1/8, host 10.0.0.2) and outside (192.0.2.1/24, gateway
// 192.0.2.254).
func New() *Builder {
	b := &Builder{}
	b.Graph.Interfaces = []graph.Interface{
		{
			Name: "inside", Prefix: netip.MustParsePrefix("10.0.0.1/8"), MTU: 1500,
			VLANs: vlans, Neighbors: Everywhere(graph.Neighbor{Addr: Addr("10.0.0.2"), MAC: HostMAC}),
		},
		{
			Name: "outside", Prefix: netip.MustParsePrefix("192.0.2.1/24"), MTU: 1500, Gateway: Addr("192.0.2.254"),
			VLANs: vlans, Neighbors: Everywhere(graph.Neighbor{Addr: Addr("192.0.2.254"), MAC: RouterMAC}),
		},
	}
	for i, name := range []string{"inside", "outside"} {
		b.Graph.Interfaces[i].In = b.Add(name+"/in", element.Input{Interface: name})
		b.Graph.Interfaces[i].Out = b.Add(name+"/out", element.Output{Interface: name})
	}
	return b
}

// Add adds an element whose outputs lead nowhere yet, and gives its index.
func (b *Builder) Add(name string, e element.Element) int {
	_, n := e.Ports()
	node := graph.Node{Name: name, Function: "f", Element: e}
	for range n {
		node.Out = append(node.Out, graph.Edge{To: -1})
	}
	b.Graph.Nodes = append(b.Graph.Nodes, node)
	return len(b.Graph.Nodes) - 1
}

// Wire connects an output with an input.
func (b *Builder) Wire(from, out, to, in int) {
	b.Graph.Nodes[from].Out[out] = graph.Edge{To: to, Port: in}
}

// Line wires inside → elements → outside by their ports 0.
func (b *Builder) Line(nodes ...int) {
	at := b.Graph.Interfaces[Inside].In
	for _, n := range append(nodes, b.Graph.Interfaces[Outside].Out) {
		b.Wire(at, 0, n, 0)
		at = n
	}
}

// Node is the index of the element of a name.
func (b *Builder) Node(name string) int {
	return slices.IndexFunc(b.Graph.Nodes, func(n graph.Node) bool { return n.Name == name })
}

// In is the index of an interface's input.
func (b *Builder) In(i int) int { return b.Graph.Interfaces[i].In }

// Out is the index of an interface's output.
func (b *Builder) Out(i int) int { return b.Graph.Interfaces[i].Out }

// OneElement is the chain inside → element → outside, its other outputs dropped as "port <n>".
func OneElement(e element.Element) *graph.Graph {
	b := New()
	n := b.Add("f/e", e)
	b.Line(n)
	for i := 1; i < len(b.Graph.Nodes[n].Out); i++ {
		b.Wire(n, i, b.Add("f/drop", element.Discard{Reason: element.PortName(e, i)}), 0)
	}
	return &b.Graph
}

// Addr is an address by its text.
func Addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// AddrPort is an address and port by its text.
func AddrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// Prefix is a prefix by its text.
func Prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

// One is the set of a value.
func One(v uint64) headerspace.Set { return headerspace.Of(v) }

// Seconds is a time.
func Seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// Packet describes a packet for tests; the zero Packet is UDP 10.0.0.2:1000 → 198.51.100.1:53, TTL 64.
type Packet struct {
	Src, Dst     string
	Proto        layers.IPProtocol
	Sport, Dport uint16 // identifier for ICMP echo: sport of a request, dport of a reply
	Flags        string // of TCP: S A F R
	Seq, Ack     uint32
	Window       uint16
	Scale        int // of TCP's window; -1: 0, 0: no option
	ICMP         layers.ICMPv4TypeCode
	TTL          uint8
	Frag         uint16 // offset and MF as in the header
	DF           bool
	Options      []layers.IPv4Option
	VLAN         []uint16 // TCIs, outermost first
	Payload      []byte
	Padding      int
	To, From     net.HardwareAddr
}

// Frame is the packet as a frame, with right checksums.
func (p Packet) Frame() []byte {
	p.Complete()
	eth := &layers.Ethernet{DstMAC: p.To, SrcMAC: p.From, EthernetType: layers.EthernetTypeIPv4}
	stack := []gopacket.SerializableLayer{eth}
	for i, tci := range p.VLAN {
		typ := layers.EthernetTypeIPv4
		if i < len(p.VLAN)-1 {
			typ = layers.EthernetTypeDot1Q
		}
		eth.EthernetType = layers.EthernetTypeDot1Q
		stack = append(stack, &layers.Dot1Q{
			Priority: uint8(tci >> 13), DropEligible: tci&0x1000 != 0, VLANIdentifier: tci & 0xfff, Type: typ,
		})
	}
	v4 := &layers.IPv4{
		Version: 4, TTL: p.TTL, Protocol: p.Proto, TOS: 0x2e<<2 | 1, Id: 0x1234, Options: p.Options,
		SrcIP: net.ParseIP(p.Src), DstIP: net.ParseIP(p.Dst), FragOffset: p.Frag & 0x1fff,
	}
	if p.Frag&0x2000 != 0 {
		v4.Flags |= layers.IPv4MoreFragments
	}
	if p.DF {
		v4.Flags |= layers.IPv4DontFragment
	}
	stack = append(stack, v4)
	if p.Frag&0x1fff == 0 {
		if l4 := p.transport(v4); l4 != nil {
			stack = append(stack, l4)
		}
	}
	stack = append(stack, gopacket.Payload(p.Payload))
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, stack...); err != nil {
		panic(err)
	}
	n := len(eth.DstMAC)*2 + 2 + 4*len(p.VLAN) + int(v4.Length)
	return append(bytes.Clone(buf.Bytes()[:n]), bytes.Repeat([]byte{0xee}, p.Padding)...)
}

// Complete fills in what a packet does not say.
func (p *Packet) Complete() {
	set := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	set(&p.Src, "10.0.0.2")
	set(&p.Dst, "198.51.100.1")
	if p.Proto == 0 {
		p.Proto = layers.IPProtocolUDP
	}
	if p.Sport == 0 && p.Dport == 0 {
		p.Sport, p.Dport = 1000, 53
	}
	if p.TTL == 0 {
		p.TTL = 64
	}
	if p.To == nil {
		p.To = InsideMAC
	}
	if p.From == nil {
		p.From = HostMAC
	}
	if p.Payload == nil {
		p.Payload = []byte("sinter!")
	}
}

// transport is the layer above an IP header; nil: none that is known.
func (p *Packet) transport(v4 *layers.IPv4) gopacket.SerializableLayer {
	switch p.Proto {
	case layers.IPProtocolUDP:
		u := &layers.UDP{SrcPort: layers.UDPPort(p.Sport), DstPort: layers.UDPPort(p.Dport)}
		_ = u.SetNetworkLayerForChecksum(v4)
		return u
	case layers.IPProtocolTCP:
		t := &layers.TCP{SrcPort: layers.TCPPort(p.Sport), DstPort: layers.TCPPort(p.Dport), Seq: p.Seq, Ack: p.Ack, Window: p.Window}
		if p.Scale != 0 {
			t.Options = []layers.TCPOption{{OptionType: layers.TCPOptionKindNop}, {
				OptionType: layers.TCPOptionKindWindowScale, OptionLength: 3, OptionData: []byte{byte(max(p.Scale, 0))},
			}}
		}
		for _, f := range p.Flags {
			switch f {
			case 'S':
				t.SYN = true
			case 'A':
				t.ACK = true
			case 'F':
				t.FIN = true
			case 'R':
				t.RST = true
			}
		}
		_ = t.SetNetworkLayerForChecksum(v4)
		return t
	case layers.IPProtocolICMPv4:
		id := p.Sport
		if p.ICMP.Type() == layers.ICMPv4TypeEchoReply {
			id = p.Dport
		}
		return &layers.ICMPv4{TypeCode: p.ICMP, Id: id, Seq: 1}
	default:
		return nil // only the payload
	}
}

// Ping is an echo request.
func Ping(id uint16) Packet {
	return Packet{Proto: layers.IPProtocolICMPv4, ICMP: EchoRequest, Sport: id}
}

// Types of ICMP messages.
var (
	EchoRequest = layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0)
	EchoReply   = layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoReply, 0)
	Expired     = layers.CreateICMPv4TypeCode(layers.ICMPv4TypeTimeExceeded, 0)
)

// Only is the single frame of a result.
func Only(t *testing.T, r pass.Result) []byte {
	t.Helper()
	if len(r.Out) != 1 || len(r.Drops) != 0 {
		t.Fatalf("want one frame out, got %d frames and drops %v", len(r.Out), r.Drops)
	}
	return r.Out[0].Frame
}

// Dropped expects the packet's end under a reason.
func Dropped(t *testing.T, r pass.Result, reason string) {
	t.Helper()
	if len(r.Out) != 0 || len(r.Drops) != 1 || r.Drops[0].Reason != reason {
		t.Fatalf("want the packet dropped as %q, got %d frames and drops %v", reason, len(r.Out), r.Drops)
	}
}

// Want expects the single frame to be as described, checksums computed afresh.
func Want(t *testing.T, r pass.Result, p Packet) {
	t.Helper()
	got, w := Only(t, r), p.Frame()
	if !bytes.Equal(got, w) {
		t.Fatalf("frame differs\n got %v\nwant %v", gopacket.NewPacket(got, layers.LayerTypeEthernet, gopacket.Default),
			gopacket.NewPacket(w, layers.LayerTypeEthernet, gopacket.Default))
	}
}

// Sent is p as the outside interface sends it to its gateway.
func Sent(p Packet) Packet {
	p.To, p.From = RouterMAC, OutsideMAC
	return p
}

// Delivered is p as the inside interface sends it to the host.
func Delivered(p Packet) Packet {
	p.To, p.From = HostMAC, InsideMAC
	return p
}

// SetDSCP writes a frame's DSCP and moves its header checksum (RFC 1624).
func SetDSCP(f []byte, dscp byte) {
	ip := f[14:]
	was := ip[1]
	ip[1] = dscp<<2 | was&3
	sum := ^uint16(uint16(ip[10])<<8 | uint16(ip[11]))
	n := uint32(sum) + uint32(^uint16(was)) + uint32(ip[1])
	n = n&0xffff + n>>16
	n = n&0xffff + n>>16
	ip[10], ip[11] = byte(^uint16(n)>>8), byte(^uint16(n))
}

// Filter lets pass whose field is of a set.
func Filter(f headerspace.Field, s headerspace.Set) headerspace.Filter {
	return headerspace.Filter{}.With(f, s)
}

// UDP is a packet with these ports.
func UDP(sport, dport uint16) Packet { return Packet{Sport: sport, Dport: dport} }

// Back is a packet of the server 198.51.100.1 to the NAT.
func Back(p Packet, dst string) Packet {
	p.Src, p.Dst, p.To, p.From = "198.51.100.1", dst, OutsideMAC, RouterMAC
	return p
}
