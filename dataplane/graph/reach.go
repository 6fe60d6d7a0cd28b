package graph

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph/fixed"
)

// realms are the address realms of the chain: ports and interfaces between which
// no NAPT lies see the same addresses (union-find).
type realms map[port]port

func (r realms) find(p port) port {
	for {
		up, ok := r[p]
		if !ok || up == p {
			return p
		}
		p = up
	}
}

func (r realms) join(a, b port) {
	if a, b = r.find(a), r.find(b); a != b {
		r[a] = b
	}
}

// joinAll joins all ports of a function.
func (r realms) joinAll(f *function) {
	for _, p := range f.ports[1:] {
		r.join(port{f.name, f.ports[0]}, port{f.name, p})
	}
}

// reach finds the ports by which packets come in, and the realms.
func (b *builder) reach() {
	b.reached, b.realm = map[port]bool{}, realms{}
	var visit func(p port)
	visit = func(p port) {
		if p.name == "" || b.reached[p] {
			return
		}
		b.reached[p] = true
		f := b.findFunction(p.owner)
		outs := f.kind.through(f, p.name)
		if a, ok := f.kind.(answering); ok && a.answers(b) {
			outs = append(outs[:len(outs):len(outs)], p.name)
		}
		for _, out := range outs {
			if w, ok := b.next[port{p.owner, out}]; ok {
				visit(w.to)
			}
		}
	}
	for _, i := range b.interfaces {
		if w, ok := b.next[port{i.name, ""}]; ok {
			visit(w.to)
		}
	}
	for from, w := range b.next {
		b.realm.join(from, w.to)
	}
	for _, f := range b.functions {
		f.kind.joinRealms(f, b.realm)
	}
}

func (b *builder) checkReached() {
	for _, f := range b.functions {
		in := slices.ContainsFunc(f.ports, func(name string) bool { return b.reached[port{f.name, name}] })
		if !in {
			b.fail(b.object, f.declared+".name", f.name, "no packet gets to this function; link one of its ports (%s), or take it out", strings.Join(f.ports, ", "))
		}
	}
	for _, i := range b.interfaces {
		_, linked := b.next[port{i.name, ""}]
		for _, w := range b.next {
			linked = linked || w.to.owner == i.name
		}
		if !linked {
			b.warn(b.object, i.field+".name", i.name, "the interface is not linked; what comes in there is dropped as %q", i.name+"/unlinked")
		}
	}
}

// past is where packets get that leave by a port, from side to side through functions whose traits
// are accepted. It is nowhere if the way is not linked, or goes round.
func (b *builder) past(at port, accepted func(traits) bool) (to port) {
	for range 2*len(b.functions) + 1 { // each may be passed both ways
		w, linked := b.next[at]
		if !linked {
			return port{}
		}
		f := b.findFunction(w.to.owner)
		if f == nil || !slices.Contains(twoSides, w.to.name) || !accepted(f.kind.traits()) {
			return w.to
		}
		at = port{f.name, opposite(w.to.name)}
	}
	return port{}
}

// behind is what lies behind a function's port, up to routers.
type behind struct {
	interfaces []*chainInterface
	routers    []*function
	between    []*function // up to those
	pools      []poolPrefix
	elements   bool // an elements function lies in between
}

// poolPrefix is a part of the pool of a function's NAPT.
type poolPrefix struct {
	prefix netip.Prefix
	of     string
}

func (b *builder) behind(p port) behind {
	var out behind
	seen := map[port]bool{}
	var visit func(p port)
	visit = func(p port) {
		w, ok := b.next[p]
		if !ok || seen[w.to] {
			return
		}
		seen[w.to] = true
		if w.to.name == "" {
			out.interfaces = append(out.interfaces, b.findInterface(w.to.owner))
			return
		}
		f := b.findFunction(w.to.owner)
		if is[router](f) {
			if !slices.Contains(out.routers, f) {
				out.routers = append(out.routers, f)
			}
			return
		}
		if !slices.Contains(out.between, f) {
			out.between = append(out.between, f)
		}
		out.elements = out.elements || f.kind.traits().unforeseen
		outs, pools := f.kind.translated(f, w.to.name)
		for _, n := range pools {
			for _, p := range poolPrefixes(n) {
				out.pools = append(out.pools, poolPrefix{p, f.name})
			}
		}
		for _, o := range outs {
			visit(port{f.name, o})
		}
	}
	visit(p)
	return out
}

// poolPrefixes is the pool, and what else is outside of fixed translations, as prefixes; what cannot be read is said elsewhere.
func poolPrefixes(n *v1alpha1.NAPT) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range n.Pool {
		if r, p := rules.ParseAddressSet(string(s)); p == nil || p.Warning {
			out = append(out, r.Prefixes()...)
		}
	}
	for _, p := range fixed.Outside(n) {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
