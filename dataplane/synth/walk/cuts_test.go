package walk_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"github.com/sinter-nfv/sinter/dataplane/synth/trees"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
	"github.com/sinter-nfv/sinter/dataplane/tables"
)

// accepting is a firewall that accepts what n rules match. The first verb of a rule is between 0 and 255, the second its number in 256.
func accepting(name string, n int, rule string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  - name: %s\n    firewall:\n      default: Drop\n      rules:\n", name)
	for i := range n {
		fmt.Fprintf(&b, "      - {action: Accept, "+rule+"}\n", i/256, i%256)
	}
	return b.String()
}

const ofSource, ofPort = "source: [10.%d.%d.0/24]", `protocol: tcp, destinationPorts: ["1%d%03d"]`

func synthesized(t *testing.T, g *graph.Graph, opts synth.Options) *synth.Result {
	t.Helper()
	r, err := synth.Synthesize(g, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Each pair of a rule on sources and one on ports has packets in common. What keeps two look-ups apart is told with their names, and with how large one for both would be.
func TestLookupsThatDoNotFitTogetherAreTold(t *testing.T) {
	g := parsed(t, rowOf(accepting("hosts", 50, ofSource)+accepting("services", 40, ofPort), ", hosts, services"))
	r := synthesized(t, g, synth.Options{MaxBoxes: 1000})
	i := slices.IndexFunc(r.Cuts, func(c synth.Cut) bool { return c.Function == "services" })
	if i < 0 {
		t.Fatalf("the cut before the second firewall is not among %v", r.Cuts)
	}
	c := r.Cuts[i]
	if !slices.Equal(c.From, []string{"from inside"}) || !slices.Equal(c.Behind, []string{"hosts"}) || c.Reason != walk.CutTooLarge || c.Stateful {
		t.Errorf("the cut is %+v", c)
	}
	if c.Limit != 1000 || c.Units < 50*40 || c.Units > 50*40+200 {
		t.Errorf("one look-up would have %d units of %d, want a few more than 2,000 of 1,000", c.Units, c.Limit)
	}
	for _, part := range []string{"services is a look-up of its own behind hosts (from inside)", "up to 2,", "1,000 are the limit", "one look-up more, unless its header comes again"} {
		if !strings.Contains(c.String(), part) {
			t.Errorf("%q does not say %q", c, part)
		}
	}
	if c.Units = 900; !strings.Contains(c.String(), "with what comes behind, would pass the limit of 1,000") {
		t.Errorf("of a cut for what comes behind it is said: %s", c)
	}
	if r := synthesized(t, g, synth.Options{}); len(r.Cuts) > 0 {
		t.Errorf("where both fit together there is %v", r.Cuts)
	}
}

// twoTables is two routers in a row, each with a table by content that leads to two next hops.
func twoTables(t *testing.T) *graph.Graph {
	t.Helper()
	functions := `  - name: edge
    router: {routes: [{prefix: 0.0.0.0/0, port: outside}], routesFrom: [{port: inside, via: 10.0.0.9, file: many}]}
  - name: core
    router: {routes: [{prefix: 10.0.0.0/8, port: inside}], routesFrom: [{port: outside, via: 203.0.113.9, file: many}]}
`
	bundle, findings := manifest.Parse("tables.yaml", []byte(rowOf(functions, ", edge, core")), func(string) ([]byte, error) {
		var b bytes.Buffer
		for i := range 5000 {
			fmt.Fprintf(&b, "100.%d.%d.0/24\n", i/256, i%256)
		}
		return b.Bytes(), nil
	})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	g, findings := graph.Build(bundle.Chains[0], graph.Inputs{Files: bundle.Files, Tables: &tables.Memory{Any: true}})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	return g
}

// The second of two tables by content behind each other is a look-up of its own, whatever its size.
func TestASecondTableByContentIsTold(t *testing.T) {
	r := synthesized(t, twoTables(t), synth.Options{})
	i := slices.IndexFunc(r.Cuts, func(c synth.Cut) bool {
		return c.Reason == walk.CutSecondTable && slices.Contains(c.From, "from inside")
	})
	if i < 0 {
		t.Fatalf("the cut before the second table is not among %v", r.Cuts)
	}
	if c := r.Cuts[i]; c.Units != 0 || !strings.Contains(c.String(), "each can have one table of routes by content") {
		t.Errorf("the cut is %+v: %s", c, c)
	}
}

// behindTable is a firewall and a router with n routes. What comes in from outside passes the router first.
func behindTable(t *testing.T, n int) *graph.Graph {
	t.Helper()
	functions := accepting("services", 40, ofPort) + `  - name: edge
    router: {routesFrom: [{port: outside, via: 203.0.113.9, file: many}, {port: outside, via: 203.0.113.8, file: more}]}
`
	bundle, findings := manifest.Parse("table.yaml", []byte(rowOf(functions, ", services, edge")), func(file string) ([]byte, error) {
		var b bytes.Buffer
		for i := range n / 2 {
			fmt.Fprintf(&b, "%d.%d.%d.0/24\n", 2*(i>>16)+map[string]int{"many": 20, "more": 21}[file], i>>8&255, i&255)
		}
		return b.Bytes(), nil
	})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	g, findings := graph.Build(bundle.Chains[0], graph.Inputs{Files: bundle.Files})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	return g
}

// Rules behind a table of many routes are a look-up of their own, so that the table is a trie. Behind one of few they are not: a packet is looked up once.
func TestRulesBehindALargeTableLeaveItATrie(t *testing.T) {
	for n, apart := range map[int]bool{4_000: false, 140_000: true} {
		r := synthesized(t, behindTable(t, n), synth.Options{})
		i := slices.IndexFunc(r.Cuts, func(c synth.Cut) bool { return c.Reason == walk.CutLargeTable })
		if i >= 0 != apart {
			t.Errorf("%d routes: the cuts are %v", n, r.Cuts)
		}
		if i < 0 {
			continue
		}
		if c := r.Cuts[i]; c.Function != "services" || !slices.Equal(c.Behind, []string{"edge"}) || !slices.Contains(c.From, "from outside") ||
			!strings.Contains(c.String(), "a table of so many routes is looked up in a trie") {
			t.Errorf("%d routes: the cut is %+v: %s", n, c, c)
		}
		for _, s := range r.Program.GetSegments() {
			if table := s.GetTable(); len(table.GetClasses()) >= n && trees.Of(table, false) != (trees.Walk{}) {
				t.Errorf("%d routes: the table of segment %s is no trie", n, s.GetName())
			}
		}
	}
}

// translated is a firewall in front of a NAPT with many fixed translations.
func translated(t *testing.T) *graph.Graph {
	t.Helper()
	functions := accepting("hosts", 50, ofSource) + "  - name: nat\n    napt:\n      pool: [203.0.113.16]\n      static:\n"
	for i := range 40 {
		functions += fmt.Sprintf("      - {inside: 10.0.%d.7, outside: 198.51.100.%d}\n", i, i+1)
	}
	return parsed(t, rowOf(functions, ", hosts, nat"))
}

// Leads is which segments lead to which by classes of packets, not of replies.
func leads(r *synth.Result) map[[2]string]bool {
	out := map[[2]string]bool{}
	for _, s := range r.Segments {
		for _, class := range s.Classes {
			for _, leg := range class.Legs {
				if to, ok := strings.CutPrefix(leg.Outcome, "classify again "); ok && !strings.HasPrefix(s.Name, "answers ") {
					out[[2]string{s.Name, to}] = true
				}
			}
		}
	}
	return out
}

// Each cut that is told is in the program, and each in the program that nothing but room forces is told.
func TestCutsAreThoseOfTheProgram(t *testing.T) {
	told := 0
	for _, g := range append(sampleChains(t), chainOf(t, "acl1_251", "router", "acl1_713"), chainOf(t, "acl1_713", "acl1_251", "fw1_713"), translated(t)) {
		forced := map[string]bool{}
		for pair := range leads(synthesized(t, g, synth.Options{MaxBoxes: 1 << 24})) {
			forced[pair[1]] = true
		}
		r := synthesized(t, g, synth.Options{MaxBoxes: 12})
		ways, tells := leads(r), map[string]bool{}
		for _, c := range r.Cuts {
			told++
			tells[c.Segment] = true
			for _, from := range c.From {
				if !ways[[2]string{from, c.Segment}] {
					t.Errorf("chain %s: %s does not lead to %s", g.Chain, from, c.Segment)
				}
			}
			if c.Reason == walk.CutTooLarge && (c.Units < 1 || c.Limit != 12) {
				t.Errorf("chain %s: %+v has no figures", g.Chain, c)
			}
		}
		for pair := range ways {
			if !forced[pair[1]] && !tells[pair[1]] {
				t.Errorf("chain %s: that %s leads to %s is not told", g.Chain, pair[0], pair[1])
			}
		}
	}
	if told < 10 {
		t.Errorf("the chains have %d cuts: too few to tell much", told)
	}
}
