package placement

import (
	"cmp"
	"slices"
)

// Node is what is known of a node. What is not known refuses nothing: the engine
// checks what it was really given when it starts.
type Node struct {
	Name   string
	Labels map[string]string

	NotReady bool   // the condition Ready is not True
	Cordoned bool   // spec.unschedulable
	Taint    string // the first taint that data-plane pods do not tolerate

	CPUManagerPolicy string // the kubelet's; empty: not known
	TopologyPolicy   string // of the kubelet's topology manager; empty: not known

	Cores     int // allocatable CPUs that containers can own
	FreeCores int // of these, not promised to any pod

	// Load is the work of the node's data-plane cores as a share of all its
	// exclusive cores, from 0 to 1. A core that does not report counts as busy.
	Load float64

	FreeMemory    int64            // bytes
	FreeHugepages map[int64]int64  // bytes by page size
	FreeDevices   map[string]int64 // by resource name, for instance of SR-IOV VFs

	Zones []Zone // NUMA nodes; none: not known
}

// Zone is what is free on a NUMA node.
type Zone struct {
	ID            int
	FreeCores     int
	FreeHugepages map[int64]int64
	FreeDevices   map[string]int64
}

// Nodes are the candidates in a fixed order. Ask may be costly: it is called
// for the few nodes alone that a placement looks at.
type Nodes interface {
	Len() int
	Name(i int) string
	Ask(i int) Node
}

// List is Nodes for those that are known already.
type List []Node

// NewList orders nodes by name, so that their order does not sway a decision.
func NewList(nodes []Node) List {
	return slices.SortedFunc(slices.Values(nodes), func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
}

// Len is the number of nodes.
func (l List) Len() int { return len(l) }

// Name is a node's name.
func (l List) Name(i int) string { return l[i].Name }

// Ask gives a node.
func (l List) Ask(i int) Node { return l[i] }
