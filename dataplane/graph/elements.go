package graph

import (
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/click"
	"github.com/sinter-nfv/sinter/dataplane/graph/placement"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	register("elements", func(k *v1alpha1.FunctionKinds) *v1alpha1.Elements { return k.Elements }, func(s *v1alpha1.Elements) kind { return elements{spec: s} })
}

// elements is a function that is written as a graph.
type elements struct {
	spec *v1alpha1.Elements
	// click is the configuration that it was lowered from; nil: there is none.
	click *click.Function
}

func (e elements) ports() []string {
	if len(e.spec.Ports) == 0 && e.click == nil {
		return twoSides
	}
	var out []string
	for _, p := range e.spec.Ports {
		out = append(out, string(p))
	}
	return out
}

func (e elements) through(f *function, in string) []string {
	outs, _ := newElementMap(e.spec, f.ports).from(in, true)
	return outs
}

func (e elements) translated(f *function, in string) ([]string, []*v1alpha1.NAPT) {
	return newElementMap(e.spec, f.ports).from(in, false)
}

func (e elements) joinRealms(f *function, r realms) {
	newElementMap(e.spec, f.ports).joinRealms(f.name, r)
}

func (elements) traits() traits { return traits{unforeseen: true} }

// placed is an element of an elements function.
type placed struct {
	placement.Place
	name string
	kind v1alpha1.ElementKind
	path string
	node int
	// made says that it is of a click configuration, ofAnswers that only packets come to it which the chain generated.
	made, ofAnswers bool
}

// inElement is a function as one of its elements sees it.
type inElement struct {
	b    *builder
	f    *function
	path string // of the element
}

func (i inElement) Fail(field, value, format string, args ...any) {
	i.b.fail(i.f.object, i.path+"."+field, value, format, args...)
}

func (i inElement) Problem(field string, p *rules.Problem) bool {
	return i.b.problem(i.f.object, i.path+"."+field, p)
}

func (i inElement) Filter(field string, m *v1alpha1.Match) (headerspace.Filter, bool) {
	return i.b.filter(i.f.object, i.path+"."+field, m)
}

func (i inElement) NAPT(field string, spec *v1alpha1.NAPT, owner string) element.NAPT {
	if len(spec.Exempt) > 0 {
		i.b.fail(i.f.object, i.path+"."+field+".exempt", "", "is for the function napt; link a Classifier before the element, with a way round it")
	}
	for _, has := range []struct {
		member string
		has    bool
	}{{"portForwards", len(spec.PortForwards) > 0}, {"static", len(spec.Static) > 0}, {"hairpinning", spec.Hairpinning == v1alpha1.HairpinAll}} {
		if has.has {
			i.b.fail(i.f.object, i.path+"."+field+"."+has.member, "", "is for the function napt; take that in place of the element")
		}
	}
	return i.b.napt(i.f, i.path+"."+field, spec, owner)
}

func (i inElement) MTU() int {
	most := 0
	for _, f := range i.b.interfaces {
		most = max(most, int(f.spec.MTU))
	}
	return most
}

// lower makes the elements that packets can get to.
func (e elements) lower(b *builder, f *function) {
	spec := e.spec
	if e.click != nil && !b.checkClick(f, e.click) {
		return
	}
	list := b.placeElements(f, e)
	b.checkElementLinks(f, spec, list)
	m := newElementMap(spec, f.ports)
	live := map[port]bool{}
	for _, p := range f.ports {
		if b.reached[port{f.name, p}] {
			m.walk(p, func(in port) bool {
				live[in] = true
				live[port{in.owner, ""}] = true
				return true
			})
		}
	}
	for _, e := range list {
		e.node = -1
		switch {
		case e.Element == nil:
		case live[port{e.name, ""}]:
			e.node = b.add(f.name, f.name+"/"+e.name, e.Element)
			if e.ofAnswers {
				b.ofAnswers[e.node] = true
			}
		case !b.unlinked && !e.made:
			b.warn(f.object, e.path+".name", e.name, "no packet gets to this element; link it, or take it out")
		}
	}
	w := elementWirer{b: b, f: f, m: m, live: live, list: list}
	w.wire()
}

func (b *builder) placeElements(f *function, in elements) []*placed {
	spec := in.spec
	var list []*placed
	taken := map[string]string{}
	for _, p := range f.ports {
		taken[p] = "a port of the function"
	}
	for i := range spec.Elements {
		e := &spec.Elements[i]
		path := index(f.path+".elements", i)
		if first, ok := taken[string(e.Name)]; ok {
			b.fail(f.object, path+".name", string(e.Name), "the name is taken by %s; elements need names of their own", first)
		}
		taken[string(e.Name)] = path
		p := &placed{name: string(e.Name), kind: e.Kind, path: path}
		p.Name = f.name + "/" + p.name
		if in.click != nil {
			p.put(in.click.Made[p.name], f.path)
			p.Element = b.forgetTags(p.Element)
		}
		p.Function = inElement{b, f, p.path}
		if p.Element == nil {
			p.Put(e)
		}
		list = append(list, p)
	}
	return list
}

