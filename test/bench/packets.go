package main

import (
	"math/rand/v2"
	"sort"

	"github.com/sinter-nfv/sinter/test/packets"
)

// frameSize is the smallest frame, without FCS (SNF's 60 bytes).
const frameSize = 60

// frame is a packet of a size from a client inside to the first program.
func frame(size int, src, dst uint32, proto uint8, sport, dport uint16, flags uint8) []byte {
	p := packets.IPv4{Src: src, Dst: dst, Proto: proto, TTL: 64}
	var payload []byte // the smallest frames have padding instead
	if size > frameSize {
		payload = make([]byte, size-14-20-map[uint8]int{packets.ProtoTCP: 20, packets.ProtoUDP: 8}[proto])
	}
	switch proto {
	case packets.ProtoTCP:
		p.Payload = packets.TCP(src, dst, sport, dport, flags, 1, nil, payload)
	case packets.ProtoUDP:
		p.Payload = packets.UDP(src, dst, sport, dport, payload)
	}
	b := p.Bytes()
	pad := make([]byte, max(0, size-14-len(b)))
	mac := packets.MAC{0x02, 0x5e, 0, 0, 0, 0}
	return packets.Ethernet(mac, packets.MAC{0x02, 0, 0, 0, 0, 0xaa}, nil, packets.EtherIPv4, b, pad)
}

// tcpFlags is what a packet of a TCP connection carries: one in 32 opens it, one in four pushes.
func tcpFlags(r *rand.Rand) uint8 {
	switch n := r.IntN(32); {
	case n == 0:
		return packets.SYN
	case n <= 8:
		return packets.PSH | packets.ACK
	default:
		return packets.ACK
	}
}

// flow is a TCP or UDP flow, either as likely, from a client inside to a host.
func flow(r *rand.Rand, size int, dst uint32) []byte {
	src := 0x0a000000 | uint32(2+r.IntN(1<<22))
	proto, flags := uint8(packets.ProtoUDP), uint8(0)
	if r.IntN(2) == 0 {
		proto, flags = packets.ProtoTCP, tcpFlags(r)
	}
	return frame(size, src, dst, proto, uint16(1024+r.IntN(60000)), uint16(1+r.IntN(60000)), flags)
}

// mixedFlows is n flows to random hosts outside, one packet each.
func mixedFlows(r *rand.Rand, n, size int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = flow(r, size, 0x17000000|r.Uint32N(1<<24))
	}
	return out
}

// zipf is n packets of flows whose k-th is drawn with a probability of 1/k.
func zipf(r *rand.Rand, flows [][]byte, n int) [][]byte {
	sum, total := make([]float64, len(flows)), 0.0
	for k := range sum {
		total += 1 / float64(k+1)
		sum[k] = total
	}
	out := make([][]byte, n)
	for i := range out {
		k := sort.SearchFloat64s(sum, r.Float64()*total)
		out[i] = flows[min(k, len(flows)-1)]
	}
	return out
}
