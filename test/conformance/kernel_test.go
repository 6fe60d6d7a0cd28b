package conformance

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// kernel is a chain built from Linux's own means: a namespace per router, and the firewalls and NAPTs on the way from
// a router to its neighbour as rules of nftables at that device.
type kernel struct {
	scenario *scenario
	spec     *v1alpha1.ServiceChainSpec
	wires    map[v1alpha1.Endpoint]v1alpha1.Endpoint
	routers  []*kernelRouter
	ends     map[string]lab.End // where each interface's device is to be
}

type kernelRouter struct {
	name  string
	spec  *v1alpha1.Router
	space *lab.Space
	legs  []*leg
}

// leg is what lies behind a router's port, whose device is named like it: functions in a row, and at their end an
// interface (its device has the interface's name) or another router's port.
type leg struct {
	port      string
	device    string
	functions []standing
	iface     *link
	own       []string // addresses of all interfaces
	peer      v1alpha1.Endpoint
}

// standing is a function on a leg; toward is its side that looks to the router.
type standing struct {
	*v1alpha1.Function
	toward v1alpha1.Side
}

// newKernel makes the namespaces and the devices between them.
func newKernel(t *testing.T, s *scenario, spec *v1alpha1.ServiceChainSpec) *kernel {
	t.Helper()
	k := &kernel{scenario: s, spec: spec, wires: wiring(spec), ends: map[string]lab.End{}}
	for i := range spec.Functions {
		if f := &spec.Functions[i]; f.Router != nil {
			k.routers = append(k.routers, k.newRouter(t, f))
		}
	}
	for _, r := range k.routers {
		for _, l := range r.legs {
			if l.iface != nil {
				k.ends[l.iface.name] = lab.End{Space: r.space, Device: l.device}
			} else {
				k.join(t, r, l)
			}
		}
	}
	return k
}

// wiring is which port leads to which; a path is built from the ports inside and outside.
func wiring(spec *v1alpha1.ServiceChainSpec) map[v1alpha1.Endpoint]v1alpha1.Endpoint {
	w := map[v1alpha1.Endpoint]v1alpha1.Endpoint{}
	connect := func(a, b v1alpha1.Endpoint) { w[a], w[b] = b, a }
	port := func(i int, side string) v1alpha1.Endpoint {
		for _, f := range spec.Functions {
			if string(f.Name) == string(spec.Path[i]) {
				return spec.Path[i] + v1alpha1.Endpoint("."+side)
			}
		}
		return spec.Path[i]
	}
	for i := 1; i < len(spec.Path); i++ {
		connect(port(i-1, "outside"), port(i, "inside"))
	}
	for _, l := range spec.Links {
		connect(l.From, l.To)
	}
	return w
}

func (k *kernel) newRouter(t *testing.T, f *v1alpha1.Function) *kernelRouter {
	t.Helper()
	r := &kernelRouter{name: string(f.Name), spec: f.Router, space: lab.New(t, "linux "+string(f.Name))}
	ports := []string{"inside", "outside"}
	if len(r.spec.Ports) > 0 {
		ports = nil
		for _, p := range r.spec.Ports {
			ports = append(ports, string(p.Name))
		}
	}
	for _, p := range ports {
		r.legs = append(r.legs, k.follow(r.name, p))
	}
	for _, s := range slices.Concat(kernelSettings, k.scenario.settings) {
		r.space.Sysctl(t, s.key, s.value)
	}
	return r
}

// setting is a kernel parameter.
type setting struct{ key, value, why string }

