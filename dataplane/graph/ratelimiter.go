package graph

import (
	"fmt"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/placement"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	register("rateLimiter", func(k *v1alpha1.FunctionKinds) *v1alpha1.RateLimiter { return k.RateLimiter }, func(s *v1alpha1.RateLimiter) kind { return rateLimiter{spec: s} })
}

type rateLimiter struct {
	twoSided
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

// has tells whether packets from a side are measured.
func (l *limit) has(side string) bool {
	return l.from == "" || l.from == v1alpha1.SideOutside == (side == outside)
}

// lower makes, per direction, a classifier "lim/inside", and per limit a meter "lim/<limit>", which both directions
// share if the limit is for both. What a meter drops is counted as "lim/exceeded".
func (r rateLimiter) lower(b *builder, f *function) {
	list := b.limits(f, r.spec)
	for side, name := range twoSides {
		if !b.reached[port{f.name, name}] {
			continue
		}
		const pass = 0
		c := element.Classifier{Default: pass, Outs: 1}
		var ways []*limit // by output, but the first
		for _, l := range list {
			if !l.has(name) {
				continue
			}
			c.Rules = append(c.Rules, element.Rule{Name: l.name, Filters: []headerspace.Filter{l.filter}, Out: c.Outs})
			c.Outs++
			ways = append(ways, l)
		}
		n := b.add(f.name, f.name+"/"+name, c)
		f.entry[name] = Edge{To: n}
		b.exit(n, pass, f, opposite(name))
		for i, l := range ways {
			if l.node < 0 {
				l.node = b.add(f.name, l.name, l.meter)
			}
			in := 0
			if l.meter.TwoSided {
				in = side
			}
			b.g.Nodes[n].Out[1+i] = Edge{To: l.node, Port: in}
			b.exit(l.node, l.meter.Leaves(in), f, opposite(name))
		}
	}
}

func (b *builder) limits(f *function, spec *v1alpha1.RateLimiter) []*limit {
	var list []*limit
	names := map[string]string{inside: "the port", outside: "the port"}
	for i := range spec.Limits {
		l := &spec.Limits[i]
		field := index(f.path+".limits", i)
		name := string(l.Name)
		if name == "" {
			name = fmt.Sprintf("limit-%d", i+1)
		}
		if first, ok := names[name]; ok {
			b.fail(f.object, field+".name", name, "the name is taken by %s; limits need names of their own", first)
		}
		names[name] = field
		filter, ok := b.filter(f.object, field, &l.Match)
		meter, read := placement.Meter(inElement{b, f, field}, "", &l.Meter, f.name+"/exceeded")
		if !ok || !read {
			continue
		}
		meter.TwoSided = l.From == "" && b.reached[port{f.name, inside}] && b.reached[port{f.name, outside}]
		list = append(list, &limit{f.name + "/" + name, l.From, filter, meter, -1})
	}
	return list
}
