package draw

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/test/packets"
	"github.com/sinter-nfv/sinter/test/repository"
)

// network draws a chain shaped like a real network, as a user would write it: routers in a random topology, with tables like those
// of real routers. Their mistakes are drawn too: summaries with holes, defaults that point at each other, more specific
// routes that lead elsewhere. So packets go round in it until their TTL ends.
type network struct {
	*rand.Rand
	spec    v1alpha1.ServiceChainSpec
	routers []*router
	edges   []edge
	away    []netip.Prefix // what lies behind the edges' gateways
	origin  []int          // by which edge: of the same index in away
	walls   int
	divided int  // routes with entries by source
	careful bool // no route leads astray: what loops is in the holes of summaries
}

// router is one that is being drawn.
type router struct {
	name   string
	block  netip.Prefix // what others may know it by; its edges and addresses are within
	links  []int        // routers next to it
	next   []int        // by router: the neighbour on the shortest way there
	edges  []int
	spec   v1alpha1.Router
	known  map[netip.Prefix]bool // those that spec has routes of
	routes int                   // to be drawn, about
}

// edge is a chain interface.
type edge struct {
	router  int
	prefix  netip.Prefix
	gateway netip.Addr
}

const (
	maxRouters = 24
	// maxRoutes bounds a network's routes, so that one with the largest tables has fewer routers.
	maxRoutes = 40_000
	// maxDivided bounds the routes that are divided by source, so that a router may have all of
	// them and an address at each port.
	maxDivided = 20
)

// NewNetwork draws the network of a seed.
func NewNetwork(seed uint64) *network {
	n := &network{Rand: rand.New(rand.NewPCG(seed, 0))}
	n.careful = n.chance(3)
	size := 1 + int(maxRouters*math.Pow(n.Float64(), 1.5))
	for i := range size {
		routes := int(10 * math.Pow(400, n.Float64()))
		n.routers = append(n.routers, &router{
			name: fmt.Sprintf("r%d", i), block: netip.PrefixFrom(Addr4(10, i, 0, 0), 16), next: make([]int, size),
			known: map[netip.Prefix]bool{}, routes: min(routes, maxRoutes/size),
		})
	}
	n.connect()
	n.findWays()
	for i := range 1 + n.IntN(6) {
		n.attach(i)
	}
	n.borrow()
	for i, r := range n.routers {
		n.route(i, r)
		n.spec.Functions = append(n.spec.Functions, v1alpha1.Function{Name: v1alpha1.Name(r.name), FunctionKinds: v1alpha1.FunctionKinds{Router: &r.spec}})
	}
	return n
}

// chain is the network as an object.
func (n *network) chain(name string) *v1alpha1.ServiceChain {
	c := &v1alpha1.ServiceChain{Spec: n.spec}
	c.Name = name
	return c
}

// chance is true once in so many times.
func (n *network) chance(in int) bool { return n.IntN(in) == 0 }

// connect links the routers: in a line, a ring, a star or a tree, and some as a mesh on top of it.
func (n *network) connect() {
	shape := n.IntN(5)
	for i := 1; i < len(n.routers); i++ {
		switch shape {
		case 0, 1: // line, ring
			n.link(i-1, i)
		case 2:
			n.link(0, i)
		default:
			n.link(n.IntN(i), i)
		}
	}
	last := len(n.routers) - 1
	if shape == 1 && last > 1 {
		n.link(0, last)
	}
	if shape == 4 {
		for range n.IntN(len(n.routers)) {
			if a, b := n.IntN(last+1), n.IntN(last+1); a < b {
				n.link(a, b)
			}
		}
	}
}

// link joins two routers, sometimes with a firewall in between. Links lead from the lower number to the higher one: so none leads back.
func (n *network) link(a, b int) {
	for _, other := range n.routers[a].links {
		if other == b {
			return
		}
	}
	n.routers[a].links = append(n.routers[a].links, b)
	n.routers[b].links = append(n.routers[b].links, a)
	n.wire(n.port(a, fmt.Sprintf("to%d", b)), n.port(b, fmt.Sprintf("to%d", a)), 4)
}

// port gives a router a port; some have an address.
func (n *network) port(router int, name string) v1alpha1.Endpoint {
	r := n.routers[router]
	p := v1alpha1.RouterPort{Name: v1alpha1.Name(name)}
	if r.routes < 300 && n.chance(6) {
		p.Address = v1alpha1.Address(Addr4(10, router, 254, len(r.spec.Ports)).String())
	}
	r.spec.Ports = append(r.spec.Ports, p)
	return v1alpha1.Endpoint(r.name + "." + name)
}

