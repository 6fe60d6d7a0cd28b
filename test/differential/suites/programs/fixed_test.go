package programs

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	rows "github.com/sinter-nfv/sinter/test/draw"
)

// TestTheEngineRunsTheSamplesAsWritten takes the chains that users copy from, through the whole compiler.
func TestTheEngineRunsTheSamplesAsWritten(t *testing.T) {
	rig.EachSample(t, func(t *testing.T, g *graph.Graph) { rig.DriveFixed(t, g, rig.Scale(50_000, 12_000)) })
}

// TestTheEngineRunsTheSamplesWithADeviceThatHashes has a device that gives each of three workers the packets of its buckets, in
// both directions.
func TestTheEngineRunsTheSamplesWithADeviceThatHashes(t *testing.T) {
	rig.EachSample(t, func(t *testing.T, g *graph.Graph) { rig.DriveHashed(t, g, rig.Scale(50_000, 12_000)) })
}

// TestTheEngineRunsClassBenchRuleSets has a firewall with each rule set, a router and a NAPT.
func TestTheEngineRunsClassBenchRuleSets(t *testing.T) {
	rig.EachRuleSet(t, func(t *testing.T, g *graph.Graph) { rig.DriveFixed(t, g, rig.Scale(60_000, 12_000)) })
}

// TestTheEngineRunsClassBenchRuleSetsInARow has firewalls whose rules become one look-up, and some that stay two.
func TestTheEngineRunsClassBenchRuleSetsInARow(t *testing.T) {
	rig.NeedHarness(t)
	for _, names := range [][]string{
		{"acl1_251", "acl1_713", "acl1_8550"}, {"fw1_713", "router", "acl1_713"}, {"acl1_713", "router", "acl1_251", "fw1_713"}, {"acl1_8550", "fw1_713"},
	} {
		t.Run(strings.Join(names, " "), func(t *testing.T) { rig.DriveFixed(t, draw.RowOfSets(t, names), rig.Scale(300_000, 12_000)) })
	}
}

// Rows of up to ten firewalls are one look-up in parts, and several in others.
func TestTheEngineRunsRowsOfFirewallsThatAreDrawn(t *testing.T) {
	rig.NeedHarness(t)
	var sets []string
	for _, file := range draw.RuleSets(t) {
		sets = append(sets, filepath.Base(file))
	}
	rng := rand.New(rand.NewPCG(rig.FirstSeed, 0))
	for range rig.Scale(60, 4) {
		names := rows.Row(rng, sets)
		t.Run(strings.Join(names, " "), func(t *testing.T) { rig.DriveFixed(t, draw.RowOfSets(t, names), rig.Scale(20_000, 4_000)) })
	}
}

// TestTheEngineRunsFunctionsOfOneKindInARow has the rows of SNF's Figure 8: up to ten routers, and as many NAPTs.
func TestTheEngineRunsFunctionsOfOneKindInARow(t *testing.T) {
	rig.NeedHarness(t)
	for _, n := range []int{1, 2, 4, 8, 10} {
		for kind, row := range map[string]func(*draw.Builder, int) (left, right draw.Side){"routers": draw.OneRouter, "NAPTs": draw.OneNAPT} {
			t.Run(fmt.Sprintf("%d %s", n, kind), func(t *testing.T) {
				rig.DriveFixed(t, draw.InARow(t.Name(), n, row), rig.Scale(30_000, 2_000))
			})
		}
	}
}
