package walk

import (
	"slices"
	"sort"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/synth/trees"
)

func init() {
	Register(func(e element.Classifier) Meaning {
		return &classifier{Classifier: e, list: ruleList{rules: e.Rules, deflt: e.Default}}
	})
}

type classifier struct {
	element.Classifier
	list ruleList
}

func (c *classifier) Walk(w *Walker, t *Unit, at Arrival) error { return w.classify(t, at, &c.list) }

func (c *classifier) size() int { return len(c.Rules) }

func (c *classifier) ruleName(rule int) string {
	if rule < 0 {
		return "default"
	}
	return c.Rules[rule].Name
}

// Counters implements WithCounters.
func (c *classifier) Counters(string) []string {
	out := make([]string, len(c.Rules))
	for i, r := range c.Rules {
		if r.Count {
			out[i] = r.Name
		}
	}
	return out
}

// Leads: rules on destinations decide.
func (c *classifier) Leads(h HopTo, _ int, on func(HopTo, int)) {
	to := c.list.targets()
	out, all := make([]spans, c.Outs), make([]bool, c.Outs)
	live := h.live
	if h.written != nil {
		live = spans{{*h.written, *h.written}}
	}
	left := dwindling{live: live}
	take := func(port int, live spans) {
		if !all[port] {
			out[port] = append(out[port], live...)
		}
	}
	for i, r := range c.Rules {
		for _, t := range to.of[i] {
			if !t.spans.isEvery() {
				take(r.Out, live.intersect(t.fresh))
			} else if !all[r.Out] { // what is left only shrinks
				take(r.Out, left.now())
				all[r.Out] = true
			}
			if t.only {
				left.without(t.spans)
			}
		}
	}
	take(c.Default, left.now())
	for port, live := range out {
		slices.SortFunc(live, func(a, b span) int { return compareUint32(a.lo, b.lo) })
		next := h
		if next.live = live.merged(); h.written != nil && len(live) > 0 {
			next.live = h.live
		}
		on(next, port)
	}
}

