package differential

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/test/draw"
	"github.com/sinter-nfv/sinter/test/repository"
)

// TestTheEngineRunsTheSamplesAsWritten takes the chains that users copy from, through the whole compiler.
func TestTheEngineRunsTheSamplesAsWritten(t *testing.T) {
	eachSample(t, func(t *testing.T, g *graph.Graph) { driveFixed(t, g, scale(50_000, 12_000)) })
}

// TestTheEngineRunsTheSamplesWithADeviceThatHashes has a device that gives each of three workers the packets of its buckets, in
// both directions.
func TestTheEngineRunsTheSamplesWithADeviceThatHashes(t *testing.T) {
	eachSample(t, func(t *testing.T, g *graph.Graph) { driveHashed(t, g, scale(50_000, 12_000)) })
}

// TestTheEngineRunsClassBenchRuleSets has a firewall with each rule set, a router and a NAPT.
func TestTheEngineRunsClassBenchRuleSets(t *testing.T) {
	eachRuleSet(t, func(t *testing.T, g *graph.Graph) { driveFixed(t, g, scale(60_000, 12_000)) })
}

// eachSample has a subtest for each of the chains in config/samples.
func eachSample(t *testing.T, test func(*testing.T, *graph.Graph)) {
	t.Helper()
	needHarness(t)
	samples, err := repository.Path("config", "samples")
	if err != nil {
		t.Fatal(err)
	}
	bundle, findings := manifest.Load(samples)
	if findings.HasErrors() {
		t.Fatal(findings)
	}
	for _, chain := range bundle.Chains {
		t.Run(chain.Name, func(t *testing.T) {
			g, findings := graph.Build(chain, graph.Inputs{Functions: bundle.Functions, Files: bundle.Files})
			if findings.HasErrors() {
				t.Fatal(bundle.Locate(findings))
			}
			adapt(g)
			test(t, g)
		})
	}
}

// TestTheEngineRunsClassBenchRuleSetsInARow has firewalls whose rules become one look-up, and some that stay two.
func TestTheEngineRunsClassBenchRuleSetsInARow(t *testing.T) {
	needHarness(t)
	for _, names := range [][]string{
		{"acl1_251", "acl1_713", "acl1_8550"}, {"fw1_713", "router", "acl1_713"}, {"acl1_713", "router", "acl1_251", "fw1_713"}, {"acl1_8550", "fw1_713"},
	} {
		t.Run(strings.Join(names, " "), func(t *testing.T) { driveFixed(t, rowOfSets(t, names), scale(300_000, 12_000)) })
	}
}

// Rows of up to ten firewalls are one look-up in parts, and several in others.
func TestTheEngineRunsRowsOfFirewallsThatAreDrawn(t *testing.T) {
	needHarness(t)
	var sets []string
	for _, file := range ruleSets(t) {
		sets = append(sets, filepath.Base(file))
	}
	rng := rand.New(rand.NewPCG(firstSeed, 0))
	for range scale(60, 4) {
		names := draw.Row(rng, sets)
		t.Run(strings.Join(names, " "), func(t *testing.T) { driveFixed(t, rowOfSets(t, names), scale(20_000, 4_000)) })
	}
}

// rowOfSets is firewalls in a row, each by the name of its set of rules, and routers.
func rowOfSets(t *testing.T, names []string) *graph.Graph {
	b := new(builder)
	b.g.Chain = t.Name()
	s, end := b.plainLinks()
	for i, name := range names {
		var left, right side
		if name == draw.Router {
			left, right = oneRouter(b, i)
		} else {
			both := ruleSet(readRuleSet(t, filepath.Join(filepath.Dir(ruleSets(t)[0]), name)))
			left, right = b.filter(fmt.Sprintf("fw%d", i), both, both)
		}
		b.link(s, left)
		s = right
	}
	b.link(s, end)
	return &b.g
}

// eachRuleSet has a subtest for each rule set, in a firewall before a router and a NAPT.
func eachRuleSet(t *testing.T, test func(*testing.T, *graph.Graph)) {
	t.Helper()
	needHarness(t)
	for _, file := range ruleSets(t) {
		t.Run(filepath.Base(file), func(t *testing.T) { test(t, classBench(filepath.Base(file), readRuleSet(t, file))) })
	}
}

func readRuleSet(t *testing.T, file string) []rules.Rule {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	list, problems := rules.ClassBench(content)
	if len(list) == 0 {
		t.Fatalf("no rules: %v", problems)
	}
	return list
}

