package oracle_test

import (
	"net"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
)

// start is a chain with empty state.
func start(g *graph.Graph) *interp.Chain { return interp.New(g, interp.Options{}) }

// overlapping is the chain whose NAPTs may give a port to several flows.
func overlapping(b *testbed.Builder) *interp.Chain {
	return interp.New(&b.Graph, interp.Options{PortOverlapping: true})
}

// macOf is the address of an interface that has none of its own (interp.Options).
func macOf(iface int) net.HardwareAddr { return net.HardwareAddr{0x02, 0x73, 0x6e, 0, 0, byte(iface)} }
