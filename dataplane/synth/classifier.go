package synth

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	register(func(e element.Classifier) meaning {
		return &classifier{Classifier: e, list: ruleList{rules: e.Rules, deflt: e.Default}}
	})
}

type classifier struct {
	element.Classifier
	list ruleList
}

func (c *classifier) walk(w *walker, t *tcu, at arrival) error { return w.classify(t, at, &c.list) }

func (c *classifier) size() int { return len(c.Rules) }

func (c *classifier) ruleName(rule int) string {
	if rule < 0 {
		return "default"
	}
	return c.Rules[rule].Name
}

func (c *classifier) counters(string) []string {
	out := make([]string, len(c.Rules))
	for i, r := range c.Rules {
		if r.Count {
			out[i] = r.Name
		}
	}
	return out
}

// leads: rules on destinations decide.
func (c *classifier) leads(h hopTo, _ int, on func(hopTo, int)) {
	to := c.list.targets()
	out, all := make([]spans, c.Outs), make([]bool, c.Outs)
	left := h.live
	if h.written != nil {
		left = spans{{*h.written, *h.written}}
	}
	take := func(port int, live spans) {
		if !all[port] {
			out[port] = append(out[port], live...)
		}
	}
	for i, r := range c.Rules {
		for _, t := range to.of[i] {
			take(r.Out, left.intersect(t.spans))
			all[r.Out] = all[r.Out] || t.spans.isEvery() // what is left only shrinks
			if t.only {
				left = left.subtract(t.spans)
			}
		}
	}
	take(c.Default, left)
	for port, live := range out {
		slices.SortFunc(live, func(a, b span) int { return compareUint32(a.lo, b.lo) })
		next := h
		if next.live = live.merged(); h.written != nil && len(live) > 0 {
			next.live = h.live
		}
		on(next, port)
	}
}

func (c *classifier) turn(t *tcu, packets []headerspace.Filter, port int) (out []headerspace.Filter, ok bool) {
	rest := packets
	for _, r := range c.Rules {
		for _, f := range r.Filters {
			var left []headerspace.Filter
			for _, p := range rest {
				t.filter = p
				ways, decided := t.match(f)
				if !decided || len(out)+len(left) > maxPieces {
					return nil, false
				}
				keep := []headerspace.Filter{p}
				for i := range ways.n {
					q, possible := ways.at(i).Feasible()
					if !possible {
						continue
					}
					if r.Out == port {
						out = append(out, q)
					}
					keep = subtractFrom(keep, q)
				}
				left = append(left, keep...)
			}
			rest = left
		}
	}
	if c.Default == port {
		out = append(out, rest...)
	}
	return out, true
}

func subtractFrom(list []headerspace.Filter, q headerspace.Filter) []headerspace.Filter {
	var out []headerspace.Filter
	for _, p := range list {
		for _, r := range p.Subtract(q) {
			if r, possible := r.Feasible(); possible {
				out = append(out, r)
			}
		}
	}
	return out
}

// targets are the destinations of a classifier's filters.
type targets struct {
	of   [][]target // by rule and filter
	only []int      // rules with filters that ask for nothing else
	// decide tells that some filter does not let every destination pass.
	decide bool
}

type target struct {
	spans spans
	// only tells that the filter asks for nothing else.
	only bool
}

// ruleList is an ordered list of rules, and where it sends what passes none.
type ruleList struct {
	rules []element.Rule
	deflt int
	to    *targets // nil: not asked for yet
}

func (l *ruleList) targets() *targets {
	if l.to != nil {
		return l.to
	}
	t := &targets{of: make([][]target, len(l.rules))}
	for i, r := range l.rules {
		t.of[i] = make([]target, len(r.Filters))
		for k, f := range r.Filters {
			t.of[i][k] = target{everyAddress, f.With(headerspace.Dst, headerspace.Full(headerspace.Dst)) == headerspace.Filter{}}
			if !f.Any(headerspace.Dst) {
				t.of[i][k].spans, t.decide = spansOf(f.Get(headerspace.Dst)), true
			}
			if n := len(t.only); t.of[i][k].only && (n == 0 || t.only[n-1] != i) {
				t.only = append(t.only, i)
			}
		}
	}
	l.to = t
	return t
}

// classify takes the unit through an ordered rule list. Order is kept as
// priority: nothing is subtracted but destinations, so that ways which longest matches and rules rule out are not
// followed. Leaves come out in the order in which they match first.
func (w *walker) classify(t *tcu, at arrival, l *ruleList) error {
	node, n := at.node, len(l.rules)
	cut, err := w.budget.apart(w, t, at, false, func(int) int { return n })
	if err != nil {
		return err
	}
	if cut {
		return w.cut(t, node, 0)
	}
	if n > cap(w.seg.leaves)-len(w.seg.leaves) {
		w.seg.leaves = slices.Grow(w.seg.leaves, 2*n+n/4) // most rules: enough TTL, and not
	}
	t.parted, t.ruled = t.parted || n > narrow, t.ruled || n > narrow
	to, entered := l.targets(), t.val[headerspace.Dst].kind == ident
	if t.fan && entered && to.decide {
		return errFan
	}
	for i, r := range l.rules {
		for k, f := range r.Filters {
			live := t.live
			if entered {
				if live = live.intersect(to.of[i][k].spans); len(live) == 0 {
					w.taken(node, to, i, k)
					continue
				}
			}
			ways, decided := t.match(f)
			if !decided {
				return w.undecided(t, node, 0)
			}
			for m := range ways.n {
				p := *ways.at(m)
				if _, possible := p.Feasible(); !possible {
					continue
				}
				u := w.branch(t, p)
				u.live = live
				w.count(u, node, i)
				if err := w.follow(u, node, r.Out, i); err != nil {
					return err
				}
			}
			if ways.n == 1 && t.filter.SubsetOf(ways.first) {
				return nil // nothing is left for the rules below
			}
			if entered && to.of[i][k].only {
				t.live = t.live.subtract(to.of[i][k].spans)
			}
		}
	}
	if len(t.live) == 0 {
		return nil
	}
	return w.follow(t, node, l.deflt, -1)
}

// taken notes which rule above has all destinations of a rule's filter, for which nothing is left.
func (w *walker) taken(node int, to *targets, rule, filter int) {
	for _, i := range to.only {
		if i >= rule {
			return
		}
		for _, d := range to.of[i] {
			if d.only && len(to.of[rule][filter].spans.subtract(d.spans)) == 0 {
				w.shadows[[2]int{node, rule}] = i
				return
			}
		}
	}
}
