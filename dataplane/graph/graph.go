// Package graph is a service chain as a directed graph of elements: what the
// synthesizer walks and the oracle runs. Build lowers the user's types to it.
package graph

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/wiring"
)

// Graph is one chain. It is valid: every output port that packets can leave by is wired,
// names are unique, and the checks of Build hold.
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
	// Proxy are further addresses that ARP requests are answered for (NAT pools within Prefix).
	Proxy []netip.Addr
	// MAC is the interface's own; nil: the bound device's.
	MAC net.HardwareAddr
	// Device is the EAL device string or kernel interface that the interface is
	// bound to by default; empty: bound when run.
	Device string
	// In and Out are the interface's Input and Output nodes.
	In, Out int
}

// Neighbor is a static entry of an interface's neighbour table.
type Neighbor struct {
	Addr netip.Addr
	MAC  net.HardwareAddr
	VLAN uint16 // 0: untagged
}

// Node is an element in its place.
type Node = wiring.Node

// Edge leads to an input port of a node.
type Edge = wiring.Edge

// Dump writes the graph as text: interfaces, then every node with what its
// element does and where its outputs lead.
func (g *Graph) Dump(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "chain %s\n", g.Chain)
	for _, i := range g.Interfaces {
		fmt.Fprintf(&b, "interface %s %s mtu %d", i.Name, i.Prefix, i.MTU)
		for _, a := range i.Addresses {
			fmt.Fprintf(&b, " address %s", a)
		}
		for _, r := range i.Refused {
			fmt.Fprintf(&b, " refused %s-%s %s", r.First, r.Last, r.Reason)
		}
		if i.Gateway.IsValid() {
			fmt.Fprintf(&b, " gateway %s", i.Gateway)
		}
		if i.AnswerTTL != 0 {
			fmt.Fprintf(&b, " answer-ttl %d", i.AnswerTTL)
		}
		if i.MAC != nil {
			fmt.Fprintf(&b, " mac %s", i.MAC)
		}
		if i.Device != "" {
			fmt.Fprintf(&b, " device %s", i.Device)
		}
		for _, v := range i.VLANs {
			fmt.Fprintf(&b, " vlan %d", v)
		}
		for _, n := range i.Neighbors {
			fmt.Fprintf(&b, " neighbor %s=%s", n.Addr, n.MAC)
			if n.VLAN != 0 {
				fmt.Fprintf(&b, "@%d", n.VLAN)
			}
		}
		for _, a := range i.Proxy {
			fmt.Fprintf(&b, " proxy %s", a)
		}
		b.WriteByte('\n')
	}
	for _, n := range g.Nodes {
		fmt.Fprintf(&b, "\n%s: %s\n", n.Name, describe(n.Element))
		for out, e := range n.Out {
			fmt.Fprintf(&b, "  [%s] -> %s\n", element.PortName(n.Element, out), g.target(e))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (g *Graph) target(e Edge) string {
	if e.To < 0 {
		return "nothing"
	}
	to := g.Nodes[e.To]
	if in, _ := to.Element.Ports(); in > 1 {
		return to.Name + "." + element.PortName(to.Element, e.Port)
	}
	return to.Name
}

func describe(e element.Element) string {
	if s, ok := e.(fmt.Stringer); ok {
		return s.String()
	}
	return e.Kind()
}
