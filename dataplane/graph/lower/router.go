package lower

import (
	"net/netip"
)

// FullTTL is the TTL of a router's own packets before its lookup, and of what an interface sends to a router, by which it becomes 64 on the wire.
const FullTTL = 65

// Router is implemented by kinds that look next hops up, for what passes and for packets of their own.
type Router interface {
	// Own are its addresses.
	Own() []netip.Addr
	// Routes is where its routes lead, once it is lowered.
	Routes() *Routes
}

// Routes is where the routes of a router lead.
type Routes struct {
	// Sends is, per port by which packets come in, the node where packets of the router's own begin.
	Sends map[string]int
	// Leads is, per output of its lookups, the ports that packets leave by.
	Leads [][]string
	// Splits are the outputs by which packets go different ways, by their sources.
	Splits map[int]Split
	// HasDefault says that there is a route for all addresses.
	HasDefault bool
	// Beyond are the ports by which routes other than connected ones lead.
	Beyond map[string]bool
}

// Split makes the elements that divide packets by their sources, for elements whose names begin with name. to says where those go that
// the router would send by a port; empty: nowhere.
type Split func(owner, name string, to func(port string) Edge) (node int)

// Router is the function as a router, nil if it is none.
func (f *Function) Router() Router {
	r, _ := f.Kind.(Router)
	return r
}

// NextHop is a next hop of a route, and the router's port where it lies.
type NextHop struct {
	Addr  netip.Addr
	At    Port
	Field string
}

// NoteNextHop notes a next hop.
func (b *Builder) NoteNextHop(h NextHop) { b.hops = append(b.hops, h) }

// NextHopsAt are those in the realm of a port, but for gateways of interfaces.
func (b *Builder) NextHopsAt(at Port) (list []NextHop) {
	for _, h := range b.hops {
		if b.Realm(h.At) == b.Realm(at) && !b.isGateway(h.Addr) {
			list = append(list, h)
		}
	}
	return list
}

// isGateway tells whether an interface has the gateway.
func (b *Builder) isGateway(a netip.Addr) bool {
	for _, i := range b.Interfaces {
		if string(i.Spec.Gateway) == a.String() {
			return true
		}
	}
	return false
}

// RoutersAt are those in the realm of a port.
func (b *Builder) RoutersAt(at Port) (list []*Function) {
	for _, f := range b.Functions {
		if f.Router() != nil && b.Realm(f.Port(f.Ports[0])) == b.Realm(at) {
			list = append(list, f)
		}
	}
	return list
}
