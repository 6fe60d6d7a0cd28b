package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

// TestASubscriberGetsAQuarterUnlessLimitsSayIt looks at the elements that NAPTs become.
func TestASubscriberGetsAQuarterUnlessLimitsSayIt(t *testing.T) {
	const none = "icmp 1m0s\n"
	for name, k := range map[string]struct{ spec, want string }{
		"one address":               {"", "icmp 1m0s, per /32: sessions 48384, ports 16128, else drop nat/subscriber-limit\n"},
		"a small pool is for all":   {"ports: {min: 1024, max: 2047}, maxSessions: 1024", none},
		"1,024 at least":            {"ports: {min: 1024, max: 4095}", "sessions 2304, ports 1024,"},
		"a quarter of the sessions": {"mapping: EndpointIndependent, maxSessions: 100000", "per /32: sessions 25000, ports 16128,"},
		"sessions alone":            {"limits: {maxSessions: 100}", "per /32: sessions 100, ports 16128,"},
		"ports alone":               {"limits: {maxPorts: 100}", "per /32: sessions 48384, ports 100,"},
		"prefixes":                  {"limits: {prefixLength: 20}", "per /20: sessions 48384, ports 16128,"},
		"a quarter of one address":  {"pool: [203.0.113.9-203.0.113.12], pooling: Paired", ", paired, per /32: sessions 193536, ports 16128,"},
		"one address is paired":     {"pooling: Paired", none[:len(none)-1] + ", per /32"},
		"all for one":               {"limits: {maxSessions: 1000000, maxPorts: 65536}", none},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.HasPrefix(k.spec, "pool:") {
				k.spec = "pool: [203.0.113.9], " + k.spec
			}
			dump := graphtest.Dump(t, graphtest.Header+graphtest.TwoInterfaces+fmt.Sprintf("  functions:\n  - {name: nat, napt: {%s}}\n  path: [inside, nat, outside]\n", k.spec))
			if !strings.Contains(dump, k.want) {
				t.Errorf("got\n%s\nwant in it\n%s", dump, k.want)
			}
		})
	}
}

// TestNAPTsBehindAnotherOneHaveNoSubscribers: it is the first one that sees hosts, also with routers before and behind it.
func TestNAPTsBehindAnotherOneHaveNoSubscribers(t *testing.T) {
	dump := graphtest.Dump(t, graphtest.Header+graphtest.TwoInterfaces+`  functions:
  - {name: n1, napt: {pool: [198.51.100.9]}}
  - {name: n2, napt: {pool: [203.0.113.9]}}
  - {name: r1, router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}}
  - {name: r2, router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}}
  path: [inside, r1, n1, r2, n2, outside]
`)
	for line := range strings.Lines(dump) {
		if first := strings.HasPrefix(line, "n1/napt:"); first && !strings.Contains(line, "n1/subscriber-limit") || strings.HasPrefix(line, "n2/napt:") && strings.Contains(line, "per /") {
			t.Errorf("got %s", line)
		}
	}
	if !strings.Contains(dump, "n1/napt:") || !strings.Contains(dump, "n2/napt:") {
		t.Errorf("the NAPTs are missing:\n%s", dump)
	}
}
