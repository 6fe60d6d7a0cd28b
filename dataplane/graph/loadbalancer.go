package graph

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	register("loadBalancer", func(k *v1alpha1.FunctionKinds) *v1alpha1.LoadBalancer { return k.LoadBalancer }, func(s *v1alpha1.LoadBalancer) kind { return loadBalancer{spec: s} })
}

type loadBalancer struct {
	twoSided
	spec *v1alpha1.LoadBalancer
}

// answers: pings and what no service is for are answered to the clients.
func (loadBalancer) answers(*builder) bool { return true }

// service is a virtual service as it was read.
type service struct {
	name   string
	proto  headerspace.Value
	filter headerspace.Filter // what clients send to it
}

// Output ports of the classifier of what comes from clients, and of that of what comes from backends, which has the first three.
const (
	balancerPasses = iota
	toBalancer
	toFragment
	toVirtualHost
)

// wholePackets are those that are no fragments, pieces the others.
var (
	wholePackets = headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragWhole))
	pieces       = headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragFirst, headerspace.FragLater))
	// icmpErrors quote the packet that they are about.
	icmpErrors = wholePackets.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(3, 11, 12))
)

// lower makes "lb/balancer", and before it per direction a classifier, "lb/outside" and "lb/inside". What is sent to a virtual address, but to
// no service, ends at "lb/host".
func (l loadBalancer) lower(b *builder, f *function) {
	services := b.services(f, l.spec)
	e := b.balancer(f, l.spec)
	node := b.add(f.name, f.name+"/balancer", e)
	fragment := b.discardOnce(f, f.name+"/fragment")
	if b.reached[port{f.name, outside}] {
		n := b.add(f.name, f.name+"/outside", fromClients(f.name, services, e))
		f.entry[outside] = Edge{To: n}
		b.exit(n, balancerPasses, f, inside)
		b.g.Nodes[n].Out[toBalancer] = Edge{To: node, Port: element.BalancerClients}
		b.wire(n, toFragment, fragment())
		host := b.add(f.name, f.name+"/host", element.LocalHost{})
		b.wire(n, toVirtualHost, host)
		b.exit(host, 0, f, outside)
		b.rejections = append(b.rejections, rejection{host, port{f.name, outside}})
		b.exit(node, element.BalancerBackends, f, inside)
	}
	if b.reached[port{f.name, inside}] {
		n := b.add(f.name, f.name+"/inside", fromBackends(f.name, services, e))
		f.entry[inside] = Edge{To: n}
		b.exit(n, balancerPasses, f, outside)
		if e.Direct {
			return
		}
		b.g.Nodes[n].Out[toBalancer] = Edge{To: node, Port: element.BalancerBackends}
		b.wire(n, toFragment, fragment())
		b.exit(node, element.BalancerClients, f, outside)
	}
}

// fromClients tells what is for the balancer from what ends here, and from what passes.
func fromClients(name string, services []service, e element.Balancer) element.Classifier {
	virtual := headerspace.Filter{}.With(headerspace.Dst, e.VirtualSet())
	c := element.Classifier{Default: balancerPasses, Outs: toVirtualHost + 1}
	for _, s := range services {
		c.Rules = append(c.Rules, element.Rule{Name: s.name, Filters: []headerspace.Filter{s.filter}, Out: toBalancer})
	}
	c.Rules = append(c.Rules,
		element.Rule{Name: name + "/errors", Filters: []headerspace.Filter{icmpErrors.Intersect(virtual)}, Out: toBalancer},
		element.Rule{Name: name + "/fragments", Filters: []headerspace.Filter{pieces.Intersect(virtual).With(headerspace.Proto, protosOf(services))}, Out: toFragment},
		element.Rule{Name: name + "/addresses", Filters: []headerspace.Filter{virtual}, Out: toVirtualHost},
	)
	return c
}

// fromBackends tells what a backend may have sent as a reply, by its address and port.
func fromBackends(name string, services []service, e element.Balancer) element.Classifier {
	if e.Direct {
		return element.Classifier{Default: balancerPasses, Outs: 1}
	}
	var replies []headerspace.Filter
	for _, proto := range protosOf(services).Intervals() {
		own := headerspace.Set{} // ports of the services
		for _, s := range services {
			if s.proto == proto.Lo {
				own = own.Union(s.filter.Get(headerspace.DPort))
			}
		}
		for _, g := range byPort(e.Backends) {
			ports := own
			if g.port != 0 {
				ports = headerspace.Of(uint64(g.port))
			}
			replies = append(replies, wholePackets.With(headerspace.Proto, headerspace.Single(proto.Lo)).
				With(headerspace.Src, g.addresses).With(headerspace.SPort, ports))
		}
	}
	fragments := pieces.With(headerspace.Proto, protosOf(services)).With(headerspace.Src, e.BackendSet())
	return element.Classifier{
		Default: balancerPasses, Outs: toFragment + 1,
		Rules: []element.Rule{
			{Name: name + "/replies", Filters: replies, Out: toBalancer},
			{Name: name + "/errors-back", Filters: []headerspace.Filter{icmpErrors}, Out: toBalancer},
			{Name: name + "/fragments-back", Filters: []headerspace.Filter{fragments}, Out: toFragment},
		},
	}
}

