package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

// guarded is a chain with a connection limiter, line 9 its own.
func guarded(spec string) string {
	return graphtest.Header + graphtest.TwoInterfaces + fmt.Sprintf("  functions:\n  - {name: guard, connectionLimiter: {%s}}\n  path: [inside, guard, outside]\n", spec)
}

func TestWhatIsWrongWithAConnectionLimiter(t *testing.T) {
	const at = "spec.functions[0].connectionLimiter."
	for name, k := range map[string]struct{ spec, want string }{
		"no limit":             {"prefixLength: 24", at + "maxPerHost: "},
		"none per host":        {"maxPerHost: 0", at + `maxPerHost: "0": `},
		"too many per host":    {"maxPerHost: 16777217", at + `maxPerHost: "16777217": `},
		"more than all have":   {"maxPerHost: 10, maxConnections: 9", at + `maxPerHost: "10": no host can have more than all hosts together; must not be above maxConnections, which is 9`},
		"more than by default": {"maxPerHost: 1000001", at + `maxPerHost: "1000001": no host can have more than all hosts together; must not be above maxConnections, which is 1000000`},
		"none at all":          {"maxPerHost: 1, maxConnections: 0", at + `maxConnections: "0": `},
		"too many at all":      {"maxPerHost: 1, maxConnections: 16777217", at + `maxConnections: "16777217": `},
		"no prefix":            {"maxPerHost: 1, prefixLength: 0", at + `prefixLength: "0": `},
		"a prefix too long":    {"maxPerHost: 1, prefixLength: 33", at + `prefixLength: "33": `},
		"no time for TCP":      {"maxPerHost: 1, timeouts: {tcp: 0s}", at + `timeouts.tcp: "0s": must be from 1s to 168h`},
		"half a second to open": {
			"maxPerHost: 1, timeouts: {tcpTransitory: 500ms}", at + `timeouts.tcpTransitory: "500ms": must be from 1s to 168h`,
		},
		"half a second to close": {"maxPerHost: 1, timeouts: {tcpClosing: 999ms}", at + `timeouts.tcpClosing: "999ms": must be from 1s to 168h`},
		"UDP without a unit":     {"maxPerHost: 1, timeouts: {udp: '30'}", at + `timeouts.udp: "30": `},
		"ICMP for too long":      {"maxPerHost: 1, timeouts: {icmp: 169h}", at + `timeouts.icmp: "169h": must be from 1s to 168h`},
	} {
		t.Run(name, func(t *testing.T) {
			if found := graphtest.Findings(t, guarded(k.spec)); !found.HasErrors() || !strings.Contains(found.String(), k.want) {
				t.Errorf("got\n%s\nwant in it\n%s", found, k.want)
			}
		})
	}
}

func TestWhatAConnectionLimiterBecomes(t *testing.T) {
	for name, k := range map[string]struct{ spec, want string }{
		"with the defaults": {
			"maxPerHost: 100", "guard: connlimit guard at most 1000000, tcp 2h4m0s/4m0s/1s udp 5m0s icmp 1m0s, per /32 at most 100, else drop guard/limit",
		},
		"with all given": {
			"maxPerHost: 7, prefixLength: 24, maxConnections: 7, timeouts: {tcp: 1h, tcpTransitory: 2s, tcpClosing: 1s, udp: 3s, icmp: 4s}",
			"guard: connlimit guard at most 7, tcp 1h0m0s/2s/1s udp 3s icmp 4s, per /24 at most 7, else drop guard/limit",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dump := graphtest.Dump(t, guarded(k.spec))
			if !strings.Contains(dump, k.want) {
				t.Errorf("got\n%s\nwant in it\n%s", dump, k.want)
			}
			if n := strings.Count(dump, "connlimit guard"); n != 1 {
				t.Errorf("there are %d limiters, want one for both directions:\n%s", n, dump)
			}
		})
	}
}
