package graph

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// checkTranslated warns of load balancers whose clients, or whose backends, are behind a NAPT that drops what the balancer needs: from outside a NAPT lets
// pass what has a binding or is exempt.
func (b *builder) checkTranslated() {
	for i := range b.g.Nodes {
		e, ok := b.g.Nodes[i].Element.(element.Balancer)
		f := b.findFunction(b.g.Nodes[i].Function)
		if !ok || e.Direct || !is[loadBalancer](f) {
			continue
		}
		virtual := e.VirtualSet()
		if nat := b.natAlone(port{f.name, outside}, inside); nat != nil && !b.letsIn(nat, virtual) {
			b.warn(f.object, f.path+".virtual", "", "clients behind %q reach no virtual address: what they send is dropped as %q; write into %q: exempt: [{source: [%s], destination: [0.0.0.0/0]}]",
				nat.name, element.ReasonNATNoBinding, nat.name, listed(virtual))
		}
		backends := headerspace.Set{}
		for _, s := range e.Backends {
			backends = backends.Union(addressSet([]netip.Addr{s.Addr}))
		}
		if nat := b.natAlone(port{f.name, inside}, outside); nat != nil && !b.letsIn(nat, backends) && !b.hasOutside(nat, e.Backends) {
			b.warn(f.object, f.path+".backends", "", "backends behind %q get nothing of clients: it is dropped as %q; put the load balancer on the inside of %q, or write into that: exempt: [{source: [%s], destination: [0.0.0.0/0]}]",
				nat.name, element.ReasonNATNoBinding, nat.name, listed(backends))
		}
	}
}

// natAlone is the NAPT that all ways from a port to an interface enter by its side; nil: there is none, or some way leads past it.
func (b *builder) natAlone(from port, side string) (nat *function) {
	past := false
	seen := map[port]bool{}
	var visit func(p port)
	visit = func(p port) {
		w, ok := b.next[p]
		if !ok || seen[w.to] {
			return
		}
		seen[w.to] = true
		f := b.findFunction(w.to.owner)
		switch {
		case w.to.name == "":
			past = true
		case is[napt](f) && w.to.name == side:
			nat = f
		default:
			for _, out := range f.kind.through(f, w.to.name) {
				visit(port{f.name, out})
			}
		}
	}
	visit(from)
	if past {
		return nil
	}
	return nat
}

// letsIn tells whether a NAPT lets packets to all of the addresses pass from outside, as they are exempt or forwarded to.
func (b *builder) letsIn(nat *function, set headerspace.Set) bool {
	spec, open := nat.kind.(napt).spec, b.exempted[nat.name]
	for i := range spec.PortForwards {
		open = open.Union(parsedSet(string(spec.PortForwards[i].Inside)))
	}
	for i := range spec.Static {
		open = open.Union(parsedSet(string(spec.Static[i].Inside)))
	}
	return set.Subtract(open).IsEmpty()
}

// parsedSet is the addresses of a text; none if it has errors, which are said elsewhere.
func parsedSet(text string) (set headerspace.Set) {
	r, problem := rules.ParseAddressSet(text)
	if problem != nil && !problem.Warning {
		return set
	}
	for _, p := range r.Prefixes() {
		set = set.Union(headerspace.Prefix(p))
	}
	return set
}

// hasOutside tells whether some backend has an outside address of the NAPT, which leads on to a server by a forward.
func (b *builder) hasOutside(nat *function, backends []element.Backend) bool {
	own := poolPrefixes(nat.kind.(napt).spec)
	return slices.ContainsFunc(backends, func(s element.Backend) bool {
		return slices.ContainsFunc(own, func(p netip.Prefix) bool { return p.Contains(s.Addr) })
	})
}

// listed are the first addresses of a set, as an exemption has them.
func listed(set headerspace.Set) string {
	const most = 8
	var out []string
	for _, i := range set.Intervals() {
		text := headerspace.AsAddr(i.Lo).String()
		if i.Hi != i.Lo {
			text += "-" + headerspace.AsAddr(i.Hi).String()
		}
		out = append(out, text)
	}
	if len(out) > most {
		out = append(out[:most], "…")
	}
	return strings.Join(out, ", ")
}
