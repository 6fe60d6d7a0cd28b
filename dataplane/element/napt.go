package element

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Drop reasons of NAPT.
const (
	ReasonNATUnsupported = "nat-unsupported"
	ReasonNATFragment    = "nat-fragment"
	ReasonNATNoBinding   = "nat-no-binding"
	ReasonNATExhausted   = "nat-exhausted"
)

// Ports of NAPT. Input and output of the same side carry the same number.
const (
	NAPTInside  = 0
	NAPTOutside = 1
)

// Timeouts are a NAPT's idle timeouts: a binding unused for longer is gone.
type Timeouts struct {
	// TCP is for connections with traffic in both directions and no FIN or RST
	// yet; TCPTransitory for the others (RFC 5382 section 5).
	TCP, TCPTransitory time.Duration
	UDP                time.Duration // RFC 4787 section 4.3
	ICMP               time.Duration // RFC 5508 section 3.2
}

// NAPT translates the source of packets from inside (input 0, output 1) to an
// address and port of the pool, and back (input 1, output 0). A binding is
// made per flow: address- and port-dependent mapping and filtering in the terms of RFC 4787. TCP,
// UDP and ICMP echo are translated, and ICMP errors that quote a translated packet,
// quoted header included (RFC 5508 section 4). Dropped, by reason: "nat-unsupported" (other protocols
// and ICMP types from inside; an error that quotes no bound flow), "nat-fragment" (fragments, from either side),
// "nat-no-binding" (from outside, without binding), "nat-exhausted" (no free port).
type NAPT struct {
	// Pool is the outside addresses, in order.
	Pool []netip.Addr
	// PortMin to PortMax are the ports (and ICMP identifiers) in use per address and protocol.
	PortMin, PortMax uint16
	Timeouts         Timeouts
	// MaxSessions bounds the bindings.
	MaxSessions int
}

// Kind implements Element.
func (NAPT) Kind() string { return "napt" }

// Ports implements Element.
func (NAPT) Ports() (in, out int) { return 2, 2 }

// Traits implements Element.
func (NAPT) Traits() Traits {
	return Traits{
		Reads: []headerspace.Field{
			headerspace.Src, headerspace.Dst, headerspace.Proto, headerspace.Frag,
			headerspace.SPort, headerspace.DPort, headerspace.ICMPType,
		},
		Writes:   []headerspace.Field{headerspace.Src, headerspace.Dst, headerspace.SPort, headerspace.DPort},
		Stateful: true,
		TwoSided: true,
	}
}

// WritesFrom implements SidedWriter.
func (NAPT) WritesFrom(in int) []headerspace.Field {
	if in == NAPTInside {
		return []headerspace.Field{headerspace.Src, headerspace.SPort}
	}
	return []headerspace.Field{headerspace.Dst, headerspace.DPort}
}

// PortNames implements Named.
func (NAPT) PortNames() []string { return []string{"inside", "outside"} }

// String is the element as a dump shows it; runs of pool addresses are ranges.
func (n NAPT) String() string {
	iv := make([]headerspace.Interval, len(n.Pool))
	for i, a := range n.Pool {
		iv[i] = headerspace.Interval{Lo: headerspace.Addr(a), Hi: headerspace.Addr(a)}
	}
	return fmt.Sprintf("%s pool %s ports %d-%d sessions %d, tcp %s/%s udp %s icmp %s", n.Kind(), headerspace.NewSet(iv...).Format(headerspace.Src),
		n.PortMin, n.PortMax, n.MaxSessions, n.Timeouts.TCP, n.Timeouts.TCPTransitory, n.Timeouts.UDP, n.Timeouts.ICMP)
}
