package differential

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
)

func init() {
	drawsFunction("monitor", 1, func(d *drawer, _ [2]int) (left, right side) {
		return d.through(d.name("mon"), []element.Element{element.Counter{}, d.classifier(0)}, []element.Element{element.Counter{}})
	})
}
