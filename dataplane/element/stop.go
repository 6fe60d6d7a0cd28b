package element

import (
	"fmt"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Sides of a Stop, as inputs and outputs.
const (
	StopInside = iota
	StopOutside
	StopSides
)

// Stop is a function outside of the chain, between two of its interfaces. A packet that comes in by a side leaves by that side's interface. What
// the function sends back by the other interface goes on by the other output, with the next hop that the packet had. Of what the function
// says of itself nothing is believed but what it may change.
type Stop struct {
	// Interfaces are those of both sides: wires of the graph.
	Interfaces [StopSides]string
	// Changes are the fields that the function may write. What it may not write is as it was.
	Changes []headerspace.Field
}

// Kind implements Element.
func (Stop) Kind() string { return "stop" }

// Ports implements Element.
func (Stop) Ports() (in, out int) { return StopSides, StopSides }

// Traits implements Element.
func (s Stop) Traits() Traits {
	all := make([]headerspace.Field, headerspace.NumFields)
	for f := range headerspace.NumFields {
		all[f] = f
	}
	return Traits{Reads: all, Writes: s.Changes, TwoSided: true}
}

// PortNames implements Named.
func (Stop) PortNames() []string { return []string{"inside", "outside"} }

// String is the element as a dump shows it.
func (s Stop) String() string {
	text := fmt.Sprintf("%s between %s and %s", s.Kind(), s.Interfaces[StopInside], s.Interfaces[StopOutside])
	if len(s.Changes) == 0 {
		return text
	}
	var names []string
	for _, f := range s.Changes {
		names = append(names, f.String())
	}
	return text + ", changes " + strings.Join(names, " ")
}
