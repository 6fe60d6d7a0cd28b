package graph

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/finding"
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

// mapping is a set-field that translates addresses without state, and where it is written.
type mapping struct {
	object finding.Object
	field  string
	node   int
	element.SetField
}

// checkMapping refuses a mapping of what a NAPT may translate to: an address of its pool with ports that it chooses from. Replies would
// come to one of the two alone.
func (b *builder) checkMapping(m mapping) {
	for i := range b.pools {
		p := &b.pools[i]
		if b.realm.find(p.outside) != b.realm.find(port{b.g.Nodes[m.node].Name, ""}) {
			continue
		}
		a, found := b.mapsDynamic(m, p)
		if !found {
			continue
		}
		to := headerspace.AsAddr(m.Value)
		what := fmt.Sprintf("takes packets to %s, which", headerspace.AsAddr(a))
		if m.Field == headerspace.Src {
			what = "maps to an address that"
		}
		b.fail(m.object, m.field, to.String(), "%s is in the pool of %q, with ports of those that it chooses from (%d-%d): replies would come to one of the two alone; "+
			"take the address out of the pool, or map other ports", what, p.outside.owner, p.portMin, p.portMax)
	}
}

// mapsDynamic looks for packets that a mapping takes, or makes, and that a NAPT would take or make; a is the address.
func (b *builder) mapsDynamic(m mapping, p *pooled) (a headerspace.Value, found bool) {
	s := wiring.NewSearch(b.g.Nodes, func(node int, f headerspace.Filter) {
		for _, d := range p.dynamic(m.Field == headerspace.Src) {
			if q, possible := f.Intersect(d).Feasible(); node == m.node && possible && !found {
				a, found = q.Get(headerspace.Dst).Intervals()[0].Lo, true // of a mapping of destinations
			}
		}
	})
	start := headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragWhole))
	if m.Field == headerspace.Src {
		if !slices.Contains(p.pool, headerspace.AsAddr(m.Value)) {
			return a, false
		}
		s.Outwards = true
	} else {
		start = start.With(headerspace.Dst, addresses(p.pool))
	}
	for n, i := range b.interfaces {
		if s.Outwards || b.sees(i, p.outside) {
			s.Follow(b.g.Nodes[b.g.Interfaces[n].In].Out[0], start)
		}
	}
	return a, found
}

// dynamic is the packets from which a NAPT makes bindings of its pool's, but for addresses, or those which it finds them for.
func (p *pooled) dynamic(outward bool) []headerspace.Filter {
	of := func(proto headerspace.Set) headerspace.Filter {
		return headerspace.Filter{}.With(headerspace.Proto, proto)
	}
	ports, types, at := headerspace.Range(uint64(p.portMin), uint64(p.portMax)), headerspace.Of(0, 3, 11, 12, 14), headerspace.DPort
	if outward {
		types, at = headerspace.Of(8, 13), headerspace.SPort
	}
	return []headerspace.Filter{
		of(headerspace.Of(6, 17)).With(at, ports),
		of(headerspace.Of(1)).With(headerspace.ICMPType, types),
		of(headerspace.Full(headerspace.Proto).Subtract(headerspace.Of(1, 6, 17))),
	}
}
