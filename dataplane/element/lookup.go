package element

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

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

// Kind implements Element.
func (Lookup) Kind() string { return "lookup" }

// Ports implements Element.
func (l Lookup) Ports() (in, out int) { return 1, l.Outs }

// Traits implements Element.
func (Lookup) Traits() Traits { return Traits{Reads: []headerspace.Field{headerspace.Dst}} }

// String is the element as a dump shows it.
func (l Lookup) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, else [%d]", l.Kind(), l.NoRoute)
	for _, r := range l.Routes {
		fmt.Fprintf(&b, "\n  %s", r.Prefix)
		if r.Via.IsValid() {
			fmt.Fprintf(&b, " via %s", r.Via)
		}
		fmt.Fprintf(&b, " [%d]", r.Out)
	}
	return b.String()
}
