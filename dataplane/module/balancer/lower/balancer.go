// Package lower lowers load balancers: what is sent to virtual addresses, and what backends reply, goes by an element that chooses.
package lower

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
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	lower.Register("loadBalancer", func(k *v1alpha1.FunctionKinds) *v1alpha1.LoadBalancer { return k.LoadBalancer }, func(s *v1alpha1.LoadBalancer) lower.Kind { return loadBalancer{spec: s} })
	lower.When(lower.Lowered, checkTranslated)
}

type loadBalancer struct {
	lower.TwoSided
	spec *v1alpha1.LoadBalancer
}

// Answers: pings and what no service is for are answered to the clients.
func (loadBalancer) Answers(*lower.Builder) bool { return true }

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

// Lower makes "lb/balancer", and before it per direction a classifier, "lb/outside" and "lb/inside". What is sent to a virtual address, but to
// no service, ends at "lb/host".
func (l loadBalancer) Lower(b *lower.Builder, f *lower.Function) {
	services := readServices(b, f, l.spec)
	e := readBalancer(b, f, l.spec)
	node := b.Add(f.Name, f.Name+"/balancer", e)
	fragment := b.AddOnce(f, f.Name+"/fragment")
	if b.Reached(f.Port(lower.Outside)) {
		n := b.Add(f.Name, f.Name+"/outside", fromClients(f.Name, services, e))
		f.Entry[lower.Outside] = lower.Edge{To: n}
		b.Exit(n, balancerPasses, f, lower.Inside)
		b.Lead(n, toBalancer, lower.Edge{To: node, Port: element.BalancerClients})
		b.Wire(n, toFragment, fragment())
		host := b.Add(f.Name, f.Name+"/host", element.LocalHost{})
		b.Wire(n, toVirtualHost, host)
		b.Exit(host, 0, f, lower.Outside)
		b.AnswersFrom(host, f.Port(lower.Outside))
		b.Exit(node, element.BalancerBackends, f, lower.Inside)
	}
	if b.Reached(f.Port(lower.Inside)) {
		n := b.Add(f.Name, f.Name+"/inside", fromBackends(f.Name, services, e))
		f.Entry[lower.Inside] = lower.Edge{To: n}
		b.Exit(n, balancerPasses, f, lower.Outside)
		if e.Direct {
			return
		}
		b.Lead(n, toBalancer, lower.Edge{To: node, Port: element.BalancerBackends})
		b.Wire(n, toFragment, fragment())
		b.Exit(node, element.BalancerClients, f, lower.Outside)
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
		element.Rule{Name: name + "/errors", Filters: []headerspace.Filter{lower.ICMPErrors.Intersect(virtual)}, Out: toBalancer},
		element.Rule{Name: name + "/fragments", Filters: []headerspace.Filter{lower.Fragments.Intersect(virtual).With(headerspace.Proto, protosOf(services))}, Out: toFragment},
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
			replies = append(replies, lower.WholePackets.With(headerspace.Proto, headerspace.Single(proto.Lo)).
				With(headerspace.Src, g.addresses).With(headerspace.SPort, ports))
		}
	}
	fragments := lower.Fragments.With(headerspace.Proto, protosOf(services)).With(headerspace.Src, e.BackendSet())
	return element.Classifier{
		Default: balancerPasses, Outs: toFragment + 1,
		Rules: []element.Rule{
			{Name: name + "/replies", Filters: replies, Out: toBalancer},
			{Name: name + "/errors-back", Filters: []headerspace.Filter{lower.ICMPErrors}, Out: toBalancer},
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

// readServices reads the virtual services, and notes their addresses.
func readServices(b *lower.Builder, f *lower.Function, spec *v1alpha1.LoadBalancer) []service {
	var list []service
	names := map[string]string{}
	for _, own := range []string{lower.Inside, lower.Outside, "balancer", "host", "errors", "errors-back", "fragments", "fragments-back", "addresses", "replies", "fragment"} {
		names[own] = "the load balancer itself"
	}
	for i := range spec.Virtual {
		v := &spec.Virtual[i]
		field := lower.Index(f.Path+".virtual", i)
		name := cmp.Or(string(v.Name), fmt.Sprintf("virtual-%d", i+1))
		b.TakeName(names, f.Object, field, name, "services")
		if s, ok := readService(b, f, field, f.Name+"/"+name, v); ok {
			checkServices(b, f, field, list, s)
			list = append(list, s)
		}
	}
	return list
}

// readService reads a virtual service as the match that it is.
func readService(b *lower.Builder, f *lower.Function, field, name string, v *v1alpha1.VirtualService) (service, bool) {
	proto := intstr.FromString(strings.ToLower(string(v.Protocol)))
	m := v1alpha1.Match{Protocol: &proto, DestinationPorts: v.Ports}
	filter, problems := rules.Filter(&m)
	ok := true
	for i := range problems {
		problems[i].Field = strings.Replace(problems[i].Field, "destinationPorts", "ports", 1)
		ok = b.Problem(f.Object, field, &problems[i]) && ok
	}
	var addresses headerspace.Set
	for n, s := range v.Addresses {
		at := lower.Index(field+".addresses", n)
		a, problem := rules.ParseAddress(string(s))
		if !b.Problem(f.Object, at, problem) {
			ok = false
			continue
		}
		b.Serve(&virtual{a, f.Port(lower.Outside), f.Object, at})
		addresses = addresses.Union(headerspace.Single(headerspace.Addr(a)))
	}
	p := filter.Get(headerspace.Proto).Intervals()
	if !ok || len(p) != 1 {
		return service{}, false
	}
	filter = filter.Intersect(lower.WholePackets).With(headerspace.Dst, addresses)
	return service{name, p[0].Lo, filter}, true
}

// checkServices finds a service that has an address and port of another.
func checkServices(b *lower.Builder, f *lower.Function, field string, list []service, s service) {
	for _, other := range list {
		if s.filter.Overlaps(other.filter) {
			b.Fail(f.Object, field, "", "has an address and port of %q, which gets the packets; give each service addresses or ports of its own", strings.TrimPrefix(other.name, f.Name+"/"))
			return
		}
	}
}

// readBalancer reads the backends and what else flows are spread by.
func readBalancer(b *lower.Builder, f *lower.Function, spec *v1alpha1.LoadBalancer) element.Balancer {
	e := element.Balancer{
		ByClient: spec.Affinity == v1alpha1.AffinityClient, MaxSessions: int(spec.MaxSessions),
		Direct: spec.Mode == v1alpha1.BalancerDSR, Stateless: spec.Stateless,
		NoBackend: f.Name + "/no-backend", Full: f.Name + "/full", NoSession: f.Name + "/no-session",
		Timeouts: element.Timeouts{
			TCP:           b.Timeout(f, f.Path+".timeouts.tcp", spec.Timeouts.TCP),
			TCPTransitory: b.Timeout(f, f.Path+".timeouts.tcpTransitory", spec.Timeouts.TCPTransitory),
			UDP:           b.Timeout(f, f.Path+".timeouts.udp", spec.Timeouts.UDP),
		},
	}
	e.Virtual = virtualOf(b, f)
	if from := spec.BackendsFrom; from != nil { // the operator has put the endpoints in its place
		b.Fail(f.Object, f.Path+".backendsFrom", from.ServiceRef.Name, "the endpoints of a Service are known in a cluster only; on a host, list the servers as `backends`")
	}
	e.Backends = readBackends(b, f, spec.Backends, e.Virtual)
	if e.Direct {
		checkDirect(b, f, spec)
	}
	if spec.SlowStart != "" {
		e.SlowStart = b.Timeout(f, f.Path+".slowStart", spec.SlowStart)
	}
	if spec.HealthCheck != nil {
		e.Check = healthCheck(b, f, spec.HealthCheck, e.Backends)
	}
	if len(e.Backends) > 0 && !slices.ContainsFunc(e.Backends, func(k element.Backend) bool { return k.Weight > 0 }) {
		b.Warn(f.Object, f.Path+".backends", "", "all have weight 0: new flows are dropped as %q; give one a weight above 0", e.NoBackend)
	}
	return e
}

func readBackends(b *lower.Builder, f *lower.Function, specs []v1alpha1.Backend, virtual []netip.Addr) []element.Backend {
	var list []element.Backend
	first := map[netip.AddrPort]string{}
	for i := range specs {
		field := lower.Index(f.Path+".backends", i)
		a, problem := rules.ParseAddress(string(specs[i].Address))
		if !b.Problem(f.Object, field+".address", problem) {
			continue
		}
		k := element.Backend{Addr: a, Port: uint16(specs[i].Port), Weight: 1}
		if specs[i].Weight != nil {
			k.Weight = int(*specs[i].Weight)
		}
		at := netip.AddrPortFrom(a, k.Port)
		if other, ok := first[at]; ok {
			b.Fail(f.Object, field, backendText(k), "is also %s; name each backend once, with the weight of both", other)
			continue
		}
		first[at] = field
		checkBackend(b, f, field+".address", a, virtual)
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
	at     lower.Port
	object finding.Object
	field  string
}

// virtualOf are the virtual addresses of a function, each once, ascending.
func virtualOf(b *lower.Builder, f *lower.Function) (list []netip.Addr) {
	for _, s := range b.Served() {
		if v, ok := s.(*virtual); ok && v.at.Owner == f.Name && !slices.Contains(list, v.addr) {
			list = append(list, v.addr)
		}
	}
	slices.SortFunc(list, netip.Addr.Compare)
	return list
}

// Addresses are the one.
func (v *virtual) Addresses() []netip.Addr { return []netip.Addr{v.addr} }

// At is where the clients are.
func (v *virtual) At() lower.Port { return v.at }

// Own: clients talk to the address.
func (*virtual) Own() bool { return true }

// Check finds a virtual address that belongs to others, for whom the engine would answer ARP requests.
func (v *virtual) Check(b *lower.Builder) {
	say := func(format string, args ...any) { b.Fail(v.object, v.field, v.addr.String(), format, args...) }
	if s, ok := rules.SpecialIn(rules.Range{First: v.addr, Last: v.addr}); ok {
		say("is a %s address (%s); give one that hosts can have", s.What, s.Prefix)
		return
	}
	for _, i := range b.Interfaces {
		if b.Sees(i, v.at) {
			checkVirtualAt(v.addr, i, say)
		}
	}
	checkVirtualRouters(b, v, say)
	v.checkServed(b, say)
}

// checkServed finds others that have the address.
func (v *virtual) checkServed(b *lower.Builder, say func(string, ...any)) {
	for _, s := range b.Served() {
		if !s.Own() && b.Realm(s.At()) == b.Realm(v.at) && slices.Contains(s.Addresses(), v.addr) {
			say("is in the pool of %q; give the load balancer an address of its own", s.At().Owner)
		}
	}
	for _, s := range b.Served() {
		if s == lower.Served(v) {
			break // those behind it look at this one
		}
		if s.Own() && s.At() != v.at && b.Realm(s.At()) == b.Realm(v.at) && slices.Contains(s.Addresses(), v.addr) {
			say("is a virtual address of %q, and no NAPT lies between them; give each an address of its own", s.At().Owner)
		}
	}
}

func checkVirtualAt(a netip.Addr, i *lower.Interface, say func(string, ...any)) {
	if !i.Prefix.IsValid() || slices.Contains(i.Addresses, a) {
		return
	}
	if a == i.Prefix.Addr() {
		say("is the address of interface %q; give one of its further `addresses`, or another one", i.Name)
		return
	}
	if i.Prefix.Contains(a) {
		if why := i.Refuses(a); why != "" {
			say("%s", why)
		}
	}
}

func checkVirtualRouters(b *lower.Builder, v *virtual, say func(string, ...any)) {
	for _, f := range b.RoutersAt(v.at) {
		if slices.Contains(f.Router().Own(), v.addr) {
			say("is the address of router %q; give the load balancer one of its own", f.Name)
		}
	}
	for _, h := range b.NextHopsAt(v.at) {
		if h.Addr == v.addr {
			say("is the next hop of %s; give the load balancer an address of its own", h.Field)
		}
	}
}

// checkBackend finds addresses that are no server's.
func checkBackend(b *lower.Builder, f *lower.Function, field string, a netip.Addr, virtual []netip.Addr) {
	say := func(format string, args ...any) { b.Fail(f.Object, field, a.String(), format, args...) }
	if s, ok := rules.SpecialIn(rules.Range{First: a, Last: a}); ok {
		say("is a %s address (%s); give that of a server", s.What, s.Prefix)
		return
	}
	if slices.Contains(virtual, a) {
		say("is a virtual address; give that of a server")
		return
	}
	for _, i := range b.Interfaces {
		if i.Prefix.IsValid() && slices.Contains(i.Own(), a) && b.Sees(i, f.Port(lower.Inside)) {
			say("is an address of interface %q; give that of a server", i.Name)
		}
	}
}

// checkDirect finds what keeps packets from servers to which they are sent as they came, and functions that miss their replies.
func checkDirect(b *lower.Builder, f *lower.Function, spec *v1alpha1.LoadBalancer) {
	near := b.Behind(f.Port(lower.Inside))
	for _, r := range near.Routers {
		b.Fail(f.Object, f.Path+".mode", string(spec.Mode), "router %q lies between the load balancer and its backends, and would look for the virtual address; have them on the link behind the load balancer, or use mode NAT", r.Name)
	}
	onLink := func(a netip.Addr) bool {
		return near.Unforeseen || len(near.Routers) > 0 || slices.ContainsFunc(near.Interfaces, func(i *lower.Interface) bool { return !i.Prefix.IsValid() || i.Prefix.Masked().Contains(a) })
	}
	for i, k := range spec.Backends {
		field := lower.Index(f.Path+".backends", i)
		if k.Port != 0 {
			b.Fail(f.Object, field+".port", strconv.Itoa(int(k.Port)), "mode DSR sends packets as they came, to the port that the client chose; leave it out, or use mode NAT")
		}
		if a, problem := rules.ParseAddress(string(k.Address)); problem == nil && !onLink(a) {
			b.Fail(f.Object, field+".address", a.String(), "is in the prefix of no interface behind the load balancer; mode DSR sends packets to the backend's MAC address, so it has to be on-link")
		}
	}
	for _, g := range slices.Concat(near.Between, b.Behind(f.Port(lower.Outside)).Between) {
		if g.Kind.Traits().NeedsBoth {
			b.Warn(f.Object, f.Path+".mode", string(spec.Mode), "servers reply past %q, which has to see both directions; use mode NAT, or take the function off the way", g.Name)
		}
	}
}

// healthCheck reads how backends are checked.
func healthCheck(b *lower.Builder, f *lower.Function, spec *v1alpha1.HealthCheck, backends []element.Backend) *element.HealthCheck {
	field := f.Path + ".healthCheck"
	h := &element.HealthCheck{
		Interval: b.Timeout(f, field+".interval", spec.Interval), Timeout: b.Timeout(f, field+".timeout", spec.Timeout),
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
		b.Fail(f.Object, field+what, "", "backend %s has no port of its own; say to which port checks go, as in port: 80", backends[i].Addr)
	}
	return h
}
