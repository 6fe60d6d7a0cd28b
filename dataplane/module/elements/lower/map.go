package lower

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/graph/placement"
)

// elementMap is how an elements function is wired inside. Ports of elements
// have it as their owner; those of the function itself have none.
type elementMap struct {
	next map[lower.Port]lower.Port
	// outs are an element's outputs that are linked.
	outs map[string][]lower.Port
	// borders are the addresses outside of elements between address realms.
	borders map[string]func() []netip.Prefix
}

func newElementMap(spec *v1alpha1.Elements, ports []string) elementMap {
	m := elementMap{next: map[lower.Port]lower.Port{}, outs: map[string][]lower.Port{}, borders: map[string]func() []netip.Prefix{}}
	for i := range spec.Elements {
		e := &spec.Elements[i]
		if outside := placement.Border(e); outside != nil {
			m.borders[string(e.Name)] = outside
		}
	}
	for _, l := range spec.Links {
		from, to := elementPort(string(l.From), ports), elementPort(string(l.To), ports)
		m.next[from] = to
		m.outs[from.Owner] = append(m.outs[from.Owner], from)
	}
	return m
}

// elementPort reads one end of a link within the function.
func elementPort(s string, ports []string) lower.Port {
	owner, name, dotted := strings.Cut(s, ".")
	if !dotted && slices.Contains(ports, owner) {
		return lower.Port{Name: owner}
	}
	return lower.Port{Owner: owner, Name: name}
}

// from is the ports by which packets may leave that came in by the given one. If
// borders of address realms are not crossed from outside, the addresses that are seen there are told.
func (m elementMap) from(in string, cross bool) (outs []string, seen []netip.Prefix) {
	m.walk(in, func(p lower.Port) bool {
		if p.Owner == "" && !slices.Contains(outs, p.Name) {
			outs = append(outs, p.Name)
		}
		if addresses := m.borders[p.Owner]; addresses != nil && p.Name == lower.Outside && !cross {
			seen = append(seen, addresses()...)
			return false
		}
		return true
	})
	return outs, seen
}

// walk visits every input that packets may get to that came in by a port of the
// function; from the inputs for which visit says so it goes on.
func (m elementMap) walk(in string, visit func(lower.Port) bool) {
	seen := map[lower.Port]bool{}
	var follow func(out lower.Port)
	follow = func(out lower.Port) {
		p, ok := m.next[out]
		if !ok || seen[p] {
			return
		}
		seen[p] = true
		if !visit(p) || p.Owner == "" {
			return
		}
		for _, o := range m.outs[p.Owner] {
			if m.borders[p.Owner] == nil || o.Name == lower.Opposite(p.Name) {
				follow(o)
			}
		}
	}
	follow(lower.Port{Name: in})
}

// joinRealms joins what sees the same addresses within the function.
func (m elementMap) joinRealms(function string, r lower.Realms) {
	for from, to := range m.next {
		r.Join(m.realmOf(function, from), m.realmOf(function, to))
	}
}

// realmOf is the port as it is known among the chain's: a border has two sides, all
// other elements one.
func (m elementMap) realmOf(function string, p lower.Port) lower.Port {
	switch {
	case p.Owner == "":
		return lower.Port{Owner: function, Name: p.Name}
	case m.borders[p.Owner] != nil:
		return lower.Port{Owner: function + "/" + p.Owner, Name: p.Name}
	}
	return lower.Port{Owner: function + "/" + p.Owner}
}
