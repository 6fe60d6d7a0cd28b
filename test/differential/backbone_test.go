package differential

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/test/backbone"
)

func TestTheEngineRunsSixteenBackboneRouters(t *testing.T) {
	needHarness(t)
	driveBackbone(t, backbone.Tree(t))
}

// Their product fits no budget: a packet passes a look-up for each function, more than sixteen.
func TestTheEngineRunsTenPairsOfALargeFirewallAndALargeRouter(t *testing.T) {
	needHarness(t)
	driveBackbone(t, backbone.Pairs(t))
}

func driveBackbone(t *testing.T, g *graph.Graph) {
	t.Helper()
	t.Parallel()
	for i := range g.Interfaces {
		populate(&g.Interfaces[i], i)
	}
	engines <- struct{}{}
	defer func() { <-engines }()
	r, err := newRig(g)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.driveNetwork(t.Context(), 1, scale(60_000, 10_000)); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d segments, longest way %d", len(r.res.Segments), r.res.Program.GetLongestWay())
}
