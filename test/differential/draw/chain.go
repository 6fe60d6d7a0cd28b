// Package draw draws random chains, networks and packets for differential tests. All that it draws is a
// seed's.
package draw

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

// Drawer draws random chains; every decision is rapid's, so that a chain that fails shrinks.
type Drawer struct {
	*rapid.T
	Builder
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

// Shape is a kind of chain.
type Shape struct {
	Name string
	Draw func(*Drawer)
	// Exhausts says that the chain's NAPT is meant to run out of ports.
	Exhausts bool
}

// Shapes are the kinds of chains drawn, from the plain to the knotty.
var Shapes = []Shape{
	{Name: "functions in a line", Draw: (*Drawer).line},
	{Name: "NAPTs in a row", Draw: (*Drawer).nested},
	{Name: "two zones with one prefix", Draw: (*Drawer).zones},
	{Name: "branches around a router", Draw: (*Drawer).branches},
	{Name: "branches around two routers", Draw: (*Drawer).doubleHub},
	{Name: "limits in a row", Draw: (*Drawer).Limits},
	{Name: "balancers in a row", Draw: (*Drawer).Serving},
	{Name: "fixed translations", Draw: (*Drawer).Homes},
	{Name: "a pool that runs out", Draw: (*Drawer).smallPool, Exhausts: true},
}

// Chain draws a chain of the shape.
func Chain(t *rapid.T, s Shape) *graph.Graph {
	d := &Drawer{T: t, ports: []uint64{22, 53, 80, 443, 1023, 1024, 1025, 5000, 8080, 32768, 65535}}
	for _, a := range []string{"10.0.0.7", "10.1.2.3", "192.0.2.9", "198.51.100.77", "8.8.8.8", "203.0.113.50"} {
		d.bases = append(d.bases, netip.MustParseAddr(a))
	}
	s.Draw(d)
	d.limitFirst()
	d.Graph.Chain = fmt.Sprint(s.Name, " ", d.int("lots", 0, 3)) // four names in a row are all of the first two lots
	for i := range d.Graph.Interfaces {
		f := &d.Graph.Interfaces[i]
		for _, a := range d.direct {
			if !f.Wire && !slices.ContainsFunc(f.Neighbors, func(n graph.Neighbor) bool { return n.Addr == a }) {
				reach(f, i, a)
			}
		}
	}
	return &d.Graph
}

func (d *Drawer) int(what string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(d.T, what) }

func (d *Drawer) one(what string, in int) bool { return d.int(what, 0, in-1) == 0 }

func (d *Drawer) name(kind string) string {
	d.names++
	return fmt.Sprintf("%s%d", kind, d.names)
}

// Addr4 is the address a.b.c.e.
func Addr4(a, b, c, e int) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(a), byte(b), byte(c), byte(e)})
}

// attach adds an interface, 192.168.<i>.1, with a gateway and sometimes a small MTU. Every on-link address
// is a static neighbour: no packet waits for ARP, which the oracle does not model.
func (d *Drawer) attach() Side {
	i := len(d.Graph.Interfaces)
	prefix := netip.PrefixFrom(Addr4(192, 168, i, 1), d.int("prefix length", 28, 30))
	mtu := []int{1500, 1500, 576, 68, 200}[d.int("mtu", 0, 4)]
	gateway := Addr4(192, 168, i, 2)
	d.bases = append(d.bases, prefix.Addr(), gateway, gateway.Next())
	if d.one("no gateway", 8) {
		gateway = netip.Addr{}
	}
	s := d.iface(prefix, mtu, gateway)
	d.Graph.Interfaces[i].Refused = d.refused(prefix)
	return s
}

// refused draws the sources that an interface refuses: its own, a few of anywhere, sometimes nearly all.
func (d *Drawer) refused(prefix netip.Prefix) []graph.Refused {
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
		every := hs.AddrRange(Addr4(0, 0, 0, 0), Addr4(255, 255, 255, 255))
		refuse(every.Subtract(hs.Prefix(netip.PrefixFrom(Addr4(0, 0, 0, 0), 1))).Subtract(hs.Prefix(prefix.Masked())), element.ReasonReversePath)
	}
	slices.SortFunc(list, func(a, b graph.Refused) int { return a.First.Compare(b.First) })
	return list
}

// join puts up to most functions in a row behind a face, and gives the last one's face.
func (d *Drawer) join(s Side, least, most int, ends [2]int) Side {
	for range d.int("functions", least, most) {
		left, right := d.function(ends)
		d.Link(s, left)
		s = right
	}
	return s
}

func (d *Drawer) line() {
	a, b := d.attach(), d.attach()
	d.Link(d.join(a, 1, 10, [2]int{0, 1}), b)
}

