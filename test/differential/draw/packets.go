package draw

import (
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/test/packets"
)

// UDP is a packet into an interface.
func UDP(g *graph.Graph, iface int, src, dst netip.AddrPort) Sent {
	from, to := packets.Number(src.Addr()), packets.Number(dst.Addr())
	ip := packets.IPv4{Src: from, Dst: to, Proto: packets.ProtoUDP, TTL: 64, Payload: packets.UDP(from, to, src.Port(), dst.Port(), []byte("datagram"))}
	return Sent{iface, Ethernet(g, iface, ip)}
}

// Ethernet is a packet's frame from a neighbour to an interface.
func Ethernet(g *graph.Graph, iface int, ip packets.IPv4) []byte {
	var dst, src packets.MAC
	copy(dst[:], g.Interfaces[iface].MAC)
	copy(src[:], g.Interfaces[iface].Neighbors[0].MAC)
	return packets.Ethernet(dst, src, nil, packets.EtherIPv4, ip.Bytes(), nil)
}

// IP is a packet without protocol, between two hosts.
func IP(src, dst string) packets.IPv4 {
	return packets.IPv4{Src: packets.Number(netip.MustParseAddr(src)), Dst: packets.Number(netip.MustParseAddr(dst)), TTL: 64, ID: 77}
}

// PingTo is an echo request.
func PingTo(src, dst string) packets.IPv4 {
	p := IP(src, dst)
	p.Proto, p.Payload = packets.ProtoICMP, packets.ICMP(packets.ICMPEchoRequest, 0, 5<<16|1, []byte("sinter"))
	return p
}

// UDPTo is a datagram to a port.
func UDPTo(src, dst string, dport uint16) packets.IPv4 {
	p := IP(src, dst)
	p.Proto, p.Payload = packets.ProtoUDP, packets.UDP(p.Src, p.Dst, 40000, dport, []byte("probe"))
	return p
}

// TCPTo is a segment to port 80.
func TCPTo(src, dst string, flags uint8, payload string) packets.IPv4 {
	p := IP(src, dst)
	p.Proto, p.Payload = packets.ProtoTCP, packets.TCP(p.Src, p.Dst, 40000, 80, flags, 1000, nil, []byte(payload))
	return p
}
