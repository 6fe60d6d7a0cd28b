package lower

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/graph/wiring"
)

// BehindOthers are the NAPTs to whose inside packets come that another one translated from inside, in order.
func BehindOthers(nodes []lower.Node) (out []int) {
	isNAPT := func(e element.Element, _ int) bool {
		_, ok := e.(element.NAPT)
		return ok
	}
	var translated []lower.Edge
	for _, n := range nodes {
		if isNAPT(n.Element, 0) {
			translated = append(translated, n.Out[element.NAPTOutside])
		}
	}
	for e := range wiring.Reach(nodes, translated, isNAPT) {
		if e.Port == element.NAPTInside && isNAPT(nodes[e.To].Element, 0) {
			out = append(out, e.To)
		}
	}
	slices.Sort(out)
	return out
}
