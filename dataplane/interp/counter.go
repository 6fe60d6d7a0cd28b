package interp

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(c *pass.Chain, name string, _ element.Counter) pass.Element {
		c.AddCounter(name)
		return counter{}
	})
}

type counter struct{}

func (counter) Pass(r *pass.Run, n *graph.Node, p *pass.Packet, _ int) (int, bool) {
	r.Count(n.Name, p)
	return 0, false
}

func init() {
	pass.Register(func(*pass.Chain, string, element.Tee) pass.Element { return tee{} })
}

type tee struct{}

func (tee) Pass(r *pass.Run, n *graph.Node, p *pass.Packet, _ int) (_ int, left bool) {
	for i := range n.Out {
		r.Step(n, i, p)
		if r.Walk(p.Copy(), n.Out[i]) {
			left = true
		}
	}
	return pass.Ended, left
}

func init() {
	pass.Register(func(_ *pass.Chain, _ string, e element.Discard) pass.Element { return discard{e.Reason} })
}

type discard struct{ reason string }

func (d discard) Pass(r *pass.Run, n *graph.Node, p *pass.Packet, _ int) (int, bool) {
	r.Discard(n, p, d.reason)
	return pass.Ended, false
}
