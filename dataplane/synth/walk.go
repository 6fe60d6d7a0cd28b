package synth

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
	startEntry  startKind = iota // a chain interface
	startCut                     // an element whose reads could not be decided before
	startReturn                  // behind a NAPT, translated back
	startAnswer                  // behind a generator
)

// walker finds the leaves of one segment after another.
type walker struct {
	g   *graph.Graph
	max int

	// What earlier attempts learnt.
	apart map[int]bool    // NAPTs that end a run always: their choice is looked at
	wide  map[wideAt]bool // see budget

	segments []*segment
	index    map[start]int
	runs     runs
	tables   []int // NAPT nodes
	counters counterIndex

	seg     *segment
	fresh   bool // the segment's packets come from outside: no next hop is noted
	budget  budget
	shadows map[[2]int]int // rules of which rules on destinations leave nothing, by node and rule: those rules
	stack   []*tcu         // branches by depth
	steps   []step
	fibs    map[int]*fib
	targets map[int]*targets
	pools   map[int][2]*headerspace.Set // addresses, ports
	known   map[exprs]*exprs            // those that units point to
}

// segment is a walked segment.
type segment struct {
	name string
	// given is what is known of every packet that comes here.
	given  headerspace.Filter
	leaves []found
}

// found is a leaf before classes are numbered.
type found struct {
	filter headerspace.Filter
	legs   []leg
	trace  *step
}

func newWalker(g *graph.Graph, limit int, apart map[int]bool, wide map[wideAt]bool) *walker {
	return &walker{
		g: g, max: limit, apart: apart, wide: wide,
		index: map[start]int{}, runs: newRuns(), counters: indexCounters(g), fibs: map[int]*fib{}, targets: map[int]*targets{}, shadows: map[[2]int]int{},
		pools: map[int][2]*headerspace.Set{}, known: map[exprs]*exprs{},
	}
}

