package draw

import (
	"math/rand/v2"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/test/packets"
)

// Aimed is traffic to the first and the last address of every route, and to those just outside: all places where what the
// tables say together may change, holes and loops among them.
type Aimed struct {
	*Traffic
	at    []uint32
	shots int
}

// NewAimed is aimed traffic of a chain; what it draws is from the seed.
func NewAimed(seed uint64, g *graph.Graph) *Aimed {
	a := &Aimed{Traffic: NewTraffic(seed, g, nil)}
	for _, n := range g.Nodes {
		l, ok := n.Element.(element.Lookup)
		if !ok {
			continue
		}
		for _, r := range l.Routes {
			first := packets.Number(r.Prefix.Addr())
			last := first | uint32(uint64(1)<<(32-r.Prefix.Bits())-1)
			a.at = append(a.at, first-1, first, last, last+1)
		}
	}
	slices.Sort(a.at)
	a.at = slices.Compact(a.at)
	a.Shuffle(len(a.at), func(i, j int) { a.at[i], a.at[j] = a.at[j], a.at[i] })
	return a
}

// Next makes one frame: most often an aimed one.
func (a *Aimed) Next() Sent {
	if a.IntN(3) == 0 {
		return a.Traffic.Next()
	}
	iface := a.IntN(len(a.Graph.Interfaces))
	f := packets.Fields{
		VLAN: -1, Src: a.source(iface), Dst: a.at[a.shots%len(a.at)], TTL: aimedTTL(a.Rand),
		Proto: []uint8{packets.ProtoTCP, packets.ProtoUDP, packets.ProtoUDP, packets.ProtoICMP}[a.IntN(4)],
		Sport: uint16(a.usual(hs.SPort)), Dport: uint16(a.usual(hs.DPort)), Flags: a.flags(),
		Type: 8, ICMPRest: a.Uint32(),
	}
	if a.IntN(40) == 0 {
		f.Frag = a.IntN(3)
	}
	a.shots++
	return Sent{iface, a.Build(iface, f)}
}

// source is a host on the interface's link, one at a bound of what rules and routes tell sources
// by, or any that a route leads to.
func (a *Aimed) source(iface int) uint32 {
	if p := a.Graph.Interfaces[iface].Prefix; a.IntN(3) > 0 {
		return packets.Number(p.Masked().Addr()) + 2 + a.Uint32N(uint32(1)<<(32-p.Bits())-3)
	}
	if told := a.values[hs.Src]; len(told) > 0 && a.IntN(2) == 0 {
		return uint32(told[a.IntN(len(told))])
	}
	return a.at[a.IntN(len(a.at))]
}

// aimedTTL is enough for the way, about as much as it, or too little.
func aimedTTL(r *rand.Rand) uint8 {
	switch r.IntN(4) {
	case 0:
		return uint8(1 + r.IntN(10))
	case 1:
		return 255
	case 2:
		return uint8(2 + r.IntN(40))
	}
	return 64
}
