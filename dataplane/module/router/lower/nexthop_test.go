package lower_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

func TestRoutesThatLeadNowhereHaveNeitherPortNorNextHop(t *testing.T) {
	with := func(route string) string {
		return graphtest.TwoInterfaces + "  functions:\n  - name: rt\n    router:\n      routes:\n      - " + route + "\n  path: [inside, rt, outside]\n"
	}
	for name, test := range map[string]struct{ chain, want string }{
		"discard":           {with("{prefix: 10.0.0.0/8, type: Discard}"), ""},
		"with a port":       {with("{prefix: 10.0.0.0/8, type: Discard, port: outside}"), `chain.yaml:12: spec.functions[0].router.routes[0]: leave port and via out: a route of type Discard, Unreachable or Prohibit leads nowhere`},
		"with a next hop":   {with("{prefix: 10.0.0.0/8, type: Prohibit, via: 203.0.113.2}"), `chain.yaml:12: spec.functions[0].router.routes[0]: leave port and via out: a route of type Discard, Unreachable or Prohibit leads nowhere`},
		"without a port":    {with("{prefix: 10.0.0.0/8}"), `chain.yaml:12: spec.functions[0].router.routes[0]: set port: a route of type Forward leads to one`},
		"of a type unknown": {with("{prefix: 10.0.0.0/8, type: Blackhole}"), `chain.yaml:12: spec.functions[0].router.routes[0].type: "Blackhole": must be one of Forward, Discard, Unreachable, Prohibit`},
		"twice":             {with("{prefix: 10.2.0.0/16, type: Discard}\n      - {prefix: 10.2.0.0/16, port: outside}"), `chain.yaml:13: spec.functions[0].router.routes[1].prefix: "10.2.0.0/16": is there twice, first in spec.functions[0].router.routes[0]; a prefix has one route and one next hop: leave one out, or write bySource in it for the packets of some sources`},
		"of a file": {
			graphtest.TwoInterfaces + "  functions:\n  - name: rt\n    router:\n      routesFrom:\n      - {file: blocked.routes, type: Prohibit}\n  path: [inside, rt, outside]\n", "",
		},
		"of a file, with a port": {
			graphtest.TwoInterfaces + "  functions:\n  - name: rt\n    router:\n      routesFrom:\n      - {file: blocked.routes, type: Prohibit, port: outside}\n  path: [inside, rt, outside]\n",
			`chain.yaml:12: spec.functions[0].router.routesFrom[0]: leave port and via out: routes of type Discard, Unreachable or Prohibit lead nowhere`,
		},
	} {
		t.Run(name, func(t *testing.T) { graphtest.CheckFindings(t, test.chain, test.want) })
	}
}

func TestARouteWithoutViaToAnInterfaceWithoutGatewayIsWarnedOf(t *testing.T) {
	with := func(gateway, routes string) string {
		return "  interfaces:\n  - {name: inside, address: 10.0.0.1/24}\n  - {name: outside, address: 203.0.113.1/24" + gateway + "}\n" +
			"  functions:\n  - {name: nat, napt: {pool: [203.0.113.9]}}\n  - name: rt\n    router:\n      routes: [" + routes + "]\n  path: [inside, rt, nat, outside]\n"
	}
	const anywhere = "{prefix: 0.0.0.0/0, port: outside}"
	says := `chain.yaml:12: warning: spec.functions[1].router.routes[0].prefix: "0.0.0.0/0": interface "outside" has no gateway, and the route no via: ` +
		`what is not in 203.0.113.0/24 is dropped as "no-next-hop"; give the route a via, or the interface a gateway`
	graphtest.CheckFindings(t, with("", anywhere), says)
	graphtest.CheckFindings(t, with("", anywhere+", {prefix: 198.51.100.0/24, port: outside}"), says)
	graphtest.CheckFindings(t, with(", gateway: 203.0.113.254", anywhere), "")
	graphtest.CheckFindings(t, with("", "{prefix: 0.0.0.0/0, port: outside, via: 203.0.113.254}"), "")
	graphtest.CheckFindings(t, with("", "{prefix: 0.0.0.0/0, type: Unreachable}"), "")
	graphtest.CheckFindings(t, with("", "{prefix: 203.0.113.128/25, port: outside}"), "")
}
