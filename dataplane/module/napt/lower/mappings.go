package lower

import (
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// CheckRewrite refuses a mapping of what a NAPT may translate to: an address of its pool with ports that it chooses from. Replies would
// come to one of the two alone.
func (p *pooled) CheckRewrite(b *lower.Builder, m lower.Rewrite) {
	if b.Realm(p.outside) != b.Realm(lower.Port{Owner: b.Nodes()[m.Node].Name}) {
		return
	}
	a, found := mapsDynamic(b, m, p)
	if !found {
		return
	}
	to := headerspace.AsAddr(m.Value)
	what := fmt.Sprintf("takes packets to %s, which", headerspace.AsAddr(a))
	if m.Field == headerspace.Src {
		what = "maps to an address that"
	}
	b.Fail(m.Object, m.Where, to.String(), "%s is in the pool of %q, with ports of those that it chooses from (%d-%d): replies would come to one of the two alone; "+
		"take the address out of the pool, or map other ports", what, p.outside.Owner, p.portMin, p.portMax)
}

// mapsDynamic looks for packets that a mapping takes, or makes, and that a NAPT would take or make; a is the address.
func mapsDynamic(b *lower.Builder, m lower.Rewrite, p *pooled) (a headerspace.Value, found bool) {
	s := newSearch(b.Nodes(), func(node int, f headerspace.Filter) {
		for _, d := range p.dynamic(m.Field == headerspace.Src) {
			if q, possible := f.Intersect(d).Feasible(); node == m.Node && possible && !found {
				a, found = q.Get(headerspace.Dst).Intervals()[0].Lo, true // of a mapping of destinations
			}
		}
	})
	start := headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragWhole))
	if m.Field == headerspace.Src {
		if !slices.Contains(p.pool, headerspace.AsAddr(m.Value)) {
			return a, false
		}
		s.outwards = true
	} else {
		start = start.With(headerspace.Dst, lower.AddressSet(p.pool))
	}
	for _, i := range b.Interfaces {
		if s.outwards || b.Sees(i, p.outside) {
			s.follow(i.Entry(), start)
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
