package interp

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(c *pass.Chain, _ string, e element.Classifier) pass.Element {
		for _, r := range e.Rules {
			if r.Count {
				c.AddCounter(r.Name)
			}
		}
		return newClassifier(e)
	})
}

// classifier tries the filters of the rules in order. What their addresses span lies
// flat, so that long rule sets run fast enough to test with.
type classifier struct {
	hulls    []hull // one per try
	tries    []try
	rules    []element.Rule
	fallback int
}

// hull is what a filter's address sets span; checks know the holes.
type hull struct{ src, dst span }

// try is one filter of one rule.
type try struct {
	checks []check
	rule   int
}

type span struct{ lo, hi uint32 }

func (s span) holds(v uint32) bool { return s.lo <= v && v <= s.hi }

// check is a field filter.
type check struct {
	field headerspace.Field
	spans []span
}

func newClassifier(e element.Classifier) *classifier {
	c := &classifier{rules: e.Rules, fallback: e.Default}
	for i, r := range e.Rules {
		for _, f := range r.Filters {
			if h, checks, ok := flatten(f); ok {
				c.hulls = append(c.hulls, h)
				c.tries = append(c.tries, try{checks, i})
			}
		}
	}
	return c
}

// flatten makes a filter ready; ok is false if no IPv4 packet passes it.
func flatten(f headerspace.Filter) (h hull, checks []check, ok bool) {
	every := span{0, ^uint32(0)}
	h = hull{every, every}
	for field := range headerspace.NumFields {
		if f.Any(field) {
			continue
		}
		spans := narrow(field, f.Get(field))
		if len(spans) == 0 {
			return h, nil, false
		}
		all := span{spans[0].lo, spans[len(spans)-1].hi}
		switch field {
		case headerspace.Src:
			h.src = all
		case headerspace.Dst:
			h.dst = all
		default:
		}
		if len(spans) > 1 || field != headerspace.Src && field != headerspace.Dst {
			checks = append(checks, check{field, spans})
		}
	}
	return h, checks, true
}

// narrow writes a set in 32 bits, of addresses the IPv4 ones.
func narrow(f headerspace.Field, s headerspace.Set) []span {
	if f == headerspace.Src || f == headerspace.Dst {
		s = s.Intersect(headerspace.AddrRange(header.Addr(0), header.Addr(^uint32(0))))
	}
	var out []span
	for _, i := range s.Intervals() {
		out = append(out, span{uint32(i.Lo.Lo), uint32(i.Hi.Lo)})
	}
	return out
}

func (c *classifier) Pass(r *pass.Run, _ *graph.Node, p *pass.Packet, _ int) (int, bool) {
	i := c.match(p)
	if i < 0 {
		r.Note("no rule matches")
		return c.fallback, false
	}
	rule := &c.rules[i]
	r.Note("rule %s", rule.Name)
	if rule.Count {
		r.Count(rule.Name, p)
	}
	return rule.Out, false
}

// match is the index of the first rule that the packet passes, -1 if none.
func (c *classifier) match(p *pass.Packet) int {
	src, dst := header.Src(p.IP), header.Dst(p.IP)
	for i, h := range c.hulls {
		if h.src.holds(src) && h.dst.holds(dst) && c.tries[i].passes(p) {
			return c.tries[i].rule
		}
	}
	return -1
}

func (t try) passes(p *pass.Packet) bool {
	for _, c := range t.checks {
		if !c.passes(p.Field(c.field)) {
			return false
		}
	}
	return true
}

func (c check) passes(v uint32) bool {
	for _, s := range c.spans {
		if s.holds(v) {
			return true
		}
	}
	return false
}
