package main

import (
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/test/packets"
)

// firewallRules are the rules of a ClassBench file, whose odd lines accept.
type firewallRules struct {
	list  []rules.Rule
	boxes []box
	// Those that may contain a packet to a destination, by its first 16 bits, as far as somebody has asked.
	near map[uint32][]int32
}

// box has all packets of a rule; most rules are boxes.
type box struct{ srcLow, srcHigh, dstLow, dstHigh uint32 }

func readRules(file string) (*firewallRules, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	list, problems := rules.ClassBench(data)
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s:%d: %s", file, problems[0].Line, problems[0].Message)
	}
	f := &firewallRules{list, make([]box, len(list)), map[uint32][]int32{}}
	for i := range list {
		f.boxes[i].srcLow, f.boxes[i].srcHigh = bounds(list[i].Filter, headerspace.Src)
		f.boxes[i].dstLow, f.boxes[i].dstHigh = bounds(list[i].Filter, headerspace.Dst)
	}
	return f, nil
}

// bounds are the lowest and the highest IPv4 address that a filter may have.
func bounds(f headerspace.Filter, field headerspace.Field) (low, high uint32) {
	const v4 = 0xffff << 32
	s := f.Get(field).Intervals()
	if len(s) == 0 {
		return 0, 0xffffffff
	}
	first, last := s[0].Lo, s[len(s)-1].Hi
	high = 0xffffffff
	if first.Cmp(headerspace.V(v4)) > 0 {
		low = uint32(first.Lo)
	}
	if last.Cmp(headerspace.V(v4|0xffffffff)) < 0 {
		high = uint32(last.Lo)
	}
	return low, high
}

// accepts tells whether the first rule that matches is on an odd line.
func (f *firewallRules) accepts(p *headerspace.Packet) bool {
	src, dst := uint32(p[headerspace.Src].Lo), uint32(p[headerspace.Dst].Lo)
	near, known := f.near[dst>>16]
	if !known {
		low, high := dst&^0xffff, dst|0xffff
		for i, b := range f.boxes {
			if b.dstLow <= high && low <= b.dstHigh {
				near = append(near, int32(i))
			}
		}
		f.near[dst>>16] = near
	}
	for _, i := range near {
		b := &f.boxes[i]
		if b.srcLow <= src && src <= b.srcHigh && b.dstLow <= dst && dst <= b.dstHigh && f.list[i].Filter.Contains(p) {
			return i%2 == 0
		}
	}
	return false
}

// flows is n flows that the firewall accepts, half TCP and half UDP if it accepts both, spread evenly over the accepting rules:
// "the packets systematically exercise all entries" (SNF, "Real service chain deployments").
func (f *firewallRules) flows(r *rand.Rand, n int) ([][]byte, error) {
	var of [2][]int // accepting rules, for TCP and for UDP
	for i := 0; i < len(f.list); i += 2 {
		for k, proto := range []uint64{packets.ProtoTCP, packets.ProtoUDP} {
			if f.list[i].Filter.Get(headerspace.Proto).Contains(headerspace.V(proto)) {
				of[k] = append(of[k], i)
			}
		}
	}
	var out [][]byte
	var turn [2]int
	for try := 0; len(out) < n; try++ {
		if try > 50*n {
			return nil, fmt.Errorf("found only %d packets that the rules accept", len(out))
		}
		k := len(out) % 2
		if len(of[k]) == 0 {
			k = 1 - k
		}
		i := of[k][turn[k]%len(of[k])]
		turn[k]++
		p, ok := sample(r, f.list[i].Filter, []uint64{packets.ProtoTCP, packets.ProtoUDP}[k])
		if !ok || !f.accepts(&p) {
			continue
		}
		out = append(out, frameOf(&p))
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}

// frameOf is the shortest frame of a TCP or UDP packet.
func frameOf(p *headerspace.Packet) []byte {
	return frame(frameSize, uint32(p[headerspace.Src].Lo), uint32(p[headerspace.Dst].Lo), uint8(p[headerspace.Proto].Lo),
		uint16(p[headerspace.SPort].Lo), uint16(p[headerspace.DPort].Lo), uint8(p[headerspace.TCPFlags].Lo))
}

// sample is a TCP or UDP packet of the filter that a NAPT translates and that is no martian.
func sample(r *rand.Rand, f headerspace.Filter, proto uint64) (p headerspace.Packet, ok bool) {
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
	for _, field := range []headerspace.Field{headerspace.Src, headerspace.Dst} {
		a := pick(field, 0xffffffff)
		if first := a >> 24; first == 0 || first == 127 || first >= 224 || field == headerspace.Dst && unroutable(uint32(a)) {
			return p, false
		}
		p[field] = headerspace.V(0xffff<<32 | a)
	}
	p[headerspace.Proto] = headerspace.V(proto)
	p[headerspace.TTL] = headerspace.V(64)
	p[headerspace.SPort] = headerspace.V(pick(headerspace.SPort, 65535))
	p[headerspace.DPort] = headerspace.V(pick(headerspace.DPort, 65535))
	if proto == packets.ProtoTCP {
		// The filter says which of these are wrong.
		p[headerspace.TCPFlags] = headerspace.V(uint64(tcpFlags(r)))
		if !f.Contains(&p) {
			p[headerspace.TCPFlags] = headerspace.V(pick(headerspace.TCPFlags, 255)).And(headerspace.V(0xff &^ (packets.FIN | packets.RST)))
		}
	}
	return p, f.Contains(&p)
}
