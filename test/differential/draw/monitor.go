package draw

import (
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// drawMonitor draws counters, and now and then the chain's one observation of flows in front of them.
func drawMonitor(d *Drawer, _ [2]int) (left, right Side) {
	name := d.name("mon")
	forth, back := []element.Element{element.Counter{}, d.classifier(0)}, []element.Element{element.Counter{}}
	observes := slices.ContainsFunc(d.Graph.Nodes, func(n graph.Node) bool { return n.Element.Kind() == element.Observe{}.Kind() })
	if !observes && d.one("observes", 2) {
		o := Observation(name, 256)
		forth, back = append([]element.Element{o}, forth...), append(back, o)
	}
	return d.Through(name, forth, back)
}

// Observation lists flows, sources and prefixes of destinations.
func Observation(name string, entries int) element.Observe {
	return element.Observe{
		Name: name, Entries: entries, Interval: time.Hour,
		Tops: []element.ObserveBy{{}, {PrefixLen: 32}, {Destination: true, PrefixLen: 24}},
	}
}
