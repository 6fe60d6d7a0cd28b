package element

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/fib"
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

// Table is routes by their origins: very many, of which few change from one version of a chain to the next.
type Table struct {
	*fib.Routes
	// Hops are the next hops, by the number that the routes have for them less one.
	Hops []Hop
	// Source is what agents build the routes from; nil: whoever compiles brings them to the engine.
	Source *fib.Source
}

// Hop is where routes lead: the next hop as in Route, and the output.
type Hop struct {
	Via netip.Addr
	Out int
}

// Numbers are the numbers that some address has, in ascending order; 0: there are addresses without a route.
func (t *Table) Numbers() []uint16 {
	var out []uint16
	for v := range uint16(len(t.Hops) + 1) {
		if t.Table().Uses(v) {
			out = append(out, v)
		}
	}
	return out
}

// Lookup finds the longest prefix that holds the destination (RFC 1812 section 5.2.4),
// notes the next hop, and sends the packet out of the route's port. Packets
// without a route leave by port NoRoute.
type Lookup struct {
	Routes []Route
	// Table is the routes if they are very many; Routes are none then.
	Table   *Table
	NoRoute int
	Outs    int
}

// Len is how many routes there are.
func (l Lookup) Len() int {
	if l.Table != nil {
		return l.Table.Len()
	}
	return len(l.Routes)
}

// All are the routes.
func (l Lookup) All() iter.Seq[Route] {
	if l.Table == nil {
		return slices.Values(l.Routes)
	}
	return func(yield func(Route) bool) {
		for r := range l.Table.All() {
			h := l.Table.Hops[l.Table.Number(r)-1]
			a := [4]byte{byte(r.Addr >> 24), byte(r.Addr >> 16), byte(r.Addr >> 8), byte(r.Addr)}
			if !yield(Route{netip.PrefixFrom(netip.AddrFrom4(a), int(r.Bits)), h.Via, h.Out}) {
				return
			}
		}
	}
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
	for r := range l.All() {
		fmt.Fprintf(&b, "\n  %s", r.Prefix)
		if r.Via.IsValid() {
			fmt.Fprintf(&b, " via %s", r.Via)
		}
		fmt.Fprintf(&b, " [%d]", r.Out)
	}
	return b.String()
}
