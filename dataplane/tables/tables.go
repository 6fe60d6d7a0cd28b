// Package tables keeps the routes of routers that have very many, so that the next version of a chain makes them of those that changed. The compiler
// builds tables with it, and the agents to which their routes do not come with the program.
package tables

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/dataplane/fib"
)

// Memory keeps the routes of routers as they were built last. Of a router it keeps one version. The zero Memory is empty; a nil one forgets nothing.
// It is not for concurrent use.
type Memory struct {
	// Any has routers keep very many routes in tables wherever these come from: whoever compiles brings the tables to the engine.
	// Otherwise only routers do that take routes from stores, where agents read them, too (fib.Source).
	Any bool

	known map[string]*built
}

// Sources are what the routes of a router come from. Each has a number among all, its origin: routes of lesser origins go before.
type Sources struct {
	Numbers []uint16    // of next hops, by origin
	Own     []fib.Route // those that are in no file
	Files   []File
}

// File is the prefixes of a file, and how they differ from those read before.
type File struct {
	Origin   uint16
	Prefixes []netip.Prefix
	Version  rules.Version[netip.Prefix]
}

// built are routes, and what they were built of.
type built struct {
	Sources
	routes *fib.Routes
	fresh  bool // asked for since the last Forget
}

// Forget drops the routes of routers that were not asked for since the last call.
func (m *Memory) Forget() {
	if m == nil {
		return
	}
	for name, b := range m.known {
		if !b.fresh {
			delete(m.known, name)
		}
		b.fresh = false
	}
}

// Routes are the routes of a router.
func (m *Memory) Routes(name string, from Sources) *fib.Routes {
	if m.known == nil {
		m.known = map[string]*built{}
	}
	routes := m.known[name].change(&from)
	if routes == nil {
		routes = from.build()
	}
	for i := range from.Files { // what they hold may go
		from.Files[i].Prefixes, from.Files[i].Version.Edits = nil, nil
	}
	m.known[name] = &built{from, routes, true}
	return routes
}

// build makes the routes of nothing.
func (s *Sources) build() *fib.Routes {
	n := len(s.Own)
	for _, f := range s.Files {
		n += len(f.Prefixes)
	}
	list := append(make([]fib.Route, 0, n), s.Own...)
	for _, f := range s.Files {
		list = AppendRoutes(list, f.Prefixes, f.Origin)
	}
	return fib.NewRoutes(s.Numbers, list)
}

// AppendRoutes appends IPv4 prefixes as routes of an origin.
func AppendRoutes(list []fib.Route, prefixes []netip.Prefix, origin uint16) []fib.Route {
	for _, p := range prefixes {
		if !p.Addr().Is4() {
			continue
		}
		a := p.Masked().Addr().As4()
		list = append(list, fib.Route{Addr: binary.BigEndian.Uint32(a[:]), Bits: uint8(p.Bits()), Origin: origin})
	}
	return list
}

// change makes the routes of those before; nil: too much is different, or nobody knows what.
func (b *built) change(s *Sources) *fib.Routes {
	if b == nil || !slices.Equal(b.Numbers, s.Numbers) || !slices.Equal(b.Own, s.Own) || len(b.Files) != len(s.Files) {
		return nil
	}
	var removed, added []fib.Route
	for i := range s.Files {
		before, now, origin := b.Files[i].Version.Number, &s.Files[i].Version, s.Files[i].Origin
		switch {
		case b.Files[i].Origin != origin:
			return nil
		case now.Number == 0 || now.Number != before && (now.Before == 0 || now.Before != before):
			return nil
		case now.Number == before:
			continue
		}
		for _, e := range now.Edits {
			was, is := differ(e.Old, e.New)
			removed = AppendRoutes(removed, was, origin)
			added = AppendRoutes(added, is, origin)
		}
	}
	if len(removed)+len(added) > b.routes.Len()/4 {
		return nil
	}
	routes, err := b.routes.Change(removed, added)
	if err != nil {
		return nil // never: what is removed was read
	}
	return routes
}

// near is how far a prefix that is missing is looked for on the other side.
const near = 8

// differ is what went of a list, and what came. It may have some that are still there, on both sides.
func differ(was, is []netip.Prefix) (removed, added []netip.Prefix) {
	for len(was) > 0 && len(is) > 0 {
		if was[0] == is[0] {
			was, is = was[1:], is[1:]
			continue
		}
		if k := slices.Index(is[:min(near, len(is))], was[0]); k > 0 {
			added, is = append(added, is[:k]...), is[k:]
			continue
		}
		if k := slices.Index(was[:min(near, len(was))], is[0]); k > 0 {
			removed, was = append(removed, was[:k]...), was[k:]
			continue
		}
		removed, added = append(removed, was[0]), append(added, is[0])
		was, is = was[1:], is[1:]
	}
	return append(removed, was...), append(added, is...)
}
