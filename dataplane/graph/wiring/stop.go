package wiring

import (
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

// AddWires adds the two interfaces of a stop, whose outputs lead somewhere already. A packet that comes in there without a continuation is counted
// by <interface>/untagged, and goes on as if it had passed the stop: the function may have made it. So it does not count for its flow. errors are the sources of ICMP errors about
// such packets, by side. The interfaces' MTU is 1500 bytes until the caller says something else.
func (g *Graph) AddWires(stop int, errors [element.StopSides]netip.Addr) {
	s, name, function := g.Nodes[stop].Element.(element.Stop), g.Nodes[stop].Name, g.Nodes[stop].Function
	for side, wire := range s.Interfaces {
		in := len(g.Nodes)
		g.Nodes = append(g.Nodes,
			Node{Name: wire + "/in", Function: function, Element: element.Input{Interface: wire}, Out: []Edge{{To: in + 1}}},
			Node{Name: wire + "/untagged", Function: function, Element: element.Counter{}, Out: []Edge{g.uncounted(g.Nodes[stop].Out[side])}},
		)
		g.Interfaces = append(g.Interfaces, Interface{
			Name: wire, Prefix: netip.PrefixFrom(errors[side], errors[side].BitLen()), MTU: 1500, Wire: true, Full: element.FullReason(name), In: in, Out: -1,
		})
	}
}

// uncounted is where a way leads behind an element.Passed.
func (g *Graph) uncounted(e Edge) Edge {
	for e.To >= 0 {
		if _, counts := g.Nodes[e.To].Element.(element.Passed); !counts {
			break
		}
		e = g.Nodes[e.To].Out[0]
	}
	return e
}

// AddTap adds the interface of an element.Tap of a function. What comes in there is dropped for a reason: copies do not come back. The interface's MTU is
// 1500 bytes until the caller says something else.
func (g *Graph) AddTap(name, function, returned string, address netip.Addr) {
	in := len(g.Nodes)
	g.Nodes = append(g.Nodes,
		Node{Name: name + "/in", Function: function, Element: element.Input{Interface: name}, Out: []Edge{{To: in + 1}}},
		Node{Name: name + "/returned", Function: function, Element: element.Discard{Reason: returned}},
	)
	g.Interfaces = append(g.Interfaces, Interface{
		Name: name, Prefix: netip.PrefixFrom(address, address.BitLen()), MTU: 1500, Wire: true, Full: element.FullReason(function), In: in, Out: -1,
	})
}