// wire links two ends, one time in so many with a firewall in between.
func (n *network) wire(a, b v1alpha1.Endpoint, firewall int) {
	if n.walls < 30 && n.chance(firewall) {
		n.walls++
		name := fmt.Sprintf("fw%d", n.walls)
		n.spec.Functions = append(n.spec.Functions, v1alpha1.Function{
			Name: v1alpha1.Name(name), FunctionKinds: v1alpha1.FunctionKinds{Firewall: n.firewall()},
		})
		n.spec.Links = append(n.spec.Links, v1alpha1.Link{From: a, To: v1alpha1.Endpoint(name + ".inside")})
		a = v1alpha1.Endpoint(name + ".outside")
	}
	n.spec.Links = append(n.spec.Links, v1alpha1.Link{From: a, To: b})
}

func (n *network) firewall() *v1alpha1.Firewall {
	f := &v1alpha1.Firewall{Default: v1alpha1.ActionAccept, CountRules: n.chance(2)}
	rules := n.IntN(12)
	if n.chance(6) {
		rules = 60 + n.IntN(190)
	}
	for range rules {
		r := v1alpha1.FirewallRule{Action: v1alpha1.ActionAccept, From: []v1alpha1.Side{"", v1alpha1.SideInside, v1alpha1.SideOutside}[n.IntN(3)]}
		if n.chance(2) {
			r.Action = v1alpha1.ActionDrop
		}
		if n.chance(2) {
			r.Source = []v1alpha1.AddressSet{n.addresses()}
		}
		if n.chance(2) {
			r.Destination = []v1alpha1.AddressSet{n.addresses()}
		}
		switch proto := intstr.FromString([]string{"icmp", "tcp", "udp"}[n.IntN(3)]); {
		case n.chance(3):
			r.Protocol = &proto
		case proto.StrVal != "icmp" && !n.chance(3):
			r.Protocol = &proto
			r.DestinationPorts = []intstr.IntOrString{intstr.FromString(fmt.Sprintf("%d-%d", 1+n.IntN(1024), 1024+n.IntN(64512)))}
		case len(r.Source)+len(r.Destination) == 0:
			r.Source = []v1alpha1.AddressSet{n.addresses()}
		}
		f.Rules = append(f.Rules, r)
	}
	if n.chance(4) {
		f.Default = v1alpha1.ActionDrop
		for _, proto := range []string{"udp", "icmp"} {
			f.Rules = append(f.Rules, v1alpha1.FirewallRule{
				Action: v1alpha1.ActionAccept, Match: v1alpha1.Match{Protocol: new(intstr.FromString(proto))},
			})
		}
	}
	return f
}

// addresses are within a router's block, or anywhere.
func (n *network) addresses() v1alpha1.AddressSet {
	p := RealPrefixes()[n.IntN(len(RealPrefixes()))]
	if !n.chance(4) {
		p = n.within(n.routers[n.IntN(len(n.routers))].block, 12)
	}
	return v1alpha1.AddressSet(p.String())
}

// within draws a prefix in p, longer by up to so many bits.
func (n *network) within(p netip.Prefix, bits int) netip.Prefix {
	length := min(p.Bits()+n.IntN(bits+1), 32)
	a := packets.Number(p.Addr()) | n.Uint32()&uint32(uint64(1)<<(32-p.Bits())-1)
	return netip.PrefixFrom(Addr4(int(a>>24), int(a>>16), int(a>>8), int(a)), length).Masked()
}

// findWays finds the shortest ways; of several that are as short, each router chooses its own, so that
// answers may come another way.
func (n *network) findWays() {
	for to := range n.routers {
		dist := make([]int, len(n.routers))
		todo := []int{to}
		for len(todo) > 0 {
			at := todo[0]
			todo = todo[1:]
			for _, i := range n.Perm(len(n.routers[at].links)) {
				from := n.routers[at].links[i]
				if from == to || dist[from] > 0 {
					continue
				}
				dist[from] = dist[at] + 1
				n.routers[from].next[to] = at
				todo = append(todo, from)
			}
		}
	}
}

