package synth

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// line builds in → functions → out, both ways, from the inside of each.
type builder struct{ g graph.Graph }

func (b *builder) add(name, fn string, e element.Element) int {
	_, outs := e.Ports()
	n := graph.Node{Name: name, Function: fn, Element: e}
	for range outs {
		n.Out = append(n.Out, graph.Edge{To: -1})
	}
	b.g.Nodes = append(b.g.Nodes, n)
	return len(b.g.Nodes) - 1
}

func (b *builder) wire(from, out, to, in int) { b.g.Nodes[from].Out[out] = graph.Edge{To: to, Port: in} }

func (b *builder) iface(name, prefix string) (in, out int) {
	p := netip.MustParsePrefix(prefix)
	i := b.add(name+"/in", "", element.Input{Interface: name})
	o := b.add(name+"/out", "", element.Output{Interface: name})
	l := b.add(name+"/local", "", element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{{Name: "self", Out: 0, Filters: []headerspace.Filter{
		headerspace.Filter{}.With(headerspace.Dst, headerspace.Single(headerspace.Addr(p.Addr())))}}}})
	e := b.add(name+"/echo", "", element.EchoResponder{})
	b.wire(i, 0, l, 0)
	b.wire(l, 0, e, 0)
	b.wire(e, 0, o, 0)
	b.g.Interfaces = append(b.g.Interfaces, graph.Interface{Name: name, Prefix: p, MTU: 1500, In: i, Out: o})
	return l, o
}

func dump(t *testing.T, g *graph.Graph) {
	r, err := Synthesize(g, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range r.Segments {
		fmt.Println("SEG", i, s.Name, "floor", r.Program.Segments[i].TtlFloor, r.Program.Segments[i].Table.Dims)
		for _, l := range s.Leaves {
			fmt.Println("   ", l.Filter, "=>", s.Classes[l.Class].Legs)
		}
	}
	for _, x := range r.Runs {
		fmt.Println("RUN", x)
	}
	for _, x := range r.Warnings {
		fmt.Println("WARN", x)
	}
}

func TestSmoke(t *testing.T) {
	var b builder
	_ = b
	inL, inO := b.iface("inside", "10.0.0.1/24")
	outL, outO := b.iface("outside", "203.0.113.2/24")
	pfx := netip.MustParsePrefix
	mk := func(name string) element.NAPT {
		return element.NAPT{Pool: []netip.Addr{netip.MustParseAddr(name)}, PortMin: 1024, PortMax: 65535, MaxSessions: 1000}
	}
	rt := b.add("rt/lookup", "rt", element.Lookup{Outs: 3, NoRoute: 2, Routes: []element.Route{
		{Prefix: pfx("10.0.0.0/24"), Out: 0}, {Prefix: pfx("0.0.0.0/0"), Via: netip.MustParseAddr("203.0.113.1"), Out: 1}}})
	t0 := b.add("rt/ttl0", "rt", element.DecTTL{})
	t1 := b.add("rt/ttl1", "rt", element.DecTTL{})
	ex := b.add("rt/expired", "rt", element.ICMPError{Type: 11})
	un := b.add("rt/unreach", "rt", element.ICMPError{Type: 3})
	b.wire(rt, 0, t0, 0)
	b.wire(rt, 1, t1, 0)
	b.wire(rt, 2, un, 0)
	b.wire(t0, 1, ex, 0)
	b.wire(t1, 1, ex, 0)
	b.wire(ex, 0, rt, 0)
	b.wire(un, 0, rt, 0)
	n1 := b.add("nat1", "nat1", mk("198.51.100.1"))
	n2 := b.add("nat2", "nat2", mk("203.0.113.9"))
	b.wire(inL, 1, n1, 0)
	b.wire(n1, 1, rt, 0)
	b.wire(t1, 0, n2, 0)
	b.wire(n2, 1, outO, 0)
	b.wire(outL, 1, n2, 1)
	b.wire(n2, 0, rt, 0)
	// the route back to nat1's pool
	l := b.g.Nodes[rt].Element.(element.Lookup)
	l.Routes[0].Prefix = pfx("198.51.100.0/24")
	b.wire(t0, 0, n1, 1)
	b.wire(n1, 0, inO, 0)
	dump(t, &b.g)
}
