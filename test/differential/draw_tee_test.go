package differential

import (
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func drawTee(d *drawer, _ [2]int) (left, right side) { return d.tee() }

// tee copies what goes forth: to a counter that ends there, or out of the first interface.
func (d *drawer) tee() (left, right side) {
	name := d.name("tee")
	t := d.add(name, "tee", element.Tee{Outs: 2})
	back := d.add(name, "back", element.Counter{})
	copied := 1
	if d.one("copy first", 2) {
		copied = 0
	}
	if d.one("to an interface", 2) {
		// A lookup without next hop, since the one noted is of another interface.
		anywhere := element.Lookup{Outs: 1, Routes: []element.Route{{Prefix: netip.PrefixFrom(addr4(0, 0, 0, 0), 0)}}}
		mirror := d.add(name, "mirror", anywhere)
		d.wire(t, copied, mirror)
		d.wire(mirror, 0, d.g.Interfaces[0].Out)
	} else {
		in, out := d.chainOf(name+"-copy", append(d.elements(), element.Counter{})...)
		d.connect(graph.Edge{To: t, Port: copied}, in)
		d.connect(out, graph.Edge{To: d.add(name, "end", element.Discard{Reason: name + "-copied"})})
	}
	return side{in: graph.Edge{To: t}, outs: []graph.Edge{{To: back}}},
		side{in: graph.Edge{To: back}, outs: []graph.Edge{{To: t, Port: 1 - copied}}}
}
