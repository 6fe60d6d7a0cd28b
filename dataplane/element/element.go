// Package element is the library of packet processing elements that every
// network function is lowered to (SNF's processing units). An element here is
// data: what it reads, writes and keeps. Its meaning is written twice and
// independently, in dataplane/interp (on bytes) and in dataplane/synth (on sets).
package element

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Element is one processing unit. The concrete types are the ones in this file.
type Element interface {
	// Kind is the element's type as written in an `elements` function.
	Kind() string
	// Ports are the numbers of input and output ports.
	Ports() (in, out int)
	// Traits are what the element does to a packet.
	Traits() Traits
}

// Traits sort elements as SNF's parser does (read and write elements), and say
// which fields are concerned.
type Traits struct {
	Reads  []headerspace.Field
	Writes []headerspace.Field
	// Stateful elements keep entries per flow.
	Stateful bool
	// Generates says that what leaves on the output is a new packet, not the
	// one that came in. A way through a generator is not a loop: nothing is
	// generated about a generated error (RFC 1122 section 3.2.2).
	Generates bool
	// Terminal elements have no output: the packet leaves the chain there.
	Terminal bool
}

// Input is where packets from a chain interface enter. What arrives there has
// passed the interface's checks (docs/elements.md, "Entry").
type Input struct{ Interface string }

// Output sends packets out of a chain interface: to the next hop that the last
// lookup chose, else to the destination if it is on-link, else to the gateway.
type Output struct{ Interface string }

// Rule is one line of a Classifier: packets that pass one of the filters leave
// by the port.
type Rule struct {
	// Name identifies the rule in counters, warnings and explanations.
	Name    string
	Filters []headerspace.Filter
	Out     int
	// Count asks for a packet and byte counter of the rule's own.
	Count bool
}

// Classifier sends a packet out of the port of the first rule that matches,
// else out of Default.
type Classifier struct {
	Rules   []Rule
	Default int
	Outs    int
}

// Route is one line of a Lookup.
type Route struct {
	Prefix netip.Prefix
	// Via is the next hop's address; not valid: the destination itself, or the
	// output interface's gateway.
	Via netip.Addr
	Out int
}

// Lookup finds the longest prefix that holds the destination (RFC 1812 section 5.2.4),
// notes the next hop, and sends the packet out of the route's port. Packets
// without a route leave by port NoRoute.
type Lookup struct {
	Routes  []Route
	NoRoute int
	Outs    int
}

// Output ports of DecTTL.
const (
	TTLAlive   = 0
	TTLExpired = 1
)

// DecTTL decrements the TTL; packets with TTL 0 or 1 leave unchanged by port
// TTLExpired (RFC 1812 section 5.3.1).
type DecTTL struct{}

// Output ports of TTLGuard.
const (
	GuardPass = 0
	GuardFail = 1
)

// TTLGuard lets packets with a TTL of at least Min leave by port GuardPass, the
// others by GuardFail. A TTL of 255 cannot come from beyond a router: the
// Generalized TTL Security Mechanism (RFC 5082 section 3).
type TTLGuard struct{ Min uint8 }

// SetField writes a constant. Fields: vlan (Absent strips the tag), src, dst,
// dscp, ttl, sport, dport. Writing a port of a packet that has none changes nothing.
type SetField struct {
	Field headerspace.Field
	Value headerspace.Value
}

// Output ports of CheckIPHeader.
const (
	CheckGood = 0
	CheckBad  = 1
)

// CheckIPHeader verifies version, lengths and header checksum (RFC 1812 section 5.2.2).
type CheckIPHeader struct{}

// Counter counts the packets and bytes (of the frame) that pass.
type Counter struct{}

// Tee sends a copy to every output, in order of the ports.
type Tee struct{ Outs int }

// Discard drops packets and counts them under the reason.
type Discard struct{ Reason string }

// ICMPError answers a packet with an ICMP error (RFC 792, RFC 1812 section 4.3.2). The answer
// quotes the packet as it is here: IP header and up to 548 bytes in all
// (RFC 1812: as much as fits 576 bytes). It leaves by port 0. Nothing is answered to ICMP errors,
// later fragments, and to packets whose source is no single host; they are dropped as
// "icmp-suppressed".
type ICMPError struct {
	Type, Code uint8
	// Source is the answer's source address; not valid: the address of the
	// chain interface by which the packet entered.
	Source netip.Addr
}

// EchoResponder answers ICMP echo requests (RFC 792): addresses swapped, TTL 64,
// by port 0. Everything else is dropped as "local".
type EchoResponder struct{}

// LocalHost is the end of packets to an own address: it answers them by port 0 as a host without
// services (RFC 1122 sections 3.2.2.1 and 3.2.2.6, RFC 9293 section 3.10.7.1).
type LocalHost struct{}

