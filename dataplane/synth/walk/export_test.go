package walk

import (
	"maps"

	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// Afresh is what the session would make of the next version if it took nothing over but which look-ups are kept apart.
func (s *Session) Afresh(g *graph.Graph, opts Options) (*Result, error) {
	opts = opts.withDefaults()
	r := &recorder{wide: wideAt{}}
	if s.before != nil && s.before.opts == opts && differenceOf(s.before.g, g) != nil {
		r.wide = maps.Clone(s.before.wide)
	}
	return synthesize(g, opts, meaningsOf(g), r)
}

// WalksInVain is how many walks from the first interface on find look-ups that do not fit, before one finds that all do.
func WalksInVain(g *graph.Graph, opts Options) (int, error) {
	opts = opts.withDefaults()
	w := newWalker(g, meaningsOf(g), opts, map[int]bool{}, wideAt{}, nil)
	e := g.Nodes[g.Interfaces[0].In].Out[0]
	s := start{kind: startEntry, node: e.To, port: e.Port}
	return w.walkUntilAllFits(w.segmentOf(s), s, w.allowance())
}

// StartingOver are options with which a walk ends where it finds the first look-up to be kept apart, and starts over.
func StartingOver(opts Options) Options {
	opts.startOver = true
	return opts
}

// Counting is an element that counts packets; what else it does, an element of a test says in its place.
type Counting struct{ counter }

// Counter is the number of a node's counter.
func (w *Walker) Counter(node int) int64 { return int64(w.counters.of[node][0]) }
