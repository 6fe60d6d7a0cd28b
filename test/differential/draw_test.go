package differential

import (
	"fmt"
	"net/netip"
	"slices"

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
	{name: "a pool that runs out", draw: (*drawer).smallPool, exhausts: true},
}

// drawChain draws a chain of the shape.
func drawChain(t *rapid.T, s shape) *graph.Graph {
	d := &drawer{T: t, ports: []uint64{22, 53, 80, 443, 1023, 1024, 1025, 5000, 8080, 32768, 65535}}
	for _, a := range []string{"10.0.0.7", "10.1.2.3", "192.0.2.9", "198.51.100.77", "8.8.8.8", "203.0.113.50"} {
		d.bases = append(d.bases, netip.MustParseAddr(a))
	}
	s.draw(d)
	d.g.Chain = s.name
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
	in, out := d.napt(d.name("nat"), element.NAPT{
		Pool: []netip.Addr{addr4(100, 64, 200, 1)}, PortMin: 5000, PortMax: uint16(5000 + d.int("ports", 128, 512)),
		Timeouts: timeouts, MaxSessions: 4096,
	})
	d.link(a, in)
	d.link(d.join(out, 0, 2, [2]int{0, 1}), b)
}

// drawRouter draws routes: to every interface's net by its face, a default, and overlapping ones anywhere.
// end is the interface that a face leads to, -1 if it is more than one.
func (d *drawer) drawRouter(faces int, end func(int) int) []side {
	var routes []route
	add := func(p netip.Prefix, face int) {
		if p.Addr().As4()[0] == 0 && p.Bits() > 0 ||
			slices.ContainsFunc(routes, func(r route) bool { return r.prefix == p }) {
			return
		}
		r := route{prefix: p, face: face}
		if face >= faces {
			routes = append(routes, r)
			return
		}
		if i := end(face); i >= 0 && d.one("via", 2) {
			r.via = addr4(192, 168, i, d.int("next hop", 2, 3))
		}
		routes = append(routes, r)
	}
	for f := range faces {
		if i := end(f); i >= 0 {
			add(netip.PrefixFrom(addr4(192, 168, i, 0), 24), f)
		}
		add(netip.PrefixFrom(addr4(10, f, 0, 0), 16), f)
	}
	if !d.one("no default", 4) {
		add(netip.PrefixFrom(addr4(0, 0, 0, 0), 0), d.int("default", 0, faces-1))
	}
	for range d.int("routes", 0, 8) {
		add(d.prefix(), d.int("face", 0, faces+len(refusals)-1))
	}
	self := addr4(172, 16, d.names, 1)
	d.bases = append(d.bases, self)
	return d.router(d.name("rt"), self, faces, d.turns(), routes)
}

// turns draws what a router does with a packet that would leave as it came: one of a chain may send it back.
func (d *drawer) turns() turns {
	if d.hairpins || d.one("discards hairpins", 2) {
		return discards
	}
	d.hairpins = true
	return hairpins
}

func (d *drawer) prefix() netip.Prefix {
	a := d.bases[d.int("base", 0, len(d.bases)-1)]
	bits := []int{32, 32, 31, 30, 28, 24, 24, 20, 16, 12, 8, 1}[d.int("bits", 0, 11)]
	return netip.PrefixFrom(a, bits).Masked()
}

// translator draws a NAPT with a pool of up to most addresses, large enough not to run out.
func (d *drawer) translator(most int) (inside, outside side) {
	d.napts++
	n := element.NAPT{Timeouts: timeouts, MaxSessions: 1 << 17}
	for i := range d.int("pool", 4, most) {
		n.Pool = append(n.Pool, addr4(100, 64, d.napts, 1+i))
	}
	ranges := [][2]uint16{{1024, 65535}, {1000, 64999}, {16384, 49151}}
	r := ranges[d.int("port range", 0, len(ranges)-1)]
	n.PortMin, n.PortMax = r[0], r[1]
	d.bases = append(d.bases, n.Pool[0], n.Pool[1])
	d.ports = append(d.ports, uint64(r[0]), uint64(r[0])+128, 40000)
	return d.napt(d.name("nat"), n)
}

func (d *drawer) lastPool() []netip.Addr {
	for _, n := range slices.Backward(d.g.Nodes) {
		if e, ok := n.Element.(element.NAPT); ok {
			return e.Pool
		}
	}
	return nil
}

// maxNAPTs bounds the NAPTs among other functions.
const maxNAPTs = 3

