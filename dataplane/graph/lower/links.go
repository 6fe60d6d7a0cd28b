package lower

import (
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph/wiring"
)

// wire is where a port leads, and the field that says so.
type wire struct {
	to    Port
	field string
}

// link wires the ports by path and links.
func (b *Builder) link(spec *v1alpha1.ServiceChainSpec) {
	connect := func(from, to Port, direction v1alpha1.LinkDirection, fromField, toField string) {
		if from.Owner == to.Owner {
			b.Fail(b.Object, toField, to.String(), "links %q to itself; packets would never leave it", from.Owner)
			return
		}
		b.leads(from, to, fromField)
		if direction != v1alpha1.LinkForward {
			b.leads(to, from, toField)
		}
	}
	for i := 1; i < len(spec.Path); i++ {
		from, ok1 := b.pathEnd(spec.Path, i-1, Outside)
		to, ok2 := b.pathEnd(spec.Path, i, Inside)
		if ok1 && ok2 {
			connect(from, to, v1alpha1.LinkBoth, Index("spec.path", i-1), Index("spec.path", i))
		}
	}
	for i, l := range spec.Links {
		field := Index("spec.links", i)
		from, ok1 := b.endpoint(string(l.From), field+".from")
		to, ok2 := b.endpoint(string(l.To), field+".to")
		if ok1 && ok2 {
			connect(from, to, l.Direction, field+".from", field+".to")
		}
	}
	for _, f := range b.Functions {
		if k, ok := f.Kind.(Attached); ok {
			port, name, field := k.Attached()
			if i := b.between(f, field, name); i != nil {
				connect(i.Port(), f.Port(port), v1alpha1.LinkBoth, f.Declared, f.Declared)
			}
		}
	}
	b.findings = dedupe(b.findings) // an entry of a path is looked at from both sides
}

// leads notes that packets leaving by a port come in by another.
func (b *Builder) leads(from, to Port, field string) {
	if w, ok := b.next[from]; ok {
		b.Fail(b.Object, field, from.String(), "already leads to %q by %s; one port has one way out: use another port, or an elements function with a Classifier or Tee", w.to, w.field)
		return
	}
	b.next[from] = wire{to, field}
}

// pathEnd is the port of a path's entry on the given side.
func (b *Builder) pathEnd(path []v1alpha1.Endpoint, i int, side string) (Port, bool) {
	name, field := string(path[i]), Index("spec.path", i)
	middle := i > 0 && i < len(path)-1
	if owner, _, ok := strings.Cut(name, "."); ok {
		if middle {
			b.Fail(b.Object, field, name, "only the first and the last entry of a path may name a port; write %q, or use links", owner)
			return Port{}, false
		}
		return b.endpoint(name, field)
	}
	if b.FindInterface(name) != nil {
		if middle {
			b.Fail(b.Object, field, name, "is an interface; a path may have interfaces only as its first and last entry")
			return Port{}, false
		}
		return Port{name, ""}, true
	}
	f := b.FindFunction(name)
	switch {
	case b.isWire(name, field, name):
		return Port{}, false
	case f == nil:
		b.unknownOwner(field, name, name)
		return Port{}, false
	case !f.known():
		return Port{}, false
	case !slices.Contains(f.Ports, side):
		b.Fail(b.Object, field, name, "has no port %q, by which a path goes; its ports are %s: use links for them", side, strings.Join(f.Ports, ", "))
		return Port{}, false
	}
	return b.linked(f, side)
}

// linked is where what is linked to a function's port is linked to: its interface, if the function lies outside of the chain.
func (b *Builder) linked(f *Function, port string) (Port, bool) {
	k, ok := f.Kind.(Between)
	if !ok {
		return f.Port(port), true
	}
	i := b.between(f, port, k.By(port))
	if i == nil {
		return Port{}, false
	}
	return i.Port(), true
}

// between is the interface that a field of a function names, which lies outside of the chain; nil: there is none, which is said.
func (b *Builder) between(f *Function, field string, name v1alpha1.Name) *Interface {
	if i := b.FindInterface(string(name)); i != nil {
		return i
	}
	var known []string
	for _, i := range b.Interfaces {
		known = append(known, i.Name)
	}
	hint := finding.DidYouMean(string(name), known)
	if slices.ContainsFunc(b.wires, func(w *Wire) bool { return w.Name == string(name) }) {
		hint, b.misnamed = "; it is a wire: give it an address, and leave wire out", true
	}
	b.Fail(f.Object, f.Path+"."+field, string(name), "no interface of the chain with an address has this name%s", hint)
	return nil
}

// endpoint is the port that a link names.
func (b *Builder) endpoint(s, field string) (Port, bool) {
	owner, name, dotted := strings.Cut(s, ".")
	if b.FindInterface(owner) != nil {
		if dotted {
			b.Fail(b.Object, field, s, "interfaces have no ports; write %q", owner)
		}
		return Port{owner, ""}, !dotted
	}
	f := b.FindFunction(owner)
	switch {
	case b.isWire(owner, field, s):
		return Port{}, false
	case f == nil:
		b.unknownOwner(field, s, owner)
		return Port{}, false
	case !f.known():
		return Port{}, false
	case !dotted:
		b.Fail(b.Object, field, s, "names no port; write %q, or another of its ports (%s)", owner+"."+f.Ports[0], strings.Join(f.Ports, ", "))
		return Port{}, false
	case !slices.Contains(f.Ports, name):
		b.Fail(b.Object, field, s, "function %q has no port %q%s", owner, name, finding.DidYouMean(name, f.Ports))
		return Port{}, false
	}
	return b.linked(f, name)
}

func (b *Builder) unknownOwner(field, value, name string) {
	var known []string
	for _, i := range b.Interfaces {
		known = append(known, i.Name)
	}
	for _, f := range b.Functions {
		known = append(known, f.Name)
	}
	b.Fail(b.Object, field, value, "no interface or function is named %q%s", name, finding.DidYouMean(name, known))
}

func dedupe(list finding.List) finding.List {
	seen := map[finding.Finding]bool{}
	var out finding.List
	for _, f := range list {
		if !seen[f] {
			seen[f] = true
			out = append(out, f)
		}
	}
	return out
}

// checkLoops refuses ways that lead packets round without end.
func (b *Builder) checkLoops() {
	if way := wiring.Loop(b.g.Nodes); way != nil {
		b.failLoop(way)
	}
}

func (b *Builder) failLoop(way []Edge) {
	object, field := b.Object, "spec.functions"
	if f := b.FindFunction(b.g.Nodes[way[0].To].Function); f != nil {
		object, field = f.Object, f.Path
		if l, ok := f.Kind.(Linked); ok {
			field = l.LinkedBy(f, b.g.Nodes[way[0].To].Name)
		}
	}
	var names []string
	for _, n := range append(way, way[0]) {
		names = append(names, b.g.Nodes[n.To].Name)
	}
	b.Fail(object, field, "", "packets would go round without end: %s; take a link out", strings.Join(names, " -> "))
}