// all walks the segments of every interface and what they lead to.
func (w *walker) all() error {
	var todo []start
	enter := func(s start) { w.segmentOf(s) }
	for _, i := range w.g.Interfaces {
		e := w.g.Nodes[i.In].Out[0]
		enter(start{kind: startEntry, node: e.To, port: e.Port})
	}
	each := allowance(w.g, w.max)
	for n := 0; n < len(w.segments); n++ {
		todo = w.starts(todo[:0])
		known := w.extent()
		err := w.walkSegment(n, todo[n], each)
		for errors.Is(err, errWide) {
			w.forget(known)
			err = w.walkSegment(n, todo[n], each)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// starts lists the known segments' starts by index.
func (w *walker) starts(buf []start) []start {
	buf = slices.Grow(buf, len(w.index))[:len(w.index)]
	for s, i := range w.index {
		buf[i] = s
	}
	return buf
}

// segmentOf is the index of the segment that begins at s.
func (w *walker) segmentOf(s start) int {
	if i, ok := w.index[s]; ok {
		return i
	}
	i := len(w.segments)
	w.index[s] = i
	w.segments = append(w.segments, &segment{name: w.nameOf(s)})
	return i
}

func (w *walker) nameOf(s start) string {
	name := w.g.Nodes[s.node].Name
	switch s.kind {
	case startEntry:
		return "from " + strings.TrimSuffix(name, "/local")
	case startReturn:
		return "back through " + w.runName(s.run)
	case startAnswer:
		return "answers of " + name
	case startCut:
	}
	return "at " + name
}

func (w *walker) runName(run int) string {
	var names []string
	for _, n := range w.runs.used[run] {
		names = append(names, w.g.Nodes[n].Name)
	}
	return strings.Join(names, ">")
}

func (w *walker) walkSegment(n int, s start, each int) error {
	w.seg, w.fresh = w.segments[n], s.kind == startEntry || s.kind == startAnswer
	w.seg.leaves = nil
	w.budget = budget{start: place{s.kind, s.node}, left: each, tables: w.max, visits: make([]int, len(w.g.Nodes))}
	t := tcu{filter: everything, live: everyAddress, known: w.known} // the identity: every packet, no operation (SNF, tcu_0)
	node, port := s.node, s.port
	switch s.kind {
	case startEntry, startCut:
	case startReturn:
		run := w.runs.used[s.run]
		last := run[len(run)-1]
		t.filter = t.filter.Intersect(returnable)
		for i := len(run) - 2; i >= 0; i-- {
			t.unwind = append(t.unwind, run[i])
		}
		w.rewind(&t)
		e := w.g.Nodes[last].Out[element.NAPTInside]
		node, port = e.To, e.Port
		t.trace = &step{node: last, out: element.NAPTInside, rule: -1}
	case startAnswer:
		t.filter = answers(w.g.Nodes[s.node].Element)
		e := w.g.Nodes[s.node].Out[0]
		node, port = e.To, e.Port
		t.trace = &step{node: s.node, rule: -1}
	}
	w.seg.given = t.filter
	return w.walk(&t, node, port, s.kind == startCut)
}

// everything is what can come in: IPv4, so far.
var everything = headerspace.Filter{}.With(headerspace.Src, ipv4).With(headerspace.Dst, ipv4)

// answers is the filter of a generator's packets.
func answers(e element.Element) headerspace.Filter {
	p := everything.With(headerspace.TTL, headerspace.Of(64))
	whole := p.With(headerspace.Frag, headerspace.Of(headerspace.FragWhole))
	switch e := e.(type) {
	case element.ICMPError:
		p = whole.With(headerspace.Proto, headerspace.Of(1)).
			With(headerspace.ICMPType, headerspace.Of(uint64(e.Type))).
			With(headerspace.ICMPCode, headerspace.Of(uint64(e.Code))).
			With(headerspace.DSCP, headerspace.Of(48))
		if e.Source.IsValid() {
			p = p.With(headerspace.Src, headerspace.Single(headerspace.Addr(e.Source)))
		}
		return p
	case element.EchoResponder:
		return whole.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(0))
	case element.LocalHost: // an echo reply may be a fragment
		return p.With(headerspace.Proto, headerspace.Of(1, 6))
	}
	return whole.With(headerspace.Proto, headerspace.Of(1, 6))
}

// rewind sets the destination of a return packet to what the next NAPT to pass would see.
func (w *walker) rewind(t *tcu) {
	d := [2]expr{}
	if len(t.unwind) > 0 {
		n := t.unwind[0]
		addrs, ports := w.pool(n, w.g.Nodes[n].Element.(element.NAPT))
		d = [2]expr{{kind: virtual, node: int32(n), set: addrs}, {kind: virtual, node: int32(n), set: ports}}
	}
	t.val[headerspace.Dst], t.val[headerspace.DPort] = d[0], d[1]
	done := *t.settled()
	done[headerspace.Dst], done[headerspace.DPort] = d[0], d[1]
	t.done = t.share(done)
}

// branch is a narrower copy of t. It lives until t branches again: the walk is depth-first.
func (w *walker) branch(t *tcu, p headerspace.Filter) *tcu {
	for len(w.stack) <= t.depth {
		w.stack = append(w.stack, new(tcu))
	}
	u := w.stack[t.depth]
	*u = *t
	u.filter = p
	return u
}

// step allocates steps in blocks: there are many, and all live as long as the result.
func (w *walker) step(s step) *step {
	if len(w.steps) == cap(w.steps) {
		w.steps = make([]step, 0, 1024)
	}
	w.steps = append(w.steps, s)
	return &w.steps[len(w.steps)-1]
}

// follow walks on from an output port of a node.
func (w *walker) follow(t *tcu, node, out, rule int) error {
	t.trace = w.step(step{prev: t.trace, node: node, out: out, rule: rule})
	e := w.g.Nodes[node].Out[out]
	if e.To < 0 {
		return fmt.Errorf("%s: packets leave by output %s, which leads nowhere", w.g.Nodes[node].Name,
			element.PortName(w.g.Nodes[node].Element, out))
	}
	return w.walk(t, e.To, e.Port, false)
}

// walk is SNF's Algorithm 1: t goes through a node, and for every way out a
// narrower unit goes on. first says that the segment starts here. t is walk's to change.
func (w *walker) walk(t *tcu, node, port int, first bool) error {
	t.depth++
	if t.depth > 3*len(w.g.Nodes)+64 { // round and round, by ways that longest match alone does not tell
		return w.cut(t, node, port)
	}
	switch e := w.g.Nodes[node].Element.(type) {
	case element.Classifier:
		return w.classify(t, node, first, len(e.Rules), e.Default, func(i int) (int, []headerspace.Filter) {
			return e.Rules[i].Out, e.Rules[i].Filters
		})
	case element.Lookup:
		return w.lookup(t, node, first, e)
	case element.DecTTL:
		return w.decTTL(t, node)
	case element.TTLGuard: // one rule: enough TTL
		enough := []headerspace.Filter{headerspace.Filter{}.With(headerspace.TTL, headerspace.Range(uint64(e.Min), 255))}
		return w.classify(t, node, first, 1, element.GuardFail, func(int) (int, []headerspace.Filter) {
			return element.GuardPass, enough
		})
	case element.SetField:
		t.set(e.Field, e.Value)
		return w.follow(t, node, 0, -1)
	case element.CheckIPHeader: // done once, on entry
		return w.follow(t, node, element.CheckGood, -1)
	case element.Counter:
		t.count(w.counters.node[node])
		return w.follow(t, node, 0, -1)
	case element.Tee:
		if len(t.runs) > 0 { // translated once, then copied
			return w.cut(t, node, port)
		}
		return w.tee(t, node)
	case element.Discard:
		return w.leaf(t, node, outcome{kind: toDrop, reason: e.Reason})
	case element.ICMPError, element.EchoResponder, element.LocalHost, element.Reject:
		return w.leaf(t, node, outcome{kind: toGenerator, arg: node})
	case element.Output:
		return w.leaf(t, node, outcome{kind: toOutput, arg: w.interfaceOf(node)})
	case element.NAPT:
		if port == element.NAPTInside {
			return w.translate(t, node, e)
		}
		return w.translateBack(t, node, e)
	default:
		return fmt.Errorf("%s: the synthesizer does not know element %s", w.g.Nodes[node].Name, e.Kind())
	}
}

func (w *walker) interfaceOf(out int) int {
	return slices.IndexFunc(w.g.Interfaces, func(i graph.Interface) bool { return i.Out == out })
}

func hopAddr(a netip.Addr) uint32 {
	if !a.IsValid() {
		return 0
	}
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

var (
	ttlDead  = headerspace.Filter{}.With(headerspace.TTL, headerspace.Range(0, 1))
	ttlAlive = headerspace.Filter{}.With(headerspace.TTL, headerspace.Range(2, 255))
)

func (w *walker) decTTL(t *tcu, node int) error {
	alive, _ := t.match(ttlAlive)
	for i := range alive.n {
		u := w.branch(t, *alive.at(i))
		switch e := u.val[headerspace.TTL]; e.kind {
		case constE:
			c, _ := e.set.Only()
			u.val[headerspace.TTL] = constant(c.Sub64(1))
		default:
			u.val[headerspace.TTL] = expr{kind: add, delta: e.delta - 1}
		}
		if err := w.follow(u, node, element.TTLAlive, -1); err != nil {
			return err
		}
	}
	dead, _ := t.match(ttlDead)
	for i := range dead.n {
		u := w.branch(t, *dead.at(i))
		if err := w.follow(u, node, element.TTLExpired, -1); err != nil {
			return err
		}
	}
	return nil
}

// tee sets the copies aside; each is walked when the one before it has ended,
// within the filter that then holds.
func (w *walker) tee(t *tcu, node int) error {
	t.settle()
	outs := w.g.Nodes[node].Out
	rest := t.values
	rest.counters = nil // counted once, by the first copy
	todo := make([]branch, 0, len(outs)-1+len(t.todo))
	for _, e := range outs[1:] {
		todo = append(todo, branch{e.To, e.Port, rest})
	}
	t.todo = append(todo, t.todo...)
	return w.follow(t, node, 0, -1)
}

// leaf ends a copy; with the last one the class is complete.
func (w *walker) leaf(t *tcu, node int, o outcome) error {
	if len(t.unwind) > 0 && w.shows(t, node, o) {
		w.apart[t.unwind[0]] = true
		return errAgain
	}
	if o.kind != toSegment && o.kind != toReturn {
		t.trace = w.step(step{prev: t.trace, node: node, rule: -1})
	}
	l := leg{outcome: o, counters: t.counters.list()}
	switch o.kind {
	case toDrop: // early discard: nothing need be done to it
		l.counters = t.passed()
	case toGenerator:
		l.ops, l.runs = t.pending(), t.runs
		l.outcome.arg = w.generator(node)
	case toOutput, toSegment, toReturn:
		l.ops, l.runs = t.pending(), t.runs
		if t.hop.set && !(w.fresh && t.hop.addr == 0) {
			l.ops = append(l.ops, op{kind: opNextHop, arg: int64(t.hop.addr)})
		}
	}
	for _, r := range l.runs {
		w.run(r)
	}
	t.legs = append(t.legs[:len(t.legs):len(t.legs)], l)
	if len(t.todo) > 0 {
		next := t.todo[0]
		t.todo = t.todo[1:]
		t.values = next.values
		return w.walk(t, next.node, next.port, false)
	}
	w.seg.leaves = append(w.seg.leaves, found{t.filter.Given(w.seg.given).Simplify(), t.legs, t.trace})
	return nil
}

// shows tells whether what leaves here would show the choice of a NAPT within a run, which is never made: the packet itself, or an answer
// that comes from where the packet went. ICMP errors do not, as they quote what the run's session tells.
func (w *walker) shows(t *tcu, node int, o outcome) bool {
	if o.kind == toDrop {
		return false
	}
	switch w.g.Nodes[node].Element.(type) {
	case element.ICMPError:
		return false
	case element.Reject: // a reset has the segment's addresses
		return !t.filter.And(headerspace.Proto, headerspace.Of(6)).IsEmpty()
	}
	return true
}

// generator is the index of the segment that a generator's answers enter.
func (w *walker) generator(node int) int {
	w.segmentOf(start{kind: startAnswer, node: node})
	return node
}

// undecided is a read that hangs on a run-time choice: the chain is cut here, and the
// next segment reads what was chosen.
func (w *walker) undecided(t *tcu, node, port int) error {
	if len(t.unwind) > 0 {
		w.apart[t.unwind[0]] = true
		return errAgain
	}
	return w.cut(t, node, port)
}

// cut ends the segment before a node. The last NAPT's choice is made here, so it is made
// apart everywhere: all packets of a flow find the same entries, whichever way they take.
func (w *walker) cut(t *tcu, node, port int) error {
	if n := len(t.runs); n > 0 && !w.apart[w.runs.last(t.runs[n-1])] {
		w.apart[w.runs.last(t.runs[n-1])] = true
		return errAgain
	}
	return w.leaf(t, node, outcome{kind: toSegment, arg: w.segmentOf(start{kind: startCut, node: node, port: port})})
}

func (c *counted) list() []int {
	var out []int
	for ; c != nil; c = c.prev {
		out = append(out, c.counter)
	}
	slices.Reverse(out)
	return out
}
