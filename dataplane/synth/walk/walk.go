package walk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/synth/boxes"
)

// errAgain is returned by a walk that learnt something which changes what was
// walked before; the synthesis starts over with it.
var errAgain = errors.New("start over")

// start is where a segment's walk begins.
type start struct {
	kind       startKind
	node, port int
	run        int // of startReturn
}

type startKind uint8

const (
	startEntry     startKind = iota // a chain interface
	startCut                        // an element whose reads could not be decided before
	startReturn                     // behind an element that chooses, of packets that came back
	startAnswer                     // behind a generator
	startFork                       // behind an output of an element that tells by its state which
	startAnswerCut                  // as startCut, of answers: see endsAnswers
)

// Walker finds the leaves of one segment after another.
type Walker struct {
	g         *graph.Graph
	means     []Meaning // by node
	max       int
	fanned    int
	joined    int
	startOver bool

	// The lessons of earlier attempts.
	apart map[int]bool // elements that end a run always: their choice is looked at
	wide  wideAt       // see budget

	segments []*segment
	index    map[start]int
	runs     runs
	tables   []int // nodes that keep state
	counters counterIndex

	record  *recorder // nil: nobody wants to know how the walk went
	log     *walkLog
	seg     *segment
	fresh   bool // the segment's packets come from outside: no next hop is noted
	budget  budget
	shadows map[[2]int]int // rules of which rules on destinations leave nothing, by node and rule: those rules
	stack   []*Unit        // branches by depth
	steps   []step
	known   map[exprs]*exprs // those that units point to
	near    []int32          // rules that the units on the way come to, visit by visit
	found   []matched        // what passes their filters, likewise
	ahead   map[int]bool     // see tableAhead
}

// segment is a walked segment.
type segment struct {
	name  string
	start start
	log   *walkLog // of its walk; nil: nobody wants to know
	// given is what is known of every packet that comes here.
	given  headerspace.Filter
	leaves leaves
	// lookup is 1 + the node of a table by content that the leaves ask for (headerspace.Route); 0: they do not.
	lookup int
	// units is how many it has by the budget's count, most how many it may have.
	units, most int
	// seen are the look-ups that the walk came to, in the order in which it first did.
	seen []int
}

func (s *segment) place() place { return place{s.start.kind, s.start.node} }

func newWalker(g *graph.Graph, means []Meaning, opts Options, apart map[int]bool, wide wideAt, record *recorder) *Walker {
	w := &Walker{
		record: record,
		g:      g, max: opts.MaxBoxes, fanned: opts.Fanned, joined: opts.Joined, startOver: opts.startOver, apart: apart, wide: wide, means: means,
		index: map[start]int{}, runs: newRuns(), shadows: map[[2]int]int{}, known: map[exprs]*exprs{}, ahead: map[int]bool{},
	}
	w.counters = w.indexCounters()
	return w
}

// all walks the segments of every interface and what they lead to.
func (w *Walker) all() error {
	for _, i := range w.g.Interfaces {
		e := w.g.Nodes[i.In].Out[0]
		w.segmentOf(start{kind: startEntry, node: e.To, port: e.Port})
	}
	var todo []start
	each := w.allowance()
	for n := 0; n < len(w.segments); n++ {
		todo = w.starts(todo[:0])
		if _, err := w.walkUntilAllFits(n, todo[n], each); err != nil {
			return err
		}
	}
	return nil
}

// walkUntilAllFits walks a segment, again and again with more look-ups kept apart. It tells how many walks were in vain.
func (w *Walker) walkUntilAllFits(n int, s start, each int) (vain int, err error) {
	known := w.extent()
	for {
		if err = w.walkSegment(n, s, each); !errors.Is(err, errWide) {
			return vain, err
		}
		w.forget(known)
		vain++
	}
}

// starts lists the known segments' starts by index.
func (w *Walker) starts(buf []start) []start {
	buf = slices.Grow(buf, len(w.index))[:len(w.index)]
	for s, i := range w.index {
		buf[i] = s
	}
	return buf
}

// segmentOf is the index of the segment that begins at s.
func (w *Walker) segmentOf(s start) int {
	if i, ok := w.index[s]; ok {
		return i
	}
	i := len(w.segments)
	w.index[s] = i
	w.segments = append(w.segments, &segment{name: w.nameOf(s), start: s})
	return i
}

func (w *Walker) nameOf(s start) string {
	name := w.g.Nodes[s.node].Name
	switch s.kind {
	case startEntry:
		return "from " + strings.TrimSuffix(name, "/local")
	case startReturn:
		return "back through " + w.runName(s.run)
	case startAnswer:
		return "answers of " + name
	case startFork:
		return element.PortName(w.g.Nodes[s.node].Element, s.port) + " at " + name
	case startAnswerCut:
		return "answers " + w.nameOf(start{startCut, s.node, s.port, 0})
	case startCut:
		if c, ok := w.means[s.node].(ComingTo); ok {
			return "at " + c.InputName(s.port) + " of " + name
		}
	}
	return "at " + name
}

