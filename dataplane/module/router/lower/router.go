// Package lower lowers routers: a lookup of their routes, with what answers for their addresses and errors.
package lower

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	lower.Register("router", func(k *v1alpha1.FunctionKinds) *v1alpha1.Router { return k.Router }, func(s *v1alpha1.Router) lower.Kind { return &router{spec: s} })
}

type router struct {
	spec   *v1alpha1.Router
	routes lower.Routes
	splits map[string]*split // by the name of the lookup's output
	// hopless are ports for which a warning was given about routes without a next hop.
	hopless map[string]bool
}

// Own are its addresses.
func (rt *router) Own() []netip.Addr {
	var out []netip.Addr
	add := func(s string) {
		if a, err := netip.ParseAddr(s); err == nil {
			out = append(out, a)
		}
	}
	add(string(rt.spec.Address))
	for _, p := range rt.spec.Ports {
		add(string(p.Address))
	}
	return out
}

// Routes is where its routes lead.
func (rt *router) Routes() *lower.Routes { return &rt.routes }

// Ports are those that are listed; without any, they are two sides.
func (rt *router) Ports() []string {
	if len(rt.spec.Ports) == 0 {
		return lower.TwoSides
	}
	var out []string
	for _, p := range rt.spec.Ports {
		out = append(out, string(p.Name))
	}
	return out
}

// Through are all.
func (*router) Through(f *lower.Function, _ string) []string { return f.Ports }

// Translated are all.
func (*router) Translated(f *lower.Function, _ string) ([]string, []netip.Prefix) {
	return f.Ports, nil
}

// JoinRealms joins all.
func (*router) JoinRealms(f *lower.Function, r lower.Realms) { r.JoinAll(f) }

// Traits say that it reads no more than addresses.
func (*router) Traits() lower.Traits { return lower.Traits{AddressesAlone: true} }

// ICMP types and codes of a router's errors (RFC 792).
const (
	icmpUnreachable     = 3
	codeNetUnreachable  = 0
	codeHostUnreachable = 1
	codeProhibited      = 13 // RFC 1812 section 5.2.7.1
	icmpTimeExceeded    = 11
	codeTTLExceeded     = 0
)

// Lower makes "rt/local" (own addresses), "rt/lookup", and per port that has
// routes "rt/ttl-<port>". Errors go through the lookup again, as any packet of the
// router's own: "rt/own" gives these the TTL that they then leave with. Where ports have addresses, the source of errors depends on the port
// by which the packet came in, and each such port gets elements of its own.
func (rt *router) Lower(b *lower.Builder, f *lower.Function) {
	own, sources := routerAddresses(b, f, rt.spec)
	rt.routes = lower.Routes{Sends: map[string]int{}, Beyond: map[string]bool{}, Splits: map[int]lower.Split{}}
	rt.splits, rt.hopless = map[string]*split{}, map[string]bool{}
	l := rt.routing(b, f)
	rt.noteLeads(b, f, l.outs)
	var entered []string
	for _, p := range f.Ports {
		if b.Reached(f.Port(p)) {
			entered = append(entered, p)
		}
	}
	if len(entered) == 0 {
		return
	}
	shared := true
	for _, p := range entered {
		shared = shared && sources[p] == sources[entered[0]]
	}
	faces := len(entered)
	if shared {
		faces = 1
	}
	if !rt.splitsFit(b, f, faces) {
		return
	}
	if shared {
		e, sends := rt.face(b, f, f.Name, own, sources[entered[0]], l)
		for _, p := range entered {
			f.Entry[p], rt.routes.Sends[p] = e, sends
		}
		return
	}
	for _, p := range entered {
		f.Entry[p], rt.routes.Sends[p] = rt.face(b, f, f.Name+"/"+p, own, sources[p], l)
	}
}

