// Package testbed has what tests of elements' meaning on sets share: chains of elements in a row, and what a program does to their packets.
package testbed

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

// Row is a chain from interface a to b through elements in a row; output 1, if there is one, is a drop. Nothing comes in by b.
func Row(elements ...element.Element) *graph.Graph {
	g := &graph.Graph{Chain: "row"}
	add := func(name string, e element.Element) int {
		_, outs := e.Ports()
		g.Nodes = append(g.Nodes, graph.Node{Name: name, Function: "f", Element: e, Out: slices.Repeat([]graph.Edge{{To: -1}}, outs)})
		return len(g.Nodes) - 1
	}
	end := add("end", element.Discard{Reason: "end"})
	for i, name := range []string{"a", "b"} {
		in, out := add(name+"/in", element.Input{Interface: name}), add(name+"/out", element.Output{Interface: name})
		g.Nodes[in].Out[0] = graph.Edge{To: end}
		prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, byte(i), 1}), 24)
		g.Interfaces = append(g.Interfaces, graph.Interface{Name: name, Prefix: prefix, MTU: 1500, In: in, Out: out})
	}
	from, out := g.Interfaces[0].In, 0
	for i, e := range elements {
		n := add(fmt.Sprintf("%s%d", e.Kind(), i), e)
		for k := range g.Nodes[n].Out {
			g.Nodes[n].Out[k] = graph.Edge{To: end}
		}
		g.Nodes[from].Out[out] = graph.Edge{To: n}
		from, out = n, 0
		if element.TwoSided(e) {
			out = 1
		}
	}
	if _, outs := g.Nodes[from].Element.Ports(); outs > 0 {
		g.Nodes[from].Out[out] = graph.Edge{To: g.Interfaces[1].Out}
	}
	return g
}

// BothWays is a row of elements with two sides by which packets come back, too: from interface b to a.
func BothWays(elements ...element.Element) *graph.Graph {
	g := Row(elements...)
	at := func(n, port int) graph.Edge { return graph.Edge{To: n, Port: port} }
	to, first := at(g.Interfaces[0].Out, 0), g.Nodes[g.Interfaces[0].In].Out[0].To
	for i := range elements {
		g.Nodes[first+i].Out[0] = to
		to = at(first+i, 1)
	}
	g.Nodes[g.Interfaces[1].In].Out[0] = to
	return g
}

// LegsFrom are what a program does to packets from interface a, in words, class by class.
func LegsFrom(t *testing.T, g *graph.Graph) (legs []string, r *walk.Result) {
	t.Helper()
	r, err := walk.Synthesize(g, walk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Segments[r.Program.Interfaces[0].Segment].Classes {
		for _, l := range c.Legs {
			s := l.String()
			if len(l.Counters) > 0 {
				s += ", counted by " + strings.Join(l.Counters, ", ")
			}
			legs = append(legs, s)
		}
	}
	return legs, r
}

// Masquerade is a NAPT with one address.
func Masquerade(pool string) element.NAPT {
	idle := element.Timeouts{TCP: time.Hour, TCPTransitory: time.Minute, UDP: time.Minute, ICMP: time.Minute}
	return element.NAPT{Pool: []netip.Addr{netip.MustParseAddr(pool)}, PortMin: 1024, PortMax: 65535, Timeouts: idle, MaxSessions: 1000}
}