// kernelSettings make a Linux host a router whose answers do not depend on how often it is asked.
var kernelSettings = []setting{
	{"net.ipv4.ip_forward", "1", "a router"},
	{"net.ipv4.icmp_ratemask", "0", "every packet gets its error, as RFC 1812 section 4.3.2.8 allows"},
	{"net.ipv4.icmp_errors_use_inbound_ifaddr", "1", "errors of Sinter come from the interface by which the packet came in, so that traceroute shows the packet's way; RFC 1812 section 4.3.2.4 wants that by which the error leaves"},
	{"net.ipv4.conf.all.send_redirects", "0", "Sinter sends no redirects. RFC 1812 section 5.2.7.2 asks for them only where packets come from a neighbour who might use them"},
	{"net.ipv4.conf.default.send_redirects", "0", "the same"},
	{"net.ipv4.conf.all.arp_ignore", "1", "ARP answers for the addresses of the interface that was asked alone: RFC 826, RFC 1812 section 3.3.2"},
	{"net.ipv4.conf.all.rp_filter", "0", "what Sinter checks of sources is compared, not assumed"},
	{"net.ipv4.conf.default.rp_filter", "0", "the same"},
	{"net.ipv4.fwmark_reflect", "1", "tells a firewall's rejections from what the router sends, which it judges"},
	{"net.netfilter.nf_conntrack_checksum", "0", "a NAPT verifies no checksums of hosts: RFC 3022 section 4.2"},
	{"net.netfilter.nf_conntrack_tcp_be_liberal", "1", "nor sequence numbers"},
	{"net.netfilter.nf_conntrack_udp_timeout", "300", "as Sinter by default: RFC 4787 section 4.3"},
	{"net.netfilter.nf_conntrack_udp_timeout_stream", "300", "the same"},
	{"net.netfilter.nf_conntrack_icmp_timeout", "60", "as Sinter by default: RFC 5508 section 3.2"},
}

// follow goes from a router's port to what lies behind it.
func (k *kernel) follow(router, port string) *leg {
	l := &leg{port: port}
	for _, i := range k.scenario.interfaces {
		l.own = append(append(l.own, i.prefix().Addr().String()), i.more...)
	}
	at := k.wires[v1alpha1.Endpoint(router+"."+port)]
	for {
		name, side, _ := strings.Cut(string(at), ".")
		for i := range k.scenario.interfaces {
			if k.scenario.interfaces[i].name == name {
				l.iface, l.device = &k.scenario.interfaces[i], name
				return l
			}
		}
		f := k.function(name)
		if f == nil || f.Router != nil {
			l.peer, l.device = at, "to-"+port
			return l
		}
		s := standing{f, v1alpha1.SideInside}
		other := "outside"
		if side == "outside" {
			s.toward, other = v1alpha1.SideOutside, "inside"
		}
		l.functions = append(l.functions, s)
		at = k.wires[v1alpha1.Endpoint(name+"."+other)]
	}
}

func (k *kernel) function(name string) *v1alpha1.Function {
	for i := range k.spec.Functions {
		if string(k.spec.Functions[i].Name) == name {
			return &k.spec.Functions[i]
		}
	}
	return nil
}

// join makes the pair of devices between two routers, when the first of them is seen.
func (k *kernel) join(t *testing.T, r *kernelRouter, l *leg) {
	t.Helper()
	name, port, _ := strings.Cut(string(l.peer), ".")
	var other *kernelRouter
	for _, o := range k.routers {
		if o.name == name {
			other = o
		}
	}
	if other == nil || r.name >= other.name {
		return
	}
	mine, theirs := r.address(l.port), other.address(port)
	a := lab.End{Space: r.space, Device: l.device}
	b := lab.End{Space: other.space, Device: "to-" + port}
	lab.Cable(t, a, b)
	for _, e := range []struct {
		lab.End
		own, peer v1alpha1.Address
		other     lab.End
	}{{a, mine, theirs, b}, {b, theirs, mine, a}} {
		e.Space.Run(t, "ip", "address", "add", string(e.own)+"/32", "peer", string(e.peer)+"/32", "dev", e.Device)
		mac := e.other.Space.MAC(t, e.other.Device)
		e.Space.Run(t, "ip", "neighbor", "replace", string(e.peer), "lladdr", macText(mac), "nud", "permanent", "dev", e.Device)
	}
}

// address is a router's on a port.
func (r *kernelRouter) address(port string) v1alpha1.Address {
	for _, p := range r.spec.Ports {
		if string(p.Name) == port {
			return p.Address
		}
	}
	return ""
}

