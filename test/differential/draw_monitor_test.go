package differential

import (
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// drawMonitor draws counters, and now and then the chain's one observation of flows in front of them.
func drawMonitor(d *drawer, _ [2]int) (left, right side) {
	name := d.name("mon")
	forth, back := []element.Element{element.Counter{}, d.classifier(0)}, []element.Element{element.Counter{}}
	observes := slices.ContainsFunc(d.g.Nodes, func(n graph.Node) bool { return n.Element.Kind() == element.Observe{}.Kind() })
	if !observes && d.one("observes", 2) {
		o := observation(name, 256)
		forth, back = append([]element.Element{o}, forth...), append(back, o)
	}
	return d.through(name, forth, back)
}

// observation lists flows, sources and prefixes of destinations.
func observation(name string, entries int) element.Observe {
	return element.Observe{
		Name: name, Entries: entries, Interval: time.Hour,
		Tops: []element.ObserveBy{{}, {PrefixLen: 32}, {Destination: true, PrefixLen: 24}},
	}
}