// protosOf are the protocols of the services, each an interval of its own.
func protosOf(services []service) headerspace.Set {
	var set headerspace.Set
	for _, s := range services {
		set = set.Union(headerspace.Single(s.proto))
	}
	return set
}

// backendGroup is the backends with a port.
type backendGroup struct {
	port      uint16
	addresses headerspace.Set
}

func byPort(backends []element.Backend) (groups []backendGroup) {
	for _, k := range backends {
		i := slices.IndexFunc(groups, func(g backendGroup) bool { return g.port == k.Port })
		if i < 0 {
			i, groups = len(groups), append(groups, backendGroup{port: k.Port})
		}
		groups[i].addresses = groups[i].addresses.Union(headerspace.Single(headerspace.Addr(k.Addr)))
	}
	return groups
}

// services reads the virtual services, and notes their addresses.
func (b *builder) services(f *function, spec *v1alpha1.LoadBalancer) []service {
	var list []service
	names := map[string]string{}
	for _, own := range []string{inside, outside, "balancer", "host", "errors", "errors-back", "fragments", "fragments-back", "addresses", "replies", "fragment"} {
		names[own] = "the load balancer itself"
	}
	for i := range spec.Virtual {
		v := &spec.Virtual[i]
		field := index(f.path+".virtual", i)
		name := string(v.Name)
		if name == "" {
			name = fmt.Sprintf("virtual-%d", i+1)
		}
		if first, ok := names[name]; ok {
			b.fail(f.object, field+".name", name, "the name is taken by %s; services need names of their own", first)
		}
		names[name] = field
		if s, ok := b.service(f, field, f.name+"/"+name, v); ok {
			b.checkServices(f, field, list, s)
			list = append(list, s)
		}
	}
	return list
}

// service reads a virtual service as the match that it is.
func (b *builder) service(f *function, field, name string, v *v1alpha1.VirtualService) (service, bool) {
	proto := intstr.FromString(strings.ToLower(string(v.Protocol)))
	m := v1alpha1.Match{Protocol: &proto, DestinationPorts: v.Ports}
	filter, problems := rules.Filter(&m)
	ok := true
	for i := range problems {
		problems[i].Field = strings.Replace(problems[i].Field, "destinationPorts", "ports", 1)
		ok = b.problem(f.object, field, &problems[i]) && ok
	}
	var addresses headerspace.Set
	for n, s := range v.Addresses {
		at := index(field+".addresses", n)
		a, problem := rules.ParseAddress(string(s))
		if !b.problem(f.object, at, problem) {
			ok = false
			continue
		}
		b.virtuals = append(b.virtuals, virtual{a, port{f.name, outside}, f.object, at})
		addresses = addresses.Union(headerspace.Single(headerspace.Addr(a)))
	}
	p := filter.Get(headerspace.Proto).Intervals()
	if !ok || len(p) != 1 {
		return service{}, false
	}
	filter = filter.Intersect(wholePackets).With(headerspace.Dst, addresses)
	return service{name, p[0].Lo, filter}, true
}

// checkServices finds a service that has an address and port of another.
func (b *builder) checkServices(f *function, field string, list []service, s service) {
	for _, other := range list {
		if s.filter.Overlaps(other.filter) {
			b.fail(f.object, field, "", "has an address and port of %q, which gets the packets; give each service addresses or ports of its own", strings.TrimPrefix(other.name, f.name+"/"))
			return
		}
	}
}

