package walk_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
	"github.com/sinter-nfv/sinter/test/backbone"
)

// Many routers together are the sum of their tables, not a product of tables and routers: in the program, in what making it takes, and in the look-ups of
// a packet, which is one.
func TestManyRoutersInARowAreTheSumOfTheirTables(t *testing.T) {
	const routes = 1000
	type size struct{ made, text int }
	of := func(routers int) (s size) {
		g := backbone.Mixed(t, routers, routes)
		var r *synth.Result
		s.made = allocated(func() {
			var err error
			if r, err = synth.Synthesize(g, synth.Options{}); err != nil {
				t.Fatal(err)
			}
		})
		text, err := program.Encode(r.Program)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range r.Segments {
			if strings.HasPrefix(s.Name, "from ") && againAt(s) != "" {
				t.Errorf("%d routers, %s: packets are classified again %s", routers, s.Name, againAt(s))
			}
		}
		s.text = len(text)
		t.Logf("%d routers: %d KB are allocated, the program has %d KB", routers, s.made>>10, s.text>>10)
		return s
	}
	few, many := of(6), of(24)
	if many.text > 5*few.text {
		t.Errorf("the program of 24 routers has %d bytes, that of 6 has %d", many.text, few.text)
	}
	if n := many.text / (24 * routes); n > 35 { // it was 709
		t.Errorf("the program has %d bytes for each route, at most 35 are allowed", n)
	}
	if n := many.made / (24 * routes); n > 12_000 { // it was 103,122
		t.Errorf("the synthesis took %d bytes for each route, at most 12,000 are allowed", n)
	}
}

// Behind the table nothing asks for destinations but the answers, so its routes are followed one by one: what they say together with the rules of a
// firewall before it is a product, and is counted as one.
func TestRulesBeforeALargeTableAreCountedWithItsRoutes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var routes strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&routes, "      - {prefix: %d.%d.%d.0/24, port: outside, via: 203.0.113.%d}\n", 11+i%150, i/150, rng.IntN(256), 10+rng.IntN(16))
	}
	const before = "      - {prefix: 204.152.0.0/16, port: inside}\n"
	r, err := synth.Synthesize(parsed(t, strings.Replace(ispChain, before, before+routes.String(), 1)), synth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	boxes := 0
	for _, s := range r.Program.GetSegments() {
		boxes += len(s.GetTable().GetClasses())
	}
	if boxes > 40_000 {
		t.Errorf("there are %d boxes, at most 40,000 are allowed", boxes)
	}
}

// againAt is a segment where packets of another one are classified again; empty: there is none.
func againAt(s *walk.Segment) string {
	for _, class := range s.Classes {
		for _, leg := range class.Legs {
			if _, at, ok := strings.Cut(leg.Outcome, "classify again "); ok {
				return at
			}
		}
	}
	return ""
}

// Each of several routers has answers, which pass firewalls between them. What two firewalls say together is not in the program for answers, too.
func TestAnswersBetweenLargeTablesAreLookedUpOnceAtEachFirewall(t *testing.T) {
	var routes, functions strings.Builder
	for i := range 100 {
		fmt.Fprintf(&routes, "{prefix: 20.%d.0.0/16, port: %s}, ", i, []string{"inside", "outside"}[i%2])
	}
	router := fmt.Sprintf("router: {routes: [%s{prefix: 0.0.0.0/0, port: outside}]}", &routes)
	rules := func(file string) string {
		return fmt.Sprintf("firewall: {rulesFrom: {file: %s, format: ClassBench, actions: OddAcceptEvenDrop}}", file)
	}
	for i, f := range []string{router, rules("acl1_713"), rules("fw1_713"), router} {
		fmt.Fprintf(&functions, "  - name: f%d\n    %s\n", i, f)
	}
	r := synthesized(t, parsed(t, rowOf(functions.String(), ", f0, f1, f2, f3")), synth.Options{})
	answers := 0
	for i, s := range r.Segments {
		if strings.HasPrefix(s.Name, "answers at ") {
			answers++
			if n := len(r.Program.GetSegments()[i].GetTable().GetClasses()); n > 1000 {
				t.Errorf("%s: there are %d boxes, and no firewall has more than 713 rules", s.Name, n)
			}
		}
	}
	if answers == 0 {
		t.Error("no segment is for answers at a look-up, so the test tells nothing")
	}
}

// Answers are looked up once at each large table and list of rules. That must not keep NAPTs apart that are one for all other packets.
func TestAnswersBetweenLargeTablesLeaveNAPTsInOneRun(t *testing.T) {
	var routes strings.Builder
	for i := range 100 {
		fmt.Fprintf(&routes, "{prefix: 20.%d.0.0/16, port: %s}, ", i, []string{"inside", "outside"}[i%2])
	}
	var rules strings.Builder
	for i := range 100 {
		fmt.Fprintf(&rules, "{action: Drop, destination: [30.%d.0.0/16]}, ", i)
	}
	functions := fmt.Sprintf(`  - name: r1
    router: {routes: [%[1]s{prefix: 0.0.0.0/0, port: outside}]}
  - name: n1
    napt: {pool: [198.51.100.64/28]}
  - name: f1
    firewall: {default: Accept, rules: [%[2]s]}
  - name: r2
    router: {routes: [%[1]s{prefix: 0.0.0.0/0, port: outside}, {prefix: 198.51.100.64/28, port: inside}]}
  - name: n2
    napt: {pool: [203.0.113.64/28]}
  - name: r3
    router: {routes: [%[1]s{prefix: 0.0.0.0/0, port: outside}, {prefix: 203.0.113.64/28, port: inside}]}
`, &routes, strings.TrimSuffix(rules.String(), ", "))
	r, err := synth.Synthesize(parsed(t, rowOf(functions, ", r1, n1, f1, r2, n2, r3")), synth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(r.Runs, func(r synth.Run) bool { return len(r.Nodes) == 2 }) {
		t.Errorf("got runs %v, want one of both NAPTs", r.Runs)
	}
	answers := 0
	for _, s := range r.Segments {
		if strings.HasPrefix(s.Name, "answers at ") {
			answers++
		}
	}
	if answers == 0 {
		t.Error("no segment is for answers at a table, so the test tells nothing")
	}
}
