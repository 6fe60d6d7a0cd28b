package graph

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/placement"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	register("router", func(k *v1alpha1.FunctionKinds) *v1alpha1.Router { return k.Router }, func(s *v1alpha1.Router) kind { return router{s} })
}

type router struct{ spec *v1alpha1.Router }

func (r router) ports() []string {
	if len(r.spec.Ports) == 0 {
		return twoSides
	}
	var out []string
	for _, p := range r.spec.Ports {
		out = append(out, string(p.Name))
	}
	return out
}

func (router) through(f *function, _ string) []string { return f.ports }

func (router) translated(f *function, _ string) ([]string, []*v1alpha1.NAPT) { return f.ports, nil }

func (router) joinRealms(f *function, r realms) { r.joinAll(f) }

func (router) traits() traits { return traits{addressesAlone: true} }

// ICMP types and codes of a router's errors (RFC 792).
const (
	icmpUnreachable     = 3
	codeNetUnreachable  = 0
	codeHostUnreachable = 1
	codeProhibited      = 13 // RFC 1812 section 5.2.7.1
	icmpTimeExceeded    = 11
	codeTTLExceeded     = 0
)

// lower makes "rt/local" (own addresses), "rt/lookup", and per port that has
// routes "rt/ttl-<port>". Errors go through the lookup again, as any packet of the
// router's own: "rt/own" gives these the TTL that they then leave with. Where ports have addresses, the source of errors depends on the port
// by which the packet came in, and each such port gets elements of its own.
func (r router) lower(b *builder, f *function) {
	spec := r.spec
	own, sources := b.routerAddresses(f, spec)
	f.sends, f.beyond, f.splits = map[string]int{}, map[string]bool{}, map[string]*split{}
	l := b.routing(f, spec)
	f.outs, f.leads = l.outs, l.leads(f)
	var entered []string
	for _, p := range f.ports {
		if b.reached[port{f.name, p}] {
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
	if !b.splitsFit(f, faces) {
		return
	}
	if shared {
		e, sends := b.routerFace(f, f.name, own, sources[entered[0]], l)
		for _, p := range entered {
			f.entry[p], f.sends[p] = e, sends
		}
		return
	}
	for _, p := range entered {
		f.entry[p], f.sends[p] = b.routerFace(f, f.name+"/"+p, own, sources[p], l)
	}
}

// routerAddresses are the router's own addresses, and by port the source of errors.
func (b *builder) routerAddresses(f *function, spec *v1alpha1.Router) ([]netip.Addr, map[string]netip.Addr) {
	var own []netip.Addr
	read := func(field string, s v1alpha1.Address) netip.Addr {
		if s == "" {
			return netip.Addr{}
		}
		a, problem := rules.ParseAddress(string(s))
		if b.problem(f.object, field, problem) && !slices.Contains(own, a) {
			own = append(own, a)
		}
		return a
	}
	of := read(f.path+".address", spec.Address)
	sources := map[string]netip.Addr{}
	for _, p := range f.ports {
		sources[p] = of
	}
	for i, p := range spec.Ports {
		if a := read(index(f.path+".ports", i)+".address", p.Address); a.IsValid() {
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

// leads are the ports that the packets of each output leave by.
func (l *routing) leads(f *function) [][]string {
	out := make([][]string, len(l.outs))
	for i, name := range l.outs {
		if s := f.splits[name]; s != nil {
			out[i] = s.ports()
		} else if slices.Contains(f.ports, name) {
			out[i] = []string{name}
		}
	}
	return out
}

// routing is a router's lookup. It notes where its routes lead.
func (b *builder) routing(f *function, spec *v1alpha1.Router) routing {
	if b.isLarge(f, spec) {
		return b.tableOf(f, spec)
	}
	routes := b.routes(f, spec)
	var last *routeOrigin
	for _, r := range routes {
		if r.routeOrigin != last && r.rank <= len(spec.RoutesFrom) && r.port != "" {
			f.beyond[r.port] = true
		}
		last = r.routeOrigin
	}
	f.hasDefault = slices.ContainsFunc(routes, func(r portRoute) bool { return r.prefix.Bits() == 0 && r.port != "" })
	return lookupOf(f, routes)
}

func lookupOf(f *function, routes []portRoute) routing {
	to := placement.NewOuts()
	for _, p := range f.ports {
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
		Rules:   []element.Rule{{Name: name + "/address", Filters: []headerspace.Filter{sentTo(own)}, Out: 0}},
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

// routes are all routes of a router, one per prefix, ordered by prefix.
func (b *builder) routes(f *function, spec *v1alpha1.Router) []portRoute {
	near := b.near(f)
	list := b.ownRoutes(f, spec, near)
	n := 0
	for _, from := range spec.RoutesFrom {
		n += len(b.in.Files.Prefixes[from.Name()])
	}
	list = slices.Grow(list, n+len(f.ports))
	for i, from := range spec.RoutesFrom {
		list = b.fileRoutes(f, index(f.path+".routesFrom", i), &from, near, i+1, list)
	}
	connected := len(spec.RoutesFrom) + 1
	list = append(list, connectedRoutes(f, near, connected)...)
	return b.oncePerPrefix(f, byPrefix(list), connected)
}

// near is what lies behind each port.
func (b *builder) near(f *function) map[string]behind {
	near := map[string]behind{}
	for _, p := range f.ports {
		near[p] = b.behind(port{f.name, p})
	}
	return near
}

// connectedRoutes are those to the prefixes behind a router's ports.
func connectedRoutes(f *function, near map[string]behind, rank int) (list []portRoute) {
	for _, p := range f.ports {
		for _, i := range near[p].interfaces {
			if i.prefix.IsValid() {
				list = append(list, portRoute{i.prefix.Masked(), &routeOrigin{port: p, rank: rank, field: f.declared}})
			}
		}
		for _, pool := range near[p].pools {
			list = append(list, portRoute{pool.prefix, &routeOrigin{port: p, pool: pool.of, rank: rank, field: f.declared}})
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
// connected at two ports. Of two pools checkPools says what is wrong.
func (b *builder) oncePerPrefix(f *function, list []portRoute, connected int) []portRoute {
	out := list[:0]
	for _, r := range list {
		if n := len(out); n > 0 && out[n-1].prefix == r.prefix {
			first := out[n-1]
			switch {
			case first.rank == connected && first.port != r.port && (first.pool == "" || first.pool == r.pool):
				b.fail(b.object, r.field, r.prefix.String(), "lies behind port %q and behind port %q of router %q; add a route that says which", first.port, r.port, f.name)
			case first.rank == 0 && r.rank == 0:
				b.fail(f.object, r.field, r.prefix.String(), "the route is there twice, first as %s; leave one out", first.field)
			}
			continue
		}
		out = append(out, r)
	}
	return out
}

func (b *builder) ownRoutes(f *function, spec *v1alpha1.Router, near map[string]behind) []portRoute {
	var list []portRoute
	for i, r := range spec.Routes {
		field := index(f.path+".routes", i)
		p, problem := rules.ParsePrefix(string(r.Prefix))
		ok := b.problem(f.object, field+".prefix", problem)
		via, viaOK := b.nextHop(f, field, r.Type, r.Port, r.Via, near)
		if ok && viaOK {
			if !via.IsValid() {
				b.checkNextHop(f, field+".prefix", p, r.Port, near[string(r.Port)])
			}
			of := &routeOrigin{via: via, port: string(r.Port), kind: r.Type, field: field + ".prefix"}
			if len(r.BySource) > 0 {
				of.split = b.split(f, i, p, &r, near, of)
			}
			list = append(list, portRoute{p, of})
		}
	}
	return list
}

// fileRoutes appends the routes of a file to a list.
func (b *builder) fileRoutes(f *function, field string, from *v1alpha1.RoutesFrom, near map[string]behind, rank int, list []portRoute) []portRoute {
	of := b.fileOrigin(f, field, from, near, rank)
	if of == nil {
		return list
	}
	for _, p := range b.in.Files.Prefixes[from.Name()] {
		list = append(list, portRoute{p, of})
	}
	return list
}

// fileOrigin is what the routes of a file have in common; nil: it has errors.
func (b *builder) fileOrigin(f *function, field string, from *v1alpha1.RoutesFrom, near map[string]behind, rank int) *routeOrigin {
	via, ok := b.nextHop(f, field, from.Type, from.Port, from.Via, near)
	prefixes, read := b.in.Files.Prefixes[from.Name()]
	if !read {
		b.fail(f.object, field, from.Name(), "the file was not read")
	}
	if !ok {
		return nil
	}
	if at := near[string(from.Port)]; !via.IsValid() && at.needsNextHop() {
		for _, p := range prefixes {
			b.checkNextHop(f, field, p, from.Port, at)
		}
	}
	return &routeOrigin{via: via, port: string(from.Port), kind: from.Type, rank: rank}
}

// nextHop reads a route's port and next hop, which must be on-link at the port. Of a route that leads
// nowhere there is nothing to read.
func (b *builder) nextHop(f *function, field string, kind v1alpha1.RouteType, name v1alpha1.Name, s v1alpha1.Address, near map[string]behind) (netip.Addr, bool) {
	if kind != "" && kind != v1alpha1.RouteForward {
		return netip.Addr{}, true // the schema has seen to it that there is neither
	}
	at, known := near[string(name)]
	if !known {
		b.fail(f.object, field+".port", string(name), "router %q has no such port%s", f.name, finding.DidYouMean(string(name), f.ports))
		return netip.Addr{}, false
	}
	if s == "" {
		return netip.Addr{}, true
	}
	via, problem := rules.ParseAddress(string(s))
	if !b.problem(f.object, field+".via", problem) {
		return via, false
	}
	b.noteVia(f, field+".via", string(name), via)
	var prefixes []string
	for _, i := range at.interfaces {
		if !i.prefix.IsValid() {
			return via, true // an error of its own
		}
		if i.prefix.Addr() == via || slices.Contains(i.addresses, via) {
			b.fail(f.object, field+".via", string(s), "is the chain's address on interface %q; give that of the neighbour", i.name)
			return via, false
		}
		if i.prefix.Contains(via) {
			return via, true
		}
		prefixes = append(prefixes, i.prefix.Masked().String())
	}
	for _, r := range at.routers {
		if slices.Contains(r.addresses(), via) {
			return via, true
		}
	}
	if b.unlinked {
		return via, true // what lies behind the port is not known
	}
	b.fail(f.object, field+".via", string(s), "the next hop is not on-link at port %q; %s", string(name), nextHopAdvice(prefixes, at.routers))
	return via, false
}
