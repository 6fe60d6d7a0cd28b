package differential

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
)

func drawMonitor(d *drawer, _ [2]int) (left, right side) {
	return d.through(d.name("mon"), []element.Element{element.Counter{}, d.classifier(0)}, []element.Element{element.Counter{}})
}
