package walk

import (
	"maps"
	"slices"
)

// A walk is noted: which leaves came of each rule of each classifier that it passed. The walk of the next version takes over those of rules that are
// as they were, if the walk came to them as before. It knows that from what the walk has found so far (tally), which is compared, and from the
// nodes on its way, which are the same.

// tally is how much a walk has found, and what it has left to spend.
type tally struct{ segments, links, used, tables, seen, left, behind, lookup int }

func (w *Walker) tally() tally {
	return tally{
		len(w.segments), len(w.runs.links), len(w.runs.used), len(w.tables), len(w.budget.seen), w.budget.left, w.budget.tables, w.seg.lookup,
	}
}

// found tells whether two walks found as much. What they have left may differ: it decides nothing while it suffices.
func (t tally) found(o tally) bool {
	o.left = t.left
	return t == o
}

// walkLog is the walk of a segment.
type walkLog struct {
	w      *Walker
	apart  map[int]bool
	wide   []keptApart // look-ups that are kept apart in it
	begin  tally
	seen   []int // nodes, as the budget saw them first
	visits []visitLog
	done   bool
	leaves leaves
	// was are the leaves' places in the walk before, -1: they are new. It may be shorter than leaves.
	was []int32
	// before is that walk; nil: there is nothing to take over.
	before *walkLog
	// kept is what was worked out of the leaves; nil: nothing that could be taken over.
	kept *keptLeaves

	difference difference
	next       int  // the visit of before that is expected next
	aligned    bool // the walk is where before was
	muted      int  // inside of fans, whose leaves move
	odd        int  // how often something happened that cannot be taken over
}

// visitLog is a classifier passed. It has the rules that may match some of the packets that came.
type visitLog struct {
	node  int
	first int // its first leaf
	begin tally
	rules []ruleLog
	to    *targets
	rest  bool // packets went on that pass no rule
	// visits are those behind it, changed those of them at nodes with other rules in the version that comes; both are sums over the rules before.
	visits int
}

// ruleLog is what was found up to the end of a rule.
type ruleLog struct {
	rule    int
	end     tally
	leaves  int // since the visit's first
	visits  int // since the visit
	plain   bool
	settled bool
}

// visiting is a visit as it goes on.
type visiting struct {
	log    *walkLog
	at     int       // in log.visits
	before *visitLog // nil: the walk before did not come here
	was    int       // in before's log
	count  int       // of oddities when the rule began
	next   int       // how many of before's rules are above the one that is asked for
}

// recorder notes the walks of a version.
type recorder struct {
	before     *version // nil: nothing to take over
	difference difference
	walks      map[start]*walkLog
	wide       wideAt
	fine       map[start]int // how many boxes the tables had whose walks were judged and not too long
}

// restart forgets the walks: they begin again.
func (r *recorder) restart() {
	if r != nil {
		r.walks = map[start]*walkLog{}
	}
}

// begin notes the walk of a segment.
func (r *recorder) begin(w *Walker, s start) *walkLog {
	if r == nil {
		return nil
	}
	l := &walkLog{w: w, apart: maps.Clone(w.apart), wide: slices.Clone(w.wide[w.budget.start]), begin: w.tally(), difference: r.difference}
	if r.before != nil {
		if b := r.before.walks[s]; b != nil && b.done && b.begin == l.begin && maps.Equal(b.apart, l.apart) && slices.Equal(b.wide, l.wide) && l.found(b.w, tally{}, l.begin) {
			l.before, l.aligned = b, true
		}
	}
	r.walks[s] = l
	return l
}

// Keep notes that more look-ups are kept apart than when the walk began: if so, nothing of the walk before holds.
func (l *walkLog) keep(wide []keptApart) {
	if l != nil && !slices.Equal(l.wide, wide) {
		l.wide, l.before, l.aligned = slices.Clone(wide), nil, false
	}
}

// found tells whether two walks found the same between two tallies.
func (l *walkLog) found(o *Walker, from, to tally) bool {
	w := l.w
	for i := from.segments; i < to.segments; i++ {
		if w.segments[i].start != o.segments[i].start {
			return false
		}
	}
	return slices.Equal(w.runs.links[from.links:to.links], o.runs.links[from.links:to.links]) &&
		slices.EqualFunc(w.runs.used[from.used:to.used], o.runs.used[from.used:to.used], slices.Equal) &&
		slices.Equal(w.tables[from.tables:to.tables], o.tables[from.tables:to.tables])
}

// find finds what the walk before found between two tallies.
func (l *walkLog) find(from, to tally) {
	w, o := l.w, l.before.w
	for _, x := range o.runs.links[from.links:to.links] {
		w.runs.extend(x.prev, x.node)
	}
	for _, nodes := range o.runs.used[from.used:to.used] {
		id := noRun
		for _, n := range nodes {
			id = w.runs.extend(id, n)
		}
		w.runs.use(id)
	}
	w.tables = append(w.tables, o.tables[from.tables:to.tables]...)
	for _, s := range o.segments[from.segments:to.segments] {
		w.segmentOf(s.start)
	}
	for _, n := range l.before.seen[from.seen:to.seen] {
		w.budget.see(n)
	}
	w.budget.left -= from.left - to.left
	w.budget.tables = to.behind
	w.seg.lookup = to.lookup
}

// end notes that the segment's walk is done.
func (l *walkLog) end() {
	if l == nil {
		return
	}
	l.leaves, l.seen, l.done = l.w.seg.leaves, l.w.budget.seen, true
	l.pad(len(l.leaves))
}

