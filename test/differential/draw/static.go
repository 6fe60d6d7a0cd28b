package draw

import (
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// mappings draws fixed translations: addresses for hosts, for a prefix, and ports of the given addresses.
func (d *Drawer) mappings(ends [2]int, ported []netip.Addr) element.StaticNAT {
	var e element.StaticNAT
	d.names++
	host := func(i int) netip.Addr {
		if d.one("behind the next hop", 2) {
			return Addr4(10, 1, ends[0], 32*d.names%128+i)
		}
		return Addr4(192, 168, ends[0], 2+i)
	}
	if d.one("an address", 2) {
		e.Mappings = append(e.Mappings, element.StaticMapping{Inside: netip.PrefixFrom(host(2), 32), Outside: netip.PrefixFrom(Addr4(100, 65, d.names, 1), 32)})
	}
	if d.one("a prefix", 2) {
		bits := d.int("length", 24, 31)
		e.Mappings = append(e.Mappings, element.StaticMapping{Inside: netip.PrefixFrom(Addr4(10, 2, d.names, 0), bits), Outside: netip.PrefixFrom(Addr4(100, 66, d.names, 0), bits)})
	}
	for i := range d.int("forwards", 1, 4) {
		n := []int{1, 1, 2, 11, 100}[d.int("ports", 0, 4)]
		m := element.StaticMapping{
			Proto: []uint8{6, 17}[d.int("protocol", 0, 1)], Ports: n,
			Inside: netip.PrefixFrom(host(10+i), 32), Outside: netip.PrefixFrom(ported[i%len(ported)], 32),
			InsidePort: uint16(d.int("inside port", 1, 65536-n)), OutsidePort: uint16(1000 + 16000*i + d.int("outside port", 0, 500)),
		}
		if d.one("the same ports", 3) {
			m.InsidePort = m.OutsidePort
		}
		d.ports = append(d.ports, uint64(m.InsidePort), uint64(m.OutsidePort))
		e.Mappings = append(e.Mappings, m)
	}
	for _, m := range e.Mappings {
		d.bases = append(d.bases, m.Inside.Addr(), m.Outside.Addr())
	}
	return e
}

// drawStatic draws fixed translations alone: what is of none passes.
func drawStatic(d *Drawer, ends [2]int) (left, right Side) {
	e := d.mappings(ends, []netip.Addr{Addr4(100, 67, d.names+1, 1), Addr4(100, 67, d.names+1, 2)})
	n := d.Add(d.name("fixed"), "static", e)
	inside := Side{In: graph.Edge{To: n, Port: element.StaticInside}, Outs: []graph.Edge{{To: n, Port: element.StaticInside}, {To: n, Port: element.StaticOutsideRest}}}
	outside := Side{In: graph.Edge{To: n, Port: element.StaticOutside}, Outs: []graph.Edge{{To: n, Port: element.StaticOutside}, {To: n, Port: element.StaticInsideRest}}}
	if d.one("turned round", 4) {
		return outside, inside
	}
	return inside, outside
}

// Hairpinning is which outside addresses hosts inside reach others by.
type Hairpinning int

const (
	// Never is none of them.
	Never Hairpinning = iota
	// ByFixed are those of fixed translations.
	ByFixed
	// ByAll are those and the pool's.
	ByAll
)

// Home is a NAPT with fixed translations before it, as users have it.
func (b *Builder) Home(name string, n element.NAPT, e element.StaticNAT, turn Hairpinning) (inside, outside Side) {
	static, nat := b.Add(name, "static", e), b.Add(name, "napt", n)
	b.connect(graph.Edge{To: static, Port: element.StaticInsideRest}, graph.Edge{To: nat, Port: element.NAPTInside})
	b.connect(graph.Edge{To: static, Port: element.StaticOutsideRest}, graph.Edge{To: nat, Port: element.NAPTOutside})
	inside = Side{In: graph.Edge{To: static, Port: element.StaticInside}, Outs: []graph.Edge{{To: static, Port: element.StaticInside}, {To: nat, Port: element.NAPTInside}}}
	outside.In = graph.Edge{To: static, Port: element.StaticOutside}
	if turn == Never {
		outside.Outs = []graph.Edge{{To: static, Port: element.StaticOutside}, {To: nat, Port: element.NAPTOutside}}
		return inside, outside
	}
	fixed, pool := e.Addresses(element.StaticOutside), hs.Set{}
	for _, a := range n.Pool {
		pool = pool.Union(hs.Single(hs.Addr(a)))
	}
	turned := func(suffix string, to hs.Set) int {
		c := b.Add(name, suffix, element.Classifier{Outs: 2, Rules: []element.Rule{{Name: name + "/" + suffix, Filters: []hs.Filter{Where(hs.Dst, to)}, Out: 1}}})
		outside.Outs = append(outside.Outs, graph.Edge{To: c})
		return c
	}
	behind := turned("behind-static", fixed.Union(pool))
	b.Wire(static, element.StaticOutside, behind)
	b.connect(graph.Edge{To: behind, Port: 1}, graph.Edge{To: static, Port: element.StaticOutside})
	if turn == ByAll {
		behind = turned("behind-napt", fixed.Union(pool))
		b.connect(graph.Edge{To: behind, Port: 1}, graph.Edge{To: static, Port: element.StaticOutside})
	} else {
		again := b.Add(name, "again", e)
		behind = turned("behind-napt", fixed)
		b.connect(graph.Edge{To: behind, Port: 1}, graph.Edge{To: again, Port: element.StaticOutside})
		b.Wire(again, element.StaticOutsideRest, b.Add(name, "unforwarded", element.Discard{Reason: element.ReasonNATNoBinding}))
		inside.Outs = append(inside.Outs, graph.Edge{To: again, Port: element.StaticInside})
	}
	b.Wire(nat, element.NAPTOutside, behind)
	return inside, outside
}

// Homes is a line with a NAPT that has fixed translations.
func (d *Drawer) Homes() {
	d.napts++
	a, b := d.attach(), d.attach()
	ends := [2]int{0, 1}
	n := element.NAPT{
		Pool: []netip.Addr{Addr4(100, 64, 1, 1), Addr4(100, 64, 1, 2)}[:d.int("pool", 1, 2)], PortMin: 1000, PortMax: 65535, Timeouts: Timeouts, MaxSessions: 1 << 17,
	}
	turn := Hairpinning(d.int("hairpinning", 0, 2))
	d.behave(&n)
	e := d.mappings(ends, n.Pool)
	for _, m := range e.Mappings {
		if m.Proto != 0 {
			n.Reserved = append(n.Reserved, element.Reserved{Proto: m.Proto, Addr: m.Outside.Addr(), First: m.OutsidePort, Last: m.OutsidePort + uint16(m.Ports-1)})
		}
	}
	d.bases = append(d.bases, n.Pool...)
	in, out := d.Home(d.name("home"), n, e, turn)
	a = d.join(a, 0, 2, ends)
	d.Link(a, in)
	d.Link(d.join(out, 0, 2, ends), b)
}
