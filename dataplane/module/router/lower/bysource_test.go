package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

// TestRoutesBySourceAreBounded: what a router may divide by source is divided among the ports with
// different addresses.
func TestRoutesBySourceAreBounded(t *testing.T) {
	chain := func(routes, sources int, ports string) string {
		var b strings.Builder
		b.WriteString("  interfaces:\n  - {name: inside, address: 10.0.0.1/24}\n  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.254}\n" +
			"  functions:\n  - name: rt\n    router:\n      ports: " + ports + "\n      routes:\n")
		for i := range routes {
			fmt.Fprintf(&b, "      - {prefix: 20.%d.%d.0/24, port: outside, bySource: [{from: [10.0.0.0/32", i/256, i%256)
			for k := 1; k < sources; k++ {
				fmt.Fprintf(&b, ", 10.0.0.%d/32", 2*k)
			}
			b.WriteString("], type: Discard}]}\n")
		}
		b.WriteString("  path: [inside, rt, outside]\n")
		return b.String()
	}
	const (
		shared = "[{name: inside}, {name: outside}]"
		own    = "[{name: inside, address: 10.9.0.1}, {name: outside, address: 10.9.0.2}]"
		says   = "chain.yaml:12: spec.functions[0].router.routes: has "
	)
	for name, test := range map[string]struct{ chain, want string }{
		"as many routes as there may be":         {chain(1024, 1, shared), ""},
		"a route too many":                       {chain(1025, 1, shared), says + "1025 routes with bySource; have at most 1024"},
		"as many prefixes as there may be":       {chain(64, 64, shared), ""},
		"prefixes too many":                      {chain(65, 64, shared), says + "4160 prefixes in entries of bySource; have at most 4096"},
		"routes, once for each address":          {chain(513, 1, own), says + "513 routes with bySource; have at most 512, as the router has different addresses at 2 ports"},
		"prefixes, once for each address":        {chain(33, 64, own), says + "2112 prefixes in entries of bySource; have at most 2048, as the router has different addresses at 2 ports"},
		"what is left for each of two addresses": {chain(32, 64, own), ""},
	} {
		t.Run(name, func(t *testing.T) { graphtest.CheckFindings(t, test.chain, test.want) })
	}
}
