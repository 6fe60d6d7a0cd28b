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
