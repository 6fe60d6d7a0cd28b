package draw

import (
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// drawServing draws a load balancer with sessions: clients on one side, the backends behind the other one.
func drawServing(d *Drawer, ends [2]int) (left, right Side) {
	name := d.name("lb")
	to := ends[1]
	turned := d.one("clients on the right", 3)
	if turned {
		to = ends[0]
	}
	e := element.Balancer{
		ByClient: d.one("by client", 3), MaxSessions: 1 << 16, Timeouts: d.timeouts(),
		NoBackend: name + "/no-backend", Full: name + "/full", NoSession: name + "/no-session",
	}
	if d.one("direct", 4) {
		e.Direct, e.Stateless = true, d.one("stateless", 2)
	}
	for i := range d.int("virtual addresses", 1, 3) {
		e.Virtual = append(e.Virtual, Addr4(172, 31, d.names, 1+i))
	}
	for i := range d.int("backends", 1, 5) {
		k := element.Backend{Addr: Addr4(192, 168, to, 2+i), Weight: []int{1, 1, 2, 7, 256, 0}[d.int("weight", 0, 5)]}
		if d.one("behind the next hop", 3) && !e.Direct {
			k.Addr = Addr4(10, 1, to, 2+i)
		}
		if d.one("own port", 4) && !e.Direct {
			k.Port = 8080
		}
		e.Backends = append(e.Backends, k)
	}
	if d.one("two ports of a backend", 3) && !e.Direct {
		e.Backends = append(e.Backends, element.Backend{Addr: e.Backends[0].Addr, Port: 8081, Weight: 1})
	}
	slices.SortFunc(e.Backends, func(x, y element.Backend) int {
		return netip.AddrPortFrom(x.Addr, x.Port).Compare(netip.AddrPortFrom(y.Addr, y.Port))
	})
	d.bases = append(d.bases, e.Virtual...)
	for _, k := range e.Backends {
		d.bases = append(d.bases, k.Addr)
		if e.Direct {
			d.direct = append(d.direct, k.Addr)
		}
	}
	n := d.Add(name, "balancer", e)
	clients := Side{In: graph.Edge{To: n, Port: element.BalancerClients}, Outs: []graph.Edge{{To: n, Port: element.BalancerClients}}}
	backends := Side{In: graph.Edge{To: n, Port: element.BalancerBackends}, Outs: []graph.Edge{{To: n, Port: element.BalancerBackends}}}
	if turned {
		return backends, clients
	}
	return clients, backends
}

// Serving is a line with one to three load balancers among other functions.
func (d *Drawer) Serving() {
	a, b := d.attach(), d.attach()
	ends := [2]int{0, 1}
	a = d.join(a, 0, 1, ends)
	for range d.int("balancers", 1, 3) {
		left, right := drawServing(d, ends)
		d.Link(a, left)
		a = d.join(right, 0, 2, ends)
	}
	d.Link(a, b)
}
