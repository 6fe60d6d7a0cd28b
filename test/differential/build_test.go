package differential

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// builder puts random chains together. It is a second, independent lowering of the functions: what the
// synthesizer is given here need not look like what graph.Build makes.
type builder struct {
	g     graph.Graph
	sides []side // of the interfaces, towards the chain
}

// side is one face of a function: where packets go in, and the output ports by which they come out.
type side struct {
	in   graph.Edge
	outs []graph.Edge
}

func (b *builder) add(function, name string, e element.Element) int {
	_, outs := e.Ports()
	n := graph.Node{Name: function + "/" + name, Function: function, Element: e, Out: make([]graph.Edge, outs)}
	for i := range n.Out {
		n.Out[i].To = -1
	}
	b.g.Nodes = append(b.g.Nodes, n)
	return len(b.g.Nodes) - 1
}

func (b *builder) wire(node, out, to int) {
	b.connect(graph.Edge{To: node, Port: out}, graph.Edge{To: to})
}

func (b *builder) connect(out, in graph.Edge) { b.g.Nodes[out.To].Out[out.Port] = in }

// link joins two faces, both ways.
func (b *builder) link(x, y side) {
	for _, o := range x.outs {
		b.connect(o, y.in)
	}
	for _, o := range y.outs {
		b.connect(o, x.in)
	}
}

// iface adds an interface with its own elements (docs/elements.md, "Entry").
func (b *builder) iface(prefix netip.Prefix, mtu int, gateway netip.Addr) side {
	i := len(b.g.Interfaces)
	name := fmt.Sprintf("if%d", i)
	in := b.add(name, "in", element.Input{Interface: name})
	out := b.add(name, "out", element.Output{Interface: name})
	local := b.add(name, "local", element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{
		{Name: "self", Out: 0, Filters: []hs.Filter{where(hs.Dst, hs.Single(hs.Addr(prefix.Addr())))}},
	}})
	// As a host, but on every third interface only to answer pings.
	host := element.Element(element.LocalHost{})
	if i%3 == 2 {
		host = element.EchoResponder{}
	}
	echo := b.add(name, "echo", host)
	for _, n := range []int{in, out, local, echo} {
		b.g.Nodes[n].Function = ""
	}
	b.wire(in, 0, local)
	b.wire(local, 0, echo)
	b.wire(echo, 0, out)
	f := graph.Interface{Name: name, Prefix: prefix, MTU: mtu, Gateway: gateway, In: in, Out: out, AnswerTTL: []uint8{0, 65, 2}[i%3]}
	populate(&f, i)
	b.g.Interfaces = append(b.g.Interfaces, f)
	s := side{in: graph.Edge{To: out}, outs: []graph.Edge{{To: local, Port: 1}}}
	b.sides = append(b.sides, s)
	return s
}

// populate gives the interface a MAC address and VLANs, and makes every on-link address and the gateway a static neighbour
// in each of them.
func populate(f *graph.Interface, i int) {
	f.MAC = net.HardwareAddr{2, 0, 0, 0, 1, byte(i)}
	f.Neighbors = nil
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

// filter is a function with a classifier in each direction; what leaves the classifier by port 0 passes, what leaves by
// port 2 is rejected.
func (b *builder) filter(name string, forth, back element.Classifier) (left, right side) {
	f, r := b.add(name, "forth", forth), b.add(name, "back", back)
	deny := b.add(name, "deny", element.Discard{Reason: name + "-denied"})
	left, right = side{in: graph.Edge{To: f}, outs: []graph.Edge{{To: r}}}, side{in: graph.Edge{To: r}, outs: []graph.Edge{{To: f}}}
	refuse := func(node, outs int, s *side, suffix string) {
		if outs > 1 {
			b.wire(node, 1, deny)
		}
		if outs > 2 {
			reject := b.add(name, "reject-"+suffix, element.Reject{})
			b.wire(node, 2, reject)
			s.outs = append(s.outs, graph.Edge{To: reject})
		}
	}
	refuse(f, forth.Outs, &left, "forth")
	refuse(r, back.Outs, &right, "back")
	return left, right
}

// chainOf puts elements with one input in a row, for one direction; what leaves an element by another port than 0 is dropped.
func (b *builder) chainOf(name string, elements ...element.Element) (in, out graph.Edge) {
	prev := -1
	for i, e := range elements {
		n := b.add(name, fmt.Sprintf("%s%d", e.Kind(), i), e)
		if prev < 0 {
			in = graph.Edge{To: n}
		} else {
			b.wire(prev, 0, n)
		}
		if _, outs := e.Ports(); outs > 1 {
			d := b.add(name, fmt.Sprintf("drop%d", i), element.Discard{Reason: name + "-" + e.Kind()})
			for o := 1; o < outs; o++ {
				b.wire(n, o, d)
			}
		}
		prev = n
	}
	return in, graph.Edge{To: prev}
}

// through is a function of a row of elements in each direction.
func (b *builder) through(name string, forth, back []element.Element) (left, right side) {
	fi, fo := b.chainOf(name+"-forth", forth...)
	bi, bo := b.chainOf(name+"-back", back...)
	return side{in: fi, outs: []graph.Edge{bo}}, side{in: bi, outs: []graph.Edge{fo}}
}

func (b *builder) napt(name string, n element.NAPT) (inside, outside side) {
	i := b.add(name, "napt", n)
	face := func(port int) side {
		return side{in: graph.Edge{To: i, Port: port}, outs: []graph.Edge{{To: i, Port: port}}}
	}
	return face(element.NAPTInside), face(element.NAPTOutside)
}

// route is a router's route: by a face, and a next hop if the face is an interface's. From faces on come
// the refusals.
type route struct {
	prefix netip.Prefix
	face   int
	via    netip.Addr
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
	discards turns = iota
	hairpins       // it goes back: at most one router of a chain, so that no two can pass a packet to and fro
)

// router adds a router with an address of its own; answers may leave by all faces.
func (b *builder) router(name string, addr netip.Addr, faces int, back turns, routes []route) []side {
	r := &routerBuilder{builder: b, name: name, sides: make([]side, faces), hairpin: -1}
	for i := range r.sides {
		r.sides[i].in.To = -1
	}
	if back == discards {
		r.hairpin = b.add(name, "hairpin", element.Discard{Reason: name + "-hairpin"})
	}
	r.number(routes)
	// Answers are looked up among all faces; one without a route ends there.
	all := b.add(name, "answers", r.lookup)
	lost := b.add(name, "lost", element.Discard{Reason: name + "-lost"})
	expired := b.add(name, "expired", element.ICMPError{Type: 11, Source: addr})
	unreachable := b.add(name, "unreachable", element.ICMPError{Type: 3, Source: addr})
	host := b.add(name, "host", element.LocalHost{})
	own := b.add(name, "own", element.SetField{Field: hs.TTL, Value: hs.V(65)})
	for _, n := range []int{expired, unreachable, host} {
		b.wire(n, 0, own)
	}
	b.wire(own, 0, all)
	r.refused = b.refusals(name, addr, own)
	for i := range r.sides {
		suffix := fmt.Sprint(i)
		self := b.add(name, "self"+suffix, element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{
			{Name: "self", Out: 0, Filters: []hs.Filter{where(hs.Dst, hs.Single(hs.Addr(addr)))}},
		}})
		ttl := b.add(name, "ttl"+suffix, element.DecTTL{})
		look := b.add(name, "lookup"+suffix, r.lookup)
		b.wire(self, 0, host)
		b.wire(self, 1, ttl)
		b.wire(ttl, element.TTLAlive, look)
		b.wire(ttl, element.TTLExpired, expired)
		r.sides[i].in = graph.Edge{To: self}
		r.lead(look, i, unreachable)
	}
	r.lead(all, -1, lost)
	return r.sides
}