// pad notes that leaves are new.
func (l *walkLog) pad(n int) {
	for len(l.was) < n {
		l.was = append(l.was, -1)
	}
}

// lose notes that something happened that the log does not hold.
func (l *walkLog) lose() {
	if l != nil {
		l.odd++
	}
}

// mute stops taking notes until the function that it returns is called.
func (l *walkLog) mute() func() {
	if l == nil {
		return func() {}
	}
	l.odd++
	l.muted++
	return func() { l.muted-- }
}

// visit notes a classifier that the walk comes to.
func (l *walkLog) visit(w *Walker, node int, to *targets, rules int) *visiting {
	if l == nil || l.muted > 0 {
		return nil
	}
	v := &visiting{log: l, at: len(l.visits)}
	l.visits = append(l.visits, visitLog{node: node, first: len(w.seg.leaves), begin: w.tally(), to: to, rules: make([]ruleLog, 0, rules)})
	if !l.aligned || l.next >= len(l.before.visits) || l.before.visits[l.next].node != node {
		l.aligned = false
		return v
	}
	v.was = l.next
	l.next++
	b := &l.before.visits[v.was]
	if differs := l.difference[node]; differs != nil && !to.sameOnly(b.to, differs) {
		l.aligned = false
		return v
	}
	v.before = b
	return v
}

// end notes that all is found behind the classifier.
func (v *visiting) end() {
	if v == nil {
		return
	}
	l, b := v.log, v.before
	now := &l.visits[v.at]
	now.visits = len(l.visits) - v.at - 1
	if b == nil {
		l.aligned = false
		return
	}
	l.next = v.was + 1 + b.visits
	same := func(a, b ruleLog) bool { return a.rule == b.rule }
	l.aligned = l.aligned && slices.EqualFunc(now.rules, b.rules, same) && now.rest == b.rest
}

// rule is what was noted of a rule, and of what was found before it, when rules are asked for in their order. ok is false if the walk before did
// not come to the rule.
func (v *visiting) rule(i int) (now, before ruleLog, ok bool) {
	list := v.before.rules
	for v.next < len(list) && list[v.next].rule < i {
		v.next++
	}
	before.end = v.before.begin
	if v.next > 0 {
		before = list[v.next-1]
	}
	if ok = v.next < len(list) && list[v.next].rule == i; ok {
		now = list[v.next]
	}
	return now, before, ok
}

// replay takes over what was found behind a rule. settled tells that nothing is left for those below.
func (v *visiting) replay(w *Walker, i int) (settled, done bool) {
	if v == nil || v.before == nil || !v.log.aligned {
		return false, false
	}
	l, b := v.log, v.before
	r, before, ok := v.rule(i)
	if d := l.difference[b.node]; !ok || !r.plain || d != nil && d[i] || !before.end.found(w.tally()) || w.budget.left < before.end.left-r.end.left {
		return false, false
	}
	visits := l.before.visits[v.was+1+before.visits : v.was+1+r.visits]
	for k := range visits {
		if l.difference[visits[k].node] != nil {
			return false, false
		}
	}
	from, down := b.first+before.leaves, len(w.seg.leaves)-b.first-before.leaves
	l.pad(len(w.seg.leaves))
	for n := from; n < b.first+r.leaves; n++ {
		l.was = append(l.was, int32(n))
	}
	w.seg.leaves = append(w.seg.leaves, l.before.leaves[from:b.first+r.leaves]...)
	for _, x := range visits {
		x.first += down
		l.visits = append(l.visits, x)
	}
	if r.end != before.end {
		l.find(before.end, r.end)
	}
	l.next = v.was + 1 + r.visits
	v.write(w, i, r.settled, true)
	return r.settled, true
}

// begin notes that a rule is followed.
func (v *visiting) begin(w *Walker, i int) {
	if v == nil {
		return
	}
	v.count = v.log.odd
	if v.before == nil {
		return
	}
	d := v.log.difference[v.before.node]
	_, before, ok := v.rule(i)
	v.log.aligned = v.log.aligned && ok && (d == nil || !d[i])
	v.log.next = v.was + 1 + before.visits
}

// note notes what was found behind a rule. If the walk has found by now what the one before had found there, it is where that was.
func (v *visiting) note(w *Walker, i int, settled bool) {
	if v == nil {
		return
	}
	v.write(w, i, settled, v.log.odd == v.count)
	b, l := v.before, v.log
	if b == nil {
		return
	}
	r, before, ok := v.rule(i)
	if !ok {
		r = before
	}
	l.next = v.was + 1 + r.visits
	l.aligned = w.tally().found(r.end) && l.found(l.before.w, l.begin, r.end) && l.saw(r.end.seen)
}

// saw tells whether the budget saw the same nodes as in the walk before, up to a number of them.
func (l *walkLog) saw(n int) bool {
	for _, node := range l.before.seen[:n] {
		if l.w.budget.visits[node] == 0 {
			return false
		}
	}
	return true
}

func (v *visiting) write(w *Walker, i int, settled, plain bool) {
	l := &v.log.visits[v.at]
	l.rules = append(l.rules, ruleLog{i, w.tally(), len(w.seg.leaves) - l.first, len(v.log.visits) - v.at - 1, plain, settled})
}

// rest notes that what passes no rule goes on.
func (v *visiting) rest() {
	if v == nil {
		return
	}
	v.log.visits[v.at].rest = true
	if v.before != nil {
		v.log.aligned = v.log.aligned && v.before.rest
	}
}
