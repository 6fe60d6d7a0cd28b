package interp

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func init() {
	register(func(c *Chain, name string, _ element.Counter) meaning {
		c.counts[name] = Count{}
		return counter{}
	})
}

type counter struct{}

func (counter) pass(r *run, n *graph.Node, p *packet, _ int) (int, bool) {
	r.count(n.Name, p)
	return 0, false
}

func init() {
	register(func(*Chain, string, element.Tee) meaning { return tee{} })
}

type tee struct{}

func (tee) pass(r *run, n *graph.Node, p *packet, _ int) (_ int, left bool) {
	for i := range n.Out {
		r.step(n, i, p)
		if r.walk(p.copy(), n.Out[i]) {
			left = true
		}
	}
	return ended, left
}

func init() {
	register(func(_ *Chain, _ string, e element.Discard) meaning { return discard{e.Reason} })
}

type discard struct{ reason string }

func (d discard) pass(r *run, n *graph.Node, p *packet, _ int) (int, bool) {
	r.discard(n, p, d.reason)
	return ended, false
}

// discard ends a packet's way at a node.
func (r *run) discard(n *graph.Node, p *packet, reason string) {
	r.note("drop %s", reason)
	r.step(n, -1, p)
	r.drop(reason)
}