// attach gives some router an interface with a net of hosts.
func (n *network) attach(i int) {
	at := n.IntN(len(n.routers))
	r := n.routers[at]
	prefix := netip.PrefixFrom(Addr4(10, at, i, 1), []int{24, 26, 28, 28, 29, 30}[n.IntN(6)])
	e := edge{router: at, prefix: prefix}
	name := fmt.Sprintf("if%d", i)
	face := v1alpha1.Interface{Name: v1alpha1.Name(name), Address: v1alpha1.Prefix(prefix.String()), MTU: 1500}
	if n.chance(5) {
		face.MTU = 576
	}
	if !n.chance(8) {
		e.gateway = prefix.Addr().Next()
		face.Gateway = v1alpha1.Address(e.gateway.String())
	}
	n.spec.Interfaces = append(n.spec.Interfaces, face)
	r.edges = append(r.edges, i)
	n.edges = append(n.edges, e)
	n.wire(n.port(at, name), v1alpha1.Endpoint(name), 3)
}

// borrow takes runs of neighbouring prefixes, nested as they are, from a real table, each run to lie behind an edge.
func (n *network) borrow() {
	most := 0
	for _, r := range n.routers {
		most = max(most, r.routes)
	}
	all, seen := RealPrefixes(), map[netip.Prefix]bool{}
	for tries := 0; len(n.away) < most && tries < 4*most; tries++ {
		at, edge := n.IntN(len(all)), n.IntN(len(n.edges))
		for _, p := range all[at:min(at+1+n.IntN(40), len(all))] {
			if seen[p] {
				continue
			}
			seen[p] = true
			if n.chance(8) {
				edge = n.IntN(len(n.edges)) // a customer of another provider
			}
			n.away, n.origin = append(n.away, p), append(n.origin, edge)
		}
	}
}

// route draws a router's table.
func (n *network) route(at int, r *router) {
	if !n.chance(6) {
		r.spec.Address = v1alpha1.Address(Addr4(10, at, 255, 1).String())
	}
	for range n.IntN(1 + min(12, r.routes/4)) {
		n.astray(r)
	}
	// To the others: by their nets, by their blocks, which have holes, or by a default route alone.
	style := n.IntN(3)
	for other, o := range n.routers {
		if other == at {
			continue
		}
		if style == 0 {
			for _, e := range o.edges {
				n.toward(at, n.edges[e].prefix.Masked(), other, -1)
			}
			n.toward(at, netip.PrefixFrom(Addr4(10, other, 255, 1), 32), other, -1)
		} else if style == 1 || n.chance(3) {
			n.toward(at, o.block, other, -1)
		}
	}
	if n.chance(3) { // what everybody has, as one
		n.toward(at, netip.MustParsePrefix("10.0.0.0/8"), n.IntN(len(n.routers)), -1)
	}
	first := n.IntN(len(n.away))
	for i := 0; i < len(n.away) && len(r.spec.Routes) < r.routes; i++ {
		i := (first + i) % len(n.away)
		n.toward(at, n.away[i], n.edges[n.origin[i]].router, n.origin[i])
	}
	if n.chance(8) {
		return
	}
	anywhere := netip.MustParsePrefix("0.0.0.0/0")
	if exit := 0; !n.careful && n.chance(4) {
		n.by(r, anywhere, n.IntN(len(r.spec.Ports)))
	} else {
		n.toward(at, anywhere, n.edges[exit].router, exit)
	}
}

// toward adds a route to a router, or an edge of it. A router without such an edge sends it anywhere.
func (n *network) toward(at int, p netip.Prefix, to, edge int) {
	r := n.routers[at]
	want := fmt.Sprintf("to%d", r.next[to])
	if at == to {
		want = fmt.Sprintf("if%d", edge)
	}
	for i, port := range r.spec.Ports {
		if string(port.Name) == want {
			n.by(r, p, i)
			return
		}
	}
	n.astray(r)
}

// astray adds a route that nobody planned: within a block or a real prefix, or over one, by any port or nowhere.
func (n *network) astray(r *router) {
	if n.careful {
		return
	}
	p := n.routers[n.IntN(len(n.routers))].block
	if len(n.away) > 0 && n.chance(2) {
		p = n.away[n.IntN(len(n.away))]
	}
	if n.chance(4) {
		p = netip.PrefixFrom(p.Addr(), p.Bits()-n.IntN(3)).Masked()
	} else {
		p = n.within(p, 16)
	}
	if n.chance(4) {
		n.nowhere(r, p)
		return
	}
	n.by(r, p, n.IntN(len(r.spec.Ports)))
}

