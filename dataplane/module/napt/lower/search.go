package lower

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/graph/wiring"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// budget bounds the elements and rules that a search looks at. Chains that need more are not judged.
const budget = 1 << 16

// search follows packets from element to element; of those that come by twice nothing new is learnt.
type search struct {
	nodes []lower.Node
	left  int
	on    map[lower.Edge]bool // the way
	// outwards: searches go on through NAPTs.
	outwards bool
	at       func(node int, f headerspace.Filter)
}

// newSearch tells `at` of each set-field that packets come to, with what they can be there.
func newSearch(nodes []lower.Node, at func(node int, f headerspace.Filter)) *search {
	return &search{nodes: nodes, left: budget, on: map[lower.Edge]bool{}, at: at}
}

// follow follows the packets of a filter from an input on.
func (s *search) follow(e lower.Edge, p headerspace.Filter) {
	if s.left--; s.left < 0 || e.To < 0 || s.on[e] {
		return
	}
	s.on[e] = true
	defer delete(s.on, e)
	n := &s.nodes[e.To]
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
		if el.Traits().Generates {
			return
		}
		for i, out := range n.Out {
			if element.Leads(el, e.Port, i) {
				s.follow(out, p)
			}
		}
	}
}

func (s *search) classify(n *lower.Node, c element.Classifier, p headerspace.Filter) {
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
				left = append(left, wiring.Feasible(p.Subtract(f))...)
			}
			rest = left
		}
	}
	for _, p := range rest {
		s.follow(n.Out[c.Default], p)
	}
}

// lookup follows the longest matches of destinations that are few; all ways of all.
func (s *search) lookup(n *lower.Node, l element.Lookup, p headerspace.Filter) {
	if p.Any(headerspace.Dst) {
		for _, out := range n.Out {
			s.follow(out, p)
		}
		return
	}
	rest := p.Get(headerspace.Dst)
	var near []element.Route
	for r := range l.All() {
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
