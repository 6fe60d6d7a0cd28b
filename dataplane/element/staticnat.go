package element

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Ports of StaticNAT. Translated packets leave by the other side's number; what a side's packets leave by that are not translated is
// two above its own.
const (
	StaticInside      = 0
	StaticOutside     = 1
	StaticInsideRest  = 2
	StaticOutsideRest = 3
)

// StaticNAT translates addresses and ports by a fixed table, without state: packets from inside (input 0, output 1) get another source,
// packets from outside (input 1, output 0) another destination. ICMP errors are translated with the packet that they quote. What is of
// no mapping leaves as it came, by output 2 if it comes from inside, else by output 3.
type StaticNAT struct {
	// Mappings are disjoint, on either side.
	Mappings []StaticMapping
}

// StaticMapping is addresses, or ports of an address, that stand for as many others.
type StaticMapping struct {
	// Inside and Outside are prefixes of one length; host bits stay as they are.
	Inside, Outside netip.Prefix
	// Proto is TCP or UDP, of a mapping of ports; 0: all packets are translated, by address alone.
	Proto uint8
	// InsidePort and OutsidePort are the first of Ports ports.
	InsidePort, OutsidePort uint16
	Ports                   int
}

// Kind implements Element.
func (StaticNAT) Kind() string { return "static-nat" }

// Ports implements Element.
func (StaticNAT) Ports() (in, out int) { return 2, 4 }

// Traits implements Element.
func (s StaticNAT) Traits() Traits {
	return Traits{
		Reads: []headerspace.Field{
			headerspace.Src, headerspace.Dst, headerspace.Proto, headerspace.Frag,
			headerspace.SPort, headerspace.DPort, headerspace.ICMPType,
		},
		Writes:   append(s.WritesFrom(StaticInside), s.WritesFrom(StaticOutside)...),
		TwoSided: true,
	}
}

// LeadsTo implements Leader: each side has outputs of its own.
func (StaticNAT) LeadsTo(in, out int) bool { return out == 1-in || out == in+StaticInsideRest }

// WritesFrom implements SidedWriter.
func (s StaticNAT) WritesFrom(in int) []headerspace.Field {
	fields := []headerspace.Field{headerspace.Dst, headerspace.DPort}
	if in == StaticInside {
		fields = []headerspace.Field{headerspace.Src, headerspace.SPort}
	}
	for _, m := range s.Mappings {
		if m.InsidePort != m.OutsidePort {
			return fields
		}
	}
	return fields[:1]
}

// PortNames implements Named.
func (StaticNAT) PortNames() []string {
	return []string{"inside", "outside", "inside-rest", "outside-rest"}
}

// Addresses are all of a side's.
func (s StaticNAT) Addresses(side int) headerspace.Set {
	var out headerspace.Set
	for _, m := range s.Mappings {
		out = out.Union(headerspace.Prefix(m.Addresses(side)))
	}
	return out
}

// Addresses are those of the mapping on a side.
func (m StaticMapping) Addresses(side int) netip.Prefix {
	if side == StaticInside {
		return m.Inside
	}
	return m.Outside
}

// Port is the first of the mapping's ports on a side.
func (m StaticMapping) Port(side int) uint16 {
	if side == StaticInside {
		return m.InsidePort
	}
	return m.OutsidePort
}

// End is one side of the mapping, as people write it.
func (m StaticMapping) End(side int) string {
	switch {
	case m.Proto == 0 && m.Inside.IsSingleIP():
		return m.Addresses(side).Addr().String()
	case m.Proto == 0:
		return m.Addresses(side).String()
	case m.Ports == 1:
		return fmt.Sprintf("%s:%d", m.Addresses(side).Addr(), m.Port(side))
	}
	return fmt.Sprintf("%s:%d-%d", m.Addresses(side).Addr(), m.Port(side), int(m.Port(side))+m.Ports-1)
}

// String is the mapping as a dump shows it.
func (m StaticMapping) String() string {
	proto := ""
	if m.Proto != 0 {
		proto = headerspace.Of(uint64(m.Proto)).Format(headerspace.Proto) + " "
	}
	return proto + m.End(StaticOutside) + " = " + m.End(StaticInside)
}

// String is the element as a dump shows it.
func (s StaticNAT) String() string {
	list := make([]string, len(s.Mappings))
	for i, m := range s.Mappings {
		list[i] = m.String()
	}
	return s.Kind() + " " + strings.Join(list, ", ")
}
