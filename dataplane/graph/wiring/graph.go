package wiring

import (
	"net"
	"net/netip"
)

// Graph is one chain. It is valid: every output port that packets can leave by is wired,
// names are unique, and the checks of graph.Build hold.
type Graph struct {
	Chain      string
	Interfaces []Interface
	// Nodes are in a deterministic order; a node's index is its identity.
	Nodes []Node
}

// Interface is a chain interface: a link to the outside world.
type Interface struct {
	Name string
	// Prefix holds the interface's address and its on-link prefix.
	Prefix netip.Prefix
	// Addresses are further addresses of its own, within Prefix or not: ARP and ping are answered.
	Addresses []netip.Addr
	// VLANs are those of tagged frames that come in and leave, ascending. Untagged ones always do.
	VLANs []uint16
	// Refused are sources that Entry drops, ascending and disjoint.
	Refused []Refused
	// TinyFragments tells that first fragments which end within their transport header are let in: nobody reads it
	// (RFC 1858 section 3).
	TinyFragments bool
	// MTU is the largest IP packet, in bytes, that leaves.
	MTU int
	// Gateway is the next hop for what is not on-link; not valid: none.
	Gateway   netip.Addr
	Neighbors []Neighbor // static neighbours
	// AnswerTTL is that of errors which the interface sends into the chain; 0: 64.
	AnswerTTL uint8
	// Proxy are further addresses within Prefix that ARP requests are answered for: those that functions of the chain have.
	Proxy []netip.Addr
	// MAC is the interface's own; nil: the bound device's.
	MAC net.HardwareAddr
	// Device is the EAL device string or kernel interface that the interface is
	// bound to by default; empty: bound when run.
	Device string
	// Wire tells that the interface is a side of an element.Stop or a tap's, by which packets leave for that alone: it has no neighbours and no gateway, frames
	// of all VLANs pass, and Prefix is the address of errors about packets that come in without a continuation.
	Wire bool
	// Full is why frames are dropped that a wire does not take.
	Full string
	// Function is the chain's function that is a host there, run by someone else; empty: none.
	Function string
	// Watched is its address, if the engine asks again and again whether it is there.
	Watched netip.Addr
	// In and Out are the interface's Input and Output nodes; of a wire, Out is -1.
	In, Out int
}

// Neighbor is a static entry of an interface's neighbour table.
type Neighbor struct {
	Addr netip.Addr
	MAC  net.HardwareAddr
	VLAN uint16 // 0: untagged
}

// Refused are source addresses that an interface's entry drops, and why.
type Refused struct {
	First, Last netip.Addr
	Reason      string
}
