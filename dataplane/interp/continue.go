package interp

import (
	"maps"

	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// Continue is a changed chain with the state of this one, which ends: a NAPT that is in both, by name and as it was, keeps its
// bindings, and counters keep their values. So an engine goes on that gets another program.
func (c *Chain) Continue(g *graph.Graph, opts Options) *Chain {
	next := New(g, opts)
	before := map[string]meaning{}
	for i, n := range c.graph.Nodes {
		before[n.Name] = c.means[i]
	}
	for i, n := range g.Nodes {
		if k, ok := next.means[i].(keeping); ok {
			next.means[i] = k.resume(before[n.Name])
		}
	}
	maps.Copy(next.counts, c.counts)
	return next
}
