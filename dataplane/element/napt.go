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
	// TCPClosing is for connections of which a FIN or RST was seen; 0: as for others that are not established.
	TCPClosing time.Duration
	UDP        time.Duration // RFC 4787 section 4.3
	ICMP       time.Duration // RFC 5508 section 3.2
}

// Dependence is what of a remote endpoint a NAPT's mapping or filtering depends on (RFC 4787 sections 4.1 and 5).
type Dependence uint8

// The less a mapping or filter depends on, the greater is its number.
const (
	AddressAndPortDependent Dependence = iota
	AddressDependent
	EndpointIndependent
)

// String is as users write it.
func (d Dependence) String() string {
	return [...]string{"AddressAndPortDependent", "AddressDependent", "EndpointIndependent"}[d]
}

// NAPT translates the source of packets from inside (input 0, output 1) to an
// address and port of the pool, and back (input 1, output 0). A mapping is made by its first flow, and ends with its last. TCP,
// UDP and ICMP echo are translated, and ICMP errors that quote a translated packet,
// quoted header included (RFC 5508 section 4). Dropped, by reason: "nat-unsupported" (other protocols
// and ICMP types from inside; an error that quotes no bound flow), "nat-fragment" (fragments, from either side),
// "nat-no-binding" (from outside, without binding), "nat-exhausted" (no free port), and Limits.Reason.
type NAPT struct {
	// Pool is the outside addresses, in order.
	Pool []netip.Addr
	// PortMin to PortMax are the ports (and ICMP identifiers) in use per address and protocol.
	PortMin, PortMax uint16
	Timeouts         Timeouts
	// MaxSessions bounds the flows.
	MaxSessions int
	// Mapping says which flows of an inside address and port share an outside address and port.
	Mapping Dependence
	// Filtering says who may begin a flow from outside, to the outside port of a mapping. It depends on no less than Mapping.
	Filtering Dependence
	// Reserved are ports that are never chosen: others have them.
	Reserved []Reserved
	// Paired says that all flows of an inside address have one outside address (RFC 4787 REQ-2).
	Paired bool
	// Quarantine is for how long an outside port of TCP, UDP or ICMP rests before it is used again.
	Quarantine time.Duration
	// Limits are what one subscriber may have at the same time; zero: there are none.
	Limits SubscriberLimits
}

// Reserved is a range of ports of a protocol on an address of a pool.
type Reserved struct {
	Proto       uint8
	Addr        netip.Addr
	First, Last uint16
}

// SubscriberLimits bound what the inside addresses that share a prefix have together (RFC 6888 REQ-4, REQ-5).
type SubscriberLimits struct {
	PrefixLen int
	// MaxSessions bounds the flows, MaxPorts the outside ports (identifiers) of each protocol.
	MaxSessions, MaxPorts int
	Reason                string // why packets are dropped that would begin one too many
}

// String is the limits as a dump shows them.
func (l SubscriberLimits) String() string {
	return fmt.Sprintf("per /%d: sessions %d, ports %d, else drop %s", l.PrefixLen, l.MaxSessions, l.MaxPorts, l.Reason)
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
	s := fmt.Sprintf("%s pool %s ports %d-%d sessions %d, tcp %s/%s udp %s icmp %s", n.Kind(), headerspace.NewSet(iv...).Format(headerspace.Src),
		n.PortMin, n.PortMax, n.MaxSessions, n.Timeouts.TCP, n.Timeouts.TCPTransitory, n.Timeouts.UDP, n.Timeouts.ICMP)
	if n.Mapping != AddressAndPortDependent {
		s += fmt.Sprintf(", mapping %s, filtering %s", n.Mapping, n.Filtering)
	}
	for _, r := range n.Reserved {
		s += fmt.Sprintf(", not %s %s:%d-%d", headerspace.Of(uint64(r.Proto)).Format(headerspace.Proto), r.Addr, r.First, r.Last)
	}
	if n.Paired {
		s += ", paired"
	}
	if n.Quarantine > 0 {
		s += fmt.Sprintf(", ports rest %s", n.Quarantine)
	}
	if n.Limits != (SubscriberLimits{}) {
		s += ", " + n.Limits.String()
	}
	return s
}
