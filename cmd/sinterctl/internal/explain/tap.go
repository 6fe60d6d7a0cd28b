package explain

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp"
)

// copiedTo is the function that gets a frame which left, as a copy; empty: it is no copy for a function.
func (e *Explainer) copiedTo(o interp.Out) string {
	if i := &e.graph.Interfaces[o.Interface]; i.Wire && !o.Tagged {
		return e.graph.Nodes[i.In].Function
	}
	return ""
}

// end is the packet at the end of its way, before its copies for functions were followed: each has two steps, out of a tee and to the tap.
func (e *Explainer) end() *headerspace.Packet {
	n := len(e.steps)
	for n > 2 && e.isTap(e.steps[n-1].Node) {
		n -= 2
	}
	return &e.steps[n-1].Packet
}

func (e *Explainer) isTap(name string) bool {
	for i := range e.graph.Nodes {
		if n := &e.graph.Nodes[i]; n.Name == name {
			_, is := n.Element.(element.Tap)
			return is
		}
	}
	return false
}
