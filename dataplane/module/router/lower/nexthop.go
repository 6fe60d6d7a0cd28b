package lower

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
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/tables"
)

// checkNextHop warns of a route without via to more than what is on-link, by an interface without gateway. What
// lies behind elements may rewrite packets, or choose the next hop. One route of a port is named.
func (rt *router) checkNextHop(b *lower.Builder, f *lower.Function, field string, p netip.Prefix, name v1alpha1.Name, at lower.Behind) {
	if b.Unlinked() || at.Unforeseen || rt.hopless[string(name)] {
		return
	}
	for _, i := range at.Interfaces {
		if i.Spec.Gateway != "" || !i.Prefix.IsValid() || i.Prefix.Bits() <= p.Bits() && i.Prefix.Contains(p.Addr()) {
			continue
		}
		b.Warn(f.Object, field, p.String(), "interface %q has no gateway, and the route no via: what is not in %s is dropped as \"no-next-hop\"; give the route a via, or the interface a gateway",
			i.Name, i.Prefix.Masked())
		rt.hopless[string(name)] = true
		return
	}
}

// needsNextHop tells whether some route without via may lead to nowhere by an interface.
func needsNextHop(at *lower.Behind) bool {
	return slices.ContainsFunc(at.Interfaces, func(i *lower.Interface) bool { return i.Spec.Gateway == "" && i.Prefix.IsValid() })
}

// nextHopAdvice says what a next hop could be.
func nextHopAdvice(prefixes []string, routers []*lower.Function) string {
	var could []string
	if len(prefixes) > 0 {
		could = append(could, "an address within "+strings.Join(prefixes, ", "))
	}
	for _, r := range routers {
		own := r.Router().Own()
		if len(own) == 0 {
			could = append(could, fmt.Sprintf("none, as router %q has no address", r.Name))
			continue
		}
		could = append(could, fmt.Sprintf("%s of router %q", joinAddrs(own), r.Name))
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
func isLarge(b *lower.Builder, f *lower.Function, spec *v1alpha1.Router) bool {
	if b.In.Tables == nil {
		return false
	}
	few := len(spec.Routes)+len(spec.RoutesFrom)+len(spec.Ports) <= mostHops
	if fromStores(spec) {
		if !few {
			b.Fail(f.Object, f.Path+".routesFrom", "", "the router has %d routes, %d texts and %d ports; where a text comes from a store, have at most %d of these together",
				len(spec.Routes), len(spec.RoutesFrom), len(spec.Ports), mostHops)
		}
		return few
	}
	n := 0
	for _, from := range spec.RoutesFrom {
		n += len(b.In.Files.Prefixes[from.Name()])
	}
	return b.In.Tables.Any && n >= leastTable && few
}

func fromStores(spec *v1alpha1.Router) bool {
	return slices.ContainsFunc(spec.RoutesFrom, func(from v1alpha1.RoutesFrom) bool { return from.Store != nil })
}

// tableOf is routing for routes in a table. What it numbers depends on what routes lead to, and not on which routes there are.
func (rt *router) tableOf(b *lower.Builder, f *lower.Function) routing {
	spec := rt.spec
	near, connected := near(b, f), len(spec.RoutesFrom)+1
	list := rt.ownRoutes(b, f, near)
	own := len(list)
	var origins []*routeOrigin
	for _, r := range list {
		origins = append(origins, r.routeOrigin)
	}
	var from tables.Sources
	for i := range spec.RoutesFrom {
		of := rt.fileOrigin(b, f, lower.Index(f.Path+".routesFrom", i), &spec.RoutesFrom[i], near, i+1)
		if of == nil {
			return routing{Lookup: element.Lookup{Outs: 1}} // it has errors
		}
		name := spec.RoutesFrom[i].Name()
		origins = append(origins, of)
		from.Files = append(from.Files, tables.File{Origin: uint16(own + i), Prefixes: b.In.Files.Prefixes[name], Version: b.In.Files.Versions[name]})
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
	t.Routes = b.In.Tables.Routes(f.Name, from)
	l.Table = t
	for i, o := range origins {
		if t.Wins(i) && o.rank < connected && o.port != "" {
			rt.routes.Beyond[o.port] = true
		}
	}
	if r, ok := t.Find(0, 0); ok {
		rt.routes.HasDefault = origins[r.Origin].port != ""
	}
	checkTwice(b, f, list, from.Own, t, connected)
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
func (l *routing) number(f *lower.Function, origins []*routeOrigin) {
	to := lower.NewOuts()
	for _, p := range f.Ports {
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
func checkTwice(b *lower.Builder, f *lower.Function, list []portRoute, routes []fib.Route, t *element.Table, connected int) {
	var check []portRoute
	for i, r := range list {
		first, _ := t.Find(routes[i].Addr, routes[i].Bits)
		if r.rank != connected || slices.ContainsFunc(routes, func(o fib.Route) bool { return o == first }) {
			check = append(check, r) // else a file has a route for it
		}
	}
	oncePerPrefix(b, f, byPrefix(check), connected)
}
