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
	sides := make([]side, faces)
	for i := range sides {
		sides[i].in.To = -1
	}
	hairpin := -1
	if back == discards {
		hairpin = b.add(name, "hairpin", element.Discard{Reason: name + "-hairpin"})
	}
	// Answers are looked up among all faces; one without a route ends there.
	answers := element.Lookup{Outs: faces + len(refusals) + 1, NoRoute: faces + len(refusals)}
	for _, r := range routes {
		answers.Routes = append(answers.Routes, element.Route{Prefix: r.prefix, Via: r.via, Out: r.face})
	}
	all := b.add(name, "answers", answers)
	lost := b.add(name, "lost", element.Discard{Reason: name + "-lost"})
	b.wire(all, answers.NoRoute, lost)
	expired := b.add(name, "expired", element.ICMPError{Type: 11, Source: addr})
	unreachable := b.add(name, "unreachable", element.ICMPError{Type: 3, Source: addr})
	host := b.add(name, "host", element.LocalHost{})
	own := b.add(name, "own", element.SetField{Field: hs.TTL, Value: hs.V(65)})
	for _, n := range []int{expired, unreachable, host} {
		b.wire(n, 0, own)
	}
	b.wire(own, 0, all)
	refused := b.refusals(name, addr, own)
	for i, n := range refused {
		b.wire(all, faces+i, n)
	}
	for i := range sides {
		suffix := fmt.Sprint(i)
		self := b.add(name, "self"+suffix, element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{
			{Name: "self", Out: 0, Filters: []hs.Filter{where(hs.Dst, hs.Single(hs.Addr(addr)))}},
		}})
		ttl := b.add(name, "ttl"+suffix, element.DecTTL{})
		look := b.add(name, "lookup"+suffix, answers)
		b.wire(self, 0, host)
		b.wire(self, 1, ttl)
		b.wire(ttl, element.TTLAlive, look)
		b.wire(ttl, element.TTLExpired, expired)
		b.wire(look, answers.NoRoute, unreachable)
		for r, n := range refused {
			b.wire(look, faces+r, n)
		}
		if back == discards {
			b.wire(look, i, hairpin)
		}
		sides[i].in = graph.Edge{To: self}
		for j := range sides {
			if j != i || back == hairpins {
				sides[j].outs = append(sides[j].outs, graph.Edge{To: look, Port: j})
			}
		}
	}
	for i := range sides {
		sides[i].outs = append(sides[i].outs, graph.Edge{To: all, Port: i})
	}
	return sides
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
