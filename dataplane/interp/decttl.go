package interp

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(*pass.Chain, string, element.DecTTL) pass.Element { return decTTL{} })
}

type decTTL struct{}

func (decTTL) Pass(_ *pass.Run, _ *graph.Node, p *pass.Packet, _ int) (int, bool) {
	if p.IP[8] <= 1 {
		return element.TTLExpired, false
	}
	p.IP[8]--
	return element.TTLAlive, false
}
