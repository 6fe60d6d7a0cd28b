package walk

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/synth/longest"
)

// Loops of routes, found exactly: destinations are followed from lookup to lookup by longest match. What can be sent on
// for ever is what remains when all is taken away, again and again, that leads to where nothing remains (a greatest
// fixpoint). Then the functions on each round are asked whether they let such a packet pass.

const (
	maxRounds = 16   // loops that are reported
	maxPieces = 4096 // filters of a round's packets; with more the functions on it are not asked
	maxNamed  = 6    // prefixes that a warning names
)

// HopTo is a way from one lookup to the next.
type HopTo struct {
	to   int
	live spans // destinations that may take it
	way  []hopStep
	// written is the destination that the way writes, if it does.
	written *uint32
	starts  int // segments that start on it
}

type hopStep struct{ node, out int }

// looper finds loops.
type looper struct {
	w       *Walker
	hops    map[int][]HopTo // by lookup
	entered map[int]spans   // destinations of packets from interfaces, as they get to a lookup
	reached map[int]spans   // those of answers included, and of what got another one by state
	looping map[int]spans
	lookups []int
	starts  int // segments that start between two lookups, at most
	lookUps int // of packets that do not go round, at most
	endless bool
	exact   bool // what tables by content say is followed address by address
}

// loopsOf finds what goes round, and the warnings of it. Tables by content are first taken to lead every address by every next hop: mostly nothing
// goes round even so.
func loopsOf(w *Walker) (*looper, []Warning) {
	l := newLooper(w, false)
	warnings := l.warnings()
	isTable := func(m Meaning) bool { t, ok := m.(*lookup); return ok && t.Table != nil }
	if len(warnings) > 0 && slices.ContainsFunc(w.means, isTable) {
		l = newLooper(w, true)
		warnings = l.warnings()
	}
	return l, warnings
}

// newLooper finds what goes round.
func newLooper(w *Walker, exact bool) *looper {
	l := &looper{w: w, exact: exact, hops: map[int][]HopTo{}, reached: map[int]spans{}, looping: map[int]spans{}}
	for n, m := range w.means {
		if e, ok := m.(*lookup); ok {
			l.lookups = append(l.lookups, n)
			l.hops[n] = l.leaving(n, e)
		}
	}
	l.reach(l.entries())
	l.entered = maps.Clone(l.reached)
	l.reach(l.turns())
	l.looping = maps.Clone(l.reached)
	l.lookUps = l.settle()
	for _, s := range l.looping {
		l.endless = l.endless || len(s) > 0
	}
	return l
}

// entries are the hops from the interfaces.
func (l *looper) entries() []HopTo {
	var out []HopTo
	for _, i := range l.w.g.Interfaces {
		out = l.follow(HopTo{live: everyAddress, way: []hopStep{{i.In, 0}}}, out)
	}
	return out
}

// turns are the hops of packets whose destination is not the one that they entered with: answers, which go to any address,
// and what got another by state.
func (l *looper) turns() []HopTo {
	var out []HopTo
	for n, m := range l.w.means {
		if r, ok := m.(Redirecting); ok {
			r.Redirects(func(port int, to headerspace.Set) {
				out = l.follow(HopTo{live: spansOf(to), way: []hopStep{{n, port}}}, out)
			})
		}
		if _, ok := m.(answering); ok {
			out = l.follow(HopTo{live: everyAddress, way: []hopStep{{n, 0}}}, out)
		}
	}
	return out
}

// bound is how many segments a packet passes at most, those of its answers included; 0: nobody knows, some go round.
func (l *looper) bound() int {
	if l.endless {
		return 0
	}
	return (1 + (l.lookUps+1)*l.starts) * (1 + l.redirecting() + l.forks()) * (1 + longest.Generations)
}

// redirecting is how many elements give packets other destinations. By a state table to which nothing leads they do not.
func (l *looper) redirecting() (n int) {
	for node, m := range l.w.means {
		if _, ok := m.(Redirecting); !ok {
			continue
		}
		if _, keeps := m.(Keeping); !keeps || slices.Contains(l.w.tables, node) {
			n++
		}
	}
	return n
}

// Forks is how many elements lead packets on by their state.
func (l *looper) forks() (n int) {
	for _, m := range l.w.means {
		if _, ok := m.(Forking); ok {
			n++
		}
	}
	return n
}

// asks are the addresses that may be answered: sources that an interface lets in, and those that a function writes.
func (l *looper) asks() spans {
	var out spans
	for _, i := range l.w.g.Interfaces {
		in := everyAddress
		for _, r := range i.Refused {
			in = in.subtract(spans{{IPv4(r.First), IPv4(r.Last)}})
		}
		out = out.union(in)
	}
	for _, m := range l.w.means {
		if a, ok := m.(Asking); ok {
			out = out.union(spansOf(a.Sources()))
		}
	}
	return out
}

