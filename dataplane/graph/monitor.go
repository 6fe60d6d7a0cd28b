package graph

import (
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	register("monitor", func(k *v1alpha1.FunctionKinds) *v1alpha1.Monitor { return k.Monitor }, func(s *v1alpha1.Monitor) kind { return monitor{spec: s} })
}

type monitor struct {
	twoSided
	spec *v1alpha1.Monitor
}

// lower makes, per direction, a classifier "mon/inside" with a counter "mon/inside/<class>" on every
// output, and behind it what mirrors the class; then the ways rejoin. Flows are noted in front of
// the classifier.
func (m monitor) lower(b *builder, f *function) {
	var list []element.Rule
	var mirrors []*v1alpha1.Mirror // of these rules
	for i := range m.spec.Classes {
		c := &m.spec.Classes[i]
		if filter, ok := b.filter(f.object, index(f.path+".classes", i), &c.Match); ok {
			list = append(list, element.Rule{Name: string(c.Name), Filters: []headerspace.Filter{filter}, Out: len(list)})
			mirrors = append(mirrors, c.Mirror)
		}
	}
	m.checkMirrors(b, f)
	observe := b.observe(f, m.spec)
	for _, side := range twoSides {
		if !b.reached[port{f.name, side}] {
			continue
		}
		prefix := f.name + "/" + side
		named := make([]element.Rule, len(list))
		for i, r := range list {
			named[i] = r
			named[i].Name = prefix + "/" + r.Name
		}
		n := b.add(f.name, prefix, element.Classifier{Rules: named, Default: len(list), Outs: len(list) + 1})
		f.entry[side] = Edge{To: n}
		if observe != nil {
			o := b.add(f.name, f.name+"/flows-"+side, *observe)
			b.wire(o, 0, n)
			f.entry[side] = Edge{To: o}
		}
		for i := range len(list) + 1 {
			name := prefix + "/other"
			if i < len(list) {
				name = named[i].Name
			}
			last := b.add(f.name, name, element.Counter{})
			b.wire(n, i, last)
			if i < len(list) && mirrors[i] != nil {
				last = b.mirror(f, name, mirrors[i], last)
			}
			b.exit(last, 0, f, opposite(side))
		}
	}
}
