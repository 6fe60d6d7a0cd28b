package interp

import (
	"maps"
	"reflect"

	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// Continue is a changed chain with the state of this one, which ends: a NAPT that is in both, by name and as it was, keeps its
// bindings, and counters keep their values. So an engine goes on that gets another program.
func (c *Chain) Continue(g *graph.Graph, opts Options) *Chain {
	next := New(g, opts)
	before := map[string]*nat{}
	for _, n := range c.nodes {
		if n.nat != nil {
			before[n.nat.name] = n.nat
		}
	}
	for i := range next.nodes {
		n := next.nodes[i].nat
		if n == nil {
			continue
		}
		if old := before[n.name]; old != nil && reflect.DeepEqual(old.element, n.element) && old.overlaps == n.overlaps {
			next.nodes[i].nat = old
		}
	}
	maps.Copy(next.counts, c.counts)
	return next
}