// function draws a function to be linked between two others; ends are the interfaces that its faces lead to.
func (d *drawer) function(ends [2]int) (left, right side) {
	switch d.int("function", 0, 11) {
	case 0, 1, 2:
		return d.firewall()
	case 3, 4:
		f := d.drawRouter(2, func(face int) int { return ends[face] })
		return f[0], f[1]
	case 5, 6:
		if d.napts >= maxNAPTs {
			return d.firewall()
		}
		in, out := d.translator(6)
		if d.one("turned round", 10) {
			return out, in
		}
		return in, out
	case 7:
		name := d.name("mon")
		return d.through(name, []element.Element{element.Counter{}, d.classifier(0)}, []element.Element{element.Counter{}})
	case 8:
		return d.through(d.name("set"), d.elements(), d.elements())
	case 9:
		return d.tee()
	case 10:
		return d.balancer(ends)
	default:
		return d.through(d.name("vlan"), []element.Element{d.set(hs.VLAN)}, []element.Element{d.set(hs.VLAN)})
	}
}

func (d *drawer) firewall() (left, right side) {
	return d.filter(d.name("fw"), d.classifier(d.int("verdicts", 2, 3)), d.classifier(d.int("verdicts", 2, 3)))
}

// classifier draws rules whose outputs are 0 and, if there are more, the others.
func (d *drawer) classifier(outs int) element.Classifier {
	c := element.Classifier{Outs: max(outs, 1)}
	for i := range d.int("rules", 0, 8) {
		r := element.Rule{Name: fmt.Sprintf("r%d", i), Count: d.one("counted", 3)}
		for range d.int("filters", 1, 2) {
			r.Filters = append(r.Filters, d.drawFilter())
		}
		if outs > 1 {
			r.Out = d.int("verdict", 0, outs-1)
		}
		c.Rules = append(c.Rules, r)
	}
	if outs > 1 && d.one("default deny", 4) {
		c.Default = 1
	}
	return c
}

func (d *drawer) drawFilter() hs.Filter {
	var f hs.Filter
	for range d.int("fields", 1, 3) {
		field := hs.Field(d.int("field", 0, int(hs.NumFields)-1))
		f = f.With(field, d.set4(field))
	}
	return f
}

// set4 draws the values of a field that a filter passes.
func (d *drawer) set4(f hs.Field) hs.Set {
	switch f {
	case hs.Src, hs.Dst:
		if d.one("range", 4) {
			a := d.bases[d.int("first", 0, len(d.bases)-1)]
			b := d.bases[d.int("last", 0, len(d.bases)-1)]
			if b.Less(a) {
				a, b = b, a
			}
			return hs.AddrRange(a, b)
		}
		return hs.Prefix(d.prefix())
	case hs.Proto:
		return []hs.Set{hs.Of(6), hs.Of(17), hs.Of(1), hs.Of(6, 17), hs.Range(2, 255), hs.Of(1, 17, 47)}[d.int("proto", 0, 5)]
	case hs.SPort, hs.DPort:
		lo := d.ports[d.int("low port", 0, len(d.ports)-1)]
		s := hs.Range(lo, lo+uint64([]int{0, 0, 1, 100, 5000}[d.int("width", 0, 4)])).Intersect(hs.Range(0, 65535))
		if d.one("or none", 6) {
			s = s.Union(hs.Of(65536))
		}
		return s
	case hs.TCPFlags:
		mask := uint64(d.int("mask", 1, 255))
		return hs.Masked(f, uint64(d.int("flags", 0, 255))&mask, mask)
	case hs.ICMPType:
		return []hs.Set{hs.Of(8), hs.Of(0, 8), hs.Of(3, 11), hs.Range(0, 255), hs.Range(9, 255)}[d.int("type", 0, 4)]
	case hs.ICMPCode:
		return []hs.Set{hs.Of(0), hs.Range(1, 255), hs.Of(4)}[d.int("code", 0, 2)]
	case hs.VLAN:
		return []hs.Set{hs.Of(4096), hs.Range(0, 4095), hs.Of(10), hs.Of(10, 20, 4096)}[d.int("vlan", 0, 3)]
	case hs.TTL:
		lo := uint64(d.int("ttl", 0, 64))
		return []hs.Set{hs.Range(lo, 255), hs.Range(0, lo), hs.Of(lo)}[d.int("ttl kind", 0, 2)]
	case hs.Frag:
		return []hs.Set{hs.Of(0), hs.Of(1), hs.Of(2), hs.Of(0, 1), hs.Of(1, 2)}[d.int("frag", 0, 4)]
	default: // DSCP
		lo := uint64(d.int("dscp", 0, 63))
		return hs.Range(lo, min(lo+uint64(d.int("more", 0, 9)), 63))
	}
}