// ruleSets are the ClassBench files.
func ruleSets(t *testing.T) []string {
	t.Helper()
	data := os.Getenv("SINTER_DATA")
	if data == "" {
		var err error
		if data, err = repository.Path("test", "data"); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(data, "classbench", "*[0-9k]"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no rule sets in %s/classbench (%v)", data, err)
	}
	return files
}

// TestTheEngineRunsFunctionsOfOneKindInARow has the rows of SNF's Figure 8: up to ten routers, and as many NAPTs.
func TestTheEngineRunsFunctionsOfOneKindInARow(t *testing.T) {
	needHarness(t)
	for _, n := range []int{1, 2, 4, 8, 10} {
		for kind, row := range map[string]func(*builder, int) (left, right side){"routers": oneRouter, "NAPTs": oneNAPT} {
			t.Run(fmt.Sprintf("%d %s", n, kind), func(t *testing.T) {
				driveFixed(t, inARow(t.Name(), n, row), scale(30_000, 2_000))
			})
		}
	}
}

// inARow is a chain of n functions of one kind.
func inARow(name string, n int, row func(*builder, int) (left, right side)) *graph.Graph {
	b := new(builder)
	b.g.Chain = name
	s, end := b.plainLinks()
	for i := range n {
		left, right := row(b, i)
		b.link(s, left)
		s = right
	}
	b.link(s, end)
	return &b.g
}

func driveFixed(t *testing.T, g *graph.Graph, n int) {
	t.Helper()
	t.Parallel()
	r, err := newRig(g)
	if err != nil {
		t.Fatal(err)
	}
	driveRig(t, r, n)
}

func driveHashed(t *testing.T, g *graph.Graph, n int) {
	t.Helper()
	t.Parallel()
	driveRig(t, hashedRig(t, g), n)
}

func driveRig(t *testing.T, r *rig, n int) {
	t.Helper()
	engines <- struct{}{}
	defer func() { <-engines }()
	if err := r.drive(t.Context(), 1, n, true); err != nil {
		var m *mismatch
		if errors.As(err, &m) {
			reportSmallest(t, r, m)
		}
		t.Fatal(err)
	}
}

// adapt makes a user's chain one that the oracle can follow: static neighbours instead of ARP, and the same timeouts for
// all NAPTs.
func adapt(g *graph.Graph) {
	for i := range g.Interfaces {
		f := &g.Interfaces[i]
		if f.Prefix.Bits() < 24 {
			f.Prefix = netip.PrefixFrom(f.Prefix.Addr(), 24)
		}
		populate(f, i)
	}
	for i, n := range g.Nodes {
		if e, ok := n.Element.(element.NAPT); ok {
			e.Timeouts = timeouts
			g.Nodes[i].Element = e
		}
	}
}

// plainLinks are two interfaces: 192.168.0.1/28 and 192.168.1.1/28.
func (b *builder) plainLinks() (inside, outside side) {
	link := func(i int) side {
		return b.iface(netip.PrefixFrom(addr4(192, 168, i, 1), 28), 1500, addr4(192, 168, i, 2))
	}
	return link(0), link(1)
}

func oneRouter(b *builder, i int) (left, right side) {
	faces := b.router(fmt.Sprintf("rt%d", i), addr4(172, 16, i, 1), 2, discards, []route{
		{prefix: netip.MustParsePrefix("10.0.0.0/8"), face: 0},
		{prefix: netip.MustParsePrefix("192.168.0.0/24"), face: 0},
		{prefix: netip.MustParsePrefix("10.3.0.0/16"), face: 1},
		{prefix: netip.MustParsePrefix("0.0.0.0/0"), face: 1},
	})
	return faces[0], faces[1]
}

func oneNAPT(b *builder, i int) (left, right side) {
	n := element.NAPT{PortMin: 1024, PortMax: 65535, Timeouts: timeouts, MaxSessions: 1 << 17}
	for a := range 6 {
		n.Pool = append(n.Pool, addr4(100, 64, i, 1+a))
	}
	return b.napt(fmt.Sprintf("nat%d", i), n)
}

// ruleSet has a rule for each line: odd lines accept, even ones and the rest drop.
func ruleSet(list []rules.Rule) element.Classifier {
	c := element.Classifier{Outs: 2, Default: 1}
	for _, r := range list {
		c.Rules = append(c.Rules, element.Rule{Name: fmt.Sprintf("line%d", r.Line), Out: (r.Line + 1) % 2, Filters: []hs.Filter{r.Filter}})
	}
	return c
}

// classBench is a firewall with the rules in one direction (odd lines accept, even ones and the rest drop), a router
// and a NAPT.
func classBench(name string, list []rules.Rule) *graph.Graph {
	b := new(builder)
	b.g.Chain = name
	s, end := b.plainLinks()
	left, right := b.filter("fw", ruleSet(list), element.Classifier{Outs: 1})
	b.link(s, left)
	s = right
	left, right = oneRouter(b, 0)
	b.link(s, left)
	s = right
	left, right = oneNAPT(b, 0)
	b.link(s, left)
	b.link(right, end)
	return &b.g
}
