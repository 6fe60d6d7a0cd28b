package interp

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
)

// builder wires chains for tests: two interfaces and whatever elements.
type builder struct{ g graph.Graph }

const (
	inside  = 0
	outside = 1
)

var (
	insideMAC  = net.HardwareAddr{0x02, 0x73, 0x6e, 0, 0, 0}
	outsideMAC = net.HardwareAddr{0x02, 0x73, 0x6e, 0, 0, 1}
	hostMAC    = net.HardwareAddr{0x02, 0, 0, 0, 0, 0xaa}
	routerMAC  = net.HardwareAddr{0x02, 0, 0, 0, 0, 0xbb}
)

// vlans are those of both interfaces.
var vlans = []uint16{3, 5, 7, 9}

// everywhere has a neighbour in each VLAN and without.
func everywhere(n graph.Neighbor) (list []graph.Neighbor) {
	for _, n.VLAN = range append([]uint16{0}, vlans...) {
		list = append(list, n)
	}
	return list
}

// newBuilder makes the interfaces inside (10.0.0.1/8, host 10.0.0.2) and outside (192.0.2.1/24, gateway
// 192.0.2.254).
func newBuilder() *builder {
	b := &builder{}
	b.g.Interfaces = []graph.Interface{
		{
			Name: "inside", Prefix: netip.MustParsePrefix("10.0.0.1/8"), MTU: 1500,
			VLANs: vlans, Neighbors: everywhere(graph.Neighbor{Addr: ip("10.0.0.2"), MAC: hostMAC}),
		},
		{
			Name: "outside", Prefix: netip.MustParsePrefix("192.0.2.1/24"), MTU: 1500, Gateway: ip("192.0.2.254"),
			VLANs: vlans, Neighbors: everywhere(graph.Neighbor{Addr: ip("192.0.2.254"), MAC: routerMAC}),
		},
	}
	for i, name := range []string{"inside", "outside"} {
		b.g.Interfaces[i].In = b.add(name+"/in", element.Input{Interface: name})
		b.g.Interfaces[i].Out = b.add(name+"/out", element.Output{Interface: name})
	}
	return b
}

func (b *builder) add(name string, e element.Element) int {
	_, n := e.Ports()
	node := graph.Node{Name: name, Function: "f", Element: e}
	for range n {
		node.Out = append(node.Out, graph.Edge{To: -1})
	}
	b.g.Nodes = append(b.g.Nodes, node)
	return len(b.g.Nodes) - 1
}

func (b *builder) wire(from, out, to, in int) {
	b.g.Nodes[from].Out[out] = graph.Edge{To: to, Port: in}
}

// line wires inside → elements → outside by their ports 0.
func (b *builder) line(nodes ...int) {
	at := b.g.Interfaces[inside].In
	for _, n := range append(nodes, b.g.Interfaces[outside].Out) {
		b.wire(at, 0, n, 0)
		at = n
	}
}

// node is the index of the element of a name.
func (b *builder) node(name string) int {
	return slices.IndexFunc(b.g.Nodes, func(n graph.Node) bool { return n.Name == name })
}

func (b *builder) in(i int) int  { return b.g.Interfaces[i].In }
func (b *builder) out(i int) int { return b.g.Interfaces[i].Out }

func (b *builder) chain() *Chain { return New(&b.g, Options{}) }

// overlapping is the chain whose NAPTs may give a port to several flows.
func (b *builder) overlapping() *Chain { return New(&b.g, Options{PortOverlapping: true}) }

// oneElement is the chain inside → element → outside, its other outputs dropped as "port <n>".
func oneElement(e element.Element) *Chain {
	b := newBuilder()
	n := b.add("f/e", e)
	b.line(n)
	for i := 1; i < len(b.g.Nodes[n].Out); i++ {
		b.wire(n, i, b.add("f/drop", element.Discard{Reason: element.PortName(e, i)}), 0)
	}
	return b.chain()
}

func ip(s string) netip.Addr          { return netip.MustParseAddr(s) }
func ap(s string) netip.AddrPort      { return netip.MustParseAddrPort(s) }
func prefix(s string) netip.Prefix    { return netip.MustParsePrefix(s) }
func one(v uint64) headerspace.Set    { return headerspace.Of(v) }
func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// pkt describes a packet for tests; the zero pkt is UDP 10.0.0.2:1000 → 198.51.100.1:53, TTL 64.
type pkt struct {
	src, dst     string
	proto        layers.IPProtocol
	sport, dport uint16 // identifier for ICMP echo: sport of a request, dport of a reply
	flags        string // of TCP: S A F R
	seq, ack     uint32
	window       uint16
	scale        int // of TCP's window; -1: 0, 0: no option
	icmp         layers.ICMPv4TypeCode
	ttl          uint8
	frag         uint16 // offset and MF as in the header
	df           bool
	options      []layers.IPv4Option
	vlan         []uint16 // TCIs, outermost first
	payload      []byte
	padding      int
	to, from     net.HardwareAddr
}

