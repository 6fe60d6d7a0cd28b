package element

import (
	"fmt"
	"net/netip"
)

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

// Kind implements Element.
func (ICMPError) Kind() string { return "icmp-error" }

// Ports implements Element.
func (ICMPError) Ports() (in, out int) { return 1, 1 }

// Traits implements Element.
func (ICMPError) Traits() Traits { return Traits{Generates: true} }

// String is the element as a dump shows it.
func (e ICMPError) String() string {
	s := fmt.Sprintf("%s type %d code %d", e.Kind(), e.Type, e.Code)
	if e.Source.IsValid() {
		s += " from " + e.Source.String()
	}
	return s
}
