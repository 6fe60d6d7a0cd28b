package lower

import (
	"net/netip"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/wiring"
	"github.com/sinter-nfv/sinter/dataplane/tables"
)

// Inputs is what a chain refers to.
type Inputs struct {
	// Functions are the NetworkFunctions; those of the chain's namespace count.
	Functions []*v1alpha1.NetworkFunction
	// Files is the content of the files that functions name.
	Files rules.Files
	// Tables has very many routes of files in tables of their own (element.Table), as they were built last, and keeps these; nil: all routes are in
	// lists.
	Tables *tables.Memory
}

// Builder is a chain on its way into the graph.
type Builder struct {
	In Inputs
	// Object is the chain.
	Object finding.Object
	// Cores is how many each instance owns.
	Cores      int
	Interfaces []*Interface // but for wires
	Functions  []*Function

	findings finding.List
	next     map[Port]wire // where packets go that leave by a port
	realm    Realms
	reached  map[Port]bool           // ports by which packets come in
	known    map[Port][]netip.Prefix // by realm: see learnRealms
	tabled   map[Port][]tabled       // likewise

	g     *wiring.Graph
	exits []exit
	// generated are nodes to which only packets come that the chain itself generated.
	generated map[int]bool
	wires     []*Wire
	misnamed  bool // a function names a wire that it cannot have
	served    []Served
	answers   []answer
	hops      []NextHop
	// unlinked says that links have errors: what lies behind a port is not known.
	unlinked bool
	// untagged says that no packet of the chain has a VLAN tag.
	untagged bool
}

// Node is an element in its place.
type Node = wiring.Node

// Edge leads to an input port of a node.
type Edge = wiring.Edge

// Add appends a node and tells its index.
func (b *Builder) Add(function, name string, e element.Element) int {
	_, outs := e.Ports()
	n := Node{Name: name, Function: function, Element: e, Out: make([]Edge, outs)}
	for i := range n.Out {
		n.Out[i].To = -1
	}
	b.g.Nodes = append(b.g.Nodes, n)
	return len(b.g.Nodes) - 1
}

// AddOnce adds a Discard when first asked for, and tells its index.
func (b *Builder) AddOnce(f *Function, reason string) func() int {
	n := -1
	return func() int {
		if n < 0 {
			n = b.Add(f.Name, reason, element.Discard{Reason: reason})
		}
		return n
	}
}

// Nodes are those that were added. Their elements may be replaced.
func (b *Builder) Nodes() []Node { return b.g.Nodes }

// FindNode is the index of the node with a name, -1 if there is none.
func (b *Builder) FindNode(name string) int {
	for i := range b.g.Nodes {
		if b.g.Nodes[i].Name == name {
			return i
		}
	}
	return -1
}

// Wire leads a node's output to a node's only input.
func (b *Builder) Wire(from, out, to int) { b.Lead(from, out, Edge{To: to}) }

// Lead leads a node's output to an input.
func (b *Builder) Lead(from, out int, to Edge) { b.g.Nodes[from].Out[out] = to }

// Generated notes that only packets come to a node which the chain itself generated.
func (b *Builder) Generated(node int) { b.generated[node] = true }

// IsGenerated tells whether only such packets come to a node.
func (b *Builder) IsGenerated(node int) bool { return b.generated[node] }

// Unlinked says that links have errors: what lies behind a port is not known.
func (b *Builder) Unlinked() bool { return b.unlinked }

// Untagged says that no packet of the chain has a VLAN tag.
func (b *Builder) Untagged() bool { return b.untagged }

// MTU is the largest IP packet, in bytes, that an interface of the chain sends.
func (b *Builder) MTU() int {
	most := 0
	for _, i := range b.Interfaces {
		most = max(most, int(i.Spec.MTU))
	}
	return most
}

// FindInterface is the interface with a name, nil if there is none.
func (b *Builder) FindInterface(name string) *Interface {
	for _, i := range b.Interfaces {
		if i.Name == name {
			return i
		}
	}
	return nil
}

// FindFunction is the function with a name, nil if there is none.
func (b *Builder) FindFunction(name string) *Function {
	for _, f := range b.Functions {
		if f.Name == name {
			return f
		}
	}
	return nil
}