// warnings tell of packets that go round until their TTL is used up.
func (l *looper) warnings() []Warning {
	var out []Warning
	asks := l.asks()
	for range maxRounds {
		round, at := l.next()
		if round == nil {
			break
		}
		what, to := "packets", at.intersect(l.entered[round[0].way[0].node])
		if len(to) == 0 {
			what, to = "answers", at.intersect(asks)
		}
		if len(to) == 0 {
			to = at // nobody is answered there
		} else if packets, sure := l.pass(round, to); len(packets) > 0 {
			out = append(out, l.w.loopWarning(round, what, packets, sure && what == "packets"))
		}
		for _, h := range round {
			l.looping[h.to] = l.looping[h.to].subtract(to)
		}
		l.settle()
	}
	return out
}

// leaving are the hops from a lookup.
func (l *looper) leaving(n int, e *lookup) []HopTo {
	by := make([]spans, e.Outs)
	if e.Table != nil && !l.exact {
		return l.leavingTable(n, e)
	}
	f := e.fib()
	for _, c := range f.cells {
		o := e.NoRoute
		if c.route != noRoute {
			o = f.routes[c.route].Out
		}
		if n := len(by[o]); n > 0 && by[o][n-1].hi == c.lo-1 {
			by[o][n-1].hi = c.hi
		} else {
			by[o] = append(by[o], c.span)
		}
	}
	var out []HopTo
	for o, live := range by {
		out = l.follow(HopTo{live: live, way: []hopStep{{n, o}}}, out)
	}
	return out
}

// leavingTable are the hops from a table by content, each of any address.
func (l *looper) leavingTable(n int, e *lookup) (out []HopTo) {
	var outs []int
	for _, number := range e.Table.Numbers() {
		o := e.NoRoute
		if number > 0 {
			o = e.Table.Hops[number-1].Out
		}
		if !slices.Contains(outs, o) {
			outs = append(outs, o)
			out = l.follow(HopTo{live: everyAddress, way: []hopStep{{n, o}}}, out)
		}
	}
	return out
}

// Follow goes on from the end of a hop's way to the lookups next on it.
func (l *looper) follow(h HopTo, out []HopTo) []HopTo {
	last := h.way[len(h.way)-1]
	e := l.w.g.Nodes[last.node].Out[last.out]
	if e.To < 0 || len(h.live) == 0 {
		return out
	}
	_, cut := l.w.index[start{kind: startCut, node: e.To, port: e.Port}]
	if _, ofAnswers := l.w.index[start{kind: startAnswerCut, node: e.To, port: e.Port}]; cut || ofAnswers {
		h.starts++
		l.starts = max(l.starts, h.starts)
	}
	for _, s := range h.way[1:] { // a round without lookup
		if s.node == e.To {
			return out
		}
	}
	if _, ok := l.w.means[e.To].(*lookup); ok {
		h.to = e.To
		return append(out, h)
	}
	on := func(next HopTo, port int) {
		next.way = append(h.way[:len(h.way):len(h.way)], hopStep{e.To, port})
		l.starts = max(l.starts, next.starts)
		out = l.follow(next, out)
	}
	if r, ok := l.w.means[e.To].(Routing); ok {
		r.Leads(h, e.Port, on)
	} else {
		on(h, 0) // alive, pass, good, counted
	}
	return out
}

// Starting is the hop of which a segment starts on the way, whatever else does.
func (h HopTo) Starting() HopTo {
	h.starts++
	return h
}

// Without takes destinations away, as they are at the hop's end.
func (h HopTo) Without(to headerspace.Set) HopTo {
	if h.written == nil {
		h.live = h.live.subtract(spansOf(to))
	} else if to.Contains(address(*h.written)) {
		h.live = nil
	}
	return h
}

// reach finds which destinations get to which lookup.
func (l *looper) reach(todo []HopTo) {
	for len(todo) > 0 {
		h := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		fresh := h.becomes().subtract(l.reached[h.to])
		if len(fresh) == 0 {
			continue
		}
		l.reached[h.to] = l.reached[h.to].union(fresh)
		for _, next := range l.hops[h.to] {
			if next.live = next.live.intersect(fresh); len(next.live) > 0 {
				todo = append(todo, next)
			}
		}
	}
}

// becomes is the hop's destinations at its end.
func (h HopTo) becomes() spans {
	if h.written != nil && len(h.live) > 0 {
		return spans{{*h.written, *h.written}}
	}
	return h.live
}

// settle takes away, until nothing changes, what leads to where it is not looping. It tells how often that was: each
// time all ways grow shorter by a lookup.
func (l *looper) settle() (times int) {
	for changed := true; changed; times++ {
		changed = false
		next := map[int]spans{}
		for _, n := range l.lookups {
			var stay spans
			for _, h := range l.hops[n] {
				stay = stay.union(l.stays(h))
			}
			next[n] = stay.intersect(l.looping[n])
			changed = changed || !slices.Equal(next[n], l.looping[n])
		}
		l.looping = next
	}
	return times - 1
}

