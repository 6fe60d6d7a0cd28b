// Package lower lowers functions that users write as elements and links, and Click configurations, which become such.
package lower

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/graph/placement"
	"github.com/sinter-nfv/sinter/dataplane/module/elements/lower/click"
)

func init() {
	lower.Register("elements", func(k *v1alpha1.FunctionKinds) *v1alpha1.Elements { return k.Elements }, func(s *v1alpha1.Elements) lower.Kind { return elements{spec: s} })
	lower.When(lower.Finished, checkTranslations)
}

// elements is a function that is written as a graph.
type elements struct {
	spec *v1alpha1.Elements
	// click is the configuration that it was lowered from; nil: there is none.
	click *click.Function
}

func (e elements) Ports() []string {
	if len(e.spec.Ports) == 0 && e.click == nil {
		return lower.TwoSides
	}
	var out []string
	for _, p := range e.spec.Ports {
		out = append(out, string(p))
	}
	return out
}

func (e elements) Through(f *lower.Function, in string) []string {
	outs, _ := newElementMap(e.spec, f.Ports).from(in, true)
	return outs
}

func (e elements) Translated(f *lower.Function, in string) ([]string, []netip.Prefix) {
	return newElementMap(e.spec, f.Ports).from(in, false)
}

func (e elements) JoinRealms(f *lower.Function, r lower.Realms) {
	newElementMap(e.spec, f.Ports).joinRealms(f.Name, r)
}

// Traits say that only its elements tell what it does.
func (e elements) Traits() lower.Traits {
	setsTags := slices.ContainsFunc(e.spec.Elements, func(e v1alpha1.Element) bool {
		return e.SetField != nil && e.SetField.Field == v1alpha1.FieldVLAN
	})
	return lower.Traits{Unforeseen: true, SetsTags: setsTags}
}

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

// Lower makes the elements that packets can get to.
func (e elements) Lower(b *lower.Builder, f *lower.Function) {
	spec := e.spec
	if e.click != nil && !checkClick(b, f, e.click) {
		return
	}
	list := placeElements(b, f, e)
	checkElementLinks(b, f, spec, list)
	m := newElementMap(spec, f.Ports)
	live := map[lower.Port]bool{}
	for _, p := range f.Ports {
		if b.Reached(f.Port(p)) {
			m.walk(p, func(in lower.Port) bool {
				live[in] = true
				live[lower.Port{Owner: in.Owner}] = true
				return true
			})
		}
	}
	for _, e := range list {
		e.node = -1
		switch {
		case e.Element == nil:
		case live[lower.Port{Owner: e.name}]:
			e.node = b.Add(f.Name, f.Name+"/"+e.name, e.Element)
			if e.ofAnswers {
				b.Generated(e.node)
			}
		case !b.Unlinked() && !e.made:
			b.Warn(f.Object, e.path+".name", e.name, "no packet gets to this element; link it, or take it out")
		}
	}
	w := elementWirer{b: b, f: f, m: m, live: live, list: list}
	w.wire()
}

