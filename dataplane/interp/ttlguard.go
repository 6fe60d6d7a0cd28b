package interp

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(_ *pass.Chain, _ string, e element.TTLGuard) pass.Element { return ttlGuard{e} })
}

type ttlGuard struct{ element.TTLGuard }

func (g ttlGuard) Pass(_ *pass.Run, _ *graph.Node, p *pass.Packet, _ int) (int, bool) {
	if p.IP[8] < g.Min {
		return element.GuardFail, false
	}
	return element.GuardPass, false
}
