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