// balancer reads the backends and what else flows are spread by.
func (b *builder) balancer(f *function, spec *v1alpha1.LoadBalancer) element.Balancer {
	e := element.Balancer{
		ByClient: spec.Affinity == v1alpha1.AffinityClient, MaxSessions: int(spec.MaxSessions),
		Direct: spec.Mode == v1alpha1.BalancerDSR, Stateless: spec.Stateless,
		NoBackend: f.name + "/no-backend", Full: f.name + "/full", NoSession: f.name + "/no-session",
		Timeouts: element.Timeouts{
			TCP:           b.timeout(f, f.path+".timeouts.tcp", spec.Timeouts.TCP),
			TCPTransitory: b.timeout(f, f.path+".timeouts.tcpTransitory", spec.Timeouts.TCPTransitory),
			UDP:           b.timeout(f, f.path+".timeouts.udp", spec.Timeouts.UDP),
		},
	}
	for _, v := range b.virtuals {
		if v.at.owner == f.name && !slices.Contains(e.Virtual, v.addr) {
			e.Virtual = append(e.Virtual, v.addr)
		}
	}
	slices.SortFunc(e.Virtual, netip.Addr.Compare)
	if from := spec.BackendsFrom; from != nil { // the operator has put the endpoints in its place
		b.fail(f.object, f.path+".backendsFrom", from.ServiceRef.Name, "the endpoints of a Service are known in a cluster only; on a host, list the servers as `backends`")
	}
	e.Backends = b.readBackends(f, spec.Backends, e.Virtual)
	if e.Direct {
		b.checkDirect(f, spec)
	}
	if spec.SlowStart != "" {
		e.SlowStart = b.timeout(f, f.path+".slowStart", spec.SlowStart)
	}
	if spec.HealthCheck != nil {
		e.Check = b.healthCheck(f, spec.HealthCheck, e.Backends)
	}
	if len(e.Backends) > 0 && !slices.ContainsFunc(e.Backends, func(k element.Backend) bool { return k.Weight > 0 }) {
		b.warn(f.object, f.path+".backends", "", "all have weight 0: new flows are dropped as %q; give one a weight above 0", e.NoBackend)
	}
	return e
}

func (b *builder) readBackends(f *function, specs []v1alpha1.Backend, virtual []netip.Addr) []element.Backend {
	var list []element.Backend
	first := map[netip.AddrPort]string{}
	for i := range specs {
		field := index(f.path+".backends", i)
		a, problem := rules.ParseAddress(string(specs[i].Address))
		if !b.problem(f.object, field+".address", problem) {
			continue
		}
		k := element.Backend{Addr: a, Port: uint16(specs[i].Port), Weight: 1}
		if specs[i].Weight != nil {
			k.Weight = int(*specs[i].Weight)
		}
		at := netip.AddrPortFrom(a, k.Port)
		if other, ok := first[at]; ok {
			b.fail(f.object, field, backendText(k), "is also %s; name each backend once, with the weight of both", other)
			continue
		}
		first[at] = field
		b.checkBackend(f, field+".address", a, virtual)
		list = append(list, k)
	}
	slices.SortFunc(list, func(x, y element.Backend) int {
		return cmp.Or(x.Addr.Compare(y.Addr), cmp.Compare(x.Port, y.Port))
	})
	return list
}

func backendText(k element.Backend) string {
	if k.Port == 0 {
		return k.Addr.String()
	}
	return k.Addr.String() + ":" + strconv.Itoa(int(k.Port))
}

// virtual is a virtual address of a load balancer, and the port at which its clients are.
type virtual struct {
	addr   netip.Addr
	at     port
	object finding.Object
	field  string
}

// virtualsIn are the virtual addresses that are seen in a realm.
func (b *builder) virtualsIn(realm port) []netip.Addr {
	var out []netip.Addr
	for _, v := range b.virtuals {
		if b.realm.find(v.at) == realm {
			out = append(out, v.addr)
		}
	}
	return out
}

// checkVirtuals finds virtual addresses that belong to others, for whom the engine would answer ARP requests.
func (b *builder) checkVirtuals() {
	for n, v := range b.virtuals {
		say := func(format string, args ...any) { b.fail(v.object, v.field, v.addr.String(), format, args...) }
		if s, ok := rules.SpecialIn(rules.Range{First: v.addr, Last: v.addr}); ok {
			say("is a %s address (%s); give one that hosts can have", s.What, s.Prefix)
			continue
		}
		for _, i := range b.interfaces {
			if b.sees(i, v.at) {
				b.checkVirtualAt(v.addr, i, say)
			}
		}
		b.checkVirtualRouters(v, say)
		for _, p := range b.pools {
			if b.realm.find(p.outside) == b.realm.find(v.at) && slices.Contains(p.pool, v.addr) {
				say("is in the pool of %q; give the load balancer an address of its own", p.outside.owner)
			}
		}
		for _, w := range b.virtuals[:n] {
			if w.addr == v.addr && w.at != v.at && b.realm.find(w.at) == b.realm.find(v.at) {
				say("is a virtual address of %q, and no NAPT lies between them; give each an address of its own", w.at.owner)
			}
		}
	}
}

