package draw

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
)

// Together is a line of two to ten functions that keep state of the same flows.
func (d *Drawer) Together() {
	a, b := d.attach(), d.attach()
	ends := [2]int{0, 1}
	for range d.int("stateful functions", 2, 10) {
		left, right := d.keeper(ends)
		d.Link(a, left)
		a = right
	}
	d.Link(a, b)
}

// keeper draws a function that keeps state.
func (d *Drawer) keeper(ends [2]int) (left, right Side) {
	switch d.int("kind", 0, 6) {
	case 0, 1:
		if d.napts < maxNAPTs {
			return d.translator(6)
		}
	case 2:
		return drawServing(d, ends)
	case 3:
		return drawLimiter(d, ends)
	case 4:
		return drawConnLimit(d, ends)
	}
	return d.stateful(d.name("sfw"), element.Tracking{Timeouts: d.timeouts(), Max: ManyFlows, PickUp: d.one("picks up", 3), Strict: d.one("strict", 4)})
}
