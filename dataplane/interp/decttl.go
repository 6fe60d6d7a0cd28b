package interp

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func init() {
	register(func(*Chain, string, element.DecTTL) meaning { return decTTL{} })
}

type decTTL struct{}

func (decTTL) pass(_ *run, _ *graph.Node, p *packet, _ int) (int, bool) {
	if p.ip[8] <= 1 {
		return element.TTLExpired, false
	}
	p.ip[8]--
	return element.TTLAlive, false
}
