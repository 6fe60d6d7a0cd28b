package graph_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

// routerBetween is a router between the two interfaces, lines 8 to 10.
const routerBetween = "  functions:\n  - {name: rt, router: {}}\n  path: [inside, rt, outside]\n"

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
		"its gateway":                         {"[203.0.113.254]", `chain.yaml:9: spec.interfaces[1].addresses[0]: "203.0.113.254": is the interface's gateway; this address must belong to the chain`},
		"a neighbour":                         {"[203.0.113.9]", `chain.yaml:9: spec.interfaces[1].addresses[0]: "203.0.113.9": is a static neighbour's; this address must belong to the chain`},
		"the network":                         {"[203.0.113.0]", `chain.yaml:9: spec.interfaces[1].addresses[0]: "203.0.113.0": is the network address of 203.0.113.0/24; take another of its addresses`},
		"the broadcast address":               {"[203.0.113.255]", `chain.yaml:9: spec.interfaces[1].addresses[0]: "203.0.113.255": is the broadcast address of 203.0.113.0/24; take another of its addresses`},
		"a loopback address":                  {"[127.0.0.1]", `chain.yaml:9: spec.interfaces[1].addresses[0]: "127.0.0.1": is a loopback address (127.0.0.0/8); give one that a host can have`},
		"a multicast address":                 {"[224.0.0.5]", `chain.yaml:9: spec.interfaces[1].addresses[0]: "224.0.0.5": is a multicast address (224.0.0.0/4); give one that a host can have`},
		"an address of another net":           {"[10.0.0.7]", `chain.yaml:9: spec.interfaces[1].addresses[0]: "10.0.0.7": lies in 10.0.0.0/24 of interface "inside", whose hosts ask for it there; list it there`},
	} {
		t.Run(name, func(t *testing.T) { graphtest.CheckFindings(t, with(test.addresses), test.want) })
	}
}

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

func TestTwoInterfacesBoundToOneDeviceAreRefused(t *testing.T) {
	with := func(a, b string) string {
		return "  interfaces:\n  - {name: inside, address: 10.0.0.1/24, device: \"" + a + "\"}\n  - {name: outside, address: 203.0.113.1/24, device: \"" + b + "\"}\n" + routerBetween
	}
	says := func(device string) string {
		return `chain.yaml:7: spec.interfaces[1].device: "` + device + `": interface "inside" is bound to this device; give each interface one of its own`
	}
	graphtest.CheckFindings(t, with("eth1", "eth1"), says("eth1"))
	graphtest.CheckFindings(t, with("0000:03:00.1", "03:00.1"), says("03:00.1"))
	graphtest.CheckFindings(t, with("0000:03:00.1", "0000:03:00.1,promisc=1"), says("0000:03:00.1,promisc=1"))
	graphtest.CheckFindings(t, with("0000:03:00.1", "0000:03:00.0"), "")
	graphtest.CheckFindings(t, with("net_af_packet0,iface=eth1", "net_af_packet1,iface=eth2"), "")
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

func TestTranslationToAnAddressThatNobodyAnswersForIsWarnedOf(t *testing.T) {
	with := func(addresses, field, value, pool string) string {
		return "  interfaces:\n  - {name: inside, address: 10.0.0.1/24}\n  - {name: outside, address: 203.0.113.1/24" + addresses + "}\n" +
			"  functions:\n  - {name: nat, napt: {pool: [" + pool + "]}}\n  - name: one\n    elements:\n      elements: [{name: s, kind: SetField, setField: {field: " + field + ", value: " + value + "}}]\n" +
			"      links: [{from: inside, to: s}, {from: s, to: outside}, {from: outside, to: inside}]\n  path: [inside, nat, one, outside]\n"
	}
	at := `chain.yaml:12: warning: spec.functions[1].elements.elements[0].setField.value: `
	for name, test := range map[string]struct{ addresses, field, value, pool, want string }{
		"in the prefix":          {"", "Source", "203.0.113.7", "192.0.2.1", at + `"203.0.113.7": lies in 203.0.113.0/24 of interface "outside", which does not answer ARP requests for it: replies never arrive; add it to the interface's addresses`},
		"a further address":      {", addresses: [203.0.113.7]", "Source", "203.0.113.7", "192.0.2.1", ""},
		"routed to us":           {"", "Source", "198.51.100.7", "192.0.2.1", ""},
		"to a host":              {"", "Destination", "203.0.113.7", "192.0.2.1", ""},
		"to the broadcast":       {"", "Destination", "203.0.113.255", "192.0.2.1", at + `"203.0.113.255": is the network or broadcast address of 203.0.113.0/24, of interface "outside"; nobody answers for it`},
		"of inside, leaving out": {"", "Source", "10.0.0.7", "192.0.2.1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			graphtest.CheckFindings(t, with(test.addresses, test.field, test.value, test.pool), test.want)
		})
	}
}
