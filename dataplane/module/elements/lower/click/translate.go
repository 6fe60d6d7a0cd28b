package click

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/click"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// translation is a NAPT. Rewriters with one pattern share it if their packets are of different protocols, as TCPRewriter's and UDPRewriter's are.
type translation struct {
	pattern rewritePattern
	parts   []part
	name    target
	// seen are the states of packets that came in from inside and outside.
	seen [2]*state
}

// part is a rewriter's part in a translation: its packets, and the outputs by which they leave.
type part struct {
	element           int
	of                *rewriter
	requests, replies []headerspace.Filter
	forward, reply    int
	pos               click.Pos
}

// groupRewriters finds the translations of all rewriters.
func (l *lowerer) groupRewriters() {
	for i := range l.config.Elements {
		if w, ok := l.configs[i].(*rewriter); ok && w.errors == nil {
			for k := range w.specs {
				if w.specs[k].kind == specPattern {
					l.joinTranslation(i, w, &w.specs[k])
				}
			}
		}
	}
	for i := range l.config.Elements {
		if w, ok := l.configs[i].(*rewriter); ok && w.errors != nil {
			l.joinErrors(i, w)
		}
	}
}

// joinTranslation gives a rewriter a part in the translation of a pattern.
func (l *lowerer) joinTranslation(el int, w *rewriter, s *inputSpec) {
	t := l.translationOf(s.pattern)
	for _, p := range t.parts {
		switch {
		case p.element == el && (p.forward != s.forward || p.reply != s.reply):
			l.fail(el, s.at.Pos, s.at.Text, "the pattern leads to other outputs than at another input; give each a pattern with ports of its own")
			return
		case p.element == el:
			return
		case overlap(p.requests, w.requests):
			l.fail(el, s.at.Pos, s.at.Text, "%s has the same pattern for the same protocols; give each a pattern with ports of its own, on an address of its own",
				l.config.Elements[p.element].Name)
			return
		}
	}
	t.parts = append(t.parts, part{el, w, w.requests, w.replies, s.forward, s.reply, s.at.Pos})
	w.of = append(w.of, t)
}

func overlap(a, b []headerspace.Filter) bool {
	return slices.ContainsFunc(a, func(f headerspace.Filter) bool { return slices.ContainsFunc(b, f.Overlaps) })
}

func (l *lowerer) translationOf(p rewritePattern) *translation {
	for _, t := range l.rewriters {
		if t.pattern == p {
			return t
		}
	}
	t := &translation{pattern: p}
	l.rewriters = append(l.rewriters, t)
	return t
}

var icmpErrors = ofICMP(3, 11, 12)

func configureErrors(r *reader) *rewriter {
	w := &rewriter{requests: icmpErrors, replies: icmpErrors, errors: []string{}}
	w.stale = !r.boolean("DST_ANNO", true)
	for a, ok := r.next(); ok; a, ok = r.next() {
		for _, name := range strings.Fields(unquoted(a.Text)) {
			if !slices.ContainsFunc(r.config.Elements, func(e click.Element) bool { return e.Name == name }) {
				r.fail(a, name, "no element of this name is declared; name rewriters")
			}
			w.errors = append(w.errors, name)
		}
	}
	return w
}

// joinErrors has ICMP errors about flows of rewriters translated as these are.
func (l *lowerer) joinErrors(el int, w *rewriter) {
	for _, t := range l.rewriters {
		about := slices.ContainsFunc(t.parts, func(p part) bool { return slices.Contains(w.errors, l.config.Elements[p.element].Name) })
		if about {
			t.parts = append(t.parts, part{el, w, icmpErrors, icmpErrors, 0, 0, l.config.Elements[el].Pos})
			w.of = append(w.of, t)
		}
	}
}

// to restricts filters to destinations.
func to(filters []headerspace.Filter, dst headerspace.Set) (out []headerspace.Filter) {
	for _, f := range filters {
		out = append(out, f.And(headerspace.Dst, dst))
	}
	return out
}

// way is where some packets go.
type way struct {
	rule    string
	filters []headerspace.Filter
	next    func() target
}

// choose makes a classifier that leads packets each their way, and all others to what is made by rest.
func (x *visit) choose(ways []way, rest func() target) target {
	if len(ways) == 0 {
		return rest()
	}
	t := x.putMade(Made{Outs: numbers(len(ways) + 1), Make: func(name string) element.Element {
		c := element.Classifier{Default: len(ways), Outs: len(ways) + 1}
		for i, w := range ways {
			c.Rules = append(c.Rules, element.Rule{Name: name + "/" + w.rule, Filters: w.filters, Out: i})
		}
		return c
	}})
	for i, w := range ways {
		x.link(t.output(fmt.Sprint(i)), w.next())
	}
	x.link(t.output(fmt.Sprint(len(ways))), rest())
	return t
}

// Sides of a translation.
const (
	fromInside = iota
	fromOutside
)