// Reject refuses a packet by port 0: a TCP segment by a reset, as its destination would, others by ICMP
// "communication administratively prohibited" (RFC 1812 section 5.2.7.1). What is never answered is
// dropped as "icmp-suppressed": resets, ICMP errors, later fragments.
type Reject struct{}

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
func (Input) Kind() string         { return "input" }
func (Output) Kind() string        { return "output" }
func (Classifier) Kind() string    { return "classifier" }
func (Lookup) Kind() string        { return "lookup" }
func (DecTTL) Kind() string        { return "dec-ttl" }
func (TTLGuard) Kind() string      { return "ttl-guard" }
func (SetField) Kind() string      { return "set-field" }
func (CheckIPHeader) Kind() string { return "check-ip-header" }
func (Counter) Kind() string       { return "counter" }
func (Tee) Kind() string           { return "tee" }
func (Discard) Kind() string       { return "discard" }
func (ICMPError) Kind() string     { return "icmp-error" }
func (EchoResponder) Kind() string { return "echo-responder" }
func (LocalHost) Kind() string     { return "local-host" }
func (Reject) Kind() string        { return "reject" }
func (NAPT) Kind() string          { return "napt" }

// Ports implements Element.
func (Input) Ports() (int, int)         { return 0, 1 }
func (Output) Ports() (int, int)        { return 1, 0 }
func (c Classifier) Ports() (int, int)  { return 1, c.Outs }
func (l Lookup) Ports() (int, int)      { return 1, l.Outs }
func (DecTTL) Ports() (int, int)        { return 1, 2 }
func (TTLGuard) Ports() (int, int)      { return 1, 2 }
func (SetField) Ports() (int, int)      { return 1, 1 }
func (CheckIPHeader) Ports() (int, int) { return 1, 2 }
func (Counter) Ports() (int, int)       { return 1, 1 }
func (t Tee) Ports() (int, int)         { return 1, t.Outs }
func (Discard) Ports() (int, int)       { return 1, 0 }
func (ICMPError) Ports() (int, int)     { return 1, 1 }
func (EchoResponder) Ports() (int, int) { return 1, 1 }
func (LocalHost) Ports() (int, int)     { return 1, 1 }
func (Reject) Ports() (int, int)        { return 1, 1 }
func (NAPT) Ports() (int, int)          { return 2, 2 }

// Traits implements Element.
func (Input) Traits() Traits  { return Traits{} }
func (Output) Traits() Traits { return Traits{Terminal: true} }
func (c Classifier) Traits() Traits {
	var t Traits
	for f := range headerspace.NumFields {
		if c.reads(f) {
			t.Reads = append(t.Reads, f)
		}
	}
	return t
}

func (c Classifier) reads(f headerspace.Field) bool {
	for _, r := range c.Rules {
		for _, p := range r.Filters {
			if !p.Any(f) {
				return true
			}
		}
	}
	return false
}

func (Lookup) Traits() Traits { return Traits{Reads: []headerspace.Field{headerspace.Dst}} }
func (DecTTL) Traits() Traits {
	return Traits{Reads: []headerspace.Field{headerspace.TTL}, Writes: []headerspace.Field{headerspace.TTL}}
}
func (TTLGuard) Traits() Traits      { return Traits{Reads: []headerspace.Field{headerspace.TTL}} }
func (s SetField) Traits() Traits    { return Traits{Writes: []headerspace.Field{s.Field}} }
func (CheckIPHeader) Traits() Traits { return Traits{} }
func (Counter) Traits() Traits       { return Traits{} }
func (Tee) Traits() Traits           { return Traits{} }
func (Discard) Traits() Traits       { return Traits{Terminal: true} }
func (ICMPError) Traits() Traits     { return Traits{Generates: true} }
func (EchoResponder) Traits() Traits { return Traits{Generates: true} }
func (LocalHost) Traits() Traits     { return Traits{Generates: true} }
func (Reject) Traits() Traits        { return Traits{Generates: true} }
func (NAPT) Traits() Traits {
	return Traits{
		Reads: []headerspace.Field{
			headerspace.Src, headerspace.Dst, headerspace.Proto, headerspace.Frag,
			headerspace.SPort, headerspace.DPort, headerspace.ICMPType,
		},
		Writes:   []headerspace.Field{headerspace.Src, headerspace.Dst, headerspace.SPort, headerspace.DPort},
		Stateful: true,
	}
}

// Built-in drop reasons that elements give (Discard gives its own).
const (
	ReasonICMPSuppressed    = "icmp-suppressed"
	ReasonLocal             = "local"
	ReasonDirectedBroadcast = "directed-broadcast"
	ReasonOwnSource         = "own-source"
	ReasonPoolSource        = "pool-source"
	ReasonBroadcastSource   = "broadcast-source"
	ReasonReversePath       = "reverse-path"
	ReasonNATUnsupported    = "nat-unsupported"
	ReasonNATFragment       = "nat-fragment"
	ReasonNATNoBinding      = "nat-no-binding"
	ReasonNATExhausted      = "nat-exhausted"
)

// PortName names a port of an element for people.
func PortName(e Element, out int) string {
	switch e.(type) {
	case DecTTL:
		return [...]string{"alive", "expired"}[out]
	case TTLGuard:
		return [...]string{"pass", "fail"}[out]
	case CheckIPHeader:
		return [...]string{"good", "bad"}[out]
	case NAPT:
		return [...]string{"inside", "outside"}[out]
	}
	return fmt.Sprint(out)
}
