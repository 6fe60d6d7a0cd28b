package draw

import "github.com/sinter-nfv/sinter/test/packets"

// TCPTraffic is few connections through a chain, which open, talk, end in every way, and are used again.
type TCPTraffic struct {
	*Traffic
	Connections int
}

// Next makes the next segment of a connection, or opens one.
func (t *TCPTraffic) Next() Sent {
	if n := t.IntN(8); n > 0 {
		list, receiver := t.Out.list, true
		if n > 5 {
			list, receiver = t.Good.list, false
		}
		if recent := list[max(0, len(list)-3*t.Connections):]; len(recent) > 0 {
			if s, ok := t.converse(recent[t.IntN(len(recent))], receiver); ok {
				return s
			}
		}
	}
	f := packets.Fields{
		VLAN: -1, Src: 0x0a000001, Dst: 0x08080808, Proto: packets.ProtoTCP, TTL: 64, Sport: uint16(1024 + t.IntN(t.Connections)), Dport: 80,
		Flags: packets.SYN, Segment: &packets.Segment{Seq: t.Uint32(), Window: 512, Scale: []int{-1, 7}[t.IntN(2)]},
	}
	return Sent{0, t.Build(0, f)}
}
