package graph

import (
	"fmt"
	"io"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
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
	switch e := e.(type) {
	case element.Classifier:
		var b strings.Builder
		fmt.Fprintf(&b, "%s, else [%d]", e.Kind(), e.Default)
		for _, r := range e.Rules {
			var filters []string
			for _, f := range r.Filters {
				filters = append(filters, f.String())
			}
			fmt.Fprintf(&b, "\n  %s: %s [%d]", r.Name, strings.Join(filters, " | "), r.Out)
			if r.Count {
				b.WriteString(" counted")
			}
		}
		return b.String()
	case element.Lookup:
		var b strings.Builder
		fmt.Fprintf(&b, "%s, else [%d]", e.Kind(), e.NoRoute)
		for _, r := range e.Routes {
			fmt.Fprintf(&b, "\n  %s", r.Prefix)
			if r.Via.IsValid() {
				fmt.Fprintf(&b, " via %s", r.Via)
			}
			fmt.Fprintf(&b, " [%d]", r.Out)
		}
		return b.String()
	case element.TTLGuard:
		return fmt.Sprintf("%s min %d", e.Kind(), e.Min)
	case element.SetField:
		return fmt.Sprintf("%s %s=%s", e.Kind(), e.Field, headerSet(e))
	case element.Discard:
		return fmt.Sprintf("%s %q", e.Kind(), e.Reason)
	case element.ICMPError:
		s := fmt.Sprintf("%s type %d code %d", e.Kind(), e.Type, e.Code)
		if e.Source.IsValid() {
			s += " from " + e.Source.String()
		}
		return s
	case element.NAPT:
		return fmt.Sprintf("%s pool %s ports %d-%d sessions %d, tcp %s/%s udp %s icmp %s", e.Kind(), joinPool(e), e.PortMin, e.PortMax,
			e.MaxSessions, e.Timeouts.TCP, e.Timeouts.TCPTransitory, e.Timeouts.UDP, e.Timeouts.ICMP)
	}
	return e.Kind()
}

func headerSet(e element.SetField) string { return headerspace.Single(e.Value).Format(e.Field) }

// joinPool writes the pool, runs of addresses as ranges.
func joinPool(e element.NAPT) string {
	iv := make([]headerspace.Interval, len(e.Pool))
	for i, a := range e.Pool {
		iv[i] = headerspace.Interval{Lo: headerspace.Addr(a), Hi: headerspace.Addr(a)}
	}
	return headerspace.NewSet(iv...).Format(headerspace.Src)
}
