package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/test/packets"
)

// frameSize is the smallest frame, without FCS (SNF's 60 bytes).
const frameSize = 60

// frame is a packet from a client inside to the first program.
func frame(src, dst uint32, proto uint8, sport, dport uint16, flags uint8) []byte {
	p := packets.IPv4{Src: src, Dst: dst, Proto: proto, TTL: 64}
	switch proto {
	case packets.ProtoTCP:
		p.Payload = packets.TCP(src, dst, sport, dport, flags, 1, nil, nil)
	case packets.ProtoUDP:
		p.Payload = packets.UDP(src, dst, sport, dport, nil)
	case packets.ProtoICMP:
		p.Payload = packets.ICMP(packets.ICMPEchoRequest, 0, uint32(sport)<<16|1, nil)
	}
	b := p.Bytes()
	pad := make([]byte, max(0, frameSize-14-len(b)))
	mac := packets.MAC{0x02, 0x5e, 0, 0, 0, 0}
	return packets.Ethernet(mac, packets.MAC{0x02, 0, 0, 0, 0, 0xaa}, nil, packets.EtherIPv4, b, pad)
}

// udpFlows is n UDP flows from clients inside to random hosts outside, one packet each.
func udpFlows(r *rand.Rand, n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		src := 0x0a000000 | uint32(2+r.IntN(1<<22))
		dst := 0x17000000 | r.Uint32N(1<<24)
		out[i] = frame(src, dst, packets.ProtoUDP, uint16(1024+r.IntN(60000)), uint16(1+r.IntN(60000)), 0)
	}
	return out
}

// ruleFlows is n flows that a firewall with the rules accepts (odd lines), spread evenly over
// the accepting rules: "the packets systematically exercise all entries" (SNF, "Real service chain deployments").
func ruleFlows(r *rand.Rand, file string, n int) ([][]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	list, problems := rules.ClassBench(data)
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s:%d: %s", file, problems[0].Line, problems[0].Message)
	}
	var out [][]byte
	for try := 0; len(out) < n; try++ {
		if try > 50*n {
			return nil, fmt.Errorf("%s: found only %d packets that the rules accept", file, len(out))
		}
		i := 2 * (try % ((len(list) + 1) / 2))
		p, ok := sample(r, list[i].Filter)
		if !ok || !accepted(list, &p) {
			continue
		}
		out = append(out, frame(
			uint32(p[headerspace.Src].Lo), uint32(p[headerspace.Dst].Lo), uint8(p[headerspace.Proto].Lo),
			uint16(p[headerspace.SPort].Lo), uint16(p[headerspace.DPort].Lo), uint8(p[headerspace.TCPFlags].Lo)))
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}

// sample is a TCP or UDP packet of the filter that a NAPT translates and that is no martian.
func sample(r *rand.Rand, f headerspace.Filter) (p headerspace.Packet, ok bool) {
	pick := func(field headerspace.Field, limit uint64) uint64 {
		s := f.Get(field).Intervals()
		iv := s[r.IntN(len(s))]
		lo, hi := iv.Lo.Lo&0xffffffff, min(iv.Hi.Lo&0xffffffff, limit)
		if iv.Hi.Sub(iv.Lo).Cmp(headerspace.V(limit)) >= 0 {
			lo, hi = 0, limit
		}
		return lo + r.Uint64N(hi-lo+1)
	}
	for field := range headerspace.NumFields {
		if v, has := field.Absent(); has {
			p[field] = v
		}
	}
	proto := uint64(packets.ProtoTCP)
	if !f.Get(headerspace.Proto).Contains(headerspace.V(proto)) {
		proto = packets.ProtoUDP
	}
	if !f.Get(headerspace.Proto).Contains(headerspace.V(proto)) {
		return p, false
	}
	var a [4]byte
	for _, field := range []headerspace.Field{headerspace.Src, headerspace.Dst} {
		binary.BigEndian.PutUint32(a[:], uint32(pick(field, 0xffffffff)))
		if a[0] == 0 || a[0] == 127 || a[0] >= 224 {
			return p, false
		}
		p[field] = headerspace.V(0xffff<<32 | uint64(binary.BigEndian.Uint32(a[:])))
	}
	p[headerspace.Proto] = headerspace.V(proto)
	p[headerspace.TTL] = headerspace.V(64)
	p[headerspace.SPort] = headerspace.V(pick(headerspace.SPort, 65535))
	p[headerspace.DPort] = headerspace.V(pick(headerspace.DPort, 65535))
	if proto == packets.ProtoTCP {
		p[headerspace.TCPFlags] = headerspace.V(pick(headerspace.TCPFlags, 255))
		p[headerspace.TCPFlags] = p[headerspace.TCPFlags].And(headerspace.V(0xff &^ (packets.FIN | packets.RST)))
	}
	return p, f.Contains(&p)
}

// accepted tells whether the first rule that matches is on an odd line.
func accepted(list []rules.Rule, p *headerspace.Packet) bool {
	for i := range list {
		if list[i].Filter.Contains(p) {
			return i%2 == 0
		}
	}
	return false
}
