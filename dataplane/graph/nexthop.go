package graph

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/fib"
	"github.com/sinter-nfv/sinter/dataplane/graph/placement"
	"github.com/sinter-nfv/sinter/dataplane/tables"
)

// addresses are a router's own.
func (f *function) addresses() []netip.Addr {
	var out []netip.Addr
	add := func(s string) {
		if a, err := netip.ParseAddr(s); err == nil {
			out = append(out, a)
		}
	}
	r, ok := f.kind.(router)
	if !ok {
		return nil
	}
	add(string(r.spec.Address))
	for _, p := range r.spec.Ports {
		add(string(p.Address))
	}
	return out
}

// nextHopAdvice says what a next hop could be.
func nextHopAdvice(prefixes []string, routers []*function) string {
	var could []string
	if len(prefixes) > 0 {
		could = append(could, "an address within "+strings.Join(prefixes, ", "))
	}
	for _, r := range routers {
		own := r.addresses()
		if len(own) == 0 {
			could = append(could, fmt.Sprintf("none, as router %q has no address", r.name))
			continue
		}
		could = append(could, fmt.Sprintf("%s of router %q", joinAddrs(own), r.name))
	}
	if len(could) == 0 {
		return "no interface lies behind it: leave via out"
	}
	return "it can be " + strings.Join(could, ", or ")
}

func joinAddrs(list []netip.Addr) string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = a.String()
	}
	return strings.Join(out, " or ")
}

const (
	// leastTable is from how many routes of files on a router has them in a table.
	leastTable = 4096
	// mostHops is the most next hops of a table: a program tells them apart by bits, which its rules need, too.
	mostHops = 128
)

// isLarge tells whether a router's routes are kept in a table. Those of stores always are, so that the next version of a text does not change what the
// program is like.
func (b *builder) isLarge(f *function, spec *v1alpha1.Router) bool {
	if b.in.Tables == nil {
		return false
	}
	few := len(spec.Routes)+len(spec.RoutesFrom)+len(spec.Ports) <= mostHops
	if fromStores(spec) {
		if !few {
			b.fail(f.object, f.path+".routesFrom", "", "the router has %d routes, %d texts and %d ports; where a text comes from a store, have at most %d of these together",
				len(spec.Routes), len(spec.RoutesFrom), len(spec.Ports), mostHops)
		}
		return few
	}
	n := 0
	for _, from := range spec.RoutesFrom {
		n += len(b.in.Files.Prefixes[from.Name()])
	}
	return b.in.Tables.Any && n >= leastTable && few
}

func fromStores(spec *v1alpha1.Router) bool {
	return slices.ContainsFunc(spec.RoutesFrom, func(from v1alpha1.RoutesFrom) bool { return from.Store != nil })
}

// tableOf is routing for routes in a table. What it numbers depends on what routes lead to, and not on which routes there are.
func (b *builder) tableOf(f *function, spec *v1alpha1.Router) routing {
	near, connected := b.near(f), len(spec.RoutesFrom)+1
	list := b.ownRoutes(f, spec, near)
	own := len(list)
	var origins []*routeOrigin
	for _, r := range list {
		origins = append(origins, r.routeOrigin)
	}
	var from tables.Sources
	for i := range spec.RoutesFrom {
		of := b.fileOrigin(f, index(f.path+".routesFrom", i), &spec.RoutesFrom[i], near, i+1)
		if of == nil {
			return routing{Lookup: element.Lookup{Outs: 1}} // it has errors
		}
		name := spec.RoutesFrom[i].Name()
		origins = append(origins, of)
		from.Files = append(from.Files, tables.File{Origin: uint16(own + i), Prefixes: b.in.Files.Prefixes[name], Version: b.in.Files.Versions[name]})
	}
	list = append(list, connectedRoutes(f, near, connected)...)
	for i, r := range list {
		origin := i
		if i >= own {
			origin = len(origins)
			origins = append(origins, r.routeOrigin)
		}
		from.Own = append(from.Own, routeOf(r.prefix, origin))
	}
	l := routing{}
	l.number(f, origins)
	t := &element.Table{}
	from.Numbers, t.Hops = l.hops(origins)
	t.Source = sourceOf(spec, &from)
	t.Routes = b.in.Tables.Routes(f.name, from)
	l.Table = t
	for i, o := range origins {
		if t.Wins(i) && o.rank < connected && o.port != "" {
			f.beyond[o.port] = true
		}
	}
	if r, ok := t.Find(0, 0); ok {
		f.hasDefault = origins[r.Origin].port != ""
	}
	b.checkTwice(f, list, from.Own, t, connected)
	return l
}

// sourceOf is what agents build a router's table from: texts of stores they read there, all other routes come with the program. Nil: nothing is in stores,
// or something is in a file, which agents do not have.
func sourceOf(spec *v1alpha1.Router, from *tables.Sources) *fib.Source {
	if !fromStores(spec) {
		return nil
	}
	out := &fib.Source{Numbers: from.Numbers, Own: slices.Clone(from.Own)}
	for i, f := range from.Files {
		switch in := &spec.RoutesFrom[i]; {
		case in.Store != nil:
			out.Texts = append(out.Texts, fib.Text{URL: in.Store.URL, SHA256: in.Store.SHA256, Origin: f.Origin})
		case in.ConfigMapRef != nil:
			out.Own = tables.AppendRoutes(out.Own, f.Prefixes, f.Origin)
		default:
			return nil
		}
	}
	return out
}

func routeOf(p netip.Prefix, origin int) fib.Route {
	a := p.Masked().Addr().As4()
	return fib.Route{Addr: binary.BigEndian.Uint32(a[:]), Bits: uint8(p.Bits()), Origin: uint16(origin)}
}

// number gives the outputs their numbers: ports first, then types of routes that lead nowhere and
// splits.
func (l *routing) number(f *function, origins []*routeOrigin) {
	to := placement.NewOuts()
	for _, p := range f.ports {
		if slices.ContainsFunc(origins, func(o *routeOrigin) bool { return o.leads() == p }) {
			to.Number(p)
		}
	}
	for _, o := range origins {
		to.Number(o.leads())
	}
	l.outs, l.NoRoute, l.Outs = to.Names, len(to.Names), len(to.Names)+1
}

// hops are the next hops of origins in their order, and by origin their numbers, from 1 on.
func (l *routing) hops(origins []*routeOrigin) (numbers []uint16, hops []element.Hop) {
	hopOf := func(o *routeOrigin) element.Hop { return element.Hop{Via: o.via, Out: slices.Index(l.outs, o.leads())} }
	for _, o := range origins {
		hops = append(hops, hopOf(o))
	}
	compare := func(a, b element.Hop) int { return cmp.Or(cmp.Compare(a.Out, b.Out), a.Via.Compare(b.Via)) }
	slices.SortFunc(hops, compare)
	hops = slices.Compact(hops)
	for _, o := range origins {
		at, _ := slices.BinarySearchFunc(hops, hopOf(o), compare)
		numbers = append(numbers, uint16(at+1))
	}
	return numbers, hops
}

// checkTwice finds what oncePerPrefix does among routes that are in no file.
func (b *builder) checkTwice(f *function, list []portRoute, routes []fib.Route, t *element.Table, connected int) {
	var check []portRoute
	for i, r := range list {
		first, _ := t.Find(routes[i].Addr, routes[i].Bits)
		if r.rank != connected || slices.ContainsFunc(routes, func(o fib.Route) bool { return o == first }) {
			check = append(check, r) // else a file has a route for it
		}
	}
	b.oncePerPrefix(f, byPrefix(check), connected)
}
