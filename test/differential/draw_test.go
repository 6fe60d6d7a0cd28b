package differential

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// drawer draws random chains; every decision is rapid's, so that a chain that fails shrinks.
type drawer struct {
	*rapid.T
	builder
	// bases are the addresses, ports the ports that filters and routes are drawn around.
	bases []netip.Addr
	ports []uint64
	names int
	napts int
	// classifiers are counted, so that each rule has a counter of its own: a packet that is dropped early is one too many there, not two.
	classifiers int
	// behaviors are what the NAPTs of the chain have drawn so far.
	behaviors []behavior
	// direct are backends that are next hops, wherever packets leave then.
	direct []netip.Addr
	// hairpins says that a router sends packets back by the face that they came by.
	hairpins bool
}

// shape is a kind of chain.
type shape struct {
	name string
	draw func(*drawer)
	// exhausts says that the chain's NAPT is meant to run out of ports.
	exhausts bool
}

// shapes are the kinds of chains drawn, from the plain to the knotty.
var shapes = []shape{
	{name: "functions in a line", draw: (*drawer).line},
	{name: "NAPTs in a row", draw: (*drawer).nested},
	{name: "two zones with one prefix", draw: (*drawer).zones},
	{name: "branches around a router", draw: (*drawer).branches},
	{name: "branches around two routers", draw: (*drawer).doubleHub},
	{name: "limits in a row", draw: (*drawer).limits},
	{name: "balancers in a row", draw: (*drawer).serving},
	{name: "fixed translations", draw: (*drawer).homes},
	{name: "a pool that runs out", draw: (*drawer).smallPool, exhausts: true},
}

// drawChain draws a chain of the shape.
func drawChain(t *rapid.T, s shape) *graph.Graph {
	d := &drawer{T: t, ports: []uint64{22, 53, 80, 443, 1023, 1024, 1025, 5000, 8080, 32768, 65535}}
	for _, a := range []string{"10.0.0.7", "10.1.2.3", "192.0.2.9", "198.51.100.77", "8.8.8.8", "203.0.113.50"} {
		d.bases = append(d.bases, netip.MustParseAddr(a))
	}
	s.draw(d)
	d.limitFirst()
	d.g.Chain = fmt.Sprint(s.name, " ", d.int("lots", 0, 3)) // four names in a row are all of the first two lots
	for i := range d.g.Interfaces {
		f := &d.g.Interfaces[i]
		for _, a := range d.direct {
			if !slices.ContainsFunc(f.Neighbors, func(n graph.Neighbor) bool { return n.Addr == a }) {
				reach(f, i, a)
			}
		}
	}
	return &d.g
}

func (d *drawer) int(what string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(d.T, what) }

func (d *drawer) one(what string, in int) bool { return d.int(what, 0, in-1) == 0 }

func (d *drawer) name(kind string) string {
	d.names++
	return fmt.Sprintf("%s%d", kind, d.names)
}

func addr4(a, b, c, e int) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(a), byte(b), byte(c), byte(e)})
}

// attach adds an interface, 192.168.<i>.1, with a gateway and sometimes a small MTU. Every on-link address
// is a static neighbour: no packet waits for ARP, which the oracle does not model.
func (d *drawer) attach() side {
	i := len(d.g.Interfaces)
	prefix := netip.PrefixFrom(addr4(192, 168, i, 1), d.int("prefix length", 28, 30))
	mtu := []int{1500, 1500, 576, 68, 200}[d.int("mtu", 0, 4)]
	gateway := addr4(192, 168, i, 2)
	d.bases = append(d.bases, prefix.Addr(), gateway, gateway.Next())
	if d.one("no gateway", 8) {
		gateway = netip.Addr{}
	}
	s := d.iface(prefix, mtu, gateway)
	d.g.Interfaces[i].Refused = d.refused(prefix)
	return s
}

// refused draws the sources that an interface refuses: its own, a few of anywhere, sometimes nearly all.
func (d *drawer) refused(prefix netip.Prefix) []graph.Refused {
	taken, list := hs.Set{}, []graph.Refused(nil)
	refuse := func(s hs.Set, reason string) {
		for _, i := range s.Subtract(taken).Intervals() {
			list = append(list, graph.Refused{First: hs.AsAddr(i.Lo), Last: hs.AsAddr(i.Hi), Reason: reason})
		}
		taken = taken.Union(s)
	}
	if d.one("refuses no source", 3) {
		return nil
	}
	refuse(hs.Single(hs.Addr(prefix.Addr())), element.ReasonOwnSource)
	for range d.int("pools", 0, 6) {
		refuse(hs.Prefix(netip.PrefixFrom(d.bases[d.int("pool", 0, len(d.bases)-1)], 32)), element.ReasonPoolSource)
	}
	refuse(hs.Single(hs.Addr(netip.PrefixFrom(prefix.Addr(), 32).Addr().Next().Next())), element.ReasonBroadcastSource)
	switch d.int("reverse path", 0, 5) {
	case 0, 1:
		refuse(hs.Prefix(d.prefix()), element.ReasonReversePath)
	case 2:
		every := hs.AddrRange(addr4(0, 0, 0, 0), addr4(255, 255, 255, 255))
		refuse(every.Subtract(hs.Prefix(netip.PrefixFrom(addr4(0, 0, 0, 0), 1))).Subtract(hs.Prefix(prefix.Masked())), element.ReasonReversePath)
	}
	slices.SortFunc(list, func(a, b graph.Refused) int { return a.First.Compare(b.First) })
	return list
}

