package interp

import (
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
)

// start is a chain with empty state.
func start(g *graph.Graph) *Chain { return New(g, Options{}) }

// overlapping is the chain whose NAPTs may give a port to several flows.
func overlapping(b *testbed.Builder) *Chain { return New(&b.Graph, Options{PortOverlapping: true}) }