func (c *classifier) turn(t *Unit, packets []headerspace.Filter, port int) (out []headerspace.Filter, ok bool) {
	rest := packets
	for _, r := range c.Rules {
		for _, f := range r.Filters {
			var left []headerspace.Filter
			for _, p := range rest {
				t.filter = p
				ways, decided := t.Match(f)
				if !decided || len(out)+len(left) > maxPieces {
					return nil, false
				}
				keep := []headerspace.Filter{p}
				for i := range ways.N {
					q, possible := ways.At(i).Feasible()
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
	// fresh is those of spans that no earlier filter has that asks for nothing else. If there are none, owner is the first rule
	// that has the first of spans so; -1: none has.
	fresh spans
	owner int
}

// painter notes which destinations the filters that ask for nothing else have taken, in their order. A destination is taken once, so
// long lists of them cost no more than sorting them.
type painter struct {
	cuts  []uint32 // where the cells of addresses begin that are taken together
	next  []int    // of each cell, and of the end: that cell, or if it is taken, one behind it
	owner []int    // of each cell
}

func newPainter(of [][]target) *painter {
	p := &painter{cuts: []uint32{0}}
	for _, list := range of {
		for _, t := range list {
			for _, s := range t.spans {
				if t.only && s.hi < ^uint32(0) {
					p.cuts = append(p.cuts, s.lo, s.hi+1)
				} else if t.only {
					p.cuts = append(p.cuts, s.lo)
				}
			}
		}
	}
	slices.Sort(p.cuts)
	p.cuts = slices.Compact(p.cuts)
	p.owner = make([]int, len(p.cuts))
	for i := range p.cuts {
		p.next, p.owner[i] = append(p.next, i), -1
	}
	p.next = append(p.next, len(p.cuts))
	return p
}

// cell is that of an address.
func (p *painter) cell(addr uint32) int {
	return sort.Search(len(p.cuts), func(i int) bool { return p.cuts[i] > addr }) - 1
}

// free is the first cell from c on that is not taken.
func (p *painter) free(c int) int {
	for p.next[c] != c {
		p.next[c] = p.next[p.next[c]]
		c = p.next[c]
	}
	return c
}

// fresh is what is not taken.
func (p *painter) fresh(s spans) (out spans) {
	for _, a := range s {
		for c := p.free(p.cell(a.lo)); c < len(p.cuts) && p.cuts[c] <= a.hi; c = p.free(c + 1) {
			hi := a.hi
			if c+1 < len(p.cuts) {
				hi = min(hi, p.cuts[c+1]-1)
			}
			lo := max(a.lo, p.cuts[c])
			if n := len(out); n > 0 && out[n-1].hi+1 == lo {
				out[n-1].hi = hi
			} else {
				out = append(out, span{lo, hi})
			}
		}
	}
	return out
}

func (p *painter) take(s spans, rule int) {
	for _, a := range s {
		for c := p.free(p.cell(a.lo)); c < len(p.cuts) && p.cuts[c] <= a.hi; c = p.free(c) {
			p.next[c], p.owner[c] = c+1, rule
		}
	}
}

// dwindling is destinations of which more and more are taken away. What is left is worked out when somebody asks.
type dwindling struct{ live, taken spans }

func (d *dwindling) without(s spans) { d.taken = append(d.taken, s...) }

func (d *dwindling) now() spans {
	if len(d.taken) > 0 {
		slices.SortFunc(d.taken, func(a, b span) int { return compareUint32(a.lo, b.lo) })
		d.live, d.taken = d.live.subtract(d.taken.merged()), d.taken[:0]
	}
	return d.live
}

// ruleList is an ordered list of rules, and where it sends what passes none.
type ruleList struct {
	rules    []element.Rule
	deflt    int
	to       *targets      // nil: not asked for yet
	outlines []outline     // by rule; nil: not asked for yet
	index    *outlineIndex // of these; nil: the list is short
	own      *trees.Walk   // through a table of the list alone; nil: not asked for yet
}

func (l *ruleList) targets() *targets {
	if l.to != nil {
		return l.to
	}
	t := &targets{of: make([][]target, len(l.rules))}
	for i, r := range l.rules {
		t.of[i] = targetsOf(r)
		for k, f := range r.Filters {
			t.decide = t.decide || !f.Any(headerspace.Dst)
			if n := len(t.only); t.of[i][k].only && (n == 0 || t.only[n-1] != i) {
				t.only = append(t.only, i)
			}
		}
	}
	t.paint()
	l.to = t
	return t
}

// targetsOf are those of a rule by itself: all of them are fresh.
func targetsOf(r element.Rule) []target {
	out := make([]target, len(r.Filters))
	for k, f := range r.Filters {
		out[k] = target{spans: everyAddress, only: f.Without(headerspace.Dst) == headerspace.Filter{}, owner: -1}
		if !f.Any(headerspace.Dst) {
			out[k].spans = spansOf(f.Get(headerspace.Dst))
		}
		out[k].fresh = out[k].spans
	}
	return out
}

// paint finds what is fresh of each target.
func (t *targets) paint() {
	p, any := newPainter(t.of), false
	for i, list := range t.of {
		for k := range list {
			d := &list[k]
			d.fresh = d.spans
			if any && !d.spans.isEvery() {
				if d.fresh = p.fresh(d.spans); len(d.fresh) == 0 && len(d.spans) > 0 {
					d.owner = p.owner[p.cell(d.spans[0].lo)]
				}
			}
			if d.only {
				p.take(d.spans, i)
				any = true
			}
		}
	}
}

// classify takes the unit through an ordered rule list. Order is kept as
// priority: nothing is subtracted but destinations, so that ways which longest matches and rules rule out are not
// followed. Leaves come out in the order in which they match first.
func (w *Walker) classify(t *Unit, at Arrival, l *ruleList) error {
	node, n := at.Node, len(l.rules)
	before, matches := len(w.near), len(w.found)
	var near []int32
	look := func() int {
		w.near = l.appendNear(w.near[:before], t)
		near = w.near[before:]
		return len(near)
	}
	defer func() { w.near, w.found = w.near[:before], w.found[:matches] }()
	why, err := w.budget.apart(w, t, at, asked{rules: n, near: look, ways: func(enough int) (n, boxes int) {
		n, boxes, w.found = l.ways(t, near, enough, w.found[:matches])
		return n, boxes
	}})
	if err != nil {
		return err
	}
	if why.reason != cutUntold {
		return w.cut(t, node, 0, why)
	}
	if k := len(near); !w.budget.vain && k > cap(w.seg.leaves)-len(w.seg.leaves) {
		w.seg.leaves = slices.Grow(w.seg.leaves, 2*k+k/4) // most rules: enough TTL, and not
	}
	own := !t.parted && (at.first || w.budget.visits[node] == 1)
	t.parted, t.ruled = t.parted || n > narrow, t.ruled || n > narrow
	to, entered := l.targets(), t.val[headerspace.Dst].kind == ident
	if t.fan && entered && to.decide {
		return errFan
	}
	c := &ruling{t: t, node: node, list: l, near: near, found: w.found[matches:], to: to, entered: entered, entry: t.live, left: dwindling{live: t.live}}
	if own {
		if err := w.foresee(c); err != nil {
			return err
		}
	}
	v := w.log.visit(w, node, to, len(near))
	defer v.end()
	return c.all(w, v)
}

// ruling takes a unit through a list of rules.
type ruling struct {
	t       *Unit
	node    int
	list    *ruleList
	near    []int32   // its rules that may pass some of the unit's packets
	found   []matched // what passes their filters, of those below as far as it is known
	to      *targets
	entered bool // destinations are those that the packets entered with
	entry   spans
	left    dwindling
}

// ruleFate is what becomes of the unit at a rule.
type ruleFate uint8

const (
	rulePasses  ruleFate = iota // it goes on to the next rule
	ruleSettles                 // nothing of it is left
	ruleCuts                    // the rule cannot be decided: the segment ends before the list
)

// all follows what passes each rule, and what passes none.
func (c *ruling) all(w *Walker, v *visiting) error {
	for _, rule := range c.near {
		i := int(rule)
		settled, replayed := v.replay(w, i)
		if replayed {
			c.skip(i)
		} else {
			v.begin(w, i)
			fate, err := c.rule(w, i)
			if err != nil || fate == ruleCuts {
				return err
			}
			settled = fate == ruleSettles
			v.note(w, i, settled)
		}
		if settled {
			return nil // nothing is left for the rules below
		}
	}
	if c.t.live = c.left.now(); len(c.t.live) == 0 {
		return nil
	}
	v.rest()
	return w.Follow(c.t, c.node, c.list.deflt, -1)
}

// rule follows what passes a rule.
func (c *ruling) rule(w *Walker, i int) (ruleFate, error) {
	t, r := c.t, &c.list.rules[i]
	for k, f := range r.Filters {
		live, d, m := t.live, &c.to.of[i][k], c.next()
		if c.entered {
			if live = c.entry.intersect(d.fresh); d.spans.isEvery() {
				t.live = c.left.now()
				live = t.live
			}
			if len(live) == 0 {
				w.taken(c.node, c.to, i, k)
				continue
			}
		}
		if m == nil {
			found := t.against(f)
			m = &found
		}
		if !m.decided {
			return ruleCuts, w.Undecided(t, c.node, 0)
		}
		for n := range m.ways.N {
			u := w.Branch(t, *m.ways.At(n))
			u.live = live
			w.count(u, c.node, i)
			if err := w.Follow(u, c.node, r.Out, i); err != nil {
				return rulePasses, err
			}
		}
		if m.all {
			return ruleSettles, nil
		}
		if c.entered && d.only {
			c.left.without(d.spans)
		}
	}
	return rulePasses, nil
}

// next is what passes the next filter; nil: it is not known yet.
func (c *ruling) next() (m *matched) {
	if len(c.found) > 0 {
		m, c.found = &c.found[0], c.found[1:]
	}
	return m
}

// skip goes on to the next rule as if this one was followed: it takes away what the rule leaves nothing of.
func (c *ruling) skip(i int) {
	c.found = c.found[min(len(c.found), len(c.list.rules[i].Filters)):]
	for _, d := range c.to.of[i] {
		if c.entered && d.only {
			c.left.without(d.spans)
		}
	}
}

// taken notes which rule above has all destinations of a rule's filter, for which nothing is left.
func (w *Walker) taken(node int, to *targets, rule, filter int) {
	lost := to.of[rule][filter]
	if len(lost.fresh) > 0 {
		return
	}
	has := func(i int) bool {
		return slices.ContainsFunc(to.of[i], func(d target) bool { return d.only && len(lost.spans.subtract(d.spans)) == 0 })
	}
	if lost.owner >= 0 && lost.owner < rule && has(lost.owner) {
		w.shadows[[2]int{node, rule}] = lost.owner
		w.log.lose()
		return
	}
	for _, i := range to.only {
		if i >= rule {
			return
		}
		if has(i) {
			w.shadows[[2]int{node, rule}] = i
			w.log.lose()
			return
		}
	}
}
