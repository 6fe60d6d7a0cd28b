package dispatch

import (
	"fmt"
	"math/bits"
	"strings"

	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Untagged is the VLAN of frames without a tag, as a condition sees it: a bit above the twelve of the identifier.
const Untagged = 4096

// Cond is what a rule asks of a field: with a Mask, that the field's bits under it are Value; without, that the field
// is between Value and Last. The zero Cond asks nothing.
type Cond struct {
	Value, Mask, Last uint32
}

// Any tells whether the condition asks nothing.
func (c Cond) Any() bool { return c == Cond{} }

// overlaps tells whether some value may meet both conditions; of a range and a mask only the extent is compared.
func (c Cond) overlaps(d Cond) bool {
	if c.Any() || d.Any() {
		return true
	}
	if c.Mask != 0 && d.Mask != 0 {
		return (c.Value^d.Value)&c.Mask&d.Mask == 0
	}
	return c.Value <= d.last() && d.Value <= c.last()
}

func (c Cond) last() uint32 {
	if c.Mask != 0 {
		return c.Value | ^c.Mask
	}
	return c.Last
}

// Match is what a flow rule asks of an IPv4 packet, field by field. Rules see no other packets.
type Match struct {
	Conds  [hs.NumFields]Cond
	DstMAC MAC // all zero: any
}

// MAC is an Ethernet address.
type MAC [6]byte

// overlaps tells whether some packet meets both, as far as fields alone can tell.
func (m *Match) overlaps(n *Match) bool {
	if m.DstMAC != n.DstMAC && m.DstMAC != (MAC{}) && n.DstMAC != (MAC{}) {
		return false
	}
	for f := range m.Conds {
		if !m.Conds[f].overlaps(n.Conds[f]) {
			return false
		}
	}
	return true
}

// and is the packets that meet both; ok is false if there are none. Ranges and masks of one field do not go together.
func (m Match) and(n Match) (both Match, ok bool) {
	if !m.overlaps(&n) {
		return m, false
	}
	if m.DstMAC == (MAC{}) {
		m.DstMAC = n.DstMAC
	}
	for f, d := range n.Conds {
		c := &m.Conds[f]
		if c.Any() {
			*c = d
			continue
		}
		c.Value |= d.Value
		c.Mask |= d.Mask
	}
	return m, true
}

// String lists what the match asks.
func (m Match) String() string {
	var parts []string
	if m.DstMAC != (MAC{}) {
		parts = append(parts, fmt.Sprintf("dst-mac=%x", m.DstMAC[:]))
	}
	for f, c := range m.Conds {
		if !c.Any() {
			parts = append(parts, hs.Field(f).String()+"="+c.format(hs.Field(f)))
		}
	}
	if len(parts) == 0 {
		return "any"
	}
	return strings.Join(parts, " ")
}

func (c Cond) format(f hs.Field) string {
	number := func(v uint32) string {
		if f == hs.Src || f == hs.Dst {
			return fmt.Sprintf("%d.%d.%d.%d", v>>24, v>>16&255, v>>8&255, v&255)
		}
		return fmt.Sprint(v)
	}
	switch {
	case c.Mask == 0:
		return number(c.Value) + "-" + number(c.Last)
	case f == hs.VLAN && c.Value == Untagged:
		return "untagged"
	case c.Mask == widthMask(f):
		return number(c.Value)
	case (f == hs.Src || f == hs.Dst) && c.Mask == -(c.Mask&-c.Mask):
		return fmt.Sprintf("%s/%d", number(c.Value), bits.OnesCount32(c.Mask))
	}
	return fmt.Sprintf("%#x/%#x", c.Value, c.Mask)
}

// widthMask has all bits of a field, VLAN's bit of absence included.
func widthMask(f hs.Field) uint32 { return uint32(1<<width(f) - 1) }

func width(f hs.Field) int {
	switch f {
	case hs.Src, hs.Dst:
		return 32
	case hs.SPort, hs.DPort:
		return 16
	case hs.VLAN:
		return 13
	case hs.DSCP:
		return 6
	case hs.Frag:
		return 2
	default:
		return 8
	}
}
