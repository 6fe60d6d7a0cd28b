package interp

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

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
