package walk_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/synth/testbed"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

// manyRoutes is a table of n prefixes. Packets to the k-th leave by the output, and to the next hop, that to says.
func manyRoutes(n int, to func(k int) (out int, via string)) element.Lookup {
	l := element.Lookup{Outs: 2, NoRoute: 1}
	for k := range n {
		out, via := to(k)
		r := element.Route{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(k / 128), byte(k % 128 * 2), 0}), 24), Out: out}
		if via != "" {
			r.Via = netip.MustParseAddr(via)
		}
		l.Routes = append(l.Routes, r)
	}
	return l
}

// byNeighbour leads all routes to four neighbours by output 0.
func byNeighbour(k int) (out int, via string) { return 0, fmt.Sprintf("192.168.1.%d", 1+k%4) }

// inHalves is a classifier that drops the upper half of all destinations.
func inHalves() element.Classifier {
	upper := headerspace.Filter{}.With(headerspace.Dst, headerspace.Prefix(netip.MustParsePrefix("128.0.0.0/1")))
	return element.Classifier{Rules: []element.Rule{{Filters: []headerspace.Filter{upper}, Out: 1}}, Outs: 2}
}

// viaOf are the next hops that legs note.
func viaOf(legs []string) (out []string) {
	for _, l := range legs {
		if _, via, ok := strings.Cut(l, "via "); ok {
			out = append(out, strings.Fields(via)[0])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestNextHopsAreToldApartWhereTheyShow(t *testing.T) {
	all := []string{"192.168.1.1", "192.168.1.2", "192.168.1.3", "192.168.1.4"}
	one := func(int) (int, string) { return 0, "192.168.1.9" }
	for name, c := range map[string]struct {
		elements []element.Element
		want     []string
	}{
		"behind rules on destinations":        {[]element.Element{manyRoutes(200, byNeighbour), inHalves()}, all},
		"behind a table that has others":      {[]element.Element{manyRoutes(200, byNeighbour), manyRoutes(300, one)}, []string{"192.168.1.9"}},
		"of the second of two tables":         {[]element.Element{manyRoutes(300, one), inHalves(), manyRoutes(200, byNeighbour)}, all},
		"of two tables, behind rules":         {[]element.Element{manyRoutes(300, one), manyRoutes(200, byNeighbour), inHalves()}, all},
		"in a copy that passes no more table": {[]element.Element{manyRoutes(200, byNeighbour), element.Tee{Outs: 2}, inHalves(), manyRoutes(300, one)}, append(slices.Clone(all), "192.168.1.9")},
	} {
		t.Run(name, func(t *testing.T) {
			g := testbed.Row(c.elements...)
			for i, n := range g.Nodes {
				if _, ok := n.Element.(element.Tee); ok {
					g.Nodes[i].Out[1].To = g.Interfaces[1].Out
				}
			}
			legs, _ := testbed.LegsFrom(t, g)
			if got := viaOf(legs); !slices.Equal(got, c.want) {
				t.Errorf("got next hops %v, want %v; legs %q", got, c.want, legs)
			}
		})
	}
}

// onPorts is a list of n rules on ports, of which every second one drops.
func onPorts(n int) element.Classifier {
	list := element.Classifier{Outs: 2}
	for i := range n {
		f := headerspace.Filter{}.With(headerspace.Proto, headerspace.Of(17)).With(headerspace.DPort, headerspace.Of(uint64(1000+i)))
		list.Rules = append(list.Rules, element.Rule{Filters: []headerspace.Filter{f}, Out: i % 2})
	}
	return list
}

// withinBudget fails if some segment of a chain has more boxes than one may have.
func withinBudget(t *testing.T, g *graph.Graph) {
	t.Helper()
	r, err := walk.Synthesize(g, walk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range r.Segments {
		if n := len(r.Program.GetSegments()[i].GetTable().GetClasses()); n > walk.DefaultMaxBoxes {
			t.Errorf("segment %s has %d boxes, at most %d are allowed", s.Name, n, walk.DefaultMaxBoxes)
		}
	}
}

// fork has what leaves a chain's table by output 1 pass an element, too, and leave by the second interface.
func fork(g *graph.Graph, e element.Element) *graph.Graph {
	end := slices.IndexFunc(g.Nodes, func(n graph.Node) bool { return n.Name == "end" })
	for i := range g.Nodes {
		if l, ok := g.Nodes[i].Element.(element.Lookup); ok {
			l.Outs, l.NoRoute = 3, 2
			g.Nodes[i].Element, g.Nodes[i].Out = l, []graph.Edge{g.Nodes[i].Out[0], {To: len(g.Nodes)}, {To: end}}
		}
	}
	g.Nodes = append(g.Nodes, graph.Node{Name: "fork", Function: "f", Element: e, Out: []graph.Edge{{To: g.Interfaces[1].Out}, {To: end}}})
	return g
}

// Rules and routes together are a product also where routes are followed together.
func TestWhatRulesAndRoutesSayTogetherIsCounted(t *testing.T) {
	inTurn := func(k int) (int, string) { return k % 2, "" }
	few := func(k int) (out int, via string) {
		if k%10 == 0 {
			return 1, ""
		}
		return byNeighbour(k)
	}
	onBoth := onPorts(200)
	onBoth.Rules = append(onBoth.Rules, inHalves().Rules...)
	for name, g := range map[string]*graph.Graph{
		"rules behind routes that lead to two lists in turn, in as many ranges": fork(testbed.Row(manyRoutes(4000, inTurn), onBoth), onBoth),
		"routes behind rules, and nothing reads destinations behind them":       testbed.Row(onPorts(200), manyRoutes(4000, byNeighbour)),
		"routes behind rules, and something does so behind a few of them":       fork(testbed.Row(onPorts(200), manyRoutes(4000, few)), inHalves()),
	} {
		t.Run(name, func(t *testing.T) { withinBudget(t, g) })
	}
}

// TestTheRouteOfAPacketIsKnownWhereRoutesAreFollowedTogether asks for the way of one packet.
func TestTheRouteOfAPacketIsKnownWhereRoutesAreFollowedTogether(t *testing.T) {
	g := testbed.Row(manyRoutes(300, byNeighbour), manyRoutes(200, byNeighbour))
	_, r := testbed.LegsFrom(t, g)
	var p headerspace.Packet
	p[headerspace.Src], p[headerspace.Dst] = headerspace.Addr(netip.MustParseAddr("10.0.0.7")), headerspace.Addr(netip.MustParseAddr("20.0.246.9"))
	p[headerspace.Proto], p[headerspace.TTL] = headerspace.V(17), headerspace.V(64)
	leaf, ok := r.Segments[r.Program.Interfaces[0].Segment].Match(&p)
	if !ok {
		t.Fatal("no leaf")
	}
	if got, want := fmt.Sprint(r.Trace(leaf)), "[lookup0[20.0.246.0/24] lookup1[20.0.246.0/24] b/out]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
