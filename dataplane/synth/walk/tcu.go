package walk

import (
	"errors"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// exprKind says how a field's present value follows from the packet that
// entered the segment.
type exprKind uint8

const (
	ident   exprKind = iota // unchanged
	constE                  // a constant
	add                     // the value on entry plus delta
	choice                  // chosen at run time from a set, and known to the packet by now
	virtual                 // chosen at run time by an element inside a run: no packet ever carries it
)

// expr is a field's symbolic value. For constE, choice and virtual, set is what it can be.
type expr struct {
	set   *headerspace.Set
	delta int64
	node  int32 // the element that chose
	kind  exprKind
}

func constant(v headerspace.Value) expr {
	s := headerspace.Single(v)
	return expr{kind: constE, set: &s}
}

func sameExpr(a, b expr) bool {
	if a.kind != b.kind || a.delta != b.delta || a.node != b.node {
		return false
	}
	return a.set == b.set || a.set != nil && b.set != nil && a.set.Equal(*b.set)
}

// hop is the note that the last lookup left.
type hop struct {
	addr uint32
	set  bool // false: as on entry to the segment, or as it was noted at run time
	was  bool // one was noted at run time before
	// shared is 1 + the node of the table of which routes with several next hops are followed together; 0: the next hop is this one.
	shared int
}

// step is a packet's way, last element first.
type step struct {
	prev      *step
	node      int
	out, rule int
}

// counted is the counters passed, last first.
type counted struct {
	prev    *counted
	counter int
}

// exprs is the present value of every field.
type exprs [headerspace.NumFields]expr

// asEntered is every field unchanged.
var asEntered exprs

// values is the part of a traffic class unit that a copy of the packet has for itself.
type values struct {
	val exprs
	hop hop
	// ops are done at run time already; done is val as of then, nil: as on entry.
	ops  []Op
	done *exprs
	// runs are those entered (see Choosing), in order of their operations. The last may still grow
	// while its choice stands unread: flow is what it must find unchanged.
	runs []runID
	flow *exprs
	// judged tells that an operation may end the packet's way.
	judged bool
	// unwind are the elements of a run that a packet which came back has still to pass
	// symbolically: it got the destination of before all of them at once.
	unwind   []int
	counters *counted
	// lookups are those passed, last first.
	lookups *visit
}

// visit is a lookup as a packet passed it, with its fields as they were then. The TTL is left out.
type visit struct {
	prev *visit
	node int
	val  *exprs
}

// Unit is a traffic class unit (SNF): packets that enter the segment with the filter, and
// what has happened to them up to here.
type Unit struct {
	filter headerspace.Filter
	// live are the destinations, as the packets entered, for which no way before this one is taken: longer
	// prefixes and earlier rules on destinations alone are taken away. The filter still holds those.
	live spans
	// parted tells that a large look-up has divided the unit's packets, ruled that rules have.
	parted, ruled bool
	// routed tells that a table of routes has divided them which is best left a trie.
	routed bool
	// fan tells that the unit is walked for all routes of a group: its destinations must not be looked at.
	fan bool
	values
	trace  *step
	passed *passing // the last look-up; nil: there was none
	depth  int
	known  map[exprs]*exprs // the walker's
	// legs are the finished copies, todo the copies still to be walked.
	legs []leg
	todo []branch
	cuts *cutting // of the finished copies
}

// branch is a copy's place and state, set aside while another is walked.
type branch struct {
	node, port int
	values     values
}

// leg is a finished copy.
type leg struct {
	ops      []Op
	runs     []runID
	outcome  Outcome
	counters []int
}

var (
	ported = headerspace.Of(6, 17)
	headed = headerspace.Of(headerspace.FragWhole, headerspace.FragFirst)
	ports  = headerspace.Range(0, 65535)
)

// read is SNF's Algorithm 2 for one field: the filters, if any, of the packets
// among t's whose field is in want when they get here. decided is false if
// that hangs on a run-time choice.
func (t *Unit) read(p headerspace.Filter, f headerspace.Field, want headerspace.Set) (out []headerspace.Filter, decided bool) {
	e := t.val[f]
	switch e.kind {
	case ident:
		p = p.And(f, want)
		if p.IsEmpty() {
			return nil, true
		}
		return []headerspace.Filter{p}, true
	case add: // the write is pulled back to a condition on the incoming packet
		p = p.And(f, want.PullBack(f, e.delta))
		if p.IsEmpty() {
			return nil, true
		}
		return []headerspace.Filter{p}, true
	case constE, choice, virtual:
	}
	if f != headerspace.SPort && f != headerspace.DPort {
		return whole(p, *e.set, want)
	}
	return readPort(p, f, *e.set, want)
}

// whole decides a read of a written field whose values all pass, or all fail.
func whole(p headerspace.Filter, have, want headerspace.Set) ([]headerspace.Filter, bool) {
	switch {
	case have.SubsetOf(want):
		return []headerspace.Filter{p}, true
	case !have.Overlaps(want):
		return nil, true
	}
	return nil, false
}

// readPort is whole for ports, which only packets got by the write that had one: not those of other protocols, later fragments, and those
// whose transport header is not whole.
func readPort(p headerspace.Filter, f headerspace.Field, have, want headerspace.Set) ([]headerspace.Filter, bool) {
	var out []headerspace.Filter
	if with := p.And(headerspace.Proto, ported).And(headerspace.Frag, headed).And(f, ports); !with.IsEmpty() {
		yes, ok := whole(with, have.Intersect(ports), want)
		if !ok {
			return nil, false
		}
		out = append(out, yes...)
	}
	if absent, _ := f.Absent(); want.Contains(absent) {
		if len(out) > 0 { // all pass, whether they have ports or not
			return []headerspace.Filter{p}, true
		}
		if without := p.And(f, headerspace.Single(absent)); !without.IsEmpty() {
			out = append(out, without)
		}
	}
	return out, true
}

// Ways are filters, most often one.
type Ways struct {
	first headerspace.Filter
	more  []headerspace.Filter
	N     int // how many
}

func waysOf(filters []headerspace.Filter) Ways {
	if len(filters) == 0 {
		return Ways{}
	}
	return Ways{first: filters[0], more: filters[1:], N: len(filters)}
}

// At is a filter by its number, from 0 to N-1.
func (w *Ways) At(i int) *headerspace.Filter {
	if i == 0 {
		return &w.first
	}
	return &w.more[i-1]
}

// Add appends a filter.
func (w *Ways) Add(p headerspace.Filter) {
	if w.N == 0 {
		w.first = p
	} else {
		w.more = append(w.more[:len(w.more):len(w.more)], p)
	}
	w.N++
}

// Match is Algorithm 2 for a whole filter.
func (t *Unit) Match(want headerspace.Filter) (_ Ways, decided bool) {
	p := t.filter
	f := headerspace.Field(0)
	for ; f < headerspace.NumFields && (want.Any(f) || t.val[f].kind == ident); f++ { // the common case
		if !p.Narrow(&want, f) {
			return Ways{}, true
		}
	}
	if f == headerspace.NumFields {
		return Ways{first: p, N: 1}, true
	}
	out := []headerspace.Filter{p}
	for ; f < headerspace.NumFields; f++ {
		if want.Any(f) {
			continue
		}
		set := want.Get(f)
		if len(out) == 1 {
			if out, decided = t.read(out[0], f, set); !decided {
				return Ways{}, false
			}
			continue
		}
		var next []headerspace.Filter
		for _, p := range out {
			q, ok := t.read(p, f, set)
			if !ok {
				return Ways{}, false
			}
			next = append(next, q...)
		}
		out = next
	}
	return waysOf(out), true
}

// errWritten cannot happen while no element writes protocol, fragment state, ICMP type or TCP flags.
var errWritten = errors.New("protocol, fragment state, ICMP type and TCP flags are never written")

// Sort is Match for a filter that asks for nothing which elements write, such as the protocol.
func (t *Unit) Sort(want headerspace.Filter) (Ways, error) {
	w, decided := t.Match(want)
	if !decided {
		return w, errWritten
	}
	return w, nil
}

// Present is all that a field can be here.
func (t *Unit) Present(f headerspace.Field) headerspace.Set {
	switch e := t.val[f]; e.kind {
	case ident:
		return t.filter.Get(f)
	case add:
		return t.filter.Get(f).PullBack(f, -e.delta)
	default:
		return *e.set
	}
}

func (v *values) settled() *exprs {
	if v.done == nil {
		return &asEntered
	}
	return v.done
}

// settle makes the writes so far happen at run time: what follows reads the packet as it is.
func (t *Unit) settle() {
	t.ops, t.done = t.pending(), t.share(t.val)
}

// share is the one copy of values that many units have in common.
func (t *Unit) share(e exprs) *exprs {
	if p := t.known[e]; p != nil {
		return p
	}
	p := new(exprs)
	*p = e
	t.known[e] = p
	return p
}

// pending are all operations so far, the writes that have not happened at their end.
func (v *values) pending() []Op {
	ops := v.ops[:len(v.ops):len(v.ops)]
	done := v.settled()
	for f := range headerspace.NumFields {
		e := v.val[f]
		if sameExpr(e, done[f]) {
			continue
		}
		switch e.kind {
		case constE:
			c, _ := e.set.Only()
			ops = append(ops, Op{Kind: opSet, field: f, Arg: fieldValue(f, c)})
		case add:
			ops = append(ops, Op{Kind: opAddTo(f), field: f, Arg: e.delta - done[f].delta})
		case ident, choice, virtual: // nothing to write: a choice is written by its operation
		}
	}
	return ops
}

// fieldValue is a value as the program writes it: addresses are IPv4.
func fieldValue(f headerspace.Field, v headerspace.Value) int64 {
	if f == headerspace.Src || f == headerspace.Dst {
		return int64(v.Lo & 0xffffffff)
	}
	return int64(v.Lo)
}
