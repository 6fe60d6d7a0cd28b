package draw

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Builder puts random chains together. It is a second, independent lowering of the functions: what the
// synthesizer is given here need not look like what graph.Build makes.
type Builder struct {
	Graph graph.Graph
	sides []Side // of the interfaces, towards the chain
}

// Side is one face of a function: where packets go in, and the output ports by which they come out.
type Side struct {
	In   graph.Edge
	Outs []graph.Edge
}

// Add adds an element of a function, and gives its node.
func (b *Builder) Add(function, name string, e element.Element) int {
	_, outs := e.Ports()
	n := graph.Node{Name: function + "/" + name, Function: function, Element: e, Out: make([]graph.Edge, outs)}
	for i := range n.Out {
		n.Out[i].To = -1
	}
	b.Graph.Nodes = append(b.Graph.Nodes, n)
	return len(b.Graph.Nodes) - 1
}

// Wire leads an output of a node to another node's first input.
func (b *Builder) Wire(node, out, to int) {
	b.connect(graph.Edge{To: node, Port: out}, graph.Edge{To: to})
}

func (b *Builder) connect(out, in graph.Edge) { b.Graph.Nodes[out.To].Out[out.Port] = in }

// Link joins two faces, both ways.
func (b *Builder) Link(x, y Side) {
	for _, o := range x.Outs {
		b.connect(o, y.In)
	}
	for _, o := range y.Outs {
		b.connect(o, x.In)
	}
}

// iface adds an interface with its own elements (docs/elements.md, "Entry").
func (b *Builder) iface(prefix netip.Prefix, mtu int, gateway netip.Addr) Side {
	i := len(b.Graph.Interfaces)
	name := fmt.Sprintf("if%d", i)
	in := b.Add(name, "in", element.Input{Interface: name})
	out := b.Add(name, "out", element.Output{Interface: name})
	local := b.Add(name, "local", element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{
		{Name: "self", Out: 0, Filters: []hs.Filter{Where(hs.Dst, hs.Single(hs.Addr(prefix.Addr())))}},
	}})
	// As a host, but on every third interface only to answer pings.
	host := element.Element(element.LocalHost{})
	if i%3 == 2 {
		host = element.EchoResponder{}
	}
	echo := b.Add(name, "echo", host)
	for _, n := range []int{in, out, local, echo} {
		b.Graph.Nodes[n].Function = ""
	}
	b.Wire(in, 0, local)
	b.Wire(local, 0, echo)
	b.Wire(echo, 0, out)
	f := graph.Interface{Name: name, Prefix: prefix, MTU: mtu, Gateway: gateway, In: in, Out: out, AnswerTTL: []uint8{0, 65, 2}[i%3]}
	Populate(&f, i)
	b.Graph.Interfaces = append(b.Graph.Interfaces, f)
	s := Side{In: graph.Edge{To: out}, Outs: []graph.Edge{{To: local, Port: 1}}}
	b.sides = append(b.sides, s)
	return s
}

// Populate gives the interface a MAC address and VLANs, and makes every on-link address and the gateway a static neighbour
// in each of them. Nobody is on a wire.
func Populate(f *graph.Interface, i int) {
	f.MAC = net.HardwareAddr{2, 0, 0, 0, 1, byte(i)}
	f.Neighbors, f.Watched = nil, netip.Addr{} // nobody is asked for whose MAC address is known
	if f.Wire {
		return
	}
	f.VLANs = [][]uint16{{10, 20}, {10, 4094}, nil}[i%3]
	for a := f.Prefix.Masked().Addr(); f.Prefix.Contains(a); a = a.Next() {
		reach(f, i, a)
	}
	if f.Gateway.IsValid() && !f.Prefix.Contains(f.Gateway) {
		reach(f, i, f.Gateway)
	}
}

// reach makes an address a static neighbour in each of the interface's VLANs.
func reach(f *graph.Interface, i int, a netip.Addr) {
	b := a.As4()
	for n, vlan := range append([]uint16{0}, f.VLANs...) {
		f.Neighbors = append(f.Neighbors, graph.Neighbor{
			Addr: a, VLAN: vlan, MAC: net.HardwareAddr{2, byte(1 + n), byte(i), b[1], b[2], b[3]},
		})
	}
}

// Filter is a function with a classifier in each direction; what leaves the classifier by port 0 passes, what leaves by
// port 2 is rejected.
func (b *Builder) Filter(name string, forth, back element.Classifier) (left, right Side) {
	f, r := b.Add(name, "forth", forth), b.Add(name, "back", back)
	deny := b.Add(name, "deny", element.Discard{Reason: name + "-denied"})
	left, right = Side{In: graph.Edge{To: f}, Outs: []graph.Edge{{To: r}}}, Side{In: graph.Edge{To: r}, Outs: []graph.Edge{{To: f}}}
	refuse := func(node, outs int, s *Side, suffix string) {
		if outs > 1 {
			b.Wire(node, 1, deny)
		}
		if outs > 2 {
			reject := b.Add(name, "reject-"+suffix, element.Reject{})
			b.Wire(node, 2, reject)
			s.Outs = append(s.Outs, graph.Edge{To: reject})
		}
	}
	refuse(f, forth.Outs, &left, "forth")
	refuse(r, back.Outs, &right, "back")
	return left, right
}