// configure gives the devices their addresses, neighbours, routes and rules, when all are there.
func (k *kernel) configure(t *testing.T) {
	t.Helper()
	for _, r := range k.routers {
		for _, l := range r.legs {
			if l.iface != nil {
				l.address(t, r.space, k.scenario)
			}
		}
	}
	for _, r := range k.routers {
		var batch strings.Builder
		for i := range r.spec.Routes {
			fmt.Fprintf(&batch, "route add %s\n", r.route(&r.spec.Routes[i]))
		}
		r.routeBySource(&batch)
		feed(t, r.space, batch.String(), "ip", "-batch", "-")
		if rules := r.ruleset(); rules != "" {
			feed(t, r.space, rules, "nft", "-f", "-")
		}
	}
}

func (l *leg) address(t *testing.T, s *lab.Space, sc *scenario) {
	t.Helper()
	s.Run(t, "ip", "address", "add", l.iface.address, "broadcast", "+", "dev", l.device)
	for _, a := range l.iface.more {
		s.Run(t, "ip", "address", "add", a+"/32", "dev", l.device)
	}
	var batch strings.Builder
	for i := range sc.interfaces {
		if &sc.interfaces[i] != l.iface {
			continue
		}
		for _, h := range l.iface.neighbors() {
			fmt.Fprintf(&batch, "neighbor replace %s lladdr %s nud permanent dev %s\n", h, macText(hostMAC(i, h)), l.device)
		}
	}
	feed(t, s, batch.String(), "ip", "-batch", "-")
}

var routeTypes = map[v1alpha1.RouteType]string{
	v1alpha1.RouteDiscard: "blackhole", v1alpha1.RouteUnreachable: "unreachable", v1alpha1.RouteProhibit: "prohibit",
}

// routeBySource gives each prefix of sources that routes know a table of all routes, those for its
// packets among them, and a rule. Rules of longer prefixes come first: to their packets, the
// shorter one is a prefix that holds them all.
func (r *kernelRouter) routeBySource(batch *strings.Builder) {
	var sources []netip.Prefix
	for _, p := range r.spec.Routes {
		for _, e := range p.BySource {
			for _, s := range e.From {
				sources = append(sources, netip.MustParsePrefix(string(s)))
			}
		}
	}
	slices.SortFunc(sources, func(a, b netip.Prefix) int {
		return cmp.Or(cmp.Compare(b.Bits(), a.Bits()), a.Addr().Compare(b.Addr()))
	})
	for i, s := range slices.Compact(sources) {
		table := 1000 + i
		fmt.Fprintf(batch, "rule add from %s lookup %d priority %d\n", s, table, table)
		for _, l := range r.legs {
			if l.iface != nil {
				fmt.Fprintf(batch, "route add %s dev %s table %d\n", l.iface.prefix().Masked(), l.device, table)
			}
		}
		for k := range r.spec.Routes {
			p := r.spec.Routes[k]
			holds := func(e v1alpha1.RouteBySource) bool {
				return slices.ContainsFunc(e.From, func(f v1alpha1.Prefix) bool {
					from := netip.MustParsePrefix(string(f))
					return from.Bits() <= s.Bits() && from.Contains(s.Addr())
				})
			}
			if e := slices.IndexFunc(p.BySource, holds); e >= 0 {
				p.Type, p.Port, p.Via = p.BySource[e].Type, p.BySource[e].Port, p.BySource[e].Via
			}
			fmt.Fprintf(batch, "route add %s table %d\n", r.route(&p), table)
		}
	}
}

// route is a route as ip(8) takes it.
func (r *kernelRouter) route(p *v1alpha1.Route) string {
	if kind := routeTypes[p.Type]; kind != "" {
		return kind + " " + string(p.Prefix)
	}
	for _, l := range r.legs {
		if l.port != string(p.Port) {
			continue
		}
		via := string(p.Via)
		if via == "" && l.iface != nil {
			via = l.iface.gateway
		}
		text := string(p.Prefix)
		if via != "" {
			text += " via " + via
		}
		return text + " dev " + l.device
	}
	return string(p.Prefix) + " dev lo"
}

// feed runs a program in a namespace with a text on its standard input.
func feed(t *testing.T, s *lab.Space, text, name string, args ...string) {
	t.Helper()
	cmd := s.Command(name, args...)
	var said strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), &said, &said
	err := s.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		t.Fatalf("%s: %s: %v\n%s\n%s", s.Name, name, err, said.String(), text)
	}
}
