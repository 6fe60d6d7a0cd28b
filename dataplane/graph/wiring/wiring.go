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
	seen := map[Edge]bool{}
	var follow func(e Edge)
	follow = func(e Edge) {
		if e.To < 0 || seen[e] {
			return
		}
		seen[e] = true
		n := &nodes[e.To]
		if n.Element.Traits().Generates || slices.Contains(element.Writes(n.Element, e.Port), field) {
			return
		}
		for out, next := range n.Out {
			if element.Leads(n.Element, e.Port, out) {
				follow(next)
			}
		}
	}
	for _, out := range nodes[node].Out {
		follow(out)
	}
	return seen
}

// Behind are the NAPTs to whose inside packets come that another one translated from inside, in order.
func Behind(nodes []Node) []int {
	behind, seen := make([]bool, len(nodes)), map[Edge]bool{}
	var follow func(e Edge)
	follow = func(e Edge) {
		if e.To < 0 || seen[e] {
			return
		}
		seen[e] = true
		n := &nodes[e.To]
		if _, ok := n.Element.(element.NAPT); ok {
			behind[e.To] = behind[e.To] || e.Port == element.NAPTInside
			return
		}
		if n.Element.Traits().Generates {
			return
		}
		for out, next := range n.Out {
			if element.Leads(n.Element, e.Port, out) {
				follow(next)
			}
		}
	}
	for i := range nodes {
		if _, ok := nodes[i].Element.(element.NAPT); ok {
			follow(nodes[i].Out[element.NAPTOutside])
		}
	}
	var out []int
	for i, yes := range behind {
		if yes {
			out = append(out, i)
		}
	}
	return out
}
