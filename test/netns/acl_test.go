package netns

import (
	"os"
	"testing"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/test/packets"
)

// aclText is SNF's largest rule set.
func aclText(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../data/classbench/acl1_8550")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// tuple is a flow's five-tuple; TCP with its flags.
type tuple struct {
	src, dst     uint32
	proto        uint8
	sport, dport uint16
	flags        uint8
}

// accepted are n flows, each of another rule on an odd line that no rule before it takes.
func accepted(t *testing.T, acl string, n int) []tuple {
	t.Helper()
	list, problems := rules.ClassBench([]byte(acl))
	if len(problems) > 0 {
		t.Fatalf("line %d: %s", problems[0].Line, problems[0].Message)
	}
	var out []tuple
	known := map[tuple]bool{}
	for i := 0; i < len(list) && len(out) < n; i += 2 {
		p, f := sample(list[i].Filter)
		if known[f] || !f.crosses() || first(list, &p) != i {
			continue
		}
		known[f] = true
		out = append(out, f)
	}
	if len(out) < n {
		t.Fatalf("only %d of the rules accept a flow of their own, want %d", len(out), n)
	}
	return out
}

// sample is a TCP or UDP packet of a filter.
func sample(f headerspace.Filter) (headerspace.Packet, tuple) {
	pick := func(field headerspace.Field, like uint64) uint64 {
		if s := f.Get(field); !s.Contains(headerspace.V(like)) {
			return s.Intervals()[0].Lo.Lo
		}
		return like
	}
	const mapped = 0xffff << 32 // IPv4 addresses lie there in the 128-bit fields
	t := tuple{
		src: uint32(pick(headerspace.Src, mapped|0x17010203)), dst: uint32(pick(headerspace.Dst, mapped|0x17040506)),
		proto: uint8(pick(headerspace.Proto, packets.ProtoTCP)),
		sport: uint16(pick(headerspace.SPort, 3000)), dport: uint16(pick(headerspace.DPort, 4000)),
	}
	var p headerspace.Packet
	for field := range headerspace.NumFields {
		if v, has := field.Absent(); has {
			p[field] = v
		}
	}
	p[headerspace.Src], p[headerspace.Dst] = headerspace.V(mapped|uint64(t.src)), headerspace.V(mapped|uint64(t.dst))
	p[headerspace.Proto], p[headerspace.TTL] = headerspace.V(uint64(t.proto)), headerspace.V(64)
	p[headerspace.SPort], p[headerspace.DPort] = headerspace.V(uint64(t.sport)), headerspace.V(uint64(t.dport))
	if t.proto == packets.ProtoTCP {
		t.flags = uint8(pick(headerspace.TCPFlags, packets.ACK))
		p[headerspace.TCPFlags] = headerspace.V(uint64(t.flags))
	}
	return p, t
}

// crosses tells whether the flow is one for a NAPT, between addresses that are routed from inside to outside.
func (f tuple) crosses() bool {
	routed := func(a uint32) bool {
		n := a >> 24
		return n > 0 && n != 10 && n != 127 && n < 224 && a>>8 != number("203.0.113.0")>>8
	}
	return (f.proto == packets.ProtoTCP || f.proto == packets.ProtoUDP) && routed(f.src) && routed(f.dst) &&
		f.flags&(packets.FIN|packets.RST) == 0 && f.dport != markedPort
}

// first is the rule that takes a packet, the number of rules if none does.
func first(list []rules.Rule, p *headerspace.Packet) int {
	for i := range list {
		if list[i].Filter.Contains(p) {
			return i
		}
	}
	return len(list)
}
