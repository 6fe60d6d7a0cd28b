package walk

import (
	"fmt"
	"reflect"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Meaning is what an element does to traffic class units: what it does, said of sets of packets. The file of each
// element has a type that implements it and registers it; the other interfaces here are for elements that have
// something to say there.
type Meaning interface {
	// Walk takes a unit in by an input of the node, and has a narrower one go on for every way out. t is walk's to change.
	Walk(w *Walker, t *Unit, at Arrival) error
}

// Arrival is where a unit comes in.
type Arrival struct {
	Node, Port int
	first      bool // the segment starts here
}

// ruled is an element that decides by rules or routes.
type ruled interface {
	// size is how many there are.
	size() int
	// ruleName names one by the index that steps have; -1 is the default.
	ruleName(rule int) string
}

// WithCounters is an element that counts packets.
type WithCounters interface {
	// Counters are the names of its counters, by rule; empty: the rule does not count.
	Counters(node string) []string
}

// Keeping is an element that keeps state in a table.
type Keeping interface {
	// Keep writes the table; its name is there.
	Keep(e *Emitter, t *programpb.StateTable)
}

// Sharing is an element whose state table is that of all elements which give it the same name.
type Sharing interface{ TableName() string }

// Choosing is an element that chooses another source for packets at run time, address and port, and gives those that come back the destination which was
// the source before. It finds that in its table. A run is such elements in a row between which nobody reads a choice: only the last one chooses, and its table
// leads packets back through all of them.
type Choosing interface {
	Keeping
	// Choices are what it can choose. Each call has to give the same ones.
	Choices() (addrs, ports *headerspace.Set)
	// Joins tells whether it may choose in the place of the one before as well.
	Joins(before Choosing) bool
	// Returns is the output by which packets leave that came back, and which packets these may be.
	Returns() (out int, packets headerspace.Filter)
	// WriteRun writes the run that ends with it, through some nodes; name, table, segment and the runs of single ones are there.
	WriteRun(e *Emitter, nodes []int, r *programpb.Run)
}

// Declaring is an element that is in the program even if no packet comes to it.
type Declaring interface {
	// Declare writes what the program has of it, once.
	Declare(p *programpb.Program)
}

// Forking is an element of which no filter says where its packets go on, but its state, or whoever they leave to meanwhile: by some of its outputs, in
// segments that begin behind these.
type Forking interface {
	// Forks is how many of its outputs, the first ones, they are.
	Forks() int
}

// answering is an element that sends a packet of its own instead of the one that came.
type answering interface {
	// answers are the packets that it sends.
	answers() headerspace.Filter
	// generator writes what the engine has to know of it; name and segment are there.
	generator(g *programpb.Generator)
	// shows tells whether an answer to a packet of the filter comes from where the packet went.
	shows(p headerspace.Filter) bool
}

// Routing is an element by which not all destinations take all outputs, or that writes the destination. Of the others,
// packets leave by output 0 (see loops.go).
type Routing interface {
	// Leads gives those of a hop's destinations that may leave by each port, when it comes in by port in.
	Leads(h HopTo, in int, on func(h HopTo, port int))
}

// turning is an element that decides which packets go round in a loop of routes, or what they are when they come again.
type turning interface {
	// turn gives those that leave by port out, and notes what is written of them. ok is false if there are too many filters of
	// them, or something that is chosen at run time decides.
	turn(t *Unit, packets []headerspace.Filter, out int) (_ []headerspace.Filter, ok bool)
}

// Redirecting is an element that gives packets other destinations, by its state or by what it does to the one that they have.
type Redirecting interface {
	// Redirects gives the destinations, by the output by which they leave.
	Redirects(on func(port int, to headerspace.Set))
}

// ComingTo is an element at several inputs of which segments begin.
type ComingTo interface {
	// Comes is what is known of packets that come to an input in the segment that begins there.
	Comes(port int) headerspace.Filter
	// InputName is the input in the segment's name.
	InputName(port int) string
}

// Dividing is an element that divides packets by something else than rules and routes, and may divide them into many.
type Dividing interface {
	// Divides is into how many.
	Divides() int
}

// Asking is an element that writes sources, which answers go to.
type Asking interface{ Sources() headerspace.Set }

// meanings makes the meaning of an element, by the element's type.
var meanings = map[reflect.Type]func(element.Element) Meaning{}

// Register is called once for each type of elements. One value serves one node.
func Register[E element.Element](of func(E) Meaning) {
	t := reflect.TypeFor[E]()
	if _, twice := meanings[t]; twice {
		panic(fmt.Sprintf("%s is registered twice", t))
	}
	meanings[t] = func(e element.Element) Meaning { return of(e.(E)) }
}

func meaningOf(e element.Element) Meaning {
	if of, ok := meanings[reflect.TypeOf(e)]; ok {
		return of(e)
	}
	return unknown{e}
}

// meaningsOf are those of a graph's nodes. Lookups with one list of routes, as a router has one for each of its ports, share what is worked out of it.
func meaningsOf(g *graph.Graph) []Meaning {
	out := make([]Meaning, len(g.Nodes))
	type routes struct {
		first *element.Route
		n     int
	}
	tables := map[routes]*fib{}
	for i, n := range g.Nodes {
		out[i] = meaningOf(n.Element)
		if l, ok := out[i].(*lookup); ok && len(l.Routes) > 0 {
			of := routes{&l.Routes[0], len(l.Routes)}
			if tables[of] == nil {
				tables[of] = newFIB(l.Routes)
			}
			l.table = tables[of]
		}
	}
	return out
}

// unknown is an element without meaning.
type unknown struct{ element.Element }

func (u unknown) Walk(w *Walker, _ *Unit, at Arrival) error {
	return fmt.Errorf("%s: the synthesizer does not know element %s", w.g.Nodes[at.Node].Name, u.Kind())
}

// ruleName names the rule of an element by its index, -1 being the default.
func ruleName(e element.Element, rule int) string {
	if r, ok := meaningOf(e).(ruled); ok {
		return r.ruleName(rule)
	}
	return ""
}
