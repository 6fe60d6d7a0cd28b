package synth_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/synth/testbed"
)

// tapped gives a graph, which ends at "b", a tap where it has a tee.
func tapped(g *graph.Graph) *graph.Graph {
	tee := slices.IndexFunc(g.Nodes, func(n graph.Node) bool { _, is := n.Element.(element.Tee); return is })
	g.Nodes = append(g.Nodes, graph.Node{Name: "ids", Element: element.Tap{Interface: "ids"}})
	g.Nodes[tee].Out[1] = graph.Edge{To: len(g.Nodes) - 1}
	g.AddTap("ids", "ids", "ids/returned", netip.MustParseAddr("192.168.0.1"))
	return g
}

func TestATapGetsWhatIsDoneBeforeIt(t *testing.T) {
	for name, k := range map[string]struct {
		chain []element.Element
		want  []string
	}{
		"it alone":                               {[]element.Element{element.Tee{Outs: 2}}, []string{"output b", "copy to ids"}},
		"the TTL is lowered before it":           {[]element.Element{element.DecTTL{}, element.Tee{Outs: 2}}, []string{"ttl -1 → output b", "ttl -1 → copy to ids", "drop end"}},
		"the TTL is lowered behind it":           {[]element.Element{element.Tee{Outs: 2}, element.DecTTL{}}, []string{"ttl -1 → output b", "copy to ids", "drop end", "copy to ids"}},
		"a class that is dropped is not copied":  {[]element.Element{ask(headerspace.DPort, 53), element.Tee{Outs: 2}}, []string{"output b", "copy to ids", "drop end"}},
		"a class is copied that is dropped then": {[]element.Element{element.Tee{Outs: 2}, ask(headerspace.DPort, 53)}, []string{"output b", "copy to ids", "drop end", "copy to ids"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, r := testbed.LegsFrom(t, tapped(testbed.Row(k.chain...)))
			if !slices.Equal(got, k.want) {
				t.Errorf("classes do %q, want %q", got, k.want)
			}
			if i := r.Program.Interfaces[2]; !i.Wire || i.Function != "ids" {
				t.Errorf("the tap's interface is %v, want a wire of ids", i)
			}
			if got := legsOf(r, r.Program.Interfaces[2].Segment); !slices.Equal(got, []string{"drop ids/returned"}) {
				t.Errorf("what the function sends is %q, want it dropped", got)
			}
		})
	}
}
