package lower_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

func TestPoolsThatHoldAddressesOfOthersAreRefused(t *testing.T) {
	with := func(pool string) string {
		return "  interfaces:\n  - {name: inside, address: 10.0.0.1/24, addresses: [172.16.0.1]}\n" +
			"  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.14, neighbors: [{address: 203.0.113.20, mac: 02:00:00:00:00:01}]}\n" +
			"  functions:\n  - {name: nat, napt: {pool: [" + pool + "]}}\n" +
			"  - {name: rt, router: {address: 203.0.113.30, routes: [{prefix: 198.18.0.0/15, port: outside, via: 203.0.113.40}]}}\n  path: [inside, nat, rt, outside]\n"
	}
	of := func(pool, message string) string {
		return `chain.yaml:9: spec.functions[0].napt.pool[0]: "` + pool + `": ` + message
	}
	for name, test := range map[string]struct{ pool, says string }{
		"the gateway":                 {"203.0.113.10-203.0.113.15", `holds 203.0.113.14, the gateway of interface "outside"; leave it out: the engine would answer ARP requests for it`},
		"the next hop of a route":     {"203.0.113.40", `holds 203.0.113.40, the next hop of spec.functions[1].router.routes[0].via; leave it out: the engine would answer ARP requests for it`},
		"a static neighbour":          {"203.0.113.16/29", `holds 203.0.113.20, a neighbour of interface "outside"; leave it out: the engine would answer ARP requests for it`},
		"a router of the chain":       {"203.0.113.30", `holds the address 203.0.113.30 of router "rt"; pool addresses must not be addresses of the chain`},
		"the network address":         {"203.0.113.0", `holds 203.0.113.0, the network address of interface "outside"; leave it out: the engine would answer ARP requests for it`},
		"the broadcast address":       {"203.0.113.248/29", `holds 203.0.113.255, the broadcast address of interface "outside"; leave it out: the engine would answer ARP requests for it`},
		"an inside address":           {"10.0.0.200", `holds inside addresses: interface "inside", with 10.0.0.0/24, lies on the NAPT's inside; give outside addresses`},
		"an inside interface's VIP":   {"172.16.0.0/30", `holds a further address of interface "inside", which lies on the NAPT's inside; give outside addresses`},
		"the unspecified address":     {"0.0.0.0", `holds unspecified addresses (0.0.0.0/8), from which no packet may come; give addresses that hosts can have`},
		"a loopback address":          {"127.0.0.5", `holds loopback addresses (127.0.0.0/8), from which no packet may come; give addresses that hosts can have`},
		"a multicast address":         {"223.255.255.250-224.0.0.1", `holds multicast addresses (224.0.0.0/4), from which no packet may come; give addresses that hosts can have`},
		"a class E address":           {"240.0.0.1", `holds class E addresses (240.0.0.0/4), from which no packet may come; give addresses that hosts can have`},
		"addresses that nobody has":   {"203.0.113.64-203.0.113.95", ""},
		"addresses routed to us":      {"198.51.100.0/24", ""},
		"the network of another pool": {"203.0.113.2-203.0.113.9", ""},
	} {
		t.Run(name, func(t *testing.T) {
			want := ""
			if test.says != "" {
				want = of(test.pool, test.says)
			}
			graphtest.CheckFindings(t, with(test.pool), want)
		})
	}
}

func TestOverlappingPoolsOfTwoNAPTsAreRefused(t *testing.T) {
	tenants := func(b string) string {
		return "  interfaces:\n  - {name: a, address: 10.0.0.1/24}\n  - {name: b, address: 10.0.0.1/24}\n  - {name: up, address: 203.0.113.1/24, gateway: 203.0.113.254}\n" +
			"  functions:\n  - {name: n1, napt: {pool: [203.0.113.8/29]}}\n  - {name: n2, napt: {pool: [" + b + "]}}\n" +
			"  - {name: rt, router: {ports: [{name: a}, {name: b}, {name: up}], routes: [{prefix: 0.0.0.0/0, port: up}]}}\n" +
			"  links:\n  - {from: a, to: n1.inside}\n  - {from: n1.outside, to: rt.a}\n  - {from: b, to: n2.inside}\n  - {from: n2.outside, to: rt.b}\n  - {from: rt.up, to: up}\n"
	}
	overlap := func(b string) string {
		return `chain.yaml:11: spec.functions[1].napt.pool[0]: "` + b + `": overlaps 203.0.113.8/29 of the pool of "n1", and no NAPT lies between them: ` +
			`replies would come to one of the two alone; give each addresses of its own`
	}
	graphtest.CheckFindings(t, tenants("203.0.113.8/29"), overlap("203.0.113.8/29"))
	graphtest.CheckFindings(t, tenants("203.0.113.15"), overlap("203.0.113.15"))
	graphtest.CheckFindings(t, tenants("203.0.113.16"), "")
	// The outer NAPT keeps the two pools apart, as it keeps the prefixes of interfaces apart.
	graphtest.CheckFindings(t, graphtest.TwoInterfaces+"  functions:\n  - {name: n1, napt: {pool: [192.0.2.1]}}\n  - {name: n2, napt: {pool: [192.0.2.1]}}\n  path: [inside, n1, n2, outside]\n", "")
}