func (b *builder) checkVirtualAt(a netip.Addr, i *chainInterface, say func(string, ...any)) {
	if !i.prefix.IsValid() || slices.Contains(i.addresses, a) {
		return
	}
	if a == i.prefix.Addr() {
		say("is the address of interface %q; give one of its further `addresses`, or another one", i.name)
		return
	}
	if i.prefix.Contains(a) {
		if why := i.refuses(a); why != "" {
			say("%s", why)
		}
	}
}

func (b *builder) checkVirtualRouters(v virtual, say func(string, ...any)) {
	realm := b.realm.find(v.at)
	for _, f := range b.functions {
		if is[router](f) && b.realm.find(port{f.name, f.ports[0]}) == realm && slices.Contains(f.addresses(), v.addr) {
			say("is the address of router %q; give the load balancer one of its own", f.name)
		}
	}
	for _, w := range b.vias {
		if w.addr == v.addr && b.realm.find(w.at) == realm && !b.isGateway(w.addr) {
			say("is the next hop of %s; give the load balancer an address of its own", w.field)
		}
	}
}

// checkBackend finds addresses that are no server's.
func (b *builder) checkBackend(f *function, field string, a netip.Addr, virtual []netip.Addr) {
	say := func(format string, args ...any) { b.fail(f.object, field, a.String(), format, args...) }
	if s, ok := rules.SpecialIn(rules.Range{First: a, Last: a}); ok {
		say("is a %s address (%s); give that of a server", s.What, s.Prefix)
		return
	}
	if slices.Contains(virtual, a) {
		say("is a virtual address; give that of a server")
		return
	}
	for _, i := range b.interfaces {
		if i.prefix.IsValid() && slices.Contains(i.own(), a) && b.sees(i, port{f.name, inside}) {
			say("is an address of interface %q; give that of a server", i.name)
		}
	}
}

// checkDirect finds what keeps packets from servers to which they are sent as they came, and functions that miss their replies.
func (b *builder) checkDirect(f *function, spec *v1alpha1.LoadBalancer) {
	near := b.behind(port{f.name, inside})
	for _, r := range near.routers {
		b.fail(f.object, f.path+".mode", string(spec.Mode), "router %q lies between the load balancer and its backends, and would look for the virtual address; have them on the link behind the load balancer, or use mode NAT", r.name)
	}
	onLink := func(a netip.Addr) bool {
		return near.elements || len(near.routers) > 0 || slices.ContainsFunc(near.interfaces, func(i *chainInterface) bool { return !i.prefix.IsValid() || i.prefix.Masked().Contains(a) })
	}
	for i, k := range spec.Backends {
		field := index(f.path+".backends", i)
		if k.Port != 0 {
			b.fail(f.object, field+".port", strconv.Itoa(int(k.Port)), "mode DSR sends packets as they came, to the port that the client chose; leave it out, or use mode NAT")
		}
		if a, problem := rules.ParseAddress(string(k.Address)); problem == nil && !onLink(a) {
			b.fail(f.object, field+".address", a.String(), "is in the prefix of no interface behind the load balancer; mode DSR sends packets to the backend's MAC address, so it has to be on-link")
		}
	}
	for _, g := range slices.Concat(near.between, b.behind(port{f.name, outside}).between) {
		if missesReplies(g) {
			b.warn(f.object, f.path+".mode", string(spec.Mode), "servers reply past %q, which has to see both directions; use mode NAT, or take the function off the way", g.name)
		}
	}
}

// missesReplies tells whether flows break at a function of which it sees one direction: their addresses change there, or replies say what fits.
func missesReplies(f *function) bool {
	w, ok := f.kind.(firewall)
	return is[napt](f) || ok && w.spec.Tracking != nil && w.spec.Tracking.Strict
}

// healthCheck reads how backends are checked.
func (b *builder) healthCheck(f *function, spec *v1alpha1.HealthCheck, backends []element.Backend) *element.HealthCheck {
	field := f.path + ".healthCheck"
	h := &element.HealthCheck{
		Interval: b.timeout(f, field+".interval", spec.Interval), Timeout: b.timeout(f, field+".timeout", spec.Timeout),
		Unhealthy: int(spec.UnhealthyThreshold), Healthy: int(spec.HealthyThreshold),
	}
	what := ".tcp.port"
	switch {
	case spec.HTTP != nil:
		h.HTTP, h.Port, what = spec.HTTP.Path, uint16(spec.HTTP.Port), ".http.port"
	case spec.TCP != nil:
		h.Port = uint16(spec.TCP.Port)
	}
	if i := slices.IndexFunc(backends, func(k element.Backend) bool { return k.Port == 0 }); i >= 0 && h.Port == 0 {
		b.fail(f.object, field+what, "", "backend %s has no port of its own; say to which port checks go, as in port: 80", backends[i].Addr)
	}
	return h
}
