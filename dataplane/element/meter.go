package element

import (
	"fmt"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// MaxBurst is the most tokens that a bucket of a meter holds: in units of 10⁻⁹ token, in which they are counted, they fit 63 bits.
const MaxBurst = 9_200_000_000

// Meter measures packets by token buckets (RFC 2697, RFC 2698) and colours them. Green packets leave as they came, yellow and
// red ones as Yellow and Red say. Tokens are bits of the IP packet, header included, or packets. They are taken when the packet
// passes, whatever becomes of it later.
type Meter struct {
	Packets bool   // tokens are packets, else bits
	Rate    uint64 // tokens per second of the committed bucket
	Burst   uint64 // tokens that it holds
	// PeakRate and ExcessBurst are those of the second bucket. Without a rate, it takes what the committed bucket has no room for (RFC
	// 2697); else it is the peak bucket (RFC 2698).
	PeakRate, ExcessBurst uint64
	// ComesYellow and ComesRed have the bits of the DSCPs that packets come with which are yellow, or red.
	ComesYellow, ComesRed uint64
	Subscribers           Subscribers
	Yellow, Red           MeterAction
	// TwoSided meters have two inputs, which share the buckets: what comes in by one side leaves by the other.
	TwoSided bool
}

// Subscribers have buckets each. PrefixLen is 0 if there are none: all packets share the buckets.
type Subscribers struct {
	Destination bool // told by the destination address, else by the source address
	PrefixLen   int
	Max         int // at a time
}

// MeterAction is what becomes of packets of a colour; the zero value lets them pass.
type MeterAction struct {
	Drop string // reason; empty: they pass
	Mark bool   // they get the DSCP
	DSCP uint8
}

// Kind implements Element.
func (Meter) Kind() string { return "meter" }

// Ports implements Element.
func (m Meter) Ports() (in, out int) {
	if m.TwoSided {
		return 2, 2
	}
	return 1, 1
}

// Leaves is the output by which packets leave that came in by an input.
func (m Meter) Leaves(in int) int {
	if m.TwoSided {
		return 1 - in
	}
	return in
}

// Traits implements Element.
func (m Meter) Traits() Traits {
	t := Traits{Stateful: true, TwoSided: m.TwoSided}
	if m.Subscribers.PrefixLen > 0 {
		t.Reads = append(t.Reads, m.Subscribers.Field())
	}
	if m.ComesYellow|m.ComesRed != 0 {
		t.Reads = append(t.Reads, headerspace.DSCP)
	}
	if m.Yellow.Mark || m.Red.Mark {
		t.Writes = append(t.Writes, headerspace.DSCP)
	}
	return t
}

// Field is the field that tells subscribers.
func (s Subscribers) Field() headerspace.Field {
	if s.Destination {
		return headerspace.Dst
	}
	return headerspace.Src
}

// PortNames implements Named.
func (m Meter) PortNames() []string {
	if m.TwoSided {
		return []string{"inside", "outside"}
	}
	return []string{"0"}
}

// String is the element as a dump shows it.
func (m Meter) String() string {
	unit := "bit"
	if m.Packets {
		unit = "packet"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %s/s burst %d", m.Kind(), m.Rate, unit, m.Burst)
	switch {
	case m.PeakRate > 0:
		fmt.Fprintf(&b, ", peak %d %s/s burst %d", m.PeakRate, unit, m.ExcessBurst)
	case m.ExcessBurst > 0:
		fmt.Fprintf(&b, ", excess burst %d", m.ExcessBurst)
	}
	if s := m.Subscribers; s.PrefixLen > 0 {
		fmt.Fprintf(&b, ", per %s/%d at most %d", s.Field(), s.PrefixLen, s.Max)
	}
	if m.ComesYellow|m.ComesRed != 0 {
		fmt.Fprintf(&b, ", comes yellow %s red %s", dscps(m.ComesYellow), dscps(m.ComesRed))
	}
	fmt.Fprintf(&b, ", yellow %s, red %s", m.Yellow, m.Red)
	return b.String()
}

// String says what is done.
func (a MeterAction) String() string {
	switch {
	case a.Drop != "":
		return "drop " + a.Drop
	case a.Mark:
		return fmt.Sprintf("dscp %d", a.DSCP)
	}
	return "pass"
}

// dscps are those of a set of bits.
func dscps(bits uint64) string {
	var set headerspace.Set
	for d := range uint64(64) {
		if bits>>d&1 == 1 {
			set = set.Union(headerspace.Of(d))
		}
	}
	if set.IsEmpty() {
		return "none"
	}
	return set.Format(headerspace.DSCP)
}

// Marks are the DSCPs that it may give to packets.
func (m Meter) Marks() headerspace.Set {
	var marks headerspace.Set
	for _, a := range [...]MeterAction{m.Yellow, m.Red} {
		if a.Mark {
			marks = marks.Union(headerspace.Of(uint64(a.DSCP)))
		}
	}
	return marks
}
