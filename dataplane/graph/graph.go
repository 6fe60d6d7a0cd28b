// Package graph is a service chain as a directed graph of elements: what the synthesizer walks and the oracle runs. Build lowers the user's
// types to it, by the functions of all modules.
package graph

import (
	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/graph/wiring"
	_ "github.com/sinter-nfv/sinter/dataplane/module/all/lower" // all functions
)

// Graph is one chain.
type Graph = wiring.Graph

// Interface is a chain interface: a link to the outside world.
type Interface = wiring.Interface

// Refused are source addresses that an interface's entry drops, and why.
type Refused = wiring.Refused

// Neighbor is a static entry of an interface's neighbour table.
type Neighbor = wiring.Neighbor

// Node is an element in its place.
type Node = wiring.Node

// Edge leads to an input port of a node.
type Edge = wiring.Edge

// Inputs is what a chain refers to.
type Inputs = lower.Inputs

// Build lowers a chain to its graph of elements. The graph is nil if some finding is an error. The chain must have its defaults set (package
// manifest and the API server do).
func Build(chain *v1alpha1.ServiceChain, in Inputs) (*Graph, finding.List) {
	return lower.Build(chain, in)
}

// DeviceName is a device without its arguments, a PCI address with its domain.
func DeviceName(device string) string { return wiring.DeviceName(device) }