func findPlaced(list []*placed, name string) *placed {
	for _, e := range list {
		if e.name == name {
			return e
		}
	}
	return nil
}

// checkElementLinks finds ends of links that do not exist, and outputs that are linked twice.
func (b *builder) checkElementLinks(f *function, spec *v1alpha1.Elements, list []*placed) {
	first := map[port]string{}
	for i, l := range spec.Links {
		field := index(f.path+".links", i)
		b.checkElementEnd(f, list, string(l.To), field+".to", "input", func(e *placed) []string { return e.Ins })
		if !b.checkElementEnd(f, list, string(l.From), field+".from", "output", func(e *placed) []string { return e.Outs }) {
			continue
		}
		from := elementPort(string(l.From), f.ports)
		if at, ok := first[from]; ok {
			b.fail(f.object, field+".from", string(l.From), "already leads somewhere by %s; one output has one way out: use a Classifier or a Tee", at)
			continue
		}
		first[from] = field
	}
}

func (b *builder) checkElementEnd(f *function, list []*placed, s, field, what string, names func(*placed) []string) bool {
	p := elementPort(s, f.ports)
	if p.owner == "" {
		return true
	}
	e := findPlaced(list, p.owner)
	if e == nil {
		known := slices.Clone(f.ports)
		for _, e := range list {
			known = append(known, e.name)
		}
		b.fail(f.object, field, s, "no element or port of the function is named %q%s", p.owner, finding.DidYouMean(p.owner, known))
		return false
	}
	has := names(e)
	switch {
	case e.Element == nil: // has errors of its own
		return false
	case slices.Contains(has, p.name):
		return true
	case len(has) == 0:
		b.fail(f.object, field, s, "%s has no %s; nothing can be linked there", e.kind, what)
	case p.name == "":
		b.fail(f.object, field, s, "names no %s; write %q, or another of its %ss (%s)", what, e.name+"."+has[0], what, strings.Join(has, ", "))
	case has[0] == "":
		b.fail(f.object, field, s, "%s has one %s; write %q", e.kind, what, e.name)
	default:
		b.fail(f.object, field, s, "element %q has no %s %q%s", e.name, what, p.name, finding.DidYouMean(p.name, has))
	}
	return false
}

// elementWirer wires the elements of one function.
type elementWirer struct {
	b    *builder
	f    *function
	m    elementMap
	live map[port]bool
	list []*placed
}

func (w *elementWirer) wire() {
	b, f := w.b, w.f
	for _, e := range w.list {
		if e.node < 0 {
			continue
		}
		for i, name := range e.Outs {
			if element.TwoSided(e.Element) && !w.live[port{e.name, opposite(name)}] {
				continue // nothing comes in by the other side
			}
			w.lead(port{e.name, name}, e, i)
		}
	}
	for _, name := range f.ports {
		if !b.reached[port{f.name, name}] {
			continue
		}
		to, ok := w.m.next[port{"", name}]
		if ok && to.owner == "" {
			f.entry[name] = w.passage(name, to.name)
			continue
		}
		if ok {
			if e := findPlaced(w.list, to.owner); e != nil && e.node >= 0 {
				f.entry[name] = Edge{To: e.node, Port: max(0, slices.Index(e.Ins, to.name))}
			}
			continue
		}
		f.entry[name] = Edge{To: w.discard(f.name + "/" + name)}
		b.warn(f.object, f.path+".ports", name, "what comes in by this port leads nowhere and is dropped as %q; add a link from it", f.name+"/"+name)
	}
}

// passage is a way from port to port with no element on it; an empty classifier takes their place.
func (w *elementWirer) passage(in, out string) Edge {
	n := w.b.add(w.f.name, w.f.name+"/"+in, element.Classifier{Outs: 1})
	w.b.exit(n, 0, w.f, out)
	return Edge{To: n}
}

// lead wires one output.
func (w *elementWirer) lead(from port, e *placed, out int) {
	to, ok := w.m.next[from]
	switch {
	case ok && to.owner == "":
		w.b.exit(e.node, out, w.f, to.name)
	case ok:
		if t := findPlaced(w.list, to.owner); t != nil && t.node >= 0 {
			w.b.g.Nodes[e.node].Out[out] = Edge{To: t.node, Port: max(0, slices.Index(t.Ins, to.name))}
		}
	default:
		reason, silent := e.Drops[from.name]
		if !silent {
			reason = w.f.name + "/" + e.name + "/unlinked"
			if !w.b.unlinked {
				w.b.warn(w.f.object, e.path+".name", from.String(),
					"the output is not linked; packets that leave by it are dropped as %q: link it, to a Discard if that is meant", reason)
			}
		}
		w.b.wire(e.node, out, w.discard(reason))
	}
}

// discard is the function's Discard with the reason.
func (w *elementWirer) discard(reason string) int {
	if i := slices.IndexFunc(w.b.g.Nodes, func(n Node) bool { return n.Name == reason }); i >= 0 {
		return i
	}
	return w.b.add(w.f.name, reason, element.Discard{Reason: reason})
}
