package walk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/synth"
)

// chainOf is functions in a row: firewalls, each with the rules of a ClassBench file of which odd lines accept, and routers.
func chainOf(tb testing.TB, files ...string) *graph.Graph {
	tb.Helper()
	var functions, path strings.Builder
	for i, file := range files {
		fmt.Fprintf(&path, ", f%d", i)
		if file == "router" {
			fmt.Fprintf(&functions, "  - name: f%d\n    router: {routes: [{prefix: 204.152.0.0/16, port: inside}, {prefix: 0.0.0.0/0, port: outside}]}\n", i)
			continue
		}
		fmt.Fprintf(&functions, "  - name: f%d\n    firewall: {rulesFrom: {file: %s, format: ClassBench, actions: OddAcceptEvenDrop}}\n", i, file)
	}
	return parsed(tb, rowOf(functions.String(), path.String()))
}

// rowOf is the text of a chain of functions in a row. Each name on the path has a comma before it.
func rowOf(functions, path string) string {
	return fmt.Sprintf(`
apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: row}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.2/24, gateway: 203.0.113.1}
  functions:
%s  path: [inside%s, outside]
`, functions, path)
}

// Rules of two firewalls have few packets in common. What both say together is hardly more than what they say one by one, so a packet is looked up once.
func TestFirewallsWithFewCommonPacketsAreOneLookup(t *testing.T) {
	for _, c := range []struct {
		chain string
		boxes int // at most, of the segments that packets come in by
	}{
		{"acl1_251 acl1_713", 251 + 713 + 100},
		{"acl1_251 router acl1_713", 251 + 713 + 100},
		{"acl1_251 acl1_713 acl1_8550", 251 + 713 + 8550 + 500},
		{"acl1_8550 router acl1_251 acl1_713", 251 + 713 + 8550 + 500},
		{"acl1_713 fw1_713", 8_000},
	} {
		t.Run(c.chain, func(t *testing.T) {
			r, err := synth.Synthesize(chainOf(t, strings.Fields(c.chain)...), synth.Options{})
			if err != nil {
				t.Fatal(err)
			}
			boxes := 0
			for i, s := range r.Segments {
				if !strings.HasPrefix(s.Name, "from ") {
					continue
				}
				boxes += len(r.Program.GetSegments()[i].GetTable().GetClasses())
				for _, class := range s.Classes {
					for _, leg := range class.Legs {
						if strings.Contains(leg.Outcome, "classify again") {
							t.Errorf("%s: packets are %s", s.Name, leg)
						}
					}
				}
			}
			if boxes > c.boxes {
				t.Errorf("there are %d boxes, at most %d are allowed", boxes, c.boxes)
			}
		})
	}
}