func (w *Walker) runName(run int) string {
	var names []string
	for _, n := range w.runs.used[run] {
		names = append(names, w.g.Nodes[n].Name)
	}
	return strings.Join(names, ">")
}

func (w *Walker) walkSegment(n int, s start, each int) error {
	w.seg, w.fresh = w.segments[n], s.kind == startEntry || s.kind == startAnswer
	w.seg.leaves, w.seg.lookup = nil, 0
	w.budget = newBudget(w.seg.place(), each, w.max, len(w.g.Nodes))
	w.budget.unsure = w.startOver
	t := Unit{filter: Everything, live: everyAddress, known: w.known} // the identity: every packet, no operation (SNF, tcu_0)
	node, port := s.node, s.port
	switch s.kind {
	case startEntry:
	case startCut, startAnswerCut:
		if c, ok := w.means[s.node].(ComingTo); ok {
			t.filter = c.Comes(s.port)
			t.Reaches()
		}
	case startReturn:
		run := w.runs.used[s.run]
		last := run[len(run)-1]
		out, packets := w.choosing(last).Returns()
		t.filter = t.filter.Intersect(packets)
		for i := len(run) - 2; i >= 0; i-- {
			t.unwind = append(t.unwind, run[i])
		}
		w.rewind(&t)
		e := w.g.Nodes[last].Out[out]
		node, port = e.To, e.Port
		t.trace = &step{node: last, out: out, rule: -1}
	case startFork:
		e := w.g.Nodes[s.node].Out[s.port]
		node, port = e.To, e.Port
		t.trace = &step{node: s.node, out: s.port, rule: -1}
	case startAnswer:
		t.filter = w.means[s.node].(answering).answers()
		e := w.g.Nodes[s.node].Out[0]
		node, port = e.To, e.Port
		t.trace = &step{node: s.node, rule: -1}
	}
	w.seg.given = t.filter
	w.log = w.record.begin(w, s)
	err := w.walk(&t, node, port, s.kind == startCut || s.kind == startAnswerCut)
	if err == nil && w.budget.vain {
		err = errWide
	}
	if err == nil {
		w.log.end()
		w.seg.log, w.seg.units, w.seg.most, w.seg.seen = w.log, each-w.budget.left, each, w.budget.seen
	}
	return err
}

// ipv4 is the addresses of packets that come in.
var ipv4 = boxes.IPv4

// Everything is what can come in: IPv4, so far.
var Everything = headerspace.Filter{}.With(headerspace.Src, ipv4).With(headerspace.Dst, ipv4)

// Unfragmented is packets that are no fragments.
var Unfragmented = headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragWhole))

// Branch is a narrower copy of t. It lives until t branches again: the walk is depth-first.
func (w *Walker) Branch(t *Unit, p headerspace.Filter) *Unit {
	for len(w.stack) <= t.depth {
		w.stack = append(w.stack, new(Unit))
	}
	u := w.stack[t.depth]
	*u = *t
	u.filter = p
	return u
}

// Reaches tells whether some packets come here at all: those to the filter's other destinations took a way before this one. It narrows
// the live destinations to the filter's.
func (t *Unit) Reaches() bool {
	if t.val[headerspace.Dst].kind == ident {
		t.live = t.live.intersect(spansOf(t.filter.Get(headerspace.Dst)))
	}
	return len(t.live) > 0
}

// step allocates steps in blocks: there are many, and all live as long as the result.
func (w *Walker) step(s step) *step {
	if len(w.steps) == cap(w.steps) {
		n := 1024
		if w.log != nil && w.log.before != nil {
			n = 16 // the few leaves that are new must not keep more alive
		}
		w.steps = make([]step, 0, n)
	}
	w.steps = append(w.steps, s)
	return &w.steps[len(w.steps)-1]
}

// Follow walks on from an output port of a node.
func (w *Walker) Follow(t *Unit, node, out, rule int) error {
	t.trace = w.step(step{prev: t.trace, node: node, out: out, rule: rule})
	e := w.g.Nodes[node].Out[out]
	if e.To < 0 {
		return fmt.Errorf("%s: packets leave by output %s, which leads nowhere", w.g.Nodes[node].Name,
			element.PortName(w.g.Nodes[node].Element, out))
	}
	return w.walk(t, e.To, e.Port, false)
}

// Walk is SNF's Algorithm 1: t goes through a node, and for every way out a
// narrower unit goes on. first says that the segment starts here. t is walk's to change.
func (w *Walker) walk(t *Unit, node, port int, first bool) error {
	t.depth++
	if t.depth > 3*len(w.g.Nodes)+64 { // round and round, by ways that longest match alone does not tell
		return w.cut(t, node, port, cutting{})
	}
	return w.means[node].Walk(w, t, Arrival{node, port, first})
}

