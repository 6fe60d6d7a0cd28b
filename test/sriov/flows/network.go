package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/sinter-nfv/sinter/test/packets"
)

// The site: hosts behind a router inside, a server far outside, and one that the firewall bans.
const (
	firstHost  = 10<<24 | 64<<16 // 10.64.0.0; shards are the low seven bits
	hosts      = 1024
	firstPort  = 1024
	server     = 192<<24 | 2<<8 | 1            // 192.0.2.1
	banned     = 198<<24 | 51<<16 | 100<<8 | 9 // 198.51.100.9
	serverPort = 8080
)

// network is both sides of the chain. A packet carries its flow's number and its own in the flow, so that its receiver can tell
// whether the flow's packets keep their order.
type network struct {
	in, out *wire

	sent    []uint32 // packets of each flow that a host sent
	came    []uint32 // the last that came to the server
	back    []uint32 // … and back to the host
	binding []uint64 // outside address and port

	answered  atomic.Int64 // packets that came back
	reordered atomic.Int64 // packets that came behind a later one of their flow, in either direction
	rebound   atomic.Int64 // packets that came from another outside port than their flow's first, or to somebody else
	strange   atomic.Int64 // packets that nobody sent
}

func newNetwork(in, out *wire, flows int) *network {
	return &network{
		in: in, out: out,
		sent: make([]uint32, flows), came: make([]uint32, flows), back: make([]uint32, flows), binding: make([]uint64, flows),
	}
}

func (n *network) start() {
	go n.serve(n.out, n.atServer)
	go n.serve(n.in, n.atHost)
}

func (n *network) serve(w *wire, packet func(packets.IPv4)) {
	if err := w.receive(packet); err != nil {
		fmt.Fprintln(os.Stderr, "flows:", err)
		os.Exit(1)
	}
}

// shardOf is a flow's shard, of so many: the low bits of the host's address.
func shardOf(flow, shards int) int { return flow % hosts % shards }

// ends are a flow's host, its port and its protocol: half of each shard's hosts speak TCP.
func ends(flow int) (host uint32, port uint16, proto uint8) {
	proto = packets.ProtoUDP
	if flow>>7&1 != 0 {
		proto = packets.ProtoTCP
	}
	return firstHost + uint32(flow%hosts), uint16(firstPort + flow/hosts), proto
}

// ask sends a flow's next packet.
func (n *network) ask(flow int) error {
	host, port, proto := ends(flow)
	n.sent[flow]++
	label := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(flow)), n.sent[flow])
	return n.in.send(datagram(n.in.port, host, server, port, serverPort, proto, flags(packets.SYN, n.sent[flow]), label))
}

// askBanned sends a packet that the firewall drops.
func (n *network) askBanned(flow int) error {
	host, port, proto := ends(flow)
	return n.in.send(datagram(n.in.port, host, banned, port, serverPort, proto, packets.SYN, nil))
}

// flags of a TCP segment: a flow begins with a handshake.
func flags(first uint8, number uint32) uint8 {
	if number == 1 {
		return first
	}
	return packets.ACK
}

func datagram(to packets.MAC, src, dst uint32, sport, dport uint16, proto, flags uint8, label []byte) []byte {
	ip := packets.IPv4{Src: src, Dst: dst, Proto: proto, TTL: 64}
	if proto == packets.ProtoTCP {
		ip.Payload = packets.TCP(src, dst, sport, dport, flags, 1, nil, label)
	} else {
		ip.Payload = packets.UDP(src, dst, sport, dport, label)
	}
	return packets.Ethernet(to, ownMAC, nil, packets.EtherIPv4, ip.Bytes(), nil)
}

// read is the label that a packet carries.
func (n *network) read(ip packets.IPv4) (flow int, number uint32, label []byte, ok bool) {
	header := 8
	if ip.Proto == packets.ProtoTCP {
		header = 20
	}
	if ip.Proto != packets.ProtoTCP && ip.Proto != packets.ProtoUDP || len(ip.Payload) < header+8 {
		return 0, 0, nil, false
	}
	label = ip.Payload[header : header+8]
	flow, number = int(binary.BigEndian.Uint32(label)), binary.BigEndian.Uint32(label[4:])
	return flow, number, label, flow < len(n.sent)
}

// atServer answers a packet.
func (n *network) atServer(ip packets.IPv4) {
	flow, number, label, ok := n.read(ip)
	if !ok || ip.Dst != server {
		n.strange.Add(1)
		return
	}
	port := binary.BigEndian.Uint16(ip.Payload)
	if from := uint64(ip.Src)<<16 | uint64(port); n.binding[flow] == 0 {
		n.binding[flow] = from
	} else if n.binding[flow] != from {
		n.rebound.Add(1)
	}
	n.inOrder(n.came, flow, number)
	answer := datagram(n.out.port, server, ip.Src, serverPort, port, ip.Proto, flags(packets.SYN|packets.ACK, number), label)
	if err := n.out.send(answer); err != nil {
		fmt.Fprintln(os.Stderr, "flows: an answer is lost:", err)
	}
}

func (n *network) atHost(ip packets.IPv4) {
	flow, number, _, ok := n.read(ip)
	if !ok || ip.Src != server {
		n.strange.Add(1)
		return
	}
	if host, port, proto := ends(flow); ip.Dst != host || ip.Proto != proto || binary.BigEndian.Uint16(ip.Payload[2:]) != port {
		n.rebound.Add(1)
	}
	n.inOrder(n.back, flow, number)
	n.answered.Add(1)
}

func (n *network) inOrder(last []uint32, flow int, number uint32) {
	if number <= last[flow] {
		n.reordered.Add(1)
	}
	last[flow] = max(last[flow], number)
}
