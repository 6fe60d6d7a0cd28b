package draw

import (
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func drawTee(d *Drawer, _ [2]int) (left, right Side) { return d.tee() }

// tee copies what goes forth: to a counter that ends there, or out of the first interface.
func (d *Drawer) tee() (left, right Side) {
	name := d.name("tee")
	t := d.Add(name, "tee", element.Tee{Outs: 2})
	back := d.Add(name, "back", element.Counter{})
	copied := 1
	if d.one("copy first", 2) {
		copied = 0
	}
	if d.one("to an interface", 2) {
		// A lookup without next hop, since the one noted is of another interface.
		anywhere := element.Lookup{Outs: 1, Routes: []element.Route{{Prefix: netip.PrefixFrom(Addr4(0, 0, 0, 0), 0)}}}
		mirror := d.Add(name, "mirror", anywhere)
		d.Wire(t, copied, mirror)
		d.Wire(mirror, 0, d.Graph.Interfaces[0].Out)
	} else {
		in, out := d.chainOf(name+"-copy", append(d.elements(), element.Counter{})...)
		d.connect(graph.Edge{To: t, Port: copied}, in)
		d.connect(out, graph.Edge{To: d.Add(name, "end", element.Discard{Reason: name + "-copied"})})
	}
	return Side{In: graph.Edge{To: t}, Outs: []graph.Edge{{To: back}}},
		Side{In: graph.Edge{To: back}, Outs: []graph.Edge{{To: t, Port: 1 - copied}}}
}
