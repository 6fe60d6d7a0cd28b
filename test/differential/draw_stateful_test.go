package differential

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// drawStateful draws a stateful firewall: rules for new packets in each direction, sometimes for those of other states.
func drawStateful(d *drawer, _ [2]int) (left, right side) {
	t := element.Tracking{Timeouts: d.timeouts(), Max: manyFlows, PickUp: d.one("picks up", 3), Strict: d.one("strict", 3)}
	if d.one("few half open", 3) {
		t.HalfOpen = 2048
	}
	if d.one("runs full", 6) {
		t.Max = d.int("flows", 1, 400)
	}
	return d.stateful(d.name("sfw"), t)
}

// manyFlows are more than a chain's traffic has.
const manyFlows = 1 << 17

// stateful is a stateful firewall with one table for both directions.
func (d *drawer) stateful(name string, t element.Tracking) (left, right side) {
	t.Table, t.Full = name+"/flows", name+"/full"
	drop := d.add(name, "drop", element.Discard{Reason: name + "-denied"})
	sides := [2]side{}
	for from := range sides {
		way := fmt.Sprint(from)
		track := d.add(name, "track-"+way, element.Track{Tracking: t, FromOutside: from == 1})
		sides[from].in = graph.Edge{To: track}
		for state, what := range (element.Track{}).PortNames() {
			at := graph.Edge{To: track, Port: state}
			if state == element.TrackNew || d.one(what+" has rules", 3) {
				c := d.classifier(d.int("verdicts", 2, 3))
				n := d.add(name, what+"-"+way, c)
				d.wire(track, state, n)
				d.wire(n, 1, drop)
				if c.Outs > 2 {
					reject := d.add(name, "reject-"+what+"-"+way, element.Reject{})
					d.wire(n, 2, reject)
					sides[from].outs = append(sides[from].outs, graph.Edge{To: reject})
				}
				at = graph.Edge{To: n}
			} else if state == element.TrackInvalid && !d.one("invalid passes", 4) {
				d.wire(track, state, drop)
				continue
			}
			if state == element.TrackNew {
				admit := d.add(name, "admit-"+way, element.Admit{Tracking: t, FromOutside: from == 1})
				d.connect(at, graph.Edge{To: admit})
				at = graph.Edge{To: admit}
			}
			sides[1-from].outs = append(sides[1-from].outs, at)
		}
	}
	return sides[0], sides[1]
}
