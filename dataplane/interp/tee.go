package interp

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

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
