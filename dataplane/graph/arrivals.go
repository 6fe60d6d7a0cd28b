package graph

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/wiring"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// checkNextHop warns of a route without via to more than what is on-link, by an interface without gateway. What
// lies behind elements may rewrite packets, or choose the next hop. One route of a port is named.
func (b *builder) checkNextHop(f *function, field string, p netip.Prefix, name v1alpha1.Name, at behind) {
	here := port{f.name, string(name)}
	if b.unlinked || at.elements || b.hopless[here] {
		return
	}
	for _, i := range at.interfaces {
		if i.spec.Gateway != "" || !i.prefix.IsValid() || i.prefix.Bits() <= p.Bits() && i.prefix.Contains(p.Addr()) {
			continue
		}
		b.warn(f.object, field, p.String(), "interface %q has no gateway, and the route no via: what is not in %s is dropped as \"no-next-hop\"; give the route a via, or the interface a gateway",
			i.name, i.prefix.Masked())
		b.hopless[here] = true
		return
	}
}

// needsNextHop tells whether some route without via may lead to nowhere by an interface.
func (at *behind) needsNextHop() bool {
	return slices.ContainsFunc(at.interfaces, func(i *chainInterface) bool { return i.spec.Gateway == "" && i.prefix.IsValid() })
}

// checkTranslations warns of what elements translate to and nobody answers for, and refuses what a NAPT translates to, too.
func (b *builder) checkTranslations() {
	for _, f := range b.functions {
		in, ok := f.kind.(elements)
		if !ok {
			continue
		}
		for k := range in.spec.Elements {
			e := &in.spec.Elements[k]
			name := f.name + "/" + string(e.Name)
			node := slices.IndexFunc(b.g.Nodes, func(n Node) bool { return n.Name == name })
			if node < 0 || b.ofAnswers[node] {
				continue // no packet gets there, or no reply is expected
			}
			if s, ok := b.g.Nodes[node].Element.(element.SetField); ok && (s.Field == headerspace.Src || s.Field == headerspace.Dst) {
				at := index(f.path+".elements", k) + ".setField.value"
				if in.click != nil {
					at = fmt.Sprintf("%s[%s]", f.path, in.click.Made[string(e.Name)].Pos)
				}
				b.checkTranslation(f, at, node, s)
				b.checkMapping(mapping{f.object, at, node, s})
			}
		}
	}
}

func (b *builder) checkTranslation(f *function, at string, node int, s element.SetField) {
	a := headerspace.AsAddr(s.Value)
	left := wiring.LeavesBy(b.g.Nodes, node, s.Field)
	for n, i := range b.interfaces {
		g := &b.g.Interfaces[n]
		if !left[Edge{To: g.Out}] || !i.prefix.IsValid() || !i.prefix.Contains(a) {
			continue
		}
		answered := a == i.prefix.Addr() || slices.Contains(g.Addresses, a) || slices.Contains(g.Proxy, a)
		broadcast, has := rules.Broadcast(i.prefix)
		switch {
		case has && (a == broadcast || a == i.prefix.Masked().Addr()):
			b.warn(f.object, at, a.String(), "is the network or broadcast address of %s, of interface %q; nobody answers for it", i.prefix.Masked(), i.name)
		case s.Field == headerspace.Src && !answered:
			b.warn(f.object, at, a.String(), "lies in %s of interface %q, which does not answer ARP requests for it: replies never arrive; add it to the interface's addresses",
				i.prefix.Masked(), i.name)
		}
	}
}
