package walk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/synth/trees"
)

// Cut is where packets are classified again though the look-ups before and behind it could be one by what they mean: it would be too large, or a program
// cannot say it. Cuts for replies, and for packets that go round, are left out.
type Cut struct {
	// Segment begins here, at a node of Function.
	Segment, Function string
	// From are the segments that lead here.
	From []string
	// Behind are the functions that divide packets into many, by rules, routes or else, before the cut, for one of From after the other in the order of the graph.
	Behind []string
	Reason CutReason
	// Units is how many traffic class units the widest segment of From would have if it had the look-up behind the cut as well, at most: each pair of a unit
	// and a rule whose ranges overlap is one. Limit is how many it may have. Both are of CutTooLarge alone. Units may be below the limit where the look-ups
	// Behind that one would pass it.
	Units, Limit int
	// One is what a walk through the look-ups before and behind the cut would take if they were one, Apart what it takes one after the other. Both are of
	// CutLongWalk alone.
	One, Apart trees.Walk
	// Stateful tells that the chain keeps state.
	Stateful bool
}

// CutReason tells why packets are classified again.
type CutReason uint8

// Reasons of cuts.
const (
	cutUntold      CutReason = iota // what the look-up asks for is known at run time alone, packets go round, or these are replies
	CutTooLarge                     // what the look-ups say together does not fit one (Options.MaxBoxes)
	CutSecondTable                  // a look-up has one table by content (headerspace.Route)
	CutLargeTable                   // a table of many routes is a trie if no rules are looked up with it
	CutLongWalk                     // a walk through what the look-ups say together would take longer than one after the other
	cutSampled                      // of a sample, whose rule counts no further (see foresee)
)

func (r CutReason) String() string {
	return [...]string{cutUntold: "", CutTooLarge: "TooLarge", CutSecondTable: "SecondTable", CutLargeTable: "LargeTable", CutLongWalk: "LongWalk", cutSampled: ""}[r]
}

// String tells of the cut in a sentence: between which functions it is, why, and what it costs.
func (c Cut) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is a look-up of its own", c.Function)
	if len(c.Behind) > 0 {
		fmt.Fprintf(&b, " behind %s", some(c.Behind))
	}
	fmt.Fprintf(&b, " (%s): ", some(c.From))
	switch {
	case c.Reason == CutSecondTable:
		b.WriteString("each can have one table of routes by content")
	case c.Reason == CutLargeTable:
		b.WriteString("a table of so many routes is looked up in a trie, and with rules it would be a tree of all routes")
	case c.Reason == CutLongWalk:
		fmt.Fprintf(&b, "a walk through one for all would take %.0f steps (at most %d), one after the other %.0f (%d)", c.One.Steps, c.One.Longest, c.Apart.Steps, c.Apart.Longest)
	case c.Units > c.Limit:
		fmt.Fprintf(&b, "one for all would have up to %s traffic class units, and %s are the limit", thousands(c.Units), thousands(c.Limit))
	default:
		fmt.Fprintf(&b, "one for all, with what comes behind, would pass the limit of %s traffic class units", thousands(c.Limit))
	}
	b.WriteString("; a packet takes one look-up more, unless its ")
	if c.Stateful {
		b.WriteString("flow is known")
	} else {
		b.WriteString("header comes again")
	}
	return b.String()
}

// some names the first few of a list.
func some(names []string) string {
	const few = 4
	if n := len(names) - few; n > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), n)
	}
	return strings.Join(names, ", ")
}

// thousands is a number with a comma before each three digits.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// cutting is to which segment the way of a unit is cut, and why. A unit with copies may have several.
type cutting struct {
	prev   *cutting
	to     int
	reason CutReason
	units  int // into how many the look-up there would divide the unit, of CutTooLarge
	// one and apart are walks, of CutLongWalk: see Cut.
	one, apart trees.Walk
}

// crossing is where and why leaves of a segment are cut.
type crossing struct {
	segment int
	reason  CutReason
}

// crossed is what is known of a crossing.
type crossed struct {
	units      int
	one, apart trees.Walk
	behind     []bool // by node: a look-up before the cut
}

// cuts finds the cuts in the leaves of all segments, in the order of the segments that lead there.
func (e *Emitter) cuts() []Cut {
	var out []Cut
	places := map[crossing]int{}
	for i, s := range e.w.segments {
		if s.start.kind == startAnswer || s.start.kind == startAnswerCut {
			continue
		}
		order, met := e.w.crossings(e.r.Segments[i].leaves)
		for _, at := range order {
			place, known := places[at]
			if !known {
				place = len(out)
				places[at] = place
				to := e.w.segments[at.segment]
				out = append(out, Cut{Segment: to.name, Function: e.w.functionOf(to.start.node), Reason: at.reason, Stateful: len(e.w.tables) > 0})
			}
			out[place].add(e.w, s, met[at])
		}
	}
	return out
}

// add adds what is known of the cut at a segment that leads to it.
func (c *Cut) add(w *Walker, s *segment, x *crossed) {
	c.From = append(c.From, s.name)
	for node, is := range x.behind {
		if name := w.functionOf(node); is && name != c.Function && !slices.Contains(c.Behind, name) {
			c.Behind = append(c.Behind, name)
		}
	}
	if units := s.units + x.units; c.Reason == CutTooLarge && units > c.Units {
		c.Units, c.Limit = units, s.most
	}
	if x.one.Steps > c.One.Steps {
		c.One, c.Apart = x.one, x.apart
	}
}

func (w *Walker) functionOf(node int) string {
	if f := w.g.Nodes[node].Function; f != "" {
		return f
	}
	return w.g.Nodes[node].Name
}

// crossings finds where leaves are cut, in their order.
func (w *Walker) crossings(list leaves) (order []crossing, met map[crossing]*crossed) {
	met = map[crossing]*crossed{}
	note := func(l *found, routes int) {
		for c := l.cuts; c != nil; c = c.prev {
			at := crossing{c.to, c.reason}
			x := met[at]
			if x == nil {
				x = &crossed{behind: make([]bool, len(w.g.Nodes))}
				met[at], order = x, append(order, at)
			}
			x.units += c.units + routes
			x.one, x.apart = c.one, c.apart
			x.pass(w, l.trace)
		}
	}
	for i := range list {
		if list[i].fan == nil {
			note(&list[i], 0)
			continue
		}
		list[i].fan.groups(note)
	}
	return order, met
}

// groups gives the leaves of each group, and how many routes it has.
func (f *fan) groups(yield func(l *found, routes int)) {
	routes := make([]int, len(f.of))
	for _, r := range f.routes {
		routes[f.fib.group[r]]++
	}
	for g := range f.of {
		for i := range f.of[g] {
			yield(&f.of[g][i], routes[g])
		}
	}
}

// pass notes the look-ups on a leaf's way.
func (x *crossed) pass(w *Walker, trace *step) {
	for s := trace; s != nil; s = s.prev {
		x.behind[s.node] = x.behind[s.node] || w.divides(s.node)
	}
}

// divides tells whether a node divides packets into many ways.
func (w *Walker) divides(node int) bool { return w.rules(node) > narrow }

// rules is how many rules or routes a node has, or what else it divides packets by.
func (w *Walker) rules(node int) int {
	switch m := w.means[node].(type) {
	case ruled:
		return m.size()
	case Dividing:
		return m.Divides()
	}
	return 0
}
