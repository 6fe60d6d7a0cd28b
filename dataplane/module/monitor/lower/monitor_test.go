package lower_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

// monitorChain is a chain with a monitor, whose members are given, on line 9.
func monitorChain(members string) string {
	return graphtest.Header + graphtest.TwoInterfaces + "  functions:\n  - {name: mon, monitor: {" + members + "}}\n  path: [inside, mon, outside]\n"
}

func TestWhatIsWrongWithAMonitor(t *testing.T) {
	const at = "chain.yaml:9: spec.functions[0].monitor."
	for name, k := range map[string]struct{ members, want string }{
		"a list of nothing":              {"top: {by: []}", "top.by"},
		"a list twice":                   {"top: {by: [Flow, Flow]}", "top.by[1]"},
		"an unknown list":                {"top: {by: [Port]}", "top.by[0]"},
		"a prefix of a host":             {"top: {by: [SourcePrefix], prefixLength: 32}", "top.prefixLength"},
		"too few entries":                {"top: {by: [Flow], entries: 15}", "top.entries"},
		"an interval of hours":           {"top: {by: [Flow], interval: 2h}", at + `top.interval: "2h": not right here; write it like "90s", from 1s to 1h`},
		"a collector that is no address": {"export: {collector: {address: collector}}", at + `export.collector.address: "collector": `},
		"a collector by IPv6":            {`export: {collector: {address: "2001:db8::1"}}`, at + `export.collector.address: "2001:db8::1": `},
		"a collector that is no host":    {`export: {collector: {address: 224.0.0.9}}`, at + `export.collector.address: "224.0.0.9": is a multicast address (224.0.0.0/4); give one that a host can have`},
		"a port that there is not":       {"export: {collector: {address: 192.0.2.9, port: 65536}}", "export.collector.port"},
		"sampling of nothing":            {"export: {collector: {address: 192.0.2.9}, sampling: 65536}", "export.sampling"},
		"a timeout of hours":             {"export: {collector: {address: 192.0.2.9}, activeTimeout: 90m}", at + `export.activeTimeout: "90m": not right here`},
	} {
		t.Run(name, func(t *testing.T) {
			if found := graphtest.Findings(t, monitorChain(k.members)); !found.HasErrors() || !strings.Contains(found.String(), k.want) {
				t.Errorf("got\n%s\nwant in it\n%s", found, k.want)
			}
		})
	}
}

func TestOneMonitorOfAChainNotesFlows(t *testing.T) {
	chain := graphtest.Header + graphtest.TwoInterfaces + "  functions:\n  - {name: a, monitor: {top: {by: [Flow]}}}\n  - {name: b, monitor: {}}\n" +
		"  - {name: c, monitor: {export: {collector: {address: 192.0.2.9}}}}\n  path: [inside, a, b, c, outside]\n"
	const want = "chain.yaml:11: spec.functions[2].monitor: \"c\": monitor \"a\" has `top` or `export` already; one monitor of a chain at most notes flows: leave them out here"
	if found := strings.TrimSpace(graphtest.Findings(t, chain).String()); found != want {
		t.Errorf("got\n%s\nwant\n%s", found, want)
	}
}

// TestDefaultsOfAMonitor looks at the element that notes flows.
func TestDefaultsOfAMonitor(t *testing.T) {
	for members, want := range map[string]string{
		"top: {by: [Flow]}": "observe mon, top 1024 of flow in 1m0s",
		"top: {by: [DestinationPrefix, Source, SourcePrefix, Destination]}":                      "observe mon, top 1024 of dst/24, src, src/24, dst in 1m0s",
		"export: {collector: {address: 192.0.2.9}}":                                              "observe mon, export to 192.0.2.9:4739 one in 1, active 1m0s, idle 15s",
		"top: {by: [Flow], entries: 16}, export: {collector: {address: 192.0.2.9}, sampling: 7}": "observe mon, top 16 of flow in 1m0s, export to 192.0.2.9:4739 one in 7, active 1m0s, idle 15s",
	} {
		g, found := graphtest.Lower(t, monitorChain(members))
		if g == nil {
			t.Fatalf("%s:\n%s", members, found)
		}
		var got []string
		for _, n := range g.Nodes {
			if o, ok := n.Element.(element.Observe); ok {
				got = append(got, n.Name+": "+o.String())
			}
		}
		if list := []string{"mon/flows-inside: " + want, "mon/flows-outside: " + want}; !slices.Equal(got, list) {
			t.Errorf("%s: got %q, want %q", members, got, list)
		}
	}
}
