package synth

import "errors"

// errWide is returned by the walk of a segment that learnt of a look-up to be kept apart; the segment is
// walked again with it.
var errWide = errors.New("walk the segment again")

const (
	// narrow is into how many units a look-up may divide one without being counted as a product.
	narrow = 4
	// large is from how many rules or routes on a look-up counts when the budget is shared out.
	large = 64
	// leastAllowance is what every segment may spend, however many share the budget.
	leastAllowance = 2048
)

// place is where a segment starts, or a look-up in the segment that starts there.
type place struct {
	kind startKind
	node int
}

// budget bounds the products of look-ups in one segment. Ways that a look-up divides into few are always followed,
// so that a packet's way has few segments. Tables of routes behind each other divide destinations alone: what they
// say together is no more than their sum, and has an allowance for itself. Where many other ways meet a look-up that divides
// each into many, it becomes a segment of its own for those: a further look-up for the packet instead of a product that does not fit.
type budget struct {
	start  place
	left   int
	tables int   // left for tables behind tables
	visits []int // by node
}

// allowance is what each segment may spend on products.
func (w *walker) allowance() int {
	n := 0
	for _, m := range w.means {
		if r, ok := m.(ruled); ok && r.size() > large {
			n++
		}
	}
	return max(w.max*4/max(n, 4), min(w.max, leastAllowance))
}

// apart tells whether the way of t ends before the node, as its product would pass the budget. ways
// estimates into how many units the node divides t; above its argument the figure does not matter. table tells that it is a table of routes.
func (b *budget) apart(w *walker, t *tcu, at arrival, table bool, ways func(enough int) int) (bool, error) {
	if at.first {
		return false, nil
	}
	b.visits[at.node]++
	n := ways(max(b.left, b.tables, narrow))
	if n <= narrow {
		return false, nil
	}
	if b.start.kind == startAnswer && n > large { // all generators share one look-up
		return true, nil
	}
	wide := wideAt{b.start, at.node}
	if w.wide[wide] {
		return true, nil
	}
	if t.fan {
		return false, errFan
	}
	if b.visits[at.node] == 1 && !t.parted { // all packets alike come here: the segment's own look-up
		b.left -= n
		return false, nil
	}
	if table && !t.ruled && n <= b.tables {
		b.tables -= n
		return false, nil
	}
	if n > b.left {
		w.wide[wide] = true
		return false, errWide
	}
	b.left -= n
	return false, nil
}

// wideAt is a look-up that is kept apart in the segment that starts at a place.
type wideAt struct {
	start place
	node  int
}

// extent is what the walk has found so far, apart from leaves.
type extent struct{ segments, runs, tables int }

func (w *walker) extent() extent { return extent{len(w.segments), len(w.runs.used), len(w.tables)} }

// forget takes back what was found since.
func (w *walker) forget(since extent) {
	w.segments, w.tables = w.segments[:since.segments], w.tables[:since.tables]
	for s, i := range w.index {
		if i >= since.segments {
			delete(w.index, s)
		}
	}
	w.runs.forget(since.runs)
}