// stays is the destinations for which a hop leads to where they loop.
func (l *looper) stays(h HopTo) spans {
	if h.written == nil {
		return h.live.intersect(l.looping[h.to])
	}
	if len(h.becomes().intersect(l.looping[h.to])) > 0 {
		return h.live
	}
	return nil
}

// next is a round that remains, and the destinations that take it; nil: there is none.
func (l *looper) next() ([]HopTo, spans) {
	for _, n := range l.lookups {
		if len(l.looping[n]) == 0 {
			continue
		}
		at, node := l.looping[n][0].lo, n
		var way []HopTo
		passed := map[int]int{}
		for {
			if first, ok := passed[node]; ok {
				return l.round(way[first:])
			}
			passed[node] = len(way)
			i := slices.IndexFunc(l.hops[node], func(h HopTo) bool {
				return len(l.stays(h).intersect(spans{{at, at}})) > 0
			})
			h := l.hops[node][i]
			way = append(way, h)
			node = h.to
			if h.written != nil {
				at = *h.written
			}
		}
	}
	return nil, nil
}

// round begins a way that leads round at its first lookup, and adds the packets that take it.
func (l *looper) round(way []HopTo) ([]HopTo, spans) {
	at := everyAddress
	for _, h := range way {
		if h.written != nil { // all that it takes becomes one
			return way, spans{{*h.written, *h.written}}
		}
		at = at.intersect(l.stays(h))
	}
	first := 0
	for i := range way {
		if way[i].way[0].node < way[first].way[0].node {
			first = i
		}
	}
	return append(way[first:len(way):len(way)], way[:first]...), at
}

// pass is those of the packets to the destinations that the functions on the round let go round; sure is
// false if they were not asked to the end.
func (l *looper) pass(round []HopTo, to spans) (packets []headerspace.Filter, sure bool) {
	t := &Unit{live: everyAddress, known: l.w.known}
	packets = []headerspace.Filter{Everything.And(headerspace.Dst, to.set())}
	for range 2 { // what is written the first time is read the second time
		for _, h := range round {
			for _, s := range h.way {
				m, ok := l.w.means[s.node].(turning)
				if !ok {
					continue
				}
				next, ok := m.turn(t, packets, s.out)
				if !ok {
					return packets, false
				}
				packets = next
			}
		}
	}
	return packets, true
}

func (w *Walker) loopWarning(round []HopTo, what string, packets []headerspace.Filter, sure bool) Warning {
	var names []string
	for _, h := range round {
		names = append(names, functionOf(w.g, h.way[0].node))
	}
	names = append(names, names[0])
	may := ""
	if !sure {
		may = "may "
	}
	return Warning{
		Node: w.g.Nodes[round[0].way[0].node].Name,
		Message: fmt.Sprintf("%s %sgo round (%s) until their TTL is used up; "+
			"change a route so that they leave, or give them one of type Discard", describe(what, packets), may, strings.Join(names, " → ")),
	}
}

// describe names the destinations, and what else all or some of the packets have in common.
func describe(what string, packets []headerspace.Filter) string {
	var to spans
	others := map[string]bool{}
	for _, p := range packets {
		to = to.union(spansOf(p.Get(headerspace.Dst)))
		others[p.With(headerspace.Dst, headerspace.Full(headerspace.Dst)).Given(Everything).String()] = true
	}
	if len(others) > 1 {
		return fmt.Sprintf("some %s to %s", what, to)
	}
	for with := range others {
		if with != "any" {
			return fmt.Sprintf("%s to %s with %s", what, to, with)
		}
	}
	return fmt.Sprintf("%s to %s", what, to)
}

func functionOf(g *graph.Graph, node int) string {
	if f := g.Nodes[node].Function; f != "" {
		return f
	}
	return g.Nodes[node].Name
}

// String names the first of the prefixes that make up the spans.
func (s spans) String() string {
	var out []string
	n := 0
	for _, a := range s {
		for lo, more := a.lo, true; more; n++ {
			bits := 32
			for bits > 0 && lo&(1<<(32-bits)) == 0 && uint64(lo)+1<<(33-bits)-1 <= uint64(a.hi) {
				bits--
			}
			last := lo + uint32(uint64(1)<<(32-bits)-1)
			if n < maxNamed {
				out = append(out, netip.PrefixFrom(headerspace.AsAddr(address(lo)), bits).String())
			}
			lo, more = last+1, last < a.hi
		}
	}
	if n > maxNamed {
		return fmt.Sprintf("%s and %d more prefixes", strings.Join(out, ", "), n-maxNamed)
	}
	return strings.Join(out, ", ")
}