func (p pkt) frame() []byte {
	p.complete()
	eth := &layers.Ethernet{DstMAC: p.to, SrcMAC: p.from, EthernetType: layers.EthernetTypeIPv4}
	stack := []gopacket.SerializableLayer{eth}
	for i, tci := range p.vlan {
		typ := layers.EthernetTypeIPv4
		if i < len(p.vlan)-1 {
			typ = layers.EthernetTypeDot1Q
		}
		eth.EthernetType = layers.EthernetTypeDot1Q
		stack = append(stack, &layers.Dot1Q{
			Priority: uint8(tci >> 13), DropEligible: tci&0x1000 != 0, VLANIdentifier: tci & 0xfff, Type: typ,
		})
	}
	v4 := &layers.IPv4{
		Version: 4, TTL: p.ttl, Protocol: p.proto, TOS: 0x2e<<2 | 1, Id: 0x1234, Options: p.options,
		SrcIP: net.ParseIP(p.src), DstIP: net.ParseIP(p.dst), FragOffset: p.frag & 0x1fff,
	}
	if p.frag&0x2000 != 0 {
		v4.Flags |= layers.IPv4MoreFragments
	}
	if p.df {
		v4.Flags |= layers.IPv4DontFragment
	}
	stack = append(stack, v4)
	if p.frag&0x1fff == 0 {
		if l4 := p.transport(v4); l4 != nil {
			stack = append(stack, l4)
		}
	}
	stack = append(stack, gopacket.Payload(p.payload))
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, stack...); err != nil {
		panic(err)
	}
	n := len(eth.DstMAC)*2 + 2 + 4*len(p.vlan) + int(v4.Length)
	return append(bytes.Clone(buf.Bytes()[:n]), bytes.Repeat([]byte{0xee}, p.padding)...)
}

// complete fills in what a packet does not say.
func (p *pkt) complete() {
	set := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	set(&p.src, "10.0.0.2")
	set(&p.dst, "198.51.100.1")
	if p.proto == 0 {
		p.proto = layers.IPProtocolUDP
	}
	if p.sport == 0 && p.dport == 0 {
		p.sport, p.dport = 1000, 53
	}
	if p.ttl == 0 {
		p.ttl = 64
	}
	if p.to == nil {
		p.to = insideMAC
	}
	if p.from == nil {
		p.from = hostMAC
	}
	if p.payload == nil {
		p.payload = []byte("sinter!")
	}
}

// transport is the layer above an IP header; nil: none that is known.
func (p *pkt) transport(v4 *layers.IPv4) gopacket.SerializableLayer {
	switch p.proto {
	case layers.IPProtocolUDP:
		u := &layers.UDP{SrcPort: layers.UDPPort(p.sport), DstPort: layers.UDPPort(p.dport)}
		_ = u.SetNetworkLayerForChecksum(v4)
		return u
	case layers.IPProtocolTCP:
		t := &layers.TCP{SrcPort: layers.TCPPort(p.sport), DstPort: layers.TCPPort(p.dport), Seq: p.seq, Ack: p.ack, Window: p.window}
		if p.scale != 0 {
			t.Options = []layers.TCPOption{{OptionType: layers.TCPOptionKindNop}, {
				OptionType: layers.TCPOptionKindWindowScale, OptionLength: 3, OptionData: []byte{byte(max(p.scale, 0))},
			}}
		}
		for _, f := range p.flags {
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
		id := p.sport
		if p.icmp.Type() == layers.ICMPv4TypeEchoReply {
			id = p.dport
		}
		return &layers.ICMPv4{TypeCode: p.icmp, Id: id, Seq: 1}
	default:
		return nil // only the payload
	}
}

func ping(id uint16) pkt {
	return pkt{proto: layers.IPProtocolICMPv4, icmp: echoRequest, sport: id}
}

var (
	echoRequest = layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0)
	echoReply   = layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoReply, 0)
	expired     = layers.CreateICMPv4TypeCode(layers.ICMPv4TypeTimeExceeded, 0)
)

// only is the single frame of a result.
func only(t *testing.T, r Result) []byte {
	t.Helper()
	if len(r.Out) != 1 || len(r.Drops) != 0 {
		t.Fatalf("want one frame out, got %d frames and drops %v", len(r.Out), r.Drops)
	}
	return r.Out[0].Frame
}

// dropped expects the packet's end under a reason.
func dropped(t *testing.T, r Result, reason string) {
	t.Helper()
	if len(r.Out) != 0 || len(r.Drops) != 1 || r.Drops[0].Reason != reason {
		t.Fatalf("want the packet dropped as %q, got %d frames and drops %v", reason, len(r.Out), r.Drops)
	}
}

// want expects the single frame to be as described, checksums computed afresh.
func want(t *testing.T, r Result, p pkt) {
	t.Helper()
	got, w := only(t, r), p.frame()
	if !bytes.Equal(got, w) {
		t.Fatalf("frame differs\n got %v\nwant %v", gopacket.NewPacket(got, layers.LayerTypeEthernet, gopacket.Default),
			gopacket.NewPacket(w, layers.LayerTypeEthernet, gopacket.Default))
	}
}

// sent is p as the outside interface sends it to its gateway.
func sent(p pkt) pkt {
	p.to, p.from = routerMAC, outsideMAC
	return p
}

// delivered is p as the inside interface sends it to the host.
func delivered(p pkt) pkt {
	p.to, p.from = hostMAC, insideMAC
	return p
}
