// Package lower lowers monitors: packets are counted by class, copied, and noted by flow.
package lower

import (
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	lower.Register("monitor", func(k *v1alpha1.FunctionKinds) *v1alpha1.Monitor { return k.Monitor }, func(s *v1alpha1.Monitor) lower.Kind { return monitor{spec: s} })
}

type monitor struct {
	lower.TwoSided
	spec *v1alpha1.Monitor
}

// Lower makes, per direction, a classifier "mon/inside" with a counter "mon/inside/<class>" on every
// output, and behind it what mirrors the class; then the ways rejoin. Flows are noted in front of
// the classifier.
func (m monitor) Lower(b *lower.Builder, f *lower.Function) {
	var list []element.Rule
	var mirrors []*v1alpha1.Mirror // of these rules
	for i := range m.spec.Classes {
		c := &m.spec.Classes[i]
		if filter, ok := b.Filter(f.Object, lower.Index(f.Path+".classes", i), &c.Match); ok {
			list = append(list, element.Rule{Name: string(c.Name), Filters: []headerspace.Filter{filter}, Out: len(list)})
			mirrors = append(mirrors, c.Mirror)
		}
	}
	m.checkMirrors(b, f)
	observe := m.observe(b, f)
	for _, side := range lower.TwoSides {
		if !b.Reached(f.Port(side)) {
			continue
		}
		prefix := f.Name + "/" + side
		named := make([]element.Rule, len(list))
		for i, r := range list {
			named[i] = r
			named[i].Name = prefix + "/" + r.Name
		}
		n := b.Add(f.Name, prefix, element.Classifier{Rules: named, Default: len(list), Outs: len(list) + 1})
		f.Entry[side] = lower.Edge{To: n}
		if observe != nil {
			o := b.Add(f.Name, f.Name+"/flows-"+side, *observe)
			b.Wire(o, 0, n)
			f.Entry[side] = lower.Edge{To: o}
		}
		for i := range len(list) + 1 {
			name := prefix + "/other"
			if i < len(list) {
				name = named[i].Name
			}
			last := b.Add(f.Name, name, element.Counter{})
			b.Wire(n, i, last)
			if i < len(list) && mirrors[i] != nil {
				last = mirrorTo(b, f, name, mirrors[i], last)
			}
			b.Exit(last, 0, f, lower.Opposite(side))
		}
	}
}
