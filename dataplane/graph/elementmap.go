package graph

import (
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// elementMap is how an elements function is wired inside. Ports of elements
// are port{element, name}; those of the function itself are port{"", name}.
type elementMap struct {
	next map[port]port
	// outs are an element's outputs that are linked.
	outs  map[string][]port
	napts map[string]*v1alpha1.NAPT
}

func newElementMap(spec *v1alpha1.Elements, ports []string) elementMap {
	m := elementMap{next: map[port]port{}, outs: map[string][]port{}, napts: map[string]*v1alpha1.NAPT{}}
	for i := range spec.Elements {
		if e := &spec.Elements[i]; e.NAPT != nil {
			m.napts[string(e.Name)] = e.NAPT
		}
	}
	for _, l := range spec.Links {
		from, to := elementPort(string(l.From), ports), elementPort(string(l.To), ports)
		m.next[from] = to
		m.outs[from.owner] = append(m.outs[from.owner], from)
	}
	return m
}

// elementPort reads one end of a link within the function.
func elementPort(s string, ports []string) port {
	owner, name, dotted := strings.Cut(s, ".")
	if !dotted && slices.Contains(ports, owner) {
		return port{"", owner}
	}
	return port{owner, name}
}

// from is the ports by which packets may leave that came in by the given one. If
// NAPTs are not crossed from outside, those that were met are told.
func (m elementMap) from(in string, cross bool) (outs []string, pools []*v1alpha1.NAPT) {
	m.walk(in, func(p port) bool {
		if p.owner == "" && !slices.Contains(outs, p.name) {
			outs = append(outs, p.name)
		}
		if n := m.napts[p.owner]; n != nil && p.name == outside && !cross {
			pools = append(pools, n)
			return false
		}
		return true
	})
	return outs, pools
}

// walk visits every input that packets may get to that came in by a port of the
// function; from the inputs for which visit says so it goes on.
func (m elementMap) walk(in string, visit func(port) bool) {
	seen := map[port]bool{}
	var follow func(out port)
	follow = func(out port) {
		p, ok := m.next[out]
		if !ok || seen[p] {
			return
		}
		seen[p] = true
		if !visit(p) || p.owner == "" {
			return
		}
		for _, o := range m.outs[p.owner] {
			if m.napts[p.owner] == nil || o.name == opposite(p.name) {
				follow(o)
			}
		}
	}
	follow(port{"", in})
}

// joinRealms joins what sees the same addresses within the function.
func (m elementMap) joinRealms(function string, r realms) {
	for from, to := range m.next {
		r.join(m.realmOf(function, from), m.realmOf(function, to))
	}
}

// realmOf is the port as it is known among the chain's: a NAPT has two sides, all
// other elements one.
func (m elementMap) realmOf(function string, p port) port {
	switch {
	case p.owner == "":
		return port{function, p.name}
	case m.napts[p.owner] != nil:
		return port{function + "/" + p.owner, p.name}
	}
	return port{function + "/" + p.owner, ""}
}
