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
	state := make([]int, len(b.g.Nodes))
	var way []int
	var visit func(n int) bool
	visit = func(n int) bool {
		state[n] = open
		way = append(way, n)
		node := &b.g.Nodes[n]
		for out, e := range node.Out {
			if e.To < 0 || node.Element.Traits().Generates {
				continue
			}
			if _, ttl := node.Element.(element.DecTTL); ttl && out == element.TTLAlive {
				continue
			}
			if state[e.To] == open {
				b.failLoop(way[slices.Index(way, e.To):])
				return false
			}
			if state[e.To] == unseen && !visit(e.To) {
				return false
			}
		}
		way = way[:len(way)-1]
		state[n] = done
		return true
	}
	for n := range b.g.Nodes {
		if state[n] == unseen && !visit(n) {
			return
		}
	}
}

func (b *builder) failLoop(way []int) {
	object, field := b.object, "spec.functions"
	if f := b.findFunction(b.g.Nodes[way[0]].Function); f != nil {
		object, field = f.object, f.path
		if f.kinds.Elements != nil {
			field += ".links"
		}
	}
	var names []string
	for _, n := range append(way, way[0]) {
		names = append(names, b.g.Nodes[n].Name)
	}
	b.fail(object, field, "", "packets would go round without end: %s; take a link out", strings.Join(names, " -> "))
}
