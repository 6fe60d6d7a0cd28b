// Package lower lowers rate limiters: the packets that a limit is for go by its meter. Users may place a meter themselves.
package lower

import (
	"cmp"
	"fmt"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	lower.Register("rateLimiter", func(k *v1alpha1.FunctionKinds) *v1alpha1.RateLimiter { return k.RateLimiter }, func(s *v1alpha1.RateLimiter) lower.Kind { return rateLimiter{spec: s} })
}

type rateLimiter struct {
	lower.TwoSided
	spec *v1alpha1.RateLimiter
}

// limit is a limit as its elements are made.
type limit struct {
	name   string
	from   v1alpha1.Side
	filter headerspace.Filter
	meter  element.Meter
	node   int // of the meter; -1: not made yet
}

// Lower makes, per direction, a classifier "lim/inside", and per limit a meter "lim/<limit>", which both directions
// share if the limit is for both. What a meter drops is counted as "lim/exceeded".
func (r rateLimiter) Lower(b *lower.Builder, f *lower.Function) {
	list := readLimits(b, f, r.spec)
	for side, name := range lower.TwoSides {
		if !b.Reached(f.Port(name)) {
			continue
		}
		const pass = 0
		c := element.Classifier{Default: pass, Outs: 1}
		var ways []*limit // by output, but the first
		for _, l := range list {
			if !lower.From(l.from, name) {
				continue
			}
			c.Rules = append(c.Rules, element.Rule{Name: l.name, Filters: []headerspace.Filter{l.filter}, Out: c.Outs})
			c.Outs++
			ways = append(ways, l)
		}
		n := b.Add(f.Name, f.Name+"/"+name, c)
		f.Entry[name] = lower.Edge{To: n}
		b.Exit(n, pass, f, lower.Opposite(name))
		for i, l := range ways {
			if l.node < 0 {
				l.node = b.Add(f.Name, l.name, l.meter)
			}
			in := 0
			if l.meter.TwoSided {
				in = side
			}
			b.Lead(n, 1+i, lower.Edge{To: l.node, Port: in})
			b.Exit(l.node, l.meter.Leaves(in), f, lower.Opposite(name))
		}
	}
}

func readLimits(b *lower.Builder, f *lower.Function, spec *v1alpha1.RateLimiter) []*limit {
	var list []*limit
	names := map[string]string{lower.Inside: "the port", lower.Outside: "the port"}
	for i := range spec.Limits {
		l := &spec.Limits[i]
		field := lower.Index(f.Path+".limits", i)
		name := cmp.Or(string(l.Name), fmt.Sprintf("limit-%d", i+1))
		b.TakeName(names, f.Object, field, name, "limits")
		filter, ok := b.Filter(f.Object, field, &l.Match)
		meter, read := readMeter(lower.At{Builder: b, Function: f, Path: field}, "", &l.Meter, f.Name+"/exceeded")
		if !ok || !read {
			continue
		}
		meter.TwoSided = l.From == "" && b.Reached(f.Port(lower.Inside)) && b.Reached(f.Port(lower.Outside))
		list = append(list, &limit{f.Name + "/" + name, l.From, filter, meter, -1})
	}
	return list
}
