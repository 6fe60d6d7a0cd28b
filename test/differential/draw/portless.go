package draw

import (
	"github.com/sinter-nfv/sinter/test/packets"
)

// Portless makes packets of protocols without ports, and ICMP timestamps, between few hosts and few remotes: more hosts than the pool has
// addresses.
func (t *Traffic) Portless() Sent {
	f := packets.Fields{
		VLAN: -1, TTL: 64, Src: 0x0a000001 + t.Uint32N(9), Dst: 0x08080801 + t.Uint32N(3),
		Proto: []uint8{4, 33, 47, 50, 51, 132, 136, packets.ProtoICMP}[t.IntN(8)],
		Type:  packets.ICMPTimestamp, ICMPRest: t.Uint32N(3) << 16,
	}
	switch {
	case t.IntN(3) == 0 || len(t.Out.list) == 0:
		return Sent{0, t.Build(0, f)}
	case t.IntN(3) == 0:
		o := t.Out.list[t.IntN(len(t.Out.list))]
		if e, ok := packets.ErrorAbout(t.Rand, o.Frame, 0x09090909, 3, 1, 68); ok {
			return Sent{o.Iface, e}
		}
	}
	o := t.Out.list[t.IntN(len(t.Out.list))]
	if r, ok := packets.Reply(t.Rand, o.Frame, 0, t.payload()); ok {
		return Sent{o.Iface, r}
	}
	return Sent{0, t.Build(0, f)}
}
