package walk

import (
	"errors"
	"math"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/synth/trees"
)

// errWide is returned by the walk of a segment that learnt of a look-up to be kept apart; the segment is
// walked again with it.
var errWide = errors.New("walk the segment again")

const (
	// narrow is into how many units a look-up may divide one without being counted as a product.
	narrow = 4
	// large is from how many rules or routes on a look-up counts when the budget is shared out.
	large = 64
	// mostRoutes is how many routes a table may have whose look-up has rules behind it as well. One of more is best left a trie: a few MB for a full table.
	// As boxes with other fields than destinations it would be a tree, of 300 bytes for each route.
	mostRoutes = 1 << 16
	// leastAllowance is what every segment may spend, however many share the budget.
	leastAllowance = 2048
)

// wideAt are the look-ups that are kept apart, by the segment's start.
type wideAt map[place][]keptApart

// keptApart is a look-up that is kept apart: as what it and those before say together does not fit, or if the walks are known, as one walk takes more
// steps than one after the other.
type keptApart struct {
	node       int
	one, apart trees.Walk
}

// Keep keeps one more look-up apart.
func (w wideAt) keep(at place, k keptApart) { w[at] = append(slices.Clip(w[at]), k) }

// of is what is known of a look-up; nil: it is not kept apart.
func (w wideAt) of(at place, node int) *keptApart {
	for i := range w[at] {
		if w[at][i].node == node {
			return &w[at][i]
		}
	}
	return nil
}

// place is where a segment starts, or a look-up in the segment that starts there.
type place struct {
	kind startKind
	node int
}

// budget bounds the products of look-ups in one segment. Ways that a table of routes divides into few are always followed,
// so that a packet's way has few segments. Tables of routes behind each other divide destinations alone: what they
// say together is no more than their sum, and has an allowance for itself. Where many other ways meet a look-up, and what all of them and the look-up
// say together does not fit, it becomes a segment of its own for those: a further look-up for the packet.
//
// A walk that finds such a look-up is in vain. It goes on all the same, without what was spent at the look-up and behind it, and so finds the next one
// where a walk from the beginning would.
type budget struct {
	start  place
	left   int
	tables int   // left for tables behind tables
	visits []int // by node
	seen   []int // nodes visited, as they came first

	spent *passing // by all units, from the segment's beginning
	// unsure tells that a walk from the beginning might spend something else than what spent tells.
	unsure bool
	vain   bool // leaves are not asked for
	// sample tells that only some rules of the segment's own list are followed; nil: all are.
	sample *sampling
}

func newBudget(start place, left, tables, nodes int) budget {
	return budget{start: start, left: left, tables: tables, visits: make([]int, nodes), spent: &passing{node: -1}}
}

// see notes a visit.
func (b *budget) see(node int) {
	if b.visits[node] == 0 {
		b.seen = append(b.seen, node)
	}
	b.visits[node]++
}

// allowance is what each segment may spend on products.
func (w *Walker) allowance() int {
	n := 0
	for _, m := range w.means {
		if r, ok := m.(ruled); ok && r.size() > large {
			n++
		}
	}
	return max(w.max*8/max(n, 8), min(w.max, leastAllowance))
}

// asked is a look-up that would divide a unit.
type asked struct {
	// table tells that it is a table of routes.
	table bool
	// rules is how many rules it has for all packets together; 0: it is no list of rules.
	rules int
	// near finds those that may pass some of the unit's packets, and tells how many; nil: it is no list of rules. It is called once, before ways, unless
	// the answer does not matter.
	near func() int
	// Ways estimates from above into how many units it divides the unit, and how many boxes these have; above its argument the figures do not matter.
	ways func(enough int) (n, boxes int)
}

func (l *asked) look() {
	if l.near != nil {
		l.near()
	}
}

// apart tells why the way of t ends before the node, as its product would pass the budget, or cost more than it is worth. Without a reason it goes on.
func (b *budget) apart(w *Walker, t *Unit, at Arrival, l asked) (why cutting, err error) {
	if at.first {
		l.look()
		return cutting{}, nil
	}
	b.see(at.Node)
	// Rules of which a unit comes to few are followed no further than those of which it comes to many: there would be a product in the end.
	if l.rules > narrow && (t.routed || b.keeps(w, at.Node, l.rules) || w.endsAnswersAtRules(t, l.rules)) {
		b.pass(w, t, at.Node, false)
		switch {
		case t.routed:
			return cutting{reason: CutLargeTable}, nil
		case b.vain:
			return cutting{reason: CutTooLarge}, nil
		}
		return b.why(w, at.Node, max(l.near(), 1)), nil
	}
	l.look()
	n, boxes := l.ways(max(b.left, b.tables, narrow))
	always := n <= narrow && l.rules <= narrow
	p := b.pass(w, t, at.Node, always)
	if always {
		return cutting{}, nil
	}
	if b.keeps(w, at.Node, n) {
		n, _ = l.ways(math.MaxInt)
		return b.why(w, at.Node, n), nil
	}
	if t.fan {
		return cutting{}, errFan
	}
	if b.visits[at.Node] == 1 && !t.parted { // all packets alike come here: the segment's own look-up
		b.spend(p, n, 0)
		return cutting{}, nil
	}
	if l.table && !t.ruled && boxes <= b.tables {
		b.spend(p, 0, boxes)
		return cutting{}, nil
	}
	if b.sample != nil && boxes <= b.sample.left {
		if boxes = b.sample.share(p, boxes); boxes == 0 {
			return cutting{reason: cutSampled}, nil
		}
	}
	if boxes > max(b.left, 0) {
		w.wide.keep(b.start, keptApart{node: at.Node})
		if b.vain = true; b.unsure {
			return cutting{}, errWide
		}
		b.forget(b.spent, at.Node)
		return b.why(w, at.Node, n), nil
	}
	b.spend(p, boxes, 0)
	return cutting{}, nil
}

// Divide asks whether a unit may be divided at a node, into so many units with so many boxes at most. If what all of them say together does not fit,
// its way ends here, and its packets are classified again at the node.
func (w *Walker) Divide(t *Unit, at Arrival, ways func() (n, boxes int)) (ended bool, err error) {
	why, err := w.budget.apart(w, t, at, asked{ways: func(int) (n, boxes int) { return ways() }})
	if err != nil || why.reason == cutUntold {
		return false, err
	}
	return true, w.cut(t, at.Node, at.Port, why)
}

// keeps tells whether a look-up with so many ways is kept apart.
func (b *budget) keeps(w *Walker, node, ways int) bool {
	return b.start.kind == startAnswer && ways > large || // all generators share one look-up
		w.wide.of(b.start, node) != nil
}

// why is the reason for which a look-up is kept apart that would divide a unit into so many.
func (b *budget) why(w *Walker, node, units int) cutting {
	if k := w.wide.of(b.start, node); k != nil && k.one != (trees.Walk{}) {
		return cutting{reason: CutLongWalk, one: k.one, apart: k.apart}
	}
	return cutting{reason: CutTooLarge, units: units}
}