// nested is a line in which NAPTs are most of the functions.
func (d *Drawer) nested() {
	a, b := d.attach(), d.attach()
	for range d.int("NAPTs", 2, 6) {
		left, right := d.translator(6)
		d.Link(a, left)
		a = d.join(right, 0, 1, [2]int{0, 1})
	}
	d.Link(a, b)
}

// zones is SNF's Figure 3: two zones with the same prefix, each behind its NAPT, share another one.
func (d *Drawer) zones() {
	zone1, zone2, wan := d.attach(), d.attach(), d.attach()
	in1, out1 := d.translator(6)
	pool1 := d.lastPool()
	in2, out2 := d.translator(6)
	pool2 := d.lastPool()
	d.Link(d.join(zone1, 0, 2, [2]int{0, 2}), in1)
	d.Link(d.join(zone2, 0, 2, [2]int{1, 2}), in2)
	var routes []Route
	for _, p := range pool1 {
		routes = append(routes, Route{Prefix: netip.PrefixFrom(p, 32), Face: 0})
	}
	for _, p := range pool2 {
		routes = append(routes, Route{Prefix: netip.PrefixFrom(p, 32), Face: 1})
	}
	routes = append(routes, Route{Prefix: netip.PrefixFrom(Addr4(0, 0, 0, 0), 0), Face: 2})
	faces := d.Router(d.name("rt"), Addr4(172, 16, 0, 1), 3, d.turns(), routes)
	d.bases = append(d.bases, Addr4(172, 16, 0, 1))
	d.Link(out1, faces[0])
	d.Link(out2, faces[1])
	s := faces[2]
	if !d.one("without the outer NAPT", 4) {
		in, out := d.translator(6)
		d.Link(s, in)
		s = out
	}
	d.Link(d.join(s, 0, 2, [2]int{0, 2}), wan)
}

// branches is a router with a branch of functions to every interface.
func (d *Drawer) branches() {
	n := d.int("interfaces", 3, 4)
	faces := d.drawRouter(n, func(face int) int { return face })
	for i := range n {
		s := d.attach()
		d.Link(d.join(s, 0, 3, [2]int{i, (i + 1) % n}), faces[i])
	}
}

// doubleHub is two routers joined by a row of functions, each with two interfaces.
func (d *Drawer) doubleHub() {
	var hubs [2][]Side
	for h := range hubs {
		hubs[h] = d.drawRouter(3, func(face int) int {
			if face == 2 {
				return -1
			}
			return 2*h + face
		})
		for face := range 2 {
			d.Link(d.join(d.attach(), 0, 2, [2]int{2*h + face, 0}), hubs[h][face])
		}
	}
	d.Link(d.join(hubs[0][2], 0, 2, [2]int{0, 2}), hubs[1][2])
}

// smallPool is a line with a NAPT that runs out of ports. It is the only one: which of several NAPTs in a row runs
// out first depends on the ports that each chose.
func (d *Drawer) smallPool() {
	d.napts = maxNAPTs
	a, b := d.attach(), d.attach()
	a = d.join(a, 0, 2, [2]int{0, 1})
	n := element.NAPT{
		Pool: []netip.Addr{Addr4(100, 64, 200, 1)}, PortMin: 5000, PortMax: uint16(5000 + d.int("ports", 128, 512)),
		Timeouts: Timeouts, MaxSessions: 4096,
	}
	d.behave(&n)
	if d.one("ports rest", 3) {
		n.Quarantine = time.Duration(d.int("seconds", 1, 20)) * time.Second
	}
	if d.one("limits subscribers", 2) {
		n.Limits = d.subscribers()
	}
	in, out := d.NAPT(d.name("nat"), n)
	d.Link(a, in)
	d.Link(d.join(out, 0, 2, [2]int{0, 1}), b)
}

func (d *Drawer) prefix() netip.Prefix {
	a := d.bases[d.int("base", 0, len(d.bases)-1)]
	bits := []int{32, 32, 31, 30, 28, 24, 24, 20, 16, 12, 8, 1}[d.int("bits", 0, 11)]
	return netip.PrefixFrom(a, bits).Masked()
}

// functionDraws are the functions that random chains have, and how often each is drawn. A file for each draws it, to be linked
// between two others; ends are the interfaces that its faces lead to.
var functionDraws = []struct {
	often int
	draw  func(d *Drawer, ends [2]int) (left, right Side)
}{
	{3, drawFirewall},
	{2, drawTwoSidedRouter},
	{2, drawNAPT},
	{1, drawMonitor},
	{1, drawElements},
	{1, drawTee},
	{1, (*Drawer).balancer},
	{1, drawVLAN},
	{2, drawLimiter},
	{1, drawServing},
	{2, drawStateful},
	{2, drawConnLimit},
	{1, drawStatic},
	{1, drawInspection},
}

// function draws one of the functions.
func (d *Drawer) function(ends [2]int) (left, right Side) {
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