// TestAStaticMappingInsideAPoolsDynamicRangeIsRefused has a host inside whose port is mapped around the NAPT, by elements.
func TestAStaticMappingInsideAPoolsDynamicRangeIsRefused(t *testing.T) {
	with := func(pool, ports, in, out string) string {
		return "  interfaces:\n  - {name: inside, address: 10.0.0.1/24}\n  - {name: outside, address: 203.0.113.1/24, addresses: [203.0.113.7], gateway: 203.0.113.254}\n" +
			"  functions:\n  - {name: nat, napt: {pool: [" + pool + "]" + ports + "}}\n" +
			"  - name: map\n    elements:\n      ports: [inside, nat, outside]\n      elements:\n" +
			"      - {name: to, kind: SetField, setField: {field: Destination, value: 10.0.0.80}}\n" +
			"      - {name: from, kind: SetField, setField: {field: Source, value: 203.0.113.7}}\n" +
			"      - {name: in, kind: Filter, filter: {match: [{destination: [203.0.113.7], " + in + "}]}}\n" +
			"      links: [{from: outside, to: in}, {from: in.pass, to: to}, {from: in.drop, to: nat}, {from: to, to: inside}, {from: inside, to: from}, {from: from, to: outside}, {from: nat, to: outside}]\n" +
			"  - name: split\n    elements:\n      ports: [inside, nat, map]\n      elements:\n" +
			"      - {name: out, kind: Filter, filter: {match: [{source: [10.0.0.80], " + out + "}]}}\n" +
			"      links: [{from: inside, to: out}, {from: out.pass, to: map}, {from: out.drop, to: nat}, {from: nat, to: inside}, {from: map, to: inside}]\n" +
			"  links: [{from: inside, to: split.inside}, {from: split.nat, to: nat.inside}, {from: nat.outside, to: map.nat}, {from: split.map, to: map.inside}, {from: map.outside, to: outside}]\n"
	}
	const (
		to   = `chain.yaml:14: spec.functions[1].elements.elements[0].setField.value: "10.0.0.80": takes packets to 203.0.113.7, which`
		from = `chain.yaml:15: spec.functions[1].elements.elements[1].setField.value: "203.0.113.7": maps to an address that`
		all  = "1024-65535"
	)
	says := func(what, ports string) string {
		return what + ` is in the pool of "nat", with ports of those that it chooses from (` + ports + `): replies would come to one of the two alone; take the address out of the pool, or map other ports`
	}
	port := func(n string) (in, out string) {
		return "protocol: tcp, destinationPorts: [" + n + "]", "protocol: tcp, sourcePorts: [" + n + "]"
	}
	web, fromWeb := port("80")
	high, fromHigh := port("8080")
	for name, test := range map[string]struct{ chain, want string }{
		"another address":               {with("203.0.113.8", "", high, fromHigh), ""},
		"a port that is not its":        {with("203.0.113.7", "", web, fromWeb), ""},
		"a port of its":                 {with("203.0.113.7", "", high, fromHigh), says(to, all) + "\n" + says(from, all)},
		"below its own range":           {with("203.0.113.7", ", ports: {min: 20000, max: 30000}", high, fromHigh), ""},
		"in its own range":              {with("203.0.113.4/30", ", ports: {min: 8000, max: 9000}", high, fromHigh), says(to, "8000-9000") + "\n" + says(from, "8000-9000")},
		"incoming alone":                {with("203.0.113.7", "", high, fromWeb), says(to, all)},
		"outgoing alone":                {with("203.0.113.7", "", web, fromHigh), says(from, all)},
		"pings, which no NAPT takes in": {with("203.0.113.7", "", "protocol: icmp, icmpType: 8", "protocol: icmp, icmpType: 0"), ""},
		"pings from inside":             {with("203.0.113.7", "", "protocol: icmp, icmpType: 0", "protocol: icmp, icmpType: 8"), says(to, all) + "\n" + says(from, all)},
		"protocols without ports":       {with("203.0.113.7", "", "protocol: 47", "protocol: 47"), says(to, all) + "\n" + says(from, all)},
	} {
		t.Run(name, func(t *testing.T) { graphtest.CheckFindings(t, test.chain, test.want) })
	}
}
