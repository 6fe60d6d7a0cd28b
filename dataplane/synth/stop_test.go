package synth_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/synth/testbed"
)

func TestNAPTsOnBothSidesOfAStopChooseBoth(t *testing.T) {
	ips := element.Stop{Interfaces: [element.StopSides]string{"ips/inside", "ips/outside"}}
	g := testbed.Row(testbed.Masquerade("192.0.2.1"), ips, testbed.Masquerade("192.0.2.2"))
	stop := slices.IndexFunc(g.Nodes, func(n graph.Node) bool { return n.Name == "stop1" })
	g.AddWires(stop, [element.StopSides]netip.Addr{netip.MustParseAddr("192.168.0.1"), netip.MustParseAddr("192.168.1.1")})
	before, r := testbed.LegsFrom(t, g)
	if want := "translate source (napt0) → leave for stop1"; !slices.Contains(before, want) {
		t.Errorf("before the stop classes do %q, want %q among them", before, want)
	}
	var behind []string
	for _, s := range r.Segments {
		if s.Name == "outside at stop1" {
			for _, c := range s.Classes {
				behind = append(behind, c.Legs[0].String())
			}
		}
	}
	if want := "translate source (napt2) → output b"; !slices.Contains(behind, want) {
		t.Errorf("behind it classes do %q, want %q among them", behind, want)
	}
	if len(r.Runs) != 2 {
		t.Errorf("runs are %+v, want one for each NAPT: the stop may look at what the first one chose", r.Runs)
	}
}
