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
	// Never are the things that the function says it does not do.
	Never Never
	// WhenDown is what becomes of packets while the function is down.
	WhenDown WhenDown
}

// Never are things that a function outside of the chain does not do, together. The numbers are the program's.
type Never uint8

// Things that functions do to packets.
const (
	NeverDrops Never = 1 << iota
	NeverResizes
	NeverOriginates // nor sends some twice
	NeverReorders   // those of a flow
)

func (n Never) String() string {
	var names []string
	for i, name := range []string{"drops", "resizes", "originates", "reorders"} {
		if n>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return "never " + strings.Join(names, " ")
}

// WhenDown is what becomes of packets at a Stop while its function does not answer probes.
type WhenDown uint8

// Whether the function gets probes at all, and what becomes of packets while they do not come back.
const (
	StopUnwatched WhenDown = iota // it gets none
	StopOpen                      // packets go on at once by the other output, and are counted by <node>/bypassed
	StopClosed                    // they are dropped as <node>/down
)

func (w WhenDown) String() string {
	return [...]string{StopUnwatched: "not watched", StopOpen: "open when down", StopClosed: "closed when down"}[w]
}

// DownReason is why packets are dropped at a stop of the name that is down.
func DownReason(node string) string { return node + "/down" }

// FullReason is why packets are dropped that the wire of a stop or a tap of the name does not take.
func FullReason(node string) string { return node + "/full" }

// BypassCounter counts packets that go on past a stop of the name that is down.
func BypassCounter(node string) string { return node + "/bypassed" }

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
	if len(s.Changes) > 0 {
		var names []string
		for _, f := range s.Changes {
			names = append(names, f.String())
		}
		text += ", changes " + strings.Join(names, " ")
	}
	if s.Never != 0 {
		text += ", " + s.Never.String()
	}
	if s.WhenDown != StopUnwatched {
		text += ", " + s.WhenDown.String()
	}
	return text
}
