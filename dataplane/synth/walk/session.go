package walk

import (
	"maps"
	"reflect"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/synth/boxes"
)

// Session synthesizes the versions of a chain, one after the other. Where a version differs from the one before in rules alone, what they do not
// touch is taken over: what elements mean, the leaves behind other rules, and their rows of the tables. The program is the same in both ways, byte
// for byte, but that look-ups which were kept apart stay so, and that those which were not are judged again only when their table has grown by a quarter.
// A session keeps one version. The zero Session is ready; it is not for concurrent use.
type Session struct{ before *version }

// version is what a session keeps of a chain.
type version struct {
	opts  Options
	g     *graph.Graph
	means []Meaning
	walks map[start]*walkLog
	wide  wideAt        // look-ups that were kept apart. Finding that takes a walk in vain for each, so they stay apart
	fine  map[start]int // as recorder's
}

// keptLeaves is what was worked out of a segment's leaves, for the next version.
type keptLeaves struct {
	fates
	keys   map[string]int32 // numbers what classes do
	kinds  []int32          // by leaf, of those that are kept: what its class does
	shapes []int32          // by leaf, of those that are kept: its place among the shapes
	common boxes.Commons
	table  *boxes.Lowered
	low    *boxes.Lowered // nil: there is none
}

// Synthesize is as the function of the name.
func (s *Session) Synthesize(g *graph.Graph, opts Options) (*Result, error) {
	opts = opts.withDefaults()
	r := &recorder{wide: wideAt{}, fine: map[start]int{}}
	if s.before != nil && s.before.opts == opts {
		if d := differenceOf(s.before.g, g); d != nil {
			r.before, r.difference, r.wide, r.fine = s.before, d, maps.Clone(s.before.wide), maps.Clone(s.before.fine)
		}
	}
	means := r.meaningsOf(g)
	result, err := synthesize(g, opts, means, r)
	if err != nil {
		return nil, err
	}
	for _, l := range r.walks {
		l.before = nil // the version before may go
	}
	r.before = nil
	s.before = &version{opts, g, means, r.walks, r.wide, r.fine}
	return result, nil
}

// difference tells the rules that differ, by node; nil: the node is the same.
type difference [][]bool

// differenceOf is how a graph differs from the one before; nil: in more than rules.
func differenceOf(before, now *graph.Graph) difference {
	if before.Chain != now.Chain || len(before.Nodes) != len(now.Nodes) || !reflect.DeepEqual(before.Interfaces, now.Interfaces) {
		return nil
	}
	d := make(difference, len(now.Nodes))
	for i := range now.Nodes {
		a, b := &before.Nodes[i], &now.Nodes[i]
		if a.Name != b.Name || a.Function != b.Function || !slices.Equal(a.Out, b.Out) {
			return nil
		}
		var ok bool
		if d[i], ok = elementDiffers(a.Element, b.Element); !ok {
			return nil
		}
	}
	return d
}

// elementDiffers tells which rules of an element differ, if any; ok is false if it differs in something else.
func elementDiffers(before, now element.Element) (rules []bool, ok bool) {
	switch b := now.(type) {
	case element.Classifier:
		a, is := before.(element.Classifier)
		if !is || a.Outs != b.Outs || a.Default != b.Default || len(a.Rules) != len(b.Rules) {
			return nil, false
		}
		for i := range b.Rules {
			x, y := &a.Rules[i], &b.Rules[i]
			if x.Count != y.Count || x.Count && x.Name != y.Name {
				return nil, false // counters are numbered by their names
			}
			if x.Out == y.Out && slices.EqualFunc(x.Filters, y.Filters, headerspace.Filter.Same) {
				continue
			}
			if rules == nil {
				rules = make([]bool, len(b.Rules))
			}
			rules[i] = true
		}
		return rules, true
	case element.Lookup:
		a, is := before.(element.Lookup)
		return nil, is && a.Outs == b.Outs && a.NoRoute == b.NoRoute && slices.Equal(a.Routes, b.Routes) && sameHops(a.Table, b.Table)
	}
	return nil, reflect.DeepEqual(before, now)
}

// sameHops tells whether packets find the same next hops by two tables, if not the same packets.
func sameHops(a, b *element.Table) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.Equal(a.Hops, b.Hops) && slices.Equal(a.Numbers(), b.Numbers())
}

// meaningsOf are those of a graph's nodes. Nodes that are the same mean the same.
func (r *recorder) meaningsOf(g *graph.Graph) []Meaning {
	if r.before == nil {
		return meaningsOf(g)
	}
	out := make([]Meaning, len(g.Nodes))
	for i, n := range g.Nodes {
		out[i] = r.before.means[i]
		if l, ok := n.Element.(element.Lookup); ok && l.Table != nil {
			out[i] = meaningOf(n.Element) // of other packets
		}
		if r.difference[i] != nil {
			out[i] = meaningOf(n.Element)
			now, before := out[i].(*classifier), r.before.means[i].(*classifier)
			now.list.to = before.list.to.changed(now.list.rules, r.difference[i])
		}
	}
	return out
}

// changed is the targets of a list of which some rules changed; nil: they have to be worked out again.
func (t *targets) changed(rules []element.Rule, differs []bool) *targets {
	if t == nil {
		return nil
	}
	out := &targets{of: slices.Clone(t.of), only: t.only}
	only := func(to target) bool { return to.only }
	for i, d := range differs {
		if d {
			out.of[i] = targetsOf(rules[i])
			if len(t.only) > 0 && i >= t.only[0] || slices.ContainsFunc(out.of[i], only) {
				return nil // what is left to this rule, or to those below, has to be worked out
			}
		}
		asks := func(f headerspace.Filter) bool { return !f.Any(headerspace.Dst) }
		out.decide = out.decide || slices.ContainsFunc(rules[i].Filters, asks)
	}
	return out
}

// sameOnly tells whether the rules that differ ask for more than destinations, in both lists: these leave the same to each other rule.
func (t *targets) sameOnly(before *targets, differs []bool) bool {
	if t == nil || before == nil {
		return false
	}
	only := func(list []target) bool { return slices.ContainsFunc(list, func(to target) bool { return to.only }) }
	for i, d := range differs {
		if d && (only(t.of[i]) || only(before.of[i])) {
			return false
		}
	}
	return true
}

// Taken is how many leaves the last version took over from the one before.
func (s *Session) Taken() (n int) {
	if s.before == nil {
		return 0
	}
	for _, l := range s.before.walks {
		for _, was := range l.was {
			if was >= 0 {
				n++
			}
		}
	}
	return n
}