func placeElements(b *lower.Builder, f *lower.Function, in elements) []*placed {
	spec := in.spec
	var list []*placed
	taken := map[string]string{}
	for _, p := range f.Ports {
		taken[p] = "a port of the function"
	}
	for i := range spec.Elements {
		e := &spec.Elements[i]
		path := lower.Index(f.Path+".elements", i)
		b.TakeName(taken, f.Object, path, string(e.Name), "elements")
		p := &placed{name: string(e.Name), kind: e.Kind, path: path}
		p.Name = f.Name + "/" + p.name
		if in.click != nil {
			p.put(in.click.Made[p.name], f.Path)
			p.Element = forgetTags(b, p.Element)
		}
		p.At = lower.At{Builder: b, Function: f, Path: p.path}
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
func checkElementLinks(b *lower.Builder, f *lower.Function, spec *v1alpha1.Elements, list []*placed) {
	first := map[lower.Port]string{}
	for i, l := range spec.Links {
		field := lower.Index(f.Path+".links", i)
		checkElementEnd(b, f, list, string(l.To), field+".to", "input", func(e *placed) []string { return e.Ins })
		if !checkElementEnd(b, f, list, string(l.From), field+".from", "output", func(e *placed) []string { return e.Outs }) {
			continue
		}
		from := elementPort(string(l.From), f.Ports)
		if at, ok := first[from]; ok {
			b.Fail(f.Object, field+".from", string(l.From), "already leads somewhere by %s; one output has one way out: use a Classifier or a Tee", at)
			continue
		}
		first[from] = field
	}
}

func checkElementEnd(b *lower.Builder, f *lower.Function, list []*placed, s, field, what string, names func(*placed) []string) bool {
	p := elementPort(s, f.Ports)
	if p.Owner == "" {
		return true
	}
	e := findPlaced(list, p.Owner)
	if e == nil {
		known := slices.Clone(f.Ports)
		for _, e := range list {
			known = append(known, e.name)
		}
		b.Fail(f.Object, field, s, "no element or port of the function is named %q%s", p.Owner, finding.DidYouMean(p.Owner, known))
		return false
	}
	has := names(e)
	switch {
	case e.Element == nil: // has errors of its own
		return false
	case slices.Contains(has, p.Name):
		return true
	case len(has) == 0:
		b.Fail(f.Object, field, s, "%s has no %s; nothing can be linked there", e.kind, what)
	case p.Name == "":
		b.Fail(f.Object, field, s, "names no %s; write %q, or another of its %ss (%s)", what, e.name+"."+has[0], what, strings.Join(has, ", "))
	case has[0] == "":
		b.Fail(f.Object, field, s, "%s has one %s; write %q", e.kind, what, e.name)
	default:
		b.Fail(f.Object, field, s, "element %q has no %s %q%s", e.name, what, p.Name, finding.DidYouMean(p.Name, has))
	}
	return false
}

// elementWirer wires the elements of one function.
type elementWirer struct {
	b    *lower.Builder
	f    *lower.Function
	m    elementMap
	live map[lower.Port]bool
	list []*placed
}

func (w *elementWirer) wire() {
	b, f := w.b, w.f
	for _, e := range w.list {
		if e.node < 0 {
			continue
		}
		for i, name := range e.Outs {
			if element.TwoSided(e.Element) && !w.live[lower.Port{Owner: e.name, Name: lower.Opposite(name)}] {
				continue // nothing comes in by the other side
			}
			w.lead(lower.Port{Owner: e.name, Name: name}, e, i)
		}
	}
	for _, name := range f.Ports {
		if !b.Reached(f.Port(name)) {
			continue
		}
		to, ok := w.m.next[lower.Port{Name: name}]
		if ok && to.Owner == "" {
			f.Entry[name] = w.passage(name, to.Name)
			continue
		}
		if ok {
			if e := findPlaced(w.list, to.Owner); e != nil && e.node >= 0 {
				f.Entry[name] = lower.Edge{To: e.node, Port: max(0, slices.Index(e.Ins, to.Name))}
			}
			continue
		}
		f.Entry[name] = lower.Edge{To: w.discard(f.Name + "/" + name)}
		b.Warn(f.Object, f.Path+".ports", name, "what comes in by this port leads nowhere and is dropped as %q; add a link from it", f.Name+"/"+name)
	}
}

// passage is a way from port to port with no element on it; an empty classifier takes their place.
func (w *elementWirer) passage(in, out string) lower.Edge {
	n := w.b.Add(w.f.Name, w.f.Name+"/"+in, element.Classifier{Outs: 1})
	w.b.Exit(n, 0, w.f, out)
	return lower.Edge{To: n}
}

// lead wires one output.
func (w *elementWirer) lead(from lower.Port, e *placed, out int) {
	to, ok := w.m.next[from]
	switch {
	case ok && to.Owner == "":
		w.b.Exit(e.node, out, w.f, to.Name)
	case ok:
		if t := findPlaced(w.list, to.Owner); t != nil && t.node >= 0 {
			w.b.Lead(e.node, out, lower.Edge{To: t.node, Port: max(0, slices.Index(t.Ins, to.Name))})
		}
	default:
		reason, silent := e.Drops[from.Name]
		if !silent {
			reason = w.f.Name + "/" + e.name + "/unlinked"
			if !w.b.Unlinked() {
				w.b.Warn(w.f.Object, e.path+".name", from.String(),
					"the output is not linked; packets that leave by it are dropped as %q: link it, to a Discard if that is meant", reason)
			}
		}
		w.b.Wire(e.node, out, w.discard(reason))
	}
}

// discard is the function's Discard with the reason.
func (w *elementWirer) discard(reason string) int {
	if i := w.b.FindNode(reason); i >= 0 {
		return i
	}
	return w.b.Add(w.f.Name, reason, element.Discard{Reason: reason})
}