// IPv4 is an address as programs have it; 0: there is none.
func IPv4(a netip.Addr) uint32 {
	if !a.IsValid() {
		return 0
	}
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// SettleHop has the next hop of the last look-up noted here, for an operation that may note another one.
func (w *Walker) SettleHop(t *Unit) (err error) {
	t.ops, err = w.noteHop(t.ops, t.hop)
	t.hop = hop{was: true}
	return err
}

// noteHop has a next hop noted at run time, unless it is there already.
func (w *Walker) noteHop(ops []Op, h hop) ([]Op, error) {
	if h.shared > 0 {
		return nil, errHop{h.shared - 1}
	}
	if !h.set || w.fresh && h.addr == 0 && !h.was {
		return ops, nil
	}
	return append(ops[:len(ops):len(ops)], Op{Kind: opNextHop, Arg: int64(h.addr)}), nil
}

// Leaf ends a copy; with the last one the class is complete.
func (w *Walker) Leaf(t *Unit, node int, o Outcome) error {
	if len(t.unwind) > 0 && w.shows(t, node, o) {
		return w.setApart(t.unwind[0])
	}
	if w.budget.vain && len(t.todo) == 0 && t.hop.shared == 0 { // nobody asks for the leaf, and no more copies follow
		return nil
	}
	if !endings[o.Kind].traced {
		t.trace = w.step(step{prev: t.trace, node: node, rule: -1})
	}
	l := leg{outcome: o, counters: t.counters.list()}
	switch o.Kind {
	case toDrop: // early discard: nothing need be done to it
		if l.ops, l.counters = t.lasting(); len(l.ops) > 0 {
			l.runs = t.runs
		}
	case toGenerator:
		l.ops, l.runs = t.pending(), t.runs
		w.segmentOf(start{kind: startAnswer, node: node}) // which its answers enter
	default:
		var err error
		if l.ops, err = w.noteHop(t.pending(), t.hop); err != nil {
			return err
		}
		l.runs = t.runs
	}
	for _, r := range l.runs {
		w.run(r)
	}
	if endings[o.Kind].Forks {
		w.fork(node)
	}
	t.legs = append(t.legs[:len(t.legs):len(t.legs)], l)
	if len(t.todo) > 0 {
		next := t.todo[0]
		t.todo = t.todo[1:]
		t.values = next.values
		return w.walk(t, next.node, next.port, false)
	}
	if w.budget.vain {
		return nil
	}
	p := t.filter.Given(w.seg.given).Simplify()
	if t.fan {
		p = p.Without(headerspace.Dst) // it is the route's
	}
	w.seg.leaves = append(w.seg.leaves, found{filter: p, legs: t.legs, trace: t.trace, cuts: t.cuts, class: -1, shape: -1})
	return nil
}

// shows tells whether what leaves here would show the choice of an element within a run, which is never made: the packet itself, or an answer
// that comes from where the packet went.
func (w *Walker) shows(t *Unit, node int, o Outcome) bool {
	if o.Kind == toDrop {
		return false
	}
	if a, ok := w.means[node].(answering); ok && o.Kind == toGenerator {
		return a.shows(t.filter)
	}
	return true
}

// Undecided is a read that hangs on a run-time choice: the chain is cut here, and the
// next segment reads what was chosen.
func (w *Walker) Undecided(t *Unit, node, port int) error {
	return w.decideLater(t, node, port, cutting{})
}

// decideLater cuts the chain before a node that this segment cannot decide.
func (w *Walker) decideLater(t *Unit, node, port int, why cutting) error {
	if len(t.unwind) > 0 {
		return w.setApart(t.unwind[0])
	}
	return w.cut(t, node, port, why)
}

// cut ends the segment before a node. The last choice of a run is made here, so it is made
// apart everywhere: all packets of a flow find the same entries, whichever way they take.
func (w *Walker) cut(t *Unit, node, port int, why cutting) error {
	if why.reason == cutSampled { // what comes behind does not count
		return nil
	}
	if err := w.endRun(t); err != nil {
		return err
	}
	to := w.segmentOf(start{kind: w.cutKind(node), node: node, port: port})
	if why.reason != cutUntold {
		why.prev, why.to = t.cuts, to
		t.cuts = &why
	}
	return w.Leaf(t, node, Outcome{Kind: toSegment, Arg: to})
}

func (c *counted) list() []int {
	var out []int
	for ; c != nil; c = c.prev {
		out = append(out, c.counter)
	}
	slices.Reverse(out)
	return out
}

// extent is what the walk has found so far, apart from leaves.
type extent struct{ segments, runs, tables int }

func (w *Walker) extent() extent { return extent{len(w.segments), len(w.runs.used), len(w.tables)} }

// forget takes back what was found since.
func (w *Walker) forget(since extent) {
	w.segments, w.tables = w.segments[:since.segments], w.tables[:since.tables]
	for s, i := range w.index {
		if i >= since.segments {
			delete(w.index, s)
		}
	}
	w.runs.forget(since.runs)
}
