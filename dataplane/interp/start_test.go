package interp

import "github.com/sinter-nfv/sinter/dataplane/graph"

// start is a chain with empty state.
func start(g *graph.Graph) *Chain { return New(g, Options{}) }
