package interp

import (
	"fmt"
	"reflect"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// meaning is what an element does to a packet. The file of each element has a type that implements it, and registers it. One
// value serves one node of one chain, and has the node's state.
type meaning interface {
	// pass has the element do its part on a packet that came in by input in, and gives the output by which the packet goes on;
	// ended: it does not, and left tells whether some copy left or was answered.
	pass(r *run, n *graph.Node, p *packet, in int) (out int, left bool)
}

// ended is the output of an element by which a packet does not go on.
const ended = -1

// keeping is an element whose state stays when its chain is changed.
type keeping interface {
	// resume gives the element with the state of the node that had the name before, as far as that serves on.
	resume(before meaning) meaning
}

// meanings makes the meaning of an element, by the element's type. name is the node's.
var meanings = map[reflect.Type]func(c *Chain, name string, e element.Element) meaning{}

// register is called once for each type of elements.
func register[E element.Element](of func(c *Chain, name string, e E) meaning) {
	meanings[reflect.TypeFor[E]()] = func(c *Chain, name string, e element.Element) meaning { return of(c, name, e.(E)) }
}

func (c *Chain) meaningOf(n *graph.Node) meaning {
	of, ok := meanings[reflect.TypeOf(n.Element)]
	if !ok {
		panic(fmt.Sprintf("interp: no semantics for element %T of node %s", n.Element, n.Name))
	}
	return of(c, n.Name, n.Element)
}