// routerBuilder is a router that is being built.
type routerBuilder struct {
	*builder
	name    string
	lookup  element.Lookup // to faces, then to refusals, then where no route is, then to divided routes
	divided []route        // those with entries by source
	sides   []side
	refused []int // nodes
	hairpin int   // node of packets that would go back; -1: they do
}

// number makes the lookup of routes.
func (r *routerBuilder) number(routes []route) {
	none := len(r.sides) + len(refusals)
	r.lookup = element.Lookup{Outs: none + 1, NoRoute: none}
	for _, x := range routes {
		out := x.face
		if len(x.from) > 0 {
			out = r.lookup.Outs
			r.lookup.Outs++
			r.divided = append(r.divided, x)
		}
		r.lookup.Routes = append(r.lookup.Routes, element.Route{Prefix: x.prefix, Via: x.via, Out: out})
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
			r.sides[face].outs = append(r.sides[face].outs, from)
		}
	}
	for face := range faces + len(r.refused) {
		lead(face, graph.Edge{To: look, Port: face})
	}
	r.wire(look, r.lookup.NoRoute, none)
	for k, x := range r.divided {
		r.bySource(fmt.Sprintf("%s-%d", r.g.Nodes[look].Name, k), x, graph.Edge{To: look, Port: r.lookup.NoRoute + 1 + k}, lead)
	}
}

// bySource divides what comes from an edge as a route says. Lead takes what goes to a face, or is
// refused.
func (b *builder) bySource(name string, r route, from graph.Edge, lead func(face int, from graph.Edge)) {
	c := element.Classifier{Outs: len(r.from) + 1, Default: len(r.from)}
	for i, e := range r.from {
		c.Rules = append(c.Rules, element.Rule{Name: fmt.Sprintf("%s-%d", name, i), Filters: []hs.Filter{where(hs.Src, e.sources)}, Out: i})
	}
	n := b.add(name, "by-source", c)
	b.connect(from, graph.Edge{To: n})
	for i, e := range r.from {
		hop := b.add(name, fmt.Sprintf("hop%d", i), element.Lookup{Outs: 1, Routes: []element.Route{{Prefix: netip.PrefixFrom(addr4(0, 0, 0, 0), 0), Via: e.via}}})
		b.wire(n, i, hop)
		lead(e.face, graph.Edge{To: hop})
	}
	lead(r.face, graph.Edge{To: n, Port: c.Default})
}

// refusals are where a router's routes lead that lead nowhere; what they answer goes to the element.
func (b *builder) refusals(name string, addr netip.Addr, answers int) []int {
	var out []int
	for i, code := range refusals {
		if code < 0 {
			out = append(out, b.add(name, "discard", element.Discard{Reason: name + "-discard"}))
			continue
		}
		n := b.add(name, fmt.Sprintf("refuse%d", i), element.ICMPError{Type: 3, Code: uint8(code), Source: addr})
		b.wire(n, 0, answers)
		out = append(out, n)
	}
	return out
}

func where(f hs.Field, s hs.Set) hs.Filter { return hs.Filter{}.With(f, s) }

// timeouts are the same for all NAPTs of a chain: of NAPTs in a row that are one translation, the smallest holds.
var timeouts = element.Timeouts{
	TCP: 600 * time.Second, TCPTransitory: 60 * time.Second, UDP: 30 * time.Second, ICMP: 10 * time.Second,
}