// chainOf puts elements with one input in a row, for one direction; what leaves an element by another port than 0 is dropped.
func (b *Builder) chainOf(name string, elements ...element.Element) (in, out graph.Edge) {
	prev := -1
	for i, e := range elements {
		n := b.Add(name, fmt.Sprintf("%s%d", e.Kind(), i), e)
		if prev < 0 {
			in = graph.Edge{To: n}
		} else {
			b.Wire(prev, 0, n)
		}
		if _, outs := e.Ports(); outs > 1 {
			d := b.Add(name, fmt.Sprintf("drop%d", i), element.Discard{Reason: name + "-" + e.Kind()})
			for o := 1; o < outs; o++ {
				b.Wire(n, o, d)
			}
		}
		prev = n
	}
	return in, graph.Edge{To: prev}
}

// Through is a function of a row of elements in each direction.
func (b *Builder) Through(name string, forth, back []element.Element) (left, right Side) {
	fi, fo := b.chainOf(name+"-forth", forth...)
	bi, bo := b.chainOf(name+"-back", back...)
	return Side{In: fi, Outs: []graph.Edge{bo}}, Side{In: bi, Outs: []graph.Edge{fo}}
}

// NAPT is a function of one NAPT, and gives its faces.
func (b *Builder) NAPT(name string, n element.NAPT) (inside, outside Side) {
	i := b.Add(name, "napt", n)
	face := func(port int) Side {
		return Side{In: graph.Edge{To: i, Port: port}, Outs: []graph.Edge{{To: i, Port: port}}}
	}
	return face(element.NAPTInside), face(element.NAPTOutside)
}

// Route is a router's route: by a face, and a next hop if the face is an interface's. From faces on come
// the refusals.
type Route struct {
	Prefix netip.Prefix
	Face   int
	Via    netip.Addr
	from   []fromRoute // the first that has a packet's source decides instead of the route
}

// fromRoute is where a route's packets from some sources go.
type fromRoute struct {
	sources hs.Set
	face    int
	via     netip.Addr
}

// refusals are the ICMP codes of routes that lead nowhere (type 3); the last one is silent.
var refusals = []int{1, 13, -1}

// turns says what a router does with a packet whose route leads back where it came from.
type turns int

const (
	// Discards drops it.
	Discards turns = iota
	// Hairpins lets it go back: at most one router of a chain, so that no two can pass a packet to and fro.
	Hairpins
)

// Router adds a router with an address of its own; answers may leave by all faces.
func (b *Builder) Router(name string, addr netip.Addr, faces int, back turns, routes []Route) []Side {
	r := &routerBuilder{Builder: b, name: name, sides: make([]Side, faces), hairpin: -1}
	for i := range r.sides {
		r.sides[i].In.To = -1
	}
	if back == Discards {
		r.hairpin = b.Add(name, "hairpin", element.Discard{Reason: name + "-hairpin"})
	}
	r.number(routes)
	// Answers are looked up among all faces; one without a route ends there.
	all := b.Add(name, "answers", r.lookup)
	lost := b.Add(name, "lost", element.Discard{Reason: name + "-lost"})
	expired := b.Add(name, "expired", element.ICMPError{Type: 11, Source: addr})
	unreachable := b.Add(name, "unreachable", element.ICMPError{Type: 3, Source: addr})
	host := b.Add(name, "host", element.LocalHost{})
	own := b.Add(name, "own", element.SetField{Field: hs.TTL, Value: hs.V(65)})
	for _, n := range []int{expired, unreachable, host} {
		b.Wire(n, 0, own)
	}
	b.Wire(own, 0, all)
	r.refused = b.refusals(name, addr, own)
	for i := range r.sides {
		suffix := fmt.Sprint(i)
		self := b.Add(name, "self"+suffix, element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{
			{Name: "self", Out: 0, Filters: []hs.Filter{Where(hs.Dst, hs.Single(hs.Addr(addr)))}},
		}})
		ttl := b.Add(name, "ttl"+suffix, element.DecTTL{})
		look := b.Add(name, "lookup"+suffix, r.lookup)
		b.Wire(self, 0, host)
		b.Wire(self, 1, ttl)
		b.Wire(ttl, element.TTLAlive, look)
		b.Wire(ttl, element.TTLExpired, expired)
		r.sides[i].In = graph.Edge{To: self}
		r.lead(look, i, unreachable)
	}
	r.lead(all, -1, lost)
	return r.sides
}

