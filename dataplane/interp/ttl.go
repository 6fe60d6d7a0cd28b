package interp

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func init() {
	register(func(*Chain, string, element.DecTTL) meaning { return decTTL{} })
	register(func(_ *Chain, _ string, e element.TTLGuard) meaning { return ttlGuard{e} })
}

type decTTL struct{}

func (decTTL) pass(_ *run, _ *graph.Node, p *packet, _ int) (int, bool) {
	if p.ip[8] <= 1 {
		return element.TTLExpired, false
	}
	p.ip[8]--
	return element.TTLAlive, false
}

type ttlGuard struct{ element.TTLGuard }

func (g ttlGuard) pass(_ *run, _ *graph.Node, p *packet, _ int) (int, bool) {
	if p.ip[8] < g.Min {
		return element.GuardFail, false
	}
	return element.GuardPass, false
}
