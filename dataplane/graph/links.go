package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph/wiring"
)

// wire is where a port leads, and the field that says so.
type wire struct {
	to    port
	field string
}

// link wires the ports by path and links.
func (b *builder) link(spec *v1alpha1.ServiceChainSpec) {
	connect := func(from, to port, direction v1alpha1.LinkDirection, fromField, toField string) {
		if from.owner == to.owner {
			b.fail(b.object, toField, to.String(), "links %q to itself; packets would never leave it", from.owner)
			return
		}
		b.leads(from, to, fromField)
		if direction != v1alpha1.LinkForward {
			b.leads(to, from, toField)
		}
	}
	for i := 1; i < len(spec.Path); i++ {
		from, ok1 := b.pathEnd(spec.Path, i-1, outside)
		to, ok2 := b.pathEnd(spec.Path, i, inside)
		if ok1 && ok2 {
			connect(from, to, v1alpha1.LinkBoth, index("spec.path", i-1), index("spec.path", i))
		}
	}
	for i, l := range spec.Links {
		field := index("spec.links", i)
		from, ok1 := b.endpoint(string(l.From), field+".from")
		to, ok2 := b.endpoint(string(l.To), field+".to")
		if ok1 && ok2 {
			connect(from, to, l.Direction, field+".from", field+".to")
		}
	}
	b.findings = dedupe(b.findings) // an entry of a path is looked at from both sides
}

// leads notes that packets leaving by a port come in by another.
func (b *builder) leads(from, to port, field string) {
	if w, ok := b.next[from]; ok {
		b.fail(b.object, field, from.String(), "already leads to %q by %s; one port has one way out: use another port, or an elements function with a Classifier or Tee", w.to, w.field)
		return
	}
	b.next[from] = wire{to, field}
}

// pathEnd is the port of a path's entry on the given side.
func (b *builder) pathEnd(path []v1alpha1.Endpoint, i int, side string) (port, bool) {
	name, field := string(path[i]), index("spec.path", i)
	middle := i > 0 && i < len(path)-1
	if owner, _, ok := strings.Cut(name, "."); ok {
		if middle {
			b.fail(b.object, field, name, "only the first and the last entry of a path may name a port; write %q, or use links", owner)
			return port{}, false
		}
		return b.endpoint(name, field)
	}
	if b.findInterface(name) != nil {
		if middle {
			b.fail(b.object, field, name, "is an interface; a path may have interfaces only as its first and last entry")
			return port{}, false
		}
		return port{name, ""}, true
	}
	f := b.findFunction(name)
	switch {
	case f == nil:
		b.unknownOwner(field, name, name)
		return port{}, false
	case !f.known():
		return port{}, false
	case !slices.Contains(f.ports, side):
		b.fail(b.object, field, name, "has no port %q, by which a path goes; its ports are %s: use links for them", side, strings.Join(f.ports, ", "))
		return port{}, false
	}
	return port{name, side}, true
}

// endpoint is the port that a link names.
func (b *builder) endpoint(s, field string) (port, bool) {
	owner, name, dotted := strings.Cut(s, ".")
	if b.findInterface(owner) != nil {
		if dotted {
			b.fail(b.object, field, s, "interfaces have no ports; write %q", owner)
		}
		return port{owner, ""}, !dotted
	}
	f := b.findFunction(owner)
	switch {
	case f == nil:
		b.unknownOwner(field, s, owner)
		return port{}, false
	case !f.known():
		return port{}, false
	case !dotted:
		b.fail(b.object, field, s, "names no port; write %q, or another of its ports (%s)", owner+"."+f.ports[0], strings.Join(f.ports, ", "))
		return port{}, false
	case !slices.Contains(f.ports, name):
		b.fail(b.object, field, s, "function %q has no port %q%s", owner, name, finding.DidYouMean(name, f.ports))
		return port{}, false
	}
	return port{owner, name}, true
}

func (b *builder) unknownOwner(field, value, name string) {
	var known []string
	for _, i := range b.interfaces {
		known = append(known, i.name)
	}
	for _, f := range b.functions {
		known = append(known, f.name)
	}
	b.fail(b.object, field, value, "no interface or function is named %q%s", name, finding.DidYouMean(name, known))
}

func (b *builder) findInterface(name string) *chainInterface {
	for _, i := range b.interfaces {
		if i.name == name {
			return i
		}
	}
	return nil
}

func (b *builder) findFunction(name string) *function {
	for _, f := range b.functions {
		if f.name == name {
			return f
		}
	}
	return nil
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

func index(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

// checkLoops refuses ways that lead packets round without end.
func (b *builder) checkLoops() {
	if way := wiring.Loop(b.g.Nodes); way != nil {
		b.failLoop(way)
	}
}

func (b *builder) failLoop(way []Edge) {
	object, field := b.object, "spec.functions"
	if f := b.findFunction(b.g.Nodes[way[0].To].Function); f != nil {
		object, field = f.object, f.path
		if e, ok := f.kind.(elements); ok {
			field = e.links(f, b.g.Nodes[way[0].To].Name)
		}
	}
	var names []string
	for _, n := range append(way, way[0]) {
		names = append(names, b.g.Nodes[n.To].Name)
	}
	b.fail(object, field, "", "packets would go round without end: %s; take a link out", strings.Join(names, " -> "))
}
