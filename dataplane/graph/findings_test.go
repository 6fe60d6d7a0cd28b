package graph_test

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

const fw = "  - {name: fw, firewall: {default: Accept}}\n"

func TestFindingsNamePlaceFieldValueAndWhatWouldBeRight(t *testing.T) {
	for name, test := range badChains {
		t.Run(name, func(t *testing.T) {
			if got := strings.TrimSpace(graphtest.Findings(t, graphtest.Header+test.chain).String()); got != test.want {
				t.Errorf("findings are\n%s\nwanted\n%s", got, test.want)
			}
		})
	}
}

// badChains are chains and the findings that they get.
var badChains = map[string]struct {
	chain string
	want  string // all findings, a line each
}{
	"a link to an unknown function": {
		chain: graphtest.TwoInterfaces + "  functions:\n" + fw + "  path: [inside, fv, outside]\n",
		want:  `chain.yaml:10: spec.path[1]: "fv": no interface or function is named "fv"; did you mean "fw"?`,
	},
	"a link to an unknown port": {
		chain: graphtest.TwoInterfaces + "  functions:\n" + fw + "  links:\n  - {from: inside, to: fw.insid}\n  - {from: fw.outside, to: outside}\n",
		want:  `chain.yaml:11: spec.links[0].to: "fw.insid": function "fw" has no port "insid"; did you mean "inside"?`,
	},
	"a link to a function without saying the port": {
		chain: graphtest.TwoInterfaces + "  functions:\n" + fw + "  links:\n  - {from: inside, to: fw}\n  - {from: fw.outside, to: outside}\n",
		want:  `chain.yaml:11: spec.links[0].to: "fw": names no port; write "fw.inside", or another of its ports (inside, outside)`,
	},
	"states of a firewall that keeps none": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: fw\n    firewall:\n      rules:\n      - {state: [New, Related], action: Accept}\n  path: [inside, fw, outside]\n",
		want:  `chain.yaml:12: spec.functions[0].firewall.rules[0].state: only a stateful firewall knows states; set stateful: true, or leave state out`,
	},
	"an unknown state": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: fw\n    firewall:\n      stateful: true\n      rules:\n      - {state: [Known], action: Accept}\n  path: [inside, fw, outside]\n",
		want:  `chain.yaml:13: spec.functions[0].firewall.rules[0].state[0]: "Known": must be one of New, Established, Related, Invalid`,
	},
	"tracking of a firewall that keeps no state": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: fw\n    firewall:\n      tracking: {maxFlows: 5}\n  path: [inside, fw, outside]\n",
		want:  `chain.yaml:10: spec.functions[0].firewall: tracking is for stateful firewalls: set stateful: true, or leave it out`,
	},
	"too many flows, for too long": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: fw\n    firewall:\n      stateful: true\n      tracking: {maxFlows: 16777217, timeouts: {udp: 169h}}\n  path: [inside, fw, outside]\n",
		want: `chain.yaml:12: spec.functions[0].firewall.tracking.maxFlows: "16777217": must be from 1 to 16777216
chain.yaml:12: spec.functions[0].firewall.tracking.timeouts.udp: "169h": must be from 1s to 168h`,
	},
	"a path through a router that has no outside": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: rt, router: {ports: [{name: a}, {name: b}]}}\n  path: [inside, rt, outside]\n",
		want: `chain.yaml:10: spec.path[1]: "rt": has no port "inside", by which a path goes; its ports are a, b: use links for them
chain.yaml:10: spec.path[1]: "rt": has no port "outside", by which a path goes; its ports are a, b: use links for them`,
	},
	"a ring of routers, where the TTL ends what goes round": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: r1, router: {ports: [{name: a}, {name: b}, {name: c}]}}\n  - {name: r2, router: {ports: [{name: a}, {name: b}, {name: c}]}}\n" +
			"  links:\n  - {from: inside, to: r1.a}\n  - {from: r1.b, to: r2.a}\n  - {from: r2.b, to: r1.c}\n  - {from: r2.c, to: outside}\n",
	},
	"a function linked to itself": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: r1, router: {ports: [{name: a}, {name: b}, {name: c}, {name: d}]}}\n" +
			"  links:\n  - {from: inside, to: r1.a}\n  - {from: r1.b, to: r1.c}\n  - {from: r1.d, to: outside}\n",
		want: `chain.yaml:12: spec.links[1].to: "r1.c": links "r1" to itself; packets would never leave it`,
	},
	"elements that send packets back to elements that send them back": {
		chain: graphtest.TwoInterfaces + "  functions:\n" +
			"  - name: a\n    elements:\n      elements: [{name: c, kind: Counter}]\n      links: [{from: inside, to: c}, {from: outside, to: c}, {from: c, to: outside}]\n" +
			"  - name: b\n    elements:\n      elements: [{name: c, kind: Counter}]\n      links: [{from: inside, to: c}, {from: outside, to: c}, {from: c, to: inside}]\n" +
			"  path: [inside, a, b, outside]\n",
		want: `chain.yaml:12: spec.functions[0].elements.links: packets would go round without end: a/c -> b/c -> a/c; take a link out`,
	},
	"an unreachable function": {
		chain: graphtest.TwoInterfaces + "  functions:\n" + fw + "  - {name: mon, monitor: {}}\n  path: [inside, fw, outside]\n",
		want:  `chain.yaml:10: spec.functions[1].name: "mon": no packet gets to this function; link one of its ports (inside, outside), or take it out`,
	},
	"two links out of one port": {
		chain: graphtest.TwoInterfaces + "  functions:\n" + fw + "  links:\n  - {from: inside, to: fw.inside}\n  - {from: fw.outside, to: outside}\n  - {from: fw.outside, to: inside, direction: Forward}\n",
		want:  `chain.yaml:13: spec.links[2].from: "fw.outside": already leads to "outside" by spec.links[1].from; one port has one way out: use another port, or an elements function with a Classifier or Tee`,
	},
	"a port that leads nowhere": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: fw, firewall: {default: Accept}}\n  links: [{from: inside, to: fw.inside}]\n",
		want: `chain.yaml:7: warning: spec.interfaces[1].name: "outside": the interface is not linked; what comes in there is dropped as "outside/unlinked"
chain.yaml:9: warning: spec.functions[0]: "fw.outside": the port is not linked; packets that leave by it are dropped as "fw/unlinked": link it, or let nothing go there`,
	},
	"interfaces whose prefixes overlap": {
		chain: "  interfaces:\n  - {name: inside, address: 10.0.0.1/8}\n  - {name: outside, address: 10.1.0.1/16}\n  functions:\n" + fw + "  path: [inside, fw, outside]\n",
		want:  `chain.yaml:7: spec.interfaces[1].address: "10.1.0.1/16": overlaps 10.0.0.1/8 of interface "inside", and no NAPT lies between them; give them prefixes of their own`,
	},
	"an interface without an address of its own": {
		chain: "  interfaces:\n  - {name: inside, address: 10.0.0.0/8}\n  - {name: outside, address: 203.0.113.255/24}\n  path: [inside, outside]\n",
		want: `chain.yaml:6: spec.interfaces[0].address: "10.0.0.0/8": this is the prefix itself; give the interface an address within it, like 10.0.0.1/8
chain.yaml:7: spec.interfaces[1].address: "203.0.113.255/24": this is the prefix's broadcast address; take another of its addresses`,
	},
	"a gateway that is not on-link": {
		chain: "  interfaces:\n  - {name: inside, address: 10.0.0.1/24, gateway: 10.0.1.1}\n  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.1}\n  path: [inside, outside]\n",
		want: `chain.yaml:6: spec.interfaces[0].gateway: "10.0.1.1": is not on-link; give an address within 10.0.0.0/24
chain.yaml:7: spec.interfaces[1].gateway: "203.0.113.1": is the interface's own address; give that of the neighbour`,
	},
	"a NAT pool that holds an interface's address": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: nat, napt: {pool: [203.0.113.0/30]}}\n  path: [inside, nat, outside]\n",
		want: `chain.yaml:9: spec.functions[0].napt.pool[0]: "203.0.113.0/30": holds the address 203.0.113.1 of interface "outside"; pool addresses must not be addresses of the chain
chain.yaml:9: spec.functions[0].napt.pool[0]: "203.0.113.0/30": holds 203.0.113.0, the network address of interface "outside"; leave it out: the engine would answer ARP requests for it`,
	},
	"an empty NAT pool": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: nat, napt: {pool: []}}\n  path: [inside, nat, outside]\n",
		want:  `chain.yaml:9: spec.functions[0].napt.pool: is empty; give it at least 1, or leave it out if it is optional`,
	},
	"a NAT pool that is too large": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: nat, napt: {pool: [198.18.0.0/15]}}\n  path: [inside, nat, outside]\n",
		want:  `chain.yaml:9: spec.functions[0].napt.pool[0]: "198.18.0.0/15": the pool has more than 4096 addresses; take fewer: each serves 64,512 flows per protocol`,
	},
	"a NAT port range that is reversed": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: nat, napt: {pool: [203.0.113.9], ports: {min: 2000, max: 1000}}}\n  path: [inside, nat, outside]\n",
		want:  `chain.yaml:9: spec.functions[0].napt.ports: the range is reversed: min must not be above max`,
	},
	"a NAT mapping that is not known": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: nat, napt: {pool: [203.0.113.9], mapping: Cone}}\n  path: [inside, nat, outside]\n",
		want:  `chain.yaml:9: spec.functions[0].napt.mapping: "Cone": must be one of EndpointIndependent, AddressDependent, AddressAndPortDependent`,
	},
	"a NAT exemption with host bits": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: nat, napt: {pool: [203.0.113.9], exempt: [{destination: [192.168.0.1/16]}]}}\n  path: [inside, nat, outside]\n",
		want:  `chain.yaml:9: warning: spec.functions[0].napt.exempt[0].destination[0]: "192.168.0.1/16": the prefix has host bits set; it is taken as 192.168.0.0/16`,
	},
	"a NAT exemption of an element": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: f\n    elements:\n      elements:\n      - {name: nat, kind: NAPT, napt: {pool: [203.0.113.9], exempt: [{destination: [192.168.0.0/16]}]}}\n" +
			"      links:\n      - {from: inside, to: nat.inside}\n      - {from: nat.outside, to: outside}\n      - {from: outside, to: nat.outside}\n      - {from: nat.inside, to: inside}\n      ports: [inside, outside]\n  path: [inside, f, outside]\n",
		want: `chain.yaml:12: spec.functions[0].elements.elements[0].napt.exempt: is for the function napt; link a Classifier before the element, with a way round it`,
	},
	"a NAT filter looser than the mapping": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: nat, napt: {pool: [203.0.113.9], mapping: AddressDependent, filtering: EndpointIndependent}}\n  path: [inside, nat, outside]\n",
		want:  `chain.yaml:9: spec.functions[0].napt: filtering must not depend on less than mapping: give EndpointIndependent mapping, or stricter filtering`,
	},
	"limits of a NAT that another one leads to": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: n1, napt: {pool: [203.0.113.9]}}\n  - {name: n2, napt: {pool: [203.0.113.10], limits: {maxPorts: 100}}}\n  path: [inside, n1, n2, outside]\n",
		want:  `chain.yaml:10: spec.functions[1].napt.limits: another NAPT leads to this one, so that addresses here are those of its pool; give the limits to that one, where each host has its own`,
	},
	"a limit of subscribers that is too low": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: nat, napt: {pool: [203.0.113.9], limits: {prefixLength: 7, maxSessions: -1}}}\n  path: [inside, nat, outside]\n",
		want: `chain.yaml:9: spec.functions[0].napt.limits.prefixLength: "7": must be from 8 to 32
chain.yaml:9: spec.functions[0].napt.limits.maxSessions: "-1": must be from 1 to 100000000`,
	},
	"a NAT timeout that is too long": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: nat, napt: {pool: [203.0.113.9], timeouts: {tcp: 1000h}}}\n  path: [inside, nat, outside]\n",
		want:  `chain.yaml:9: spec.functions[0].napt.timeouts.tcp: "1000h": must be from 1s to 168h`,
	},
	"a route whose next hop is not on-link": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: rt\n    router:\n      routes:\n      - {prefix: 0.0.0.0/0, port: outside, via: 192.0.2.1}\n  path: [inside, rt, outside]\n",
		want:  `chain.yaml:12: spec.functions[0].router.routes[0].via: "192.0.2.1": the next hop is not on-link at port "outside"; it can be an address within 203.0.113.0/24`,
	},
	"a route whose next hop is not the next router's": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: r1, router: {routes: [{prefix: 0.0.0.0/0, port: outside, via: 203.0.113.2}]}}\n  - {name: r2, router: {address: 192.0.2.2}}\n  path: [inside, r1, r2, outside]\n",
		want:  `chain.yaml:9: spec.functions[0].router.routes[0].via: "203.0.113.2": the next hop is not on-link at port "outside"; it can be 192.0.2.2 of router "r2"`,
	},
	"a route to an unknown port": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outsid}]}}\n  path: [inside, rt, outside]\n",
		want:  `chain.yaml:9: spec.functions[0].router.routes[0].port: "outsid": router "rt" has no such port; did you mean "outside"?`,
	},
	"a route by source without a port": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside, via: 203.0.113.9, bySource: [{from: [10.0.0.0/8]}]}]}}\n  path: [inside, rt, outside]\n",
		want:  `chain.yaml:9: spec.functions[0].router.routes[0].bySource[0].port: set port: a route of type Forward leads to one`,
	},
	"a route by source that leads somewhere and nowhere": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside, via: 203.0.113.9, bySource: [{from: [10.0.0.0/8], type: Discard, port: inside}]}]}}\n  path: [inside, rt, outside]\n",
		want:  `chain.yaml:9: spec.functions[0].router.routes[0].bySource[0]: "Discard": leave port and via out: a route of type Discard, Unreachable or Prohibit leads nowhere`,
	},
	"a route by a source that is none": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside, via: 203.0.113.9, bySource: [{from: [10.0.0.0/33], port: inside}]}]}}\n  path: [inside, rt, outside]\n",
		want:  `chain.yaml:9: spec.functions[0].router.routes[0].bySource[0].from[0]: "10.0.0.0/33": not a prefix; write it like "192.0.2.0/24"`,
	},
	"a route by source whose sources an earlier one has": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside, via: 203.0.113.9, bySource: [{from: [10.0.0.0/24, 10.0.1.0/24], type: Discard}, {from: [10.0.0.0/23], port: inside, via: 10.0.0.9}]}]}}\n  path: [inside, rt, outside]\n",
		want:  `chain.yaml:9: warning: spec.functions[0].router.routes[0].bySource[1].from: "10.0.0.0/23": no packet gets here: earlier entries of the route have all of these sources; move this entry up, or leave it out`,
	},
	"a route by source without a next hop": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside, via: 203.0.113.9, bySource: [{from: [10.0.0.0/24], port: inside}]}]}}\n  path: [inside, rt, outside]\n",
		want:  `chain.yaml:9: warning: spec.functions[0].router.routes[0].bySource[0]: "0.0.0.0/0": interface "inside" has no gateway, and the route no via: what is not in 10.0.0.0/24 is dropped as "no-next-hop"; give the route a via, or the interface a gateway`,
	},
	"a route by source to a next hop that is not on-link": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside, via: 203.0.113.9, bySource: [{from: [10.0.0.0/24], port: outside, via: 10.0.0.9}]}]}}\n  path: [inside, rt, outside]\n",
		want:  `chain.yaml:9: spec.functions[0].router.routes[0].bySource[0].via: "10.0.0.9": the next hop is not on-link at port "outside"; it can be an address within 203.0.113.0/24`,
	},
	"a route that is there twice under host bits": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: rt, router: {routes: [{prefix: 10.2.0.0/16, port: inside}, {prefix: 10.2.3.4/16, port: outside}]}}\n  path: [inside, rt, outside]\n",
		want: `chain.yaml:9: warning: spec.functions[0].router.routes[0].prefix: "10.2.0.0/16": interface "inside" has no gateway, and the route no via: what is not in 10.0.0.0/24 is dropped as "no-next-hop"; give the route a via, or the interface a gateway
chain.yaml:9: warning: spec.functions[0].router.routes[1].prefix: "10.2.3.4/16": the prefix has host bits set; it is taken as 10.2.0.0/16
chain.yaml:9: warning: spec.functions[0].router.routes[1].prefix: "10.2.0.0/16": interface "outside" has no gateway, and the route no via: what is not in 203.0.113.0/24 is dropped as "no-next-hop"; give the route a via, or the interface a gateway
chain.yaml:9: spec.functions[0].router.routes[1].prefix: "10.2.0.0/16": the route is there twice, first as spec.functions[0].router.routes[0].prefix; leave one out`,
	},
	"a prefix behind two ports of a router": {
		chain: "  interfaces:\n  - {name: a, address: 10.0.0.1/24}\n  - {name: b, address: 10.0.0.1/24}\n  - {name: c, address: 203.0.113.1/24}\n  functions:\n" +
			"  - {name: n1, napt: {pool: [172.16.0.1]}}\n  - {name: n2, napt: {pool: [172.16.0.2]}}\n  - {name: rt, router: {ports: [{name: a}, {name: b}, {name: c}]}}\n" +
			"  links:\n  - {from: rt.a, to: n1.inside}\n  - {from: n1.outside, to: a}\n  - {from: rt.b, to: n2.inside}\n  - {from: n2.outside, to: b}\n  - {from: rt.c, to: c}\n",
		want: `chain.yaml:12: spec.functions[2]: "10.0.0.0/24": lies behind port "a" and behind port "b" of router "rt"; add a route that says which`,
	},
	"a reversed port range": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: fw\n    firewall:\n      rules:\n      - {protocol: tcp, destinationPorts: [\"2000-1000\"], action: Accept}\n  path: [inside, fw, outside]\n",
		want:  `chain.yaml:12: spec.functions[0].firewall.rules[0].destinationPorts[0]: "2000-1000": the port range is reversed; write 1000-2000`,
	},
	"a prefix with host bits set": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: fw\n    firewall:\n      rules:\n      - {source: [10.0.0.7/24], action: Accept}\n  path: [inside, fw, outside]\n",
		want:  `chain.yaml:12: warning: spec.functions[0].firewall.rules[0].source[0]: "10.0.0.7/24": the prefix has host bits set; it is taken as 10.0.0.0/24`,
	},
	"a range of addresses that is reversed": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: fw\n    firewall:\n      rules:\n      - {source: [10.0.0.7-10.0.0.3], action: Accept}\n  path: [inside, fw, outside]\n",
		want:  `chain.yaml:12: spec.functions[0].firewall.rules[0].source[0]: "10.0.0.7-10.0.0.3": the range is reversed; write 10.0.0.3-10.0.0.7`,
	},
	"mixed address families in a rule": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: fw\n    firewall:\n      rules:\n      - {source: [10.0.0.0/24], destination: [\"2001:db8::/32\"], action: Accept}\n  path: [inside, fw, outside]\n",
		want:  `chain.yaml:12: spec.functions[0].firewall.rules[0].destination[0]: "2001:db8::/32": mixes IPv4 and IPv6 in one rule; no packet can match both: write a rule for each`,
	},
	"a rule that no packet can match": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: fw\n    firewall:\n      rules:\n      - {protocol: udp, tcpFlags: {set: [SYN]}, action: Accept}\n      - {icmpCode: 3, action: Drop}\n      - {protocol: tpc, action: Drop}\n  path: [inside, fw, outside]\n",
		want:  `chain.yaml:13: spec.functions[0].firewall.rules[1]: icmpCode needs icmpType: a code means nothing without its type`,
	},
	"an unknown field": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: fw\n    firewall:\n      rules:\n      - {protocol: tcp, action: Accept, sourcPorts: [80]}\n  path: [inside, fw, outside]\n",
		want:  `chain.yaml:12: spec.functions[0].firewall.rules[0].sourcPorts: unknown field; did you mean "sourcePorts"?`,
	},
	"values of the wrong type": {
		chain: "  interfaces:\n  - {name: inside, address: 10.0.0.1/24, mtu: big}\n  - {name: 5, address: 203.0.113.1/24}\n  path: inside\n",
		want: `chain.yaml:6: spec.interfaces[0].mtu: "big": must be a whole number, not text
chain.yaml:7: spec.interfaces[1].name: "5": must be a name of lower-case letters, digits and "-", like "zone1"
chain.yaml:8: spec.path: "inside": must be a list, not text; write [inside]`,
	},
	"values out of bounds": {
		chain: "  interfaces:\n  - {name: inside, address: 10.0.0.1/24, mtu: 20}\n  - {name: Outside, address: 203.0.113.1/24}\n  functions:\n  - {name: fw, firewall: {default: Pass}}\n  path: [inside]\n",
		want: `chain.yaml:6: spec.interfaces[0].mtu: "20": must be from 68 to 9216
chain.yaml:7: spec.interfaces[1].name: "Outside": must be a name of lower-case letters, digits and "-", like "zone1"; write "outside"
chain.yaml:9: spec.functions[0].firewall.default: "Pass": must be one of Accept, Drop, Reject
chain.yaml:10: spec.path: must have at least 2 entries, has 1`,
	},
	"a function of two kinds and one of none": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: fw, firewall: {}, monitor: {}}\n  - {name: x}\n  path: [inside, fw, outside]\n",
		want: `chain.yaml:9: spec.functions[0]: set exactly one of firewall, router, napt, monitor, rateLimiter, connectionLimiter, loadBalancer, inspect, blackbox, elements, click, functionRef
chain.yaml:10: spec.functions[1]: set exactly one of firewall, router, napt, monitor, rateLimiter, connectionLimiter, loadBalancer, inspect, blackbox, elements, click, functionRef`,
	},
	"required fields that are missing": {
		chain: "  interfaces:\n  - {name: inside}\n  path: [inside, outside]\n",
		want:  `chain.yaml:6: spec.interfaces[0]: set address, or wire: true for a side of a blackbox`,
	},
	"a chain without path and links": {
		chain: graphtest.TwoInterfaces,
		want:  `chain.yaml:4: spec: set path or links, else no packet gets anywhere`,
	},
	"duplicate names": {
		chain: "  interfaces:\n  - {name: a, address: 10.0.0.1/24}\n  - {name: a, address: 10.0.1.1/24}\n  path: [a, a]\n",
		want:  `chain.yaml:7: spec.interfaces[1].name: "a": is there twice, first in spec.interfaces[0]; entries must differ`,
	},
	"a function named as an interface": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: inside, monitor: {}}\n  path: [inside, outside]\n",
		want:  `chain.yaml:9: spec.functions[0].name: "inside": the name is taken by spec.interfaces[0]; interfaces and functions need names of their own`,
	},
	"two rules of one name": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: fw\n    firewall:\n      rules:\n      - {name: x, action: Accept}\n      - {name: x, action: Drop}\n  path: [inside, fw, outside]\n",
		want:  `chain.yaml:13: spec.functions[0].firewall.rules[1].name: "x": the name is taken by spec.functions[0].firewall.rules[0]; rules need names of their own`,
	},
	"a field that is there twice": {
		chain: graphtest.TwoInterfaces + "  path: [inside, outside]\n  path: [outside, inside]\n",
		want:  `chain.yaml:9: spec.path: the field is there twice; leave one out`,
	},
	"a missing reference": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: fw, functionRef: {name: edge-fw}}\n  path: [inside, fw, outside]\n---\napiVersion: nfv.sinter.dev/v1alpha1\nkind: NetworkFunction\nmetadata: {name: edgefw}\nspec: {monitor: {}}\n",
		want:  `chain.yaml:9: spec.functions[0].functionRef.name: "edge-fw": no NetworkFunction of this name in the same file or folder; did you mean "edgefw"?`,
	},
	"a rule file that is not there": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: fw\n    firewall:\n      rulesFrom: {file: none.csv, format: CSV}\n  path: [inside, fw, outside]\n",
		want:  `chain.yaml:11: spec.functions[0].firewall.rulesFrom.file: "none.csv": file not found`,
	},
	"ClassBench rules without actions": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: fw\n    firewall:\n      rulesFrom: {file: good.classbench, format: ClassBench}\n  path: [inside, fw, outside]\n",
		want:  `chain.yaml:11: spec.functions[0].firewall.rulesFrom: set actions for ClassBench files, which have none, and only for them`,
	},
	"a ClassBench file with bad lines": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: fw\n    firewall:\n      rulesFrom: {file: bad.classbench, format: ClassBench, actions: Accept}\n  path: [inside, fw, outside]\n",
		want: `bad.classbench:2: source ports: "2000 : 1000": the port range is reversed; write 1000 : 2000
bad.classbench:3: "10.0.0.0/8 0.0.0.0/0": not a ClassBench filter; write it like @10.0.0.0/8 0.0.0.0/0 0 : 65535 80 : 80 0x06/0xFF 0x0200/0x1200`,
	},
	"a CSV file with bad lines": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: fw\n    firewall:\n      rulesFrom: {file: bad.csv, format: CSV}\n  path: [inside, fw, outside]\n",
		want: `bad.csv:3: action: "Pass": not an action; write Accept, Drop or Reject
bad.csv:4: warning: source[0]: "10.0.0.1/8": the prefix has host bits set; it is taken as 10.0.0.0/8`,
	},
	"a CSV file with an unknown column": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: fw\n    firewall:\n      rulesFrom: {file: typo.csv, format: CSV}\n  path: [inside, fw, outside]\n",
		want:  `typo.csv:1: header: "sorce": unknown column; did you mean "source"?`,
	},
	"a file of routes with a bad line": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: rt\n    router:\n      routesFrom:\n      - {file: bad.routes, port: outside}\n  path: [inside, rt, outside]\n",
		want:  `bad.routes:3: "198.51.100/24": not a prefix; write it like "192.0.2.0/24"`,
	},
	"elements with wrong links": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: e\n    elements:\n      elements:\n      - {name: ttl, kind: DecTTL}\n      - {name: d, kind: Discard}\n      - {name: n, kind: Counter}\n      links:\n" +
			"      - {from: inside, to: tll}\n      - {from: ttl, to: outside}\n      - {from: ttl.dead, to: outside}\n      - {from: d, to: outside}\n      - {from: n.out, to: ttl}\n      - {from: inside, to: n}\n  path: [inside, e, outside]\n",
		want: `chain.yaml:16: spec.functions[0].elements.links[0].to: "tll": no element or port of the function is named "tll"; did you mean "ttl"?
chain.yaml:17: spec.functions[0].elements.links[1].from: "ttl": names no output; write "ttl.alive", or another of its outputs (alive, expired)
chain.yaml:18: spec.functions[0].elements.links[2].from: "ttl.dead": element "ttl" has no output "dead"; known: alive, expired
chain.yaml:19: spec.functions[0].elements.links[3].from: "d": Discard has no output; nothing can be linked there
chain.yaml:20: spec.functions[0].elements.links[4].from: "n.out": Counter has one output; write "n"
chain.yaml:21: spec.functions[0].elements.links[5].from: "inside": already leads somewhere by spec.functions[0].elements.links[0]; one output has one way out: use a Classifier or a Tee
chain.yaml:13: warning: spec.functions[0].elements.elements[1].name: "d": no packet gets to this element; link it, or take it out
chain.yaml:12: warning: spec.functions[0].elements.elements[0].name: "ttl.alive": the output is not linked; packets that leave by it are dropped as "e/ttl/unlinked": link it, to a Discard if that is meant
chain.yaml:14: warning: spec.functions[0].elements.elements[2].name: "n": the output is not linked; packets that leave by it are dropped as "e/n/unlinked": link it, to a Discard if that is meant
chain.yaml:10: warning: spec.functions[0].elements.ports: "outside": what comes in by this port leads nowhere and is dropped as "e/outside"; add a link from it`,
	},
	"elements with outputs that lead nowhere": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: e\n    elements:\n      elements:\n      - {name: n, kind: Counter}\n      - {name: m, kind: Counter}\n      links:\n" +
			"      - {from: inside, to: n}\n  path: [inside, e, outside]\n",
		want: `chain.yaml:13: warning: spec.functions[0].elements.elements[1].name: "m": no packet gets to this element; link it, or take it out
chain.yaml:12: warning: spec.functions[0].elements.elements[0].name: "n": the output is not linked; packets that leave by it are dropped as "e/n/unlinked": link it, to a Discard if that is meant
chain.yaml:10: warning: spec.functions[0].elements.ports: "outside": what comes in by this port leads nowhere and is dropped as "e/outside"; add a link from it`,
	},
	"elements with wrong parameters": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: e\n    elements:\n      elements:\n      - {name: s, kind: SetField, setField: {field: DSCP, value: 64}}\n      - {name: i, kind: ICMPError, icmpError: {type: 5}}\n" +
			"      links:\n      - {from: inside, to: s}\n      - {from: s, to: i}\n      - {from: i, to: inside}\n  path: [inside, e, outside]\n",
		want: `chain.yaml:12: spec.functions[0].elements.elements[0].setField.value: "64": must be a number from 0 to 63
chain.yaml:13: spec.functions[0].elements.elements[1].icmpError.type: "5": is not an ICMP error that a function may send; use 3 (unreachable), 11 (time exceeded) or 12 (parameter problem)
chain.yaml:10: warning: spec.functions[0].elements.ports: "outside": what comes in by this port leads nowhere and is dropped as "e/outside"; add a link from it`,
	},
	"a TTL guard that lets every packet pass": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: e\n    elements:\n      elements:\n      - {name: g, kind: TTLGuard, ttlGuard: {min: 0}}\n" +
			"      links:\n      - {from: inside, to: g}\n      - {from: g.pass, to: outside}\n  path: [inside, e, outside]\n",
		want: `chain.yaml:12: spec.functions[0].elements.elements[0].ttlGuard.min: "0": must be from 1 to 255`,
	},
	"an element whose parameters are of another kind": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: e\n    elements:\n      elements:\n      - {name: s, kind: Tee, setField: {field: DSCP, value: 6}}\n" +
			"      links:\n      - {from: inside, to: s}\n  path: [inside, e, outside]\n",
		want: `chain.yaml:12: spec.functions[0].elements.elements[0]: set setField if kind is SetField, and only then
chain.yaml:12: spec.functions[0].elements.elements[0]: set tee if kind is Tee, and only then`,
	},
	"a click configuration in a block": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: c\n    click: |\n      // the second line is wrong\n      FromDevice(inside) -> IPFilter(alow all) -> ToDevice(outside);\n  path: [inside, c, outside]\n",
		want:  `chain.yaml:12: spec.functions[0].click[2:32]: "alow": IPFilter@2 :: IPFilter: not an action; write "allow", "drop" or the number of an output before the pattern`,
	},
	"a click configuration in quotes": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - name: c\n    click: \"FromDevice(inside) -> Discrd;\"\n  path: [inside, c, outside]\n",
		want:  `chain.yaml:10: spec.functions[0].click[1:23]: "Discrd": Discrd@2 :: Discrd: no element class of this name is known; did you mean "Discard"?`,
	},
	"a click configuration without the ports of the path": {
		chain: graphtest.TwoInterfaces + "  functions:\n  - {name: c, click: \"FromDevice(eth0) -> Discard; Idle -> ToDevice(eth0);\"}\n  path: [inside, c, outside]\n",
		want: `chain.yaml:10: spec.path[1]: "c": has no port "inside", by which a path goes; its ports are eth0: use links for them
chain.yaml:10: spec.path[1]: "c": has no port "outside", by which a path goes; its ports are eth0: use links for them`,
	},
	"YAML that is none": {
		chain: "  interfaces: [\n",
		want:  `chain.yaml:5: not YAML: a value is missing, or a bracket that is open here is not closed`,
	},
}
