// Package pass is the framework for the meaning of elements on a packet's bytes. It has the packet, its passage through a chain, and a
// table of elements. It names no function: each function registers its elements (dataplane/module), and package interp, which runs
// chains, asks the table.
package pass

import (
	"fmt"
	"reflect"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// Element is the meaning of an element. One value serves one node of one chain, and has the node's state.
type Element interface {
	// Pass has the element do its part on a packet that came in by input in, and gives the output by which the packet goes on;
	// Ended: it does not, and left tells whether some copy left or was answered.
	Pass(r *Run, n *graph.Node, p *Packet, in int) (out int, left bool)
}

// Ended is the output of an element by which a packet does not go on.
const Ended = -1

// Keeping is an element whose state stays when its chain is changed.
type Keeping interface {
	// Resume gives the element with the state of the node that had the name before, as far as that serves on.
	Resume(before Element) Element
}

// Holding is an element with sessions that an engine lists, too.
type Holding interface {
	// Sessions are the live ones, in no order.
	Sessions(now time.Duration) []Session
}

// Evicting is an element that may end a live session for a new one that finds no room.
type Evicting interface {
	// Evict ends a session. It fails if the element has no such session, or may not end it; false: the binding is of another element.
	Evict(now time.Duration, b Binding) (mine bool, err error)
}

// registered makes elements, by their types.
var registered = map[reflect.Type]func(c *Chain, name string, e element.Element) Element{}

// Register adds the meaning of the elements of a type. name is the node's. A chain is not complete while its elements are made.
func Register[E element.Element](of func(c *Chain, name string, e E) Element) {
	t := reflect.TypeFor[E]()
	if _, twice := registered[t]; twice {
		panic(fmt.Sprintf("%s is registered twice", t))
	}
	registered[t] = func(c *Chain, name string, e element.Element) Element { return of(c, name, e.(E)) }
}

func (c *Chain) elementOf(n *graph.Node) Element {
	of, ok := registered[reflect.TypeOf(n.Element)]
	if !ok {
		panic(fmt.Sprintf("interp: no semantics for element %T of node %s", n.Element, n.Name))
	}
	return of(c, n.Name, n.Element)
}