// routerAddresses are the router's own addresses, and by port the source of errors.
func routerAddresses(b *lower.Builder, f *lower.Function, spec *v1alpha1.Router) ([]netip.Addr, map[string]netip.Addr) {
	var own []netip.Addr
	read := func(field string, s v1alpha1.Address) netip.Addr {
		if s == "" {
			return netip.Addr{}
		}
		a, problem := rules.ParseAddress(string(s))
		if b.Problem(f.Object, field, problem) && !slices.Contains(own, a) {
			own = append(own, a)
		}
		return a
	}
	of := read(f.Path+".address", spec.Address)
	sources := map[string]netip.Addr{}
	for _, p := range f.Ports {
		sources[p] = of
	}
	for i, p := range spec.Ports {
		if a := read(lower.Index(f.Path+".ports", i)+".address", p.Address); a.IsValid() {
			sources[string(p.Name)] = a
		}
	}
	return own, sources
}

// routing is a router's lookup, which all of its ports share.
type routing struct {
	element.Lookup
	outs []string // names of the outputs: ports, then types of routes that lead nowhere and splits
}

// noteLeads notes the ports that the packets of each output of the lookups leave by.
func (rt *router) noteLeads(b *lower.Builder, f *lower.Function, outs []string) {
	rt.routes.Leads = make([][]string, len(outs))
	for i, name := range outs {
		if s := rt.splits[name]; s != nil {
			rt.routes.Leads[i] = s.ports()
			rt.routes.Splits[i] = func(owner, name string, to func(port string) lower.Edge) int {
				return bySource(b, owner, name, s, func(o *routeOrigin) lower.Edge { return to(o.port) })
			}
		} else if slices.Contains(f.Ports, name) {
			rt.routes.Leads[i] = []string{name}
		}
	}
}

// routing is a router's lookup. It notes where its routes lead.
func (rt *router) routing(b *lower.Builder, f *lower.Function) routing {
	spec := rt.spec
	if isLarge(b, f, spec) {
		return rt.tableOf(b, f)
	}
	routes := rt.routesOf(b, f)
	var last *routeOrigin
	for _, r := range routes {
		if r.routeOrigin != last && r.rank <= len(spec.RoutesFrom) && r.port != "" {
			rt.routes.Beyond[r.port] = true
		}
		last = r.routeOrigin
	}
	rt.routes.HasDefault = slices.ContainsFunc(routes, func(r portRoute) bool { return r.prefix.Bits() == 0 && r.port != "" })
	return lookupOf(f, routes)
}

func lookupOf(f *lower.Function, routes []portRoute) routing {
	to := lower.NewOuts()
	for _, p := range f.Ports {
		if slices.ContainsFunc(routes, func(r portRoute) bool { return r.leads() == p }) {
			to.Number(p)
		}
	}
	l := routing{Lookup: element.Lookup{Routes: make([]element.Route, len(routes))}}
	var last *routeOrigin
	out := 0
	for i, r := range routes {
		if r.routeOrigin != last {
			last, out = r.routeOrigin, to.Number(r.leads())
		}
		l.Routes[i] = element.Route{Prefix: r.prefix, Via: r.via, Out: out}
	}
	l.outs, l.NoRoute, l.Outs = to.Names, len(to.Names), len(to.Names)+1
	return l
}

func localClassifier(name string, own []netip.Addr) element.Classifier {
	return element.Classifier{
		Rules:   []element.Rule{{Name: name + "/address", Filters: []headerspace.Filter{lower.SentTo(own)}, Out: 0}},
		Default: 1, Outs: 2,
	}
}

// portRoute is a route to a port, or nowhere, and where it comes from: routes, then
// files in order, then what is connected.
type portRoute struct {
	prefix netip.Prefix
	*routeOrigin
}

// routeOrigin is what all routes of a file have in common.
type routeOrigin struct {
	via   netip.Addr
	port  string
	kind  v1alpha1.RouteType // empty: Forward
	pool  string             // the function whose NAPT's pool the prefix is of; empty: none
	rank  int
	field string
	split *split // nil: sources do not matter
}

// leads names the lookup's output: the port, the type of a route that leads nowhere, or the split
// (no port is written so).
func (r *routeOrigin) leads() string {
	if r.split != nil {
		return r.split.name
	}
	if r.port == "" {
		return string(r.kind)
	}
	return r.port
}