// join puts up to most functions in a row behind a face, and gives the last one's face.
func (d *drawer) join(s side, least, most int, ends [2]int) side {
	for range d.int("functions", least, most) {
		left, right := d.function(ends)
		d.link(s, left)
		s = right
	}
	return s
}

func (d *drawer) line() {
	a, b := d.attach(), d.attach()
	d.link(d.join(a, 1, 10, [2]int{0, 1}), b)
}

// nested is a line in which NAPTs are most of the functions.
func (d *drawer) nested() {
	a, b := d.attach(), d.attach()
	for range d.int("NAPTs", 2, 6) {
		left, right := d.translator(6)
		d.link(a, left)
		a = d.join(right, 0, 1, [2]int{0, 1})
	}
	d.link(a, b)
}

// zones is SNF's Figure 3: two zones with the same prefix, each behind its NAPT, share another one.
func (d *drawer) zones() {
	zone1, zone2, wan := d.attach(), d.attach(), d.attach()
	in1, out1 := d.translator(6)
	pool1 := d.lastPool()
	in2, out2 := d.translator(6)
	pool2 := d.lastPool()
	d.link(d.join(zone1, 0, 2, [2]int{0, 2}), in1)
	d.link(d.join(zone2, 0, 2, [2]int{1, 2}), in2)
	var routes []route
	for _, p := range pool1 {
		routes = append(routes, route{prefix: netip.PrefixFrom(p, 32), face: 0})
	}
	for _, p := range pool2 {
		routes = append(routes, route{prefix: netip.PrefixFrom(p, 32), face: 1})
	}
	routes = append(routes, route{prefix: netip.PrefixFrom(addr4(0, 0, 0, 0), 0), face: 2})
	faces := d.router(d.name("rt"), addr4(172, 16, 0, 1), 3, d.turns(), routes)
	d.bases = append(d.bases, addr4(172, 16, 0, 1))
	d.link(out1, faces[0])
	d.link(out2, faces[1])
	s := faces[2]
	if !d.one("without the outer NAPT", 4) {
		in, out := d.translator(6)
		d.link(s, in)
		s = out
	}
	d.link(d.join(s, 0, 2, [2]int{0, 2}), wan)
}

// branches is a router with a branch of functions to every interface.
func (d *drawer) branches() {
	n := d.int("interfaces", 3, 4)
	faces := d.drawRouter(n, func(face int) int { return face })
	for i := range n {
		s := d.attach()
		d.link(d.join(s, 0, 3, [2]int{i, (i + 1) % n}), faces[i])
	}
}

// doubleHub is two routers joined by a row of functions, each with two interfaces.
func (d *drawer) doubleHub() {
	var hubs [2][]side
	for h := range hubs {
		hubs[h] = d.drawRouter(3, func(face int) int {
			if face == 2 {
				return -1
			}
			return 2*h + face
		})
		for face := range 2 {
			d.link(d.join(d.attach(), 0, 2, [2]int{2*h + face, 0}), hubs[h][face])
		}
	}
	d.link(d.join(hubs[0][2], 0, 2, [2]int{0, 2}), hubs[1][2])
}

// smallPool is a line with a NAPT that runs out of ports. It is the only one: which of several NAPTs in a row runs
// out first depends on the ports that each chose.
func (d *drawer) smallPool() {
	d.napts = maxNAPTs
	a, b := d.attach(), d.attach()
	a = d.join(a, 0, 2, [2]int{0, 1})
	n := element.NAPT{
		Pool: []netip.Addr{addr4(100, 64, 200, 1)}, PortMin: 5000, PortMax: uint16(5000 + d.int("ports", 128, 512)),
		Timeouts: timeouts, MaxSessions: 4096,
	}
	d.behave(&n)
	if d.one("ports rest", 3) {
		n.Quarantine = time.Duration(d.int("seconds", 1, 20)) * time.Second
	}
	if d.one("limits subscribers", 2) {
		n.Limits = d.subscribers()
	}
	in, out := d.napt(d.name("nat"), n)
	d.link(a, in)
	d.link(d.join(out, 0, 2, [2]int{0, 1}), b)
}

func (d *drawer) prefix() netip.Prefix {
	a := d.bases[d.int("base", 0, len(d.bases)-1)]
	bits := []int{32, 32, 31, 30, 28, 24, 24, 20, 16, 12, 8, 1}[d.int("bits", 0, 11)]
	return netip.PrefixFrom(a, bits).Masked()
}

// functionDraws are the functions that random chains have, and how often each is drawn. A file for each draws it, to be linked
// between two others; ends are the interfaces that its faces lead to.
var functionDraws = []struct {
	often int
	draw  func(d *drawer, ends [2]int) (left, right side)
}{
	{3, drawFirewall},
	{2, drawTwoSidedRouter},
	{2, drawNAPT},
	{1, drawMonitor},
	{1, drawElements},
	{1, drawTee},
	{1, (*drawer).balancer},
	{1, drawVLAN},
	{2, drawLimiter},
	{1, drawServing},
	{2, drawStateful},
	{2, drawConnLimit},
	{1, drawStatic},
	{1, drawInspection},
}

// function draws one of the functions.
func (d *drawer) function(ends [2]int) (left, right side) {
	all := 0
	for _, f := range functionDraws {
		all += f.often
	}
	at := d.int("function", 0, all-1)
	for _, f := range functionDraws {
		if at -= f.often; at < 0 {
			return f.draw(d, ends)
		}
	}
	panic("more is drawn than there is")
}
