package graph_test

import (
	"strings"
	"testing"
)

// routerBetween is a router between the two interfaces, lines 8 to 10.
const routerBetween = "  functions:\n  - {name: rt, router: {}}\n  path: [inside, rt, outside]\n"

// checkFindings compares all findings of a chain with what is wanted, a line each.
func checkFindings(t *testing.T, chain, want string) {
	t.Helper()
	if got := strings.TrimSpace(compile(t, header+chain).String()); got != want {
		t.Errorf("findings are\n%s\nwanted\n%s", got, want)
	}
}

func TestFurtherAddressesThatCannotBeTheInterfacesOwnAreRefused(t *testing.T) {
	with := func(addresses string) string {
		return "  interfaces:\n  - {name: inside, address: 10.0.0.1/24}\n  - name: outside\n    address: 203.0.113.1/24\n    addresses: " + addresses +
			"\n    gateway: 203.0.113.254\n    neighbors: [{address: 203.0.113.9, mac: 02:00:00:00:00:01}]\n" + routerBetween
	}
	for name, test := range map[string]struct{ addresses, want string }{
		"within the prefix and outside of it": {"[203.0.113.5, 198.51.100.7]", ""},
		"no address":                          {"[203.0.113]", `chain.yaml:9: spec.interfaces[1].addresses[0]: "203.0.113": not an address; write it like "192.0.2.1"`},
		"one twice":                           {"[203.0.113.5, 203.0.113.5]", `chain.yaml:9: spec.interfaces[1].addresses[1]: "203.0.113.5": is there twice, first in spec.interfaces[1].addresses[0]; entries must differ`},
		"the interface's address":             {"[203.0.113.1]", `chain.yaml:9: spec.interfaces[1].addresses[0]: "203.0.113.1": is the interface's address already; leave it out here`},
		"its gateway":                         {"[203.0.113.254]", `chain.yaml:9: spec.interfaces[1].addresses[0]: "203.0.113.254": is the interface's gateway; addresses are the chain's own`},
		"a neighbour":                         {"[203.0.113.9]", `chain.yaml:9: spec.interfaces[1].addresses[0]: "203.0.113.9": is a static neighbour's; addresses are the chain's own`},
		"the network":                         {"[203.0.113.0]", `chain.yaml:9: spec.interfaces[1].addresses[0]: "203.0.113.0": is the network address of 203.0.113.0/24; take another of its addresses`},
		"the broadcast address":               {"[203.0.113.255]", `chain.yaml:9: spec.interfaces[1].addresses[0]: "203.0.113.255": is the broadcast address of 203.0.113.0/24; take another of its addresses`},
		"a loopback address":                  {"[127.0.0.1]", `chain.yaml:9: spec.interfaces[1].addresses[0]: "127.0.0.1": is a loopback address (127.0.0.0/8); give one that a host can have`},
		"a multicast address":                 {"[224.0.0.5]", `chain.yaml:9: spec.interfaces[1].addresses[0]: "224.0.0.5": is a multicast address (224.0.0.0/4); give one that a host can have`},
		"an address of another net":           {"[10.0.0.7]", `chain.yaml:9: spec.interfaces[1].addresses[0]: "10.0.0.7": lies in 10.0.0.0/24 of interface "inside", whose hosts ask for it there; list it there`},
	} {
		t.Run(name, func(t *testing.T) { checkFindings(t, with(test.addresses), test.want) })
	}
}

func TestRoutesThatLeadNowhereHaveNeitherPortNorNextHop(t *testing.T) {
	with := func(route string) string {
		return twoInterfaces + "  functions:\n  - name: rt\n    router:\n      routes:\n      - " + route + "\n  path: [inside, rt, outside]\n"
	}
	for name, test := range map[string]struct{ chain, want string }{
		"discard":           {with("{prefix: 10.0.0.0/8, type: Discard}"), ""},
		"with a port":       {with("{prefix: 10.0.0.0/8, type: Discard, port: outside}"), `chain.yaml:12: spec.functions[0].router.routes[0]: leave port and via out: a route of type Discard, Unreachable or Prohibit leads nowhere`},
		"with a next hop":   {with("{prefix: 10.0.0.0/8, type: Prohibit, via: 203.0.113.2}"), `chain.yaml:12: spec.functions[0].router.routes[0]: leave port and via out: a route of type Discard, Unreachable or Prohibit leads nowhere`},
		"without a port":    {with("{prefix: 10.0.0.0/8}"), `chain.yaml:12: spec.functions[0].router.routes[0]: set port: a route of type Forward leads to one`},
		"of a type unknown": {with("{prefix: 10.0.0.0/8, type: Blackhole}"), `chain.yaml:12: spec.functions[0].router.routes[0].type: "Blackhole": must be one of Forward, Discard, Unreachable, Prohibit`},
		"twice":             {with("{prefix: 10.2.0.0/16, type: Discard}\n      - {prefix: 10.2.0.0/16, port: outside}"), `chain.yaml:13: spec.functions[0].router.routes[1].prefix: "10.2.0.0/16": is there twice, first in spec.functions[0].router.routes[0]; entries must differ`},
		"of a file": {
			twoInterfaces + "  functions:\n  - name: rt\n    router:\n      routesFrom:\n      - {file: blocked.routes, type: Prohibit}\n  path: [inside, rt, outside]\n", "",
		},
		"of a file, with a port": {
			twoInterfaces + "  functions:\n  - name: rt\n    router:\n      routesFrom:\n      - {file: blocked.routes, type: Prohibit, port: outside}\n  path: [inside, rt, outside]\n",
			`chain.yaml:12: spec.functions[0].router.routesFrom[0]: leave port and via out: routes of type Discard, Unreachable or Prohibit lead nowhere`,
		},
	} {
		t.Run(name, func(t *testing.T) { checkFindings(t, test.chain, test.want) })
	}
}