// routesOf are all routes of a router, one per prefix, ordered by prefix.
func (rt *router) routesOf(b *lower.Builder, f *lower.Function) []portRoute {
	spec := rt.spec
	near := near(b, f)
	list := rt.ownRoutes(b, f, near)
	n := 0
	for _, from := range spec.RoutesFrom {
		n += len(b.In.Files.Prefixes[from.Name()])
	}
	list = slices.Grow(list, n+len(f.Ports))
	for i, from := range spec.RoutesFrom {
		list = rt.fileRoutes(b, f, lower.Index(f.Path+".routesFrom", i), &from, near, i+1, list)
	}
	connected := len(spec.RoutesFrom) + 1
	list = append(list, connectedRoutes(f, near, connected)...)
	return oncePerPrefix(b, f, byPrefix(list), connected)
}

// near is what lies behind each port.
func near(b *lower.Builder, f *lower.Function) map[string]lower.Behind {
	near := map[string]lower.Behind{}
	for _, p := range f.Ports {
		near[p] = b.Behind(f.Port(p))
	}
	return near
}

// connectedRoutes are those to the prefixes behind a router's ports.
func connectedRoutes(f *lower.Function, near map[string]lower.Behind, rank int) (list []portRoute) {
	for _, p := range f.Ports {
		for _, i := range near[p].Interfaces {
			if i.Prefix.IsValid() {
				list = append(list, portRoute{i.Prefix.Masked(), &routeOrigin{port: p, rank: rank, field: f.Declared}})
			}
		}
		for _, pool := range near[p].Translated {
			list = append(list, portRoute{pool.Prefix, &routeOrigin{port: p, pool: pool.Of, rank: rank, field: f.Declared}})
		}
	}
	return list
}

// byPrefix sorts routes by prefix. Those of one prefix stay in their order, which is that of ranks. A table may have a million: what is sorted is
// a number for each, of address, length and place.
func byPrefix(list []portRoute) []portRoute {
	const lengthBits, placeBits = 6, 26
	if len(list) >= 1<<placeBits {
		slices.SortStableFunc(list, func(x, y portRoute) int {
			return cmp.Or(x.prefix.Addr().Compare(y.prefix.Addr()), cmp.Compare(x.prefix.Bits(), y.prefix.Bits()))
		})
		return list
	}
	keys := make([]uint64, len(list))
	for i, r := range list {
		a := r.prefix.Addr().As4()
		addr := uint64(binary.BigEndian.Uint32(a[:]))
		keys[i] = addr<<(lengthBits+placeBits) | uint64(r.prefix.Bits())<<placeBits | uint64(i)
	}
	if slices.IsSorted(keys) {
		return list
	}
	slices.Sort(keys)
	out := make([]portRoute, len(list))
	for i, k := range keys {
		out[i] = list[k&(1<<placeBits-1)]
	}
	return out
}

// oncePerPrefix keeps the first route of each prefix, and finds prefixes that are
// connected at two ports. Of two pools their check says what is wrong.
func oncePerPrefix(b *lower.Builder, f *lower.Function, list []portRoute, connected int) []portRoute {
	out := list[:0]
	for _, r := range list {
		if n := len(out); n > 0 && out[n-1].prefix == r.prefix {
			first := out[n-1]
			switch {
			case first.rank == connected && first.port != r.port && (first.pool == "" || first.pool == r.pool):
				b.Fail(b.Object, r.field, r.prefix.String(), "lies behind port %q and behind port %q of router %q; add a route that says which", first.port, r.port, f.Name)
			case first.rank == 0 && r.rank == 0:
				b.Fail(f.Object, r.field, r.prefix.String(), "the route is there twice, first as %s; leave one out", first.field)
			}
			continue
		}
		out = append(out, r)
	}
	return out
}

