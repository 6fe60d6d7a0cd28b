// Package wiring is elements and how they are linked, and which ways packets can take through them. It knows nothing of the functions that
// the elements belong to.
package wiring

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Node is an element in its place.
type Node struct {
	// Name is "function/element", "interface/element" for those of an interface.
	Name string
	// Function is the network function that the element belongs to; empty: it belongs to an interface.
	Function string
	Element  element.Element
	// Out is the wiring of the output ports; To < 0: not wired, no packet leaves there.
	Out []Edge
}

// Edge leads to an input port of a node.
type Edge struct{ To, Port int }

// LeavesBy are the inputs that packets may come to from a node on, while the field stays as it was written there.
func LeavesBy(nodes []Node, node int, field headerspace.Field) map[Edge]bool {
	return Reach(nodes, nodes[node].Out, func(e element.Element, in int) bool { return slices.Contains(element.Writes(e, in), field) })
}

// Reach are the inputs that packets may come to from edges on. They go no further where they end, or an answer takes their place.
func Reach(nodes []Node, from []Edge, ends func(e element.Element, in int) bool) map[Edge]bool {
	seen := map[Edge]bool{}
	var follow func(e Edge)
	follow = func(e Edge) {
		if e.To < 0 || seen[e] {
			return
		}
		seen[e] = true
		n := &nodes[e.To]
		if n.Element.Traits().Generates || ends(n.Element, e.Port) {
			return
		}
		for out, next := range n.Out {
			if element.Leads(n.Element, e.Port, out) {
				follow(next)
			}
		}
	}
	for _, e := range from {
		follow(e)
	}
	return seen
}

// Feasible are those of some filters, in their place, that some packet passes.
func Feasible(list []headerspace.Filter) []headerspace.Filter {
	out := list[:0]
	for _, p := range list {
		if p, possible := p.Feasible(); possible {
			out = append(out, p)
		}
	}
	return out
}