// nowhere adds a route that says that there is nothing, unless there is one of the prefix.
func (n *network) nowhere(r *router, p netip.Prefix) {
	if r.known[p] || p.Bits() == 0 || p.Addr().As4()[0] == 0 || p.Addr().As4()[0] >= 224 {
		return
	}
	r.known[p] = true
	kinds := []v1alpha1.RouteType{v1alpha1.RouteDiscard, v1alpha1.RouteUnreachable, v1alpha1.RouteProhibit}
	r.spec.Routes = append(r.spec.Routes, v1alpha1.Route{Prefix: v1alpha1.Prefix(p.String()), Type: kinds[n.IntN(3)]})
}

// by adds a route by a port, unless there is one of the prefix.
func (n *network) by(r *router, p netip.Prefix, port int) {
	if r.known[p] || p.Bits() > 0 && (p.Addr().As4()[0] == 0 || p.Addr().As4()[0] >= 224) {
		return
	}
	r.known[p] = true
	name := r.spec.Ports[port].Name
	out := v1alpha1.Route{Prefix: v1alpha1.Prefix(p.String()), Port: name}
	if n.chance(25) {
		out.Type = []v1alpha1.RouteType{v1alpha1.RouteDiscard, v1alpha1.RouteUnreachable, v1alpha1.RouteProhibit}[n.IntN(3)]
		out.Port = ""
		r.spec.Routes = append(r.spec.Routes, out)
		return
	}
	out.Via = n.via(name)
	if !n.careful && n.divided < maxDivided && n.chance(10) {
		n.divided++
		out.BySource = n.bySource(r)
	}
	r.spec.Routes = append(r.spec.Routes, out)
}

// via is the gateway of an edge, or nothing.
func (n *network) via(port v1alpha1.Name) v1alpha1.Address {
	for i, f := range n.spec.Interfaces {
		if f.Name == port && n.edges[i].gateway.IsValid() && !n.chance(4) {
			return v1alpha1.Address(n.edges[i].gateway.String())
		}
	}
	return ""
}

// bySource draws where packets from some of the networks go instead: by any port, or nowhere.
func (n *network) bySource(r *router) (out []v1alpha1.RouteBySource) {
	for range 1 + n.IntN(3) {
		e := v1alpha1.RouteBySource{Port: r.spec.Ports[n.IntN(len(r.spec.Ports))].Name}
		if n.chance(4) {
			e.Type, e.Port = []v1alpha1.RouteType{v1alpha1.RouteDiscard, v1alpha1.RouteUnreachable, v1alpha1.RouteProhibit}[n.IntN(3)], ""
		} else {
			e.Via = n.via(e.Port)
		}
		for range 1 + n.IntN(2) {
			p := n.edges[n.IntN(len(n.edges))].prefix.Masked()
			if n.chance(2) {
				p = n.within(p, 8)
			} else if len(n.away) > 0 && n.chance(2) {
				p = n.away[n.IntN(len(n.away))]
			}
			e.From = append(e.From, v1alpha1.Prefix(p.String()))
		}
		out = append(out, e)
	}
	return out
}

// RealPrefixes are a sample of the Internet's routes, in runs of neighbours.
var RealPrefixes = sync.OnceValue(func() []netip.Prefix {
	path, err := repository.Path("test", "data", "routes", "prefixes.txt.gz")
	if err != nil {
		panic(err)
	}
	f, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	defer f.Close() //nolint:errcheck // read only
	text, err := gzip.NewReader(f)
	if err != nil {
		panic(err)
	}
	var out []netip.Prefix
	for s := bufio.NewScanner(text); s.Scan(); {
		out = append(out, netip.MustParsePrefix(s.Text()))
	}
	return out
})

// String is the network's size.
func (n *network) String() string {
	routes := 0
	for _, r := range n.routers {
		routes += len(r.spec.Routes)
	}
	return fmt.Sprintf("%d routers, %d routes, %d firewalls, %d interfaces", len(n.routers), routes, n.walls, len(n.edges))
}

// Graph builds the chain as the compiler does for users.
func (n *network) Graph(t *testing.T) *graph.Graph {
	t.Helper()
	g, findings := graph.Build(n.chain("network"), graph.Inputs{})
	if findings.HasErrors() {
		t.Fatalf("%v: %v", n, findings)
	}
	for i := range g.Interfaces {
		Populate(&g.Interfaces[i], i)
	}
	return g
}
