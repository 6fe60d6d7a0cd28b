package wiring

import (
	"fmt"
	"io"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

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
		if i.Wire {
			b.WriteString(" wire")
		}
		if i.Function != "" {
			fmt.Fprintf(&b, " function %s", i.Function)
		}
		if i.Watched.IsValid() {
			fmt.Fprintf(&b, " watched %s", i.Watched)
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
