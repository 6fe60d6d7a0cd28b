package graph

import (
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

// checkLoops finds ways that lead packets round without end. A way on which the
// TTL is decremented ends by itself, and so does one through an answer: nothing is
// answered to answers.
func (b *builder) checkLoops() {
	const (
		unseen = iota
		open
		done
	)
	// Two sides are two places: what enters by one leaves by the other.
	place := func(e Edge) Edge {
		if !element.TwoSided(b.g.Nodes[e.To].Element) {
			e.Port = 0
		}
		return e
	}
	state := map[Edge]int{}
	var way []Edge
	var visit func(at Edge) bool
	visit = func(at Edge) bool {
		state[at] = open
		way = append(way, at)
		node := &b.g.Nodes[at.To]
		traits := node.Element.Traits()
		for out, e := range node.Out {
			if e.To < 0 || traits.Generates || traits.LowersTTL && out == 0 || !element.Leads(node.Element, at.Port, out) {
				continue
			}
			next := place(e)
			if state[next] == open {
				b.failLoop(way[slices.Index(way, next):])
				return false
			}
			if state[next] == unseen && !visit(next) {
				return false
			}
		}
		way = way[:len(way)-1]
		state[at] = done
		return true
	}
	for n := range b.g.Nodes {
		ins, _ := b.g.Nodes[n].Element.Ports()
		for in := range max(ins, 1) {
			if at := place(Edge{n, in}); state[at] == unseen && !visit(at) {
				return
			}
		}
	}
}

func (b *builder) failLoop(way []Edge) {
	object, field := b.object, "spec.functions"
	if f := b.findFunction(b.g.Nodes[way[0].To].Function); f != nil {
		object, field = f.object, f.path
		if is[elements](f) {
			field += ".links"
		}
	}
	var names []string
	for _, n := range append(way, way[0]) {
		names = append(names, b.g.Nodes[n.To].Name)
	}
	b.fail(object, field, "", "packets would go round without end: %s; take a link out", strings.Join(names, " -> "))
}
