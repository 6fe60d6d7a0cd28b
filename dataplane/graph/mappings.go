package graph

import (
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

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
	s := mapSearch{b: b, left: mapBudget, on: map[Edge]bool{}, at: func(node int, f headerspace.Filter) {
		for _, d := range p.dynamic(m.Field == headerspace.Src) {
			if q, possible := f.Intersect(d).Feasible(); node == m.node && possible && !found {
				a, found = q.Get(headerspace.Dst).Intervals()[0].Lo, true // of a mapping of destinations
			}
		}
	}}
	start := headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragWhole))
	if m.Field == headerspace.Src {
		if !slices.Contains(p.pool, headerspace.AsAddr(m.Value)) {
			return a, false
		}
		s.outwards = true
	} else {
		start = start.With(headerspace.Dst, addresses(p.pool))
	}
	for n, i := range b.interfaces {
		if s.outwards || b.sees(i, p.outside) {
			s.follow(b.g.Nodes[b.g.Interfaces[n].In].Out[0], start)
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

// mapBudget bounds the elements and rules that a search looks at. Chains that need more are not judged.
const mapBudget = 1 << 16

// mapSearch follows packets from element to element; of those that come by twice nothing new is learnt.
type mapSearch struct {
	b        *builder
	left     int
	on       map[Edge]bool // the way
	outwards bool          // through NAPTs
	at       func(node int, f headerspace.Filter)
}

func (s *mapSearch) follow(e Edge, p headerspace.Filter) {
	if s.left--; s.left < 0 || e.To < 0 || s.on[e] {
		return
	}
	s.on[e] = true
	defer delete(s.on, e)
	n := &s.b.g.Nodes[e.To]
	switch el := n.Element.(type) {
	case element.Classifier:
		s.classify(n, el, p)
	case element.Lookup:
		s.lookup(n, el, p)
	case element.SetField:
		s.at(e.To, p)
		s.follow(n.Out[0], p.With(el.Field, headerspace.Single(el.Value)))
	case element.NAPT:
		if s.outwards && e.Port == element.NAPTInside {
			s.follow(n.Out[element.NAPTOutside], p.With(headerspace.SPort, headerspace.Full(headerspace.SPort)))
		}
	default:
		if !el.Traits().Generates {
			for _, out := range n.Out {
				s.follow(out, p)
			}
		}
	}
}

func (s *mapSearch) classify(n *Node, c element.Classifier, p headerspace.Filter) {
	rest := []headerspace.Filter{p}
	for _, r := range c.Rules {
		for _, f := range r.Filters {
			var left []headerspace.Filter
			for _, p := range rest {
				if s.left--; s.left < 0 {
					return
				}
				if !p.Overlaps(f) {
					left = append(left, p)
					continue
				}
				if q, possible := p.Intersect(f).Feasible(); possible {
					s.follow(n.Out[r.Out], q)
				}
				left = append(left, feasible(p.Subtract(f))...)
			}
			rest = left
		}
	}
	for _, p := range rest {
		s.follow(n.Out[c.Default], p)
	}
}

// lookup follows the longest matches of destinations that are few; all ways of all.
func (s *mapSearch) lookup(n *Node, l element.Lookup, p headerspace.Filter) {
	if p.Any(headerspace.Dst) {
		for _, out := range n.Out {
			s.follow(out, p)
		}
		return
	}
	rest := p.Get(headerspace.Dst)
	var near []element.Route
	for _, r := range l.Routes {
		if rest.Overlaps(headerspace.Prefix(r.Prefix)) {
			near = append(near, r)
		}
	}
	slices.SortStableFunc(near, func(x, y element.Route) int { return y.Prefix.Bits() - x.Prefix.Bits() })
	for _, r := range near {
		if to := rest.Intersect(headerspace.Prefix(r.Prefix)); !to.IsEmpty() {
			s.follow(n.Out[r.Out], p.With(headerspace.Dst, to))
			rest = rest.Subtract(to)
		}
	}
	if !rest.IsEmpty() {
		s.follow(n.Out[l.NoRoute], p.With(headerspace.Dst, rest))
	}
}
