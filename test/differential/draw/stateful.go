package draw

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// drawStateful draws a stateful firewall: rules for new packets in each direction, sometimes for those of other states.
func drawStateful(d *Drawer, _ [2]int) (left, right Side) {
	t := element.Tracking{Timeouts: d.timeouts(), Max: ManyFlows, PickUp: d.one("picks up", 3), Strict: d.one("strict", 3)}
	if d.one("few half open", 3) {
		t.HalfOpen = 2048
	}
	if d.one("runs full", 6) {
		t.Max = d.int("flows", 1, 400)
	}
	return d.stateful(d.name("sfw"), t)
}

// ManyFlows are more than a chain's traffic has.
const ManyFlows = 1 << 17

// stateful is a stateful firewall with one table for both directions.
func (d *Drawer) stateful(name string, t element.Tracking) (left, right Side) {
	t.Table, t.Full = name+"/flows", name+"/full"
	drop := d.Add(name, "drop", element.Discard{Reason: name + "-denied"})
	sides := [2]Side{}
	for from := range sides {
		way := fmt.Sprint(from)
		track := d.Add(name, "track-"+way, element.Track{Tracking: t, FromOutside: from == 1})
		sides[from].In = graph.Edge{To: track}
		for state, what := range (element.Track{}).PortNames() {
			at := graph.Edge{To: track, Port: state}
			if state == element.TrackNew || d.one(what+" has rules", 3) {
				c := d.classifier(d.int("verdicts", 2, 3))
				n := d.Add(name, what+"-"+way, c)
				d.Wire(track, state, n)
				d.Wire(n, 1, drop)
				if c.Outs > 2 {
					reject := d.Add(name, "reject-"+what+"-"+way, element.Reject{})
					d.Wire(n, 2, reject)
					sides[from].Outs = append(sides[from].Outs, graph.Edge{To: reject})
				}
				at = graph.Edge{To: n}
			} else if state == element.TrackInvalid && !d.one("invalid passes", 4) {
				d.Wire(track, state, drop)
				continue
			}
			if state == element.TrackNew {
				admit := d.Add(name, "admit-"+way, element.Admit{Tracking: t, FromOutside: from == 1})
				d.connect(at, graph.Edge{To: admit})
				at = graph.Edge{To: admit}
			}
			sides[1-from].Outs = append(sides[1-from].Outs, at)
		}
	}
	return sides[0], sides[1]
}

// Statefuls is a line with one to three stateful firewalls among other functions.
func (d *Drawer) Statefuls() {
	a, b := d.attach(), d.attach()
	ends := [2]int{0, 1}
	a = d.join(a, 0, 1, ends)
	for range d.int("stateful firewalls", 1, 3) {
		left, right := drawStateful(d, ends)
		d.Link(a, left)
		a = d.join(right, 0, 2, ends)
	}
	d.Link(a, b)
}