// enterRewriter: replies to flows are known by the pool's addresses, so that packets to others can only begin flows, pass or be dropped.
func enterRewriter(x *visit, w *rewriter) target {
	if x.port.port >= len(w.specs) {
		return ""
	}
	s := &w.specs[x.port.port]
	if slices.ContainsFunc(w.specs, func(s inputSpec) bool { return s.kind == specKeep }) {
		return x.enterKeep(w, s)
	}
	if s.kind == specPattern {
		t := x.translationOf(s.pattern)
		return x.choose([]way{{"flows", w.requests, func() target { return x.translate(t, fromInside) }}}, func() target { return x.lost("protocol") })
	}
	var ways []way
	for _, t := range w.of {
		ways = append(ways, way{fmt.Sprint("replies-", len(ways)), to(w.replies, t.pattern.pool()), func() target { return x.translate(t, fromOutside) }})
	}
	if s.kind == specPass && len(w.of) > 0 {
		x.failOnce(x.element, true, "packets to an address of the pattern that belong to no mapping are dropped (nat-no-binding); all others pass")
	}
	return x.choose(ways, func() target {
		if s.kind == specPass {
			return x.onward(s.forward, x.state)
		}
		return x.lost("drop")
	})
}

// enterErrors translates ICMP errors that come from outside: those to the pool's addresses.
func enterErrors(x *visit, w *rewriter) target {
	var ways []way
	for _, t := range w.of {
		ways = append(ways, way{fmt.Sprint("from-outside-", len(ways)), to(icmpErrors, t.pattern.pool()), func() target { return x.translate(t, fromOutside) }})
	}
	return x.choose(ways, func() target {
		if x.outputs() > 1 {
			return x.onward(1, x.state)
		}
		return x.lost("no-mapping")
	})
}

// translate leads packets into a translation. What is known of packets behind it is what is known of those before it: it must be the same for all.
func (x *visit) translate(t *translation, side int) target {
	if t.name == "" {
		t.name = target(x.add(x.el.Name, v1alpha1.Element{Kind: v1alpha1.ElementNAPT, NAPT: t.spec()}, Made{Pos: t.parts[0].pos}))
	}
	st := x.state
	st.dst = destination{kind: ofPacket}
	in, out := []string{"inside", "outside"}[side], []string{"outside", "inside"}[side]
	switch seen := t.seen[side]; {
	case seen == nil:
		t.seen[side] = &st
		x.link(t.name.output(out), x.behindTranslation(t, side, st))
	case *seen != st:
		x.failOnce(x.element, false, "packets come here in several ways, with paint or Ethernet headers that differ, which are one behind it; paint them behind it")
	}
	return t.name.output(in)
}

// behindTranslation leads packets of each rewriter to its output.
func (x *visit) behindTranslation(t *translation, side int, st state) target {
	lead := func(p part) target {
		st := st
		if p.of.stale && side == fromOutside {
			st.dst = destination{kind: stale}
		}
		if side == fromInside {
			return x.follow(p.element, p.forward, st)
		}
		return x.follow(p.element, p.reply, st)
	}
	parts := t.parts
	if side == fromInside { // errors come from outside alone
		parts = slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return p.of.errors != nil })
	}
	if len(parts) == 1 {
		return lead(parts[0])
	}
	name := x.add(x.el.Name, v1alpha1.Element{}, Made{Pos: x.el.Pos, Outs: numbers(len(parts)), Make: func(name string) element.Element {
		c := element.Classifier{Default: len(parts) - 1, Outs: len(parts)}
		for i, p := range parts[:len(parts)-1] {
			filters := [][]headerspace.Filter{p.requests, p.replies}[side]
			c.Rules = append(c.Rules, element.Rule{Name: fmt.Sprintf("%s/%d", name, i), Filters: filters, Out: i})
		}
		return c
	}})
	for i, p := range parts {
		x.link(target(name).output(fmt.Sprint(i)), lead(p))
	}
	return target(name)
}

// follow is where packets go that leave an element by an output.
func (l *lowerer) follow(el, out int, st state) target {
	other := visit{lowerer: l, place: place{port{el, 0}, st}, el: &l.config.Elements[el]}
	return other.onward(out, st)
}

// defaultMappings is how many mappings there are unless MAPPING_CAPACITY says it.
const defaultMappings = 1_000_000

// unlimited is the most that a NAPT's limits may say.
const unlimited = 100_000_000

func (t *translation) spec() *v1alpha1.NAPT {
	pool := t.pattern.first.String()
	if t.pattern.last != t.pattern.first {
		pool += "-" + t.pattern.last.String()
	}
	n := &v1alpha1.NAPT{
		Pool:        []v1alpha1.AddressSet{v1alpha1.AddressSet(pool)},
		Ports:       v1alpha1.NAPTPorts{Min: int32(t.pattern.low), Max: int32(t.pattern.high)},
		Timeouts:    t.parts[0].of.timeouts,
		MaxSessions: defaultMappings,
		Limits:      v1alpha1.NAPTLimits{MaxSessions: unlimited, MaxPorts: unlimited}, // rewriters know no hosts
	}
	capacity := 0
	for _, p := range t.parts {
		capacity += p.of.capacity
		for _, f := range p.requests { // each protocol has the timeout of its rewriter
			switch only, _ := f.Get(headerspace.Proto).Only(); only {
			case headerspace.V(17):
				n.Timeouts.UDP = p.of.timeouts.UDP
			case headerspace.V(1):
				if p.of.errors == nil {
					n.Timeouts.ICMP = p.of.timeouts.ICMP
				}
			}
		}
	}
	if capacity > 0 {
		n.MaxSessions = int32(min(capacity, unlimited))
	}
	return n
}
