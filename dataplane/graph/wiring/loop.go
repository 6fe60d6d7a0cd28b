package wiring

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

// Loop is a way that leads packets round without end; nil: there is none. A way on which the
// TTL is decremented ends by itself, and so does one through an answer: nothing is
// answered to answers.
func Loop(nodes []Node) []Edge {
	l := loops{nodes: nodes, state: map[Edge]int{}}
	for n := range nodes {
		ins, _ := nodes[n].Element.Ports()
		for in := range max(ins, 1) {
			if at := l.place(Edge{n, in}); l.state[at] == unseen && !l.visit(at) {
				return l.found
			}
		}
	}
	return nil
}

// The states of a place.
const (
	unseen = iota
	open
	done
)

// loops looks for a loop, depth first.
type loops struct {
	nodes []Node
	state map[Edge]int
	way   []Edge
	found []Edge
}

// place is where an edge leads to. Two sides are two places: what enters by one leaves by the other.
func (l *loops) place(e Edge) Edge {
	if !element.TwoSided(l.nodes[e.To].Element) {
		e.Port = 0
	}
	return e
}

// visit is false if it found one.
func (l *loops) visit(at Edge) bool {
	l.state[at] = open
	l.way = append(l.way, at)
	node := &l.nodes[at.To]
	traits := node.Element.Traits()
	for out, e := range node.Out {
		if e.To < 0 || traits.Generates || traits.LowersTTL && out == 0 || !element.Leads(node.Element, at.Port, out) {
			continue
		}
		next := l.place(e)
		if l.state[next] == open {
			l.found = l.way[slices.Index(l.way, next):]
			return false
		}
		if l.state[next] == unseen && !l.visit(next) {
			return false
		}
	}
	l.way = l.way[:len(l.way)-1]
	l.state[at] = done
	return true
}