// elements draws a row of small elements.
func (d *drawer) elements() []element.Element {
	out := []element.Element{element.Counter{}}
	for range d.int("elements", 0, 3) {
		switch d.int("element", 0, 4) {
		case 0:
			out = append(out, element.DecTTL{})
		case 1:
			out = append(out, element.CheckIPHeader{})
		case 2:
			out = append(out, element.TTLGuard{Min: []uint8{1, 2, 5, 64, 255}[d.int("least TTL", 0, 4)]})
		default:
			f := []hs.Field{hs.DSCP, hs.DSCP, hs.TTL, hs.VLAN, hs.SPort, hs.DPort, hs.Dst, hs.Src}[d.int("write", 0, 7)]
			out = append(out, d.set(f))
		}
	}
	return out
}

func (d *drawer) set(f hs.Field) element.SetField {
	v := uint64(0)
	switch f {
	case hs.Src, hs.Dst:
		return element.SetField{Field: f, Value: hs.Addr(d.bases[d.int("address", 0, len(d.bases)-1)])}
	case hs.VLAN:
		v = uint64([]int{4096, 4096, 10, 20, 0}[d.int("vid", 0, 4)])
	case hs.SPort, hs.DPort:
		v = d.ports[d.int("port", 0, len(d.ports)-1)]
	case hs.TTL:
		v = uint64([]int{64, 255, 1, 0, 3}[d.int("ttl", 0, 4)])
	default:
		v = uint64(d.int("dscp", 0, 63))
	}
	return element.SetField{Field: f, Value: hs.V(v)}
}

// tee copies what goes forth: to a counter that ends there, or out of the first interface.
func (d *drawer) tee() (left, right side) {
	name := d.name("tee")
	t := d.add(name, "tee", element.Tee{Outs: 2})
	back := d.add(name, "back", element.Counter{})
	copied := 1
	if d.one("copy first", 2) {
		copied = 0
	}
	if d.one("to an interface", 2) {
		// A lookup without next hop, since the one noted is of another interface.
		anywhere := element.Lookup{Outs: 1, Routes: []element.Route{{Prefix: netip.PrefixFrom(addr4(0, 0, 0, 0), 0)}}}
		mirror := d.add(name, "mirror", anywhere)
		d.wire(t, copied, mirror)
		d.wire(mirror, 0, d.g.Interfaces[0].Out)
	} else {
		in, out := d.chainOf(name+"-copy", append(d.elements(), element.Counter{})...)
		d.connect(graph.Edge{To: t, Port: copied}, in)
		d.connect(out, graph.Edge{To: d.add(name, "end", element.Discard{Reason: name + "-copied"})})
	}
	return side{in: graph.Edge{To: t}, outs: []graph.Edge{{To: back}}},
		side{in: graph.Edge{To: back}, outs: []graph.Edge{{To: t, Port: 1 - copied}}}
}

// balancer is a static split (SNF, Figure 5): by source, a virtual address becomes one of two
// backends; the way back restores it.
func (d *drawer) balancer(ends [2]int) (left, right side) {
	name := d.name("lb")
	vip := addr4(172, 31, 0, 1)
	d.bases = append(d.bases, vip)
	forth := element.Classifier{Outs: 3, Default: 0}
	back := element.Classifier{Outs: 2, Default: 0}
	half := []hs.Set{hs.Prefix(netip.PrefixFrom(addr4(0, 0, 0, 0), 1)), hs.Prefix(netip.PrefixFrom(addr4(128, 0, 0, 0), 1))}
	f := d.add(name, "forth", forth)
	b := d.add(name, "back", back)
	right.outs = append(right.outs, graph.Edge{To: f})
	left.outs = append(left.outs, graph.Edge{To: b})
	for i, h := range half {
		backend := addr4(192, 168, ends[1], 2+i)
		forth.Rules = append(forth.Rules, element.Rule{
			Name: fmt.Sprint("backend", i), Out: 1 + i, Count: true,
			Filters: []hs.Filter{where(hs.Dst, hs.Single(hs.Addr(vip))).With(hs.Src, h)},
		})
		back.Rules = append(back.Rules, element.Rule{
			Name: fmt.Sprint("from", i), Out: 1,
			Filters: []hs.Filter{where(hs.Src, hs.Single(hs.Addr(backend)))},
		})
		to := d.add(name, fmt.Sprint("to", i), element.SetField{Field: hs.Dst, Value: hs.Addr(backend)})
		d.wire(f, 1+i, to)
		right.outs = append(right.outs, graph.Edge{To: to})
	}
	restore := d.add(name, "restore", element.SetField{Field: hs.Src, Value: hs.Addr(vip)})
	d.wire(b, 1, restore)
	left.outs = append(left.outs, graph.Edge{To: restore})
	d.g.Nodes[f].Element, d.g.Nodes[b].Element = forth, back
	left.in, right.in = graph.Edge{To: f}, graph.Edge{To: b}
	return left, right
}