// routerBuilder is a router that is being built.
type routerBuilder struct {
	*Builder
	name    string
	lookup  element.Lookup // to faces, then to refusals, then where no route is, then to divided routes
	divided []Route        // those with entries by source
	sides   []Side
	refused []int // nodes
	hairpin int   // node of packets that would go back; -1: they do
}

// number makes the lookup of routes.
func (r *routerBuilder) number(routes []Route) {
	none := len(r.sides) + len(refusals)
	r.lookup = element.Lookup{Outs: none + 1, NoRoute: none}
	for _, x := range routes {
		out := x.Face
		if len(x.from) > 0 {
			out = r.lookup.Outs
			r.lookup.Outs++
			r.divided = append(r.divided, x)
		}
		r.lookup.Routes = append(r.lookup.Routes, element.Route{Prefix: x.Prefix, Via: x.Via, Out: out})
	}
}

// lead leads the outputs of a lookup, of packets that came in by a face, or the router's own (-1),
// to faces and refusals; none is for those without a route.
func (r *routerBuilder) lead(look, in, none int) {
	faces := len(r.sides)
	lead := func(face int, from graph.Edge) {
		switch {
		case face >= faces:
			r.connect(from, graph.Edge{To: r.refused[face-faces]})
		case face == in && r.hairpin >= 0:
			r.connect(from, graph.Edge{To: r.hairpin})
		default:
			r.sides[face].Outs = append(r.sides[face].Outs, from)
		}
	}
	for face := range faces + len(r.refused) {
		lead(face, graph.Edge{To: look, Port: face})
	}
	r.Wire(look, r.lookup.NoRoute, none)
	for k, x := range r.divided {
		r.bySource(fmt.Sprintf("%s-%d", r.Graph.Nodes[look].Name, k), x, graph.Edge{To: look, Port: r.lookup.NoRoute + 1 + k}, lead)
	}
}

// bySource divides what comes from an edge as a route says. Lead takes what goes to a face, or is
// refused.
func (b *Builder) bySource(name string, r Route, from graph.Edge, lead func(face int, from graph.Edge)) {
	c := element.Classifier{Outs: len(r.from) + 1, Default: len(r.from)}
	for i, e := range r.from {
		c.Rules = append(c.Rules, element.Rule{Name: fmt.Sprintf("%s-%d", name, i), Filters: []hs.Filter{Where(hs.Src, e.sources)}, Out: i})
	}
	n := b.Add(name, "by-source", c)
	b.connect(from, graph.Edge{To: n})
	for i, e := range r.from {
		hop := b.Add(name, fmt.Sprintf("hop%d", i), element.Lookup{Outs: 1, Routes: []element.Route{{Prefix: netip.PrefixFrom(Addr4(0, 0, 0, 0), 0), Via: e.via}}})
		b.Wire(n, i, hop)
		lead(e.face, graph.Edge{To: hop})
	}
	lead(r.Face, graph.Edge{To: n, Port: c.Default})
}

// refusals are where a router's routes lead that lead nowhere; what they answer goes to the element.
func (b *Builder) refusals(name string, addr netip.Addr, answers int) []int {
	var out []int
	for i, code := range refusals {
		if code < 0 {
			out = append(out, b.Add(name, "discard", element.Discard{Reason: name + "-discard"}))
			continue
		}
		n := b.Add(name, fmt.Sprintf("refuse%d", i), element.ICMPError{Type: 3, Code: uint8(code), Source: addr})
		b.Wire(n, 0, answers)
		out = append(out, n)
	}
	return out
}

// Where is a filter on one field.
func Where(f hs.Field, s hs.Set) hs.Filter { return hs.Filter{}.With(f, s) }

// Timeouts are the same for all NAPTs of a chain: of NAPTs in a row that are one translation, the smallest holds.
var Timeouts = element.Timeouts{
	TCP: 600 * time.Second, TCPTransitory: 60 * time.Second, UDP: 30 * time.Second, ICMP: 10 * time.Second,
}

// Adapt makes a user's chain one that the oracle can follow: static neighbours instead of ARP, and the same timeouts for
// all NAPTs.
func Adapt(g *graph.Graph) {
	for i := range g.Interfaces {
		f := &g.Interfaces[i]
		if f.Prefix.Bits() < 24 {
			f.Prefix = netip.PrefixFrom(f.Prefix.Addr(), 24)
		}
		Populate(f, i)
	}
	for i, n := range g.Nodes {
		if e, ok := n.Element.(element.NAPT); ok {
			e.Timeouts = Timeouts
			g.Nodes[i].Element = e
		}
	}
}