func (rt *router) ownRoutes(b *lower.Builder, f *lower.Function, near map[string]lower.Behind) []portRoute {
	var list []portRoute
	for i, r := range rt.spec.Routes {
		field := lower.Index(f.Path+".routes", i)
		p, problem := rules.ParsePrefix(string(r.Prefix))
		ok := b.Problem(f.Object, field+".prefix", problem)
		via, viaOK := nextHop(b, f, field, r.Type, r.Port, r.Via, near)
		if ok && viaOK {
			if !via.IsValid() {
				rt.checkNextHop(b, f, field+".prefix", p, r.Port, near[string(r.Port)])
			}
			of := &routeOrigin{via: via, port: string(r.Port), kind: r.Type, field: field + ".prefix"}
			if len(r.BySource) > 0 {
				of.split = rt.split(b, f, i, p, &r, near, of)
			}
			list = append(list, portRoute{p, of})
		}
	}
	return list
}

// fileRoutes appends the routes of a file to a list.
func (rt *router) fileRoutes(b *lower.Builder, f *lower.Function, field string, from *v1alpha1.RoutesFrom, near map[string]lower.Behind, rank int, list []portRoute) []portRoute {
	of := rt.fileOrigin(b, f, field, from, near, rank)
	if of == nil {
		return list
	}
	for _, p := range b.In.Files.Prefixes[from.Name()] {
		list = append(list, portRoute{p, of})
	}
	return list
}

// fileOrigin is what the routes of a file have in common; nil: it has errors.
func (rt *router) fileOrigin(b *lower.Builder, f *lower.Function, field string, from *v1alpha1.RoutesFrom, near map[string]lower.Behind, rank int) *routeOrigin {
	via, ok := nextHop(b, f, field, from.Type, from.Port, from.Via, near)
	prefixes, read := b.In.Files.Prefixes[from.Name()]
	if !read {
		b.Fail(f.Object, field, from.Name(), "the file was not read")
	}
	if !ok {
		return nil
	}
	if at := near[string(from.Port)]; !via.IsValid() && needsNextHop(&at) {
		for _, p := range prefixes {
			rt.checkNextHop(b, f, field, p, from.Port, at)
		}
	}
	return &routeOrigin{via: via, port: string(from.Port), kind: from.Type, rank: rank}
}

// nextHop reads a route's port and next hop, which must be on-link at the port. Of a route that leads
// nowhere there is nothing to read.
func nextHop(b *lower.Builder, f *lower.Function, field string, kind v1alpha1.RouteType, name v1alpha1.Name, s v1alpha1.Address, near map[string]lower.Behind) (netip.Addr, bool) {
	if kind != "" && kind != v1alpha1.RouteForward {
		return netip.Addr{}, true // the schema has seen to it that there is neither
	}
	at, known := near[string(name)]
	if !known {
		b.Fail(f.Object, field+".port", string(name), "router %q has no such port%s", f.Name, finding.DidYouMean(string(name), f.Ports))
		return netip.Addr{}, false
	}
	if s == "" {
		return netip.Addr{}, true
	}
	via, problem := rules.ParseAddress(string(s))
	if !b.Problem(f.Object, field+".via", problem) {
		return via, false
	}
	b.NoteNextHop(lower.NextHop{Addr: via, At: f.Port(string(name)), Field: field + ".via"})
	var prefixes []string
	for _, i := range at.Interfaces {
		if !i.Prefix.IsValid() {
			return via, true // an error of its own
		}
		if i.Prefix.Addr() == via || slices.Contains(i.Addresses, via) {
			b.Fail(f.Object, field+".via", string(s), "is the chain's address on interface %q; give that of the neighbour", i.Name)
			return via, false
		}
		if i.Prefix.Contains(via) {
			return via, true
		}
		prefixes = append(prefixes, i.Prefix.Masked().String())
	}
	for _, r := range at.Routers {
		if slices.Contains(r.Router().Own(), via) {
			return via, true
		}
	}
	if b.Unlinked() {
		return via, true // what lies behind the port is not known
	}
	b.Fail(f.Object, field+".via", string(s), "the next hop is not on-link at port %q; %s", string(name), nextHopAdvice(prefixes, at.Routers))
	return via, false
}
