package lower_test

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

// gatewayed are the interfaces, with a gateway outside.
const gatewayed = `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.254}
`

// balancerChain is a chain with a load balancer, of some services and backends.
func balancerChain(virtual, backends, more string) string {
	return graphtest.Header + gatewayed + "  functions:\n  - name: lb\n    loadBalancer:\n      virtual: " + virtual + "\n      backends: " + backends + "\n" + more +
		"  path: [inside, lb, outside]\n"
}

func TestWhatIsWrongWithALoadBalancer(t *testing.T) {
	const (
		web  = "[{addresses: [203.0.113.80], ports: [80]}]"
		pair = "[{address: 10.0.0.11}, {address: 10.0.0.12}]"
		lb   = "spec.functions[0].loadBalancer."
	)
	for name, k := range map[string]struct{ virtual, backends, more, want string }{
		"no address":                    {"[{addresses: [x], ports: [80]}]", pair, "", lb + `virtual[0].addresses[0]: "x": `},
		"no port":                       {"[{addresses: [203.0.113.80], ports: [70000]}]", pair, "", lb + `virtual[0].ports[0]: "70000": not a port or range of ports`},
		"a multicast address":           {"[{addresses: [224.0.0.1], ports: [80]}]", pair, "", lb + `virtual[0].addresses[0]: "224.0.0.1": is a multicast address`},
		"an interface's address":        {"[{addresses: [203.0.113.1], ports: [80]}]", pair, "", `is the address of interface "outside"`},
		"the gateway's address":         {"[{addresses: [203.0.113.254], ports: [80]}]", pair, "", `is the interface's gateway`},
		"the broadcast address":         {"[{addresses: [203.0.113.255], ports: [80]}]", pair, "", `is the broadcast address of 203.0.113.0/24`},
		"two services on one port":      {"[{addresses: [203.0.113.80], ports: [80]}, {addresses: [203.0.113.80], ports: [\"79-81\"]}]", pair, "", lb + `virtual[1]: has an address and port of "virtual-1"`},
		"a name twice":                  {"[{name: a, addresses: [203.0.113.80], ports: [80]}, {name: a, addresses: [203.0.113.81], ports: [80]}]", pair, "", lb + `virtual[1].name: "a": the name is taken by ` + lb + "virtual[0]"},
		"the name of a part":            {"[{name: host, addresses: [203.0.113.80], ports: [80]}]", pair, "", `"host": the name is taken by the load balancer itself`},
		"no protocol of a balancer's":   {"[{addresses: [203.0.113.80], ports: [80], protocol: SCTP}]", pair, "", lb + `virtual[0].protocol: "SCTP"`},
		"a backend twice":               {web, "[{address: 10.0.0.11}, {address: 10.0.0.11, weight: 3}]", "", lb + `backends[1]: "10.0.0.11": is also ` + lb + "backends[0]"},
		"a backend that is virtual":     {web, "[{address: 203.0.113.80}]", "", lb + `backends[0].address: "203.0.113.80": is a virtual address`},
		"a backend that is the chain's": {web, "[{address: 10.0.0.1}]", "", lb + `backends[0].address: "10.0.0.1": is an address of interface "inside"`},
		"a backend of nobody's":         {web, "[{address: 127.0.0.1}]", "", lb + `backends[0].address: "127.0.0.1": is a loopback address`},
		"a weight that is too large":    {web, "[{address: 10.0.0.11, weight: 257}]", "", lb + `backends[0].weight: "257"`},
		"nobody takes new flows":        {web, "[{address: 10.0.0.11, weight: 0}]", "", lb + `backends: all have weight 0: new flows are dropped as "lb/no-backend"`},
		"no backends":                   {web, "[]", "", lb + "backends: is empty; give it at least 1"},
		"a timeout that is too short":   {web, pair, "      timeouts: {udp: 1ms}\n", lb + `timeouts.udp: "1ms"`},
		"stateless by NAT":              {web, pair, "      stateless: true\n", "stateless needs mode: DSR"},
		"a port with DSR":               {web, "[{address: 10.0.0.11, port: 8080}]", "      mode: DSR\n", lb + `backends[0].port: "8080": mode DSR sends packets as they came`},
		"a backend far away with DSR":   {web, "[{address: 10.9.0.11}]", "      mode: DSR\n", lb + `backends[0].address: "10.9.0.11": is in the prefix of no interface behind the load balancer`},
		"two kinds of checks":           {web, pair, "      healthCheck: {tcp: {port: 80}, http: {path: /}}\n", "set exactly one of http, tcp"},
		"no kind of check":              {web, pair, "      healthCheck: {interval: 1s}\n", "set exactly one of http, tcp"},
		"no port to check":              {web, pair, "      healthCheck: {tcp: {}}\n", lb + "healthCheck.tcp.port: backend 10.0.0.11 has no port of its own"},
		"a path without slash":          {web, pair, "      healthCheck: {http: {path: live, port: 80}}\n", lb + `healthCheck.http.path: "live"`},
		"an interval that is too short": {web, pair, "      healthCheck: {tcp: {port: 80}, interval: 10ms}\n", lb + `healthCheck.interval: "10ms"`},
		"a slow start that is too long": {web, pair, "      slowStart: 1000h\n", lb + `slowStart: "1000h"`},
		"too many sessions":             {web, pair, "      maxSessions: 8000001\n", lb + `maxSessions: "8000001"`},
	} {
		t.Run(name, func(t *testing.T) {
			if found := graphtest.Findings(t, balancerChain(k.virtual, k.backends, k.more)); !strings.Contains(found.String(), k.want) {
				t.Errorf("got\n%s\nwant in it\n%s", found, k.want)
			}
		})
	}
}

func TestWhatDoesNotGoWithModeDSR(t *testing.T) {
	const lb = "  - name: lb\n    loadBalancer: {mode: DSR, virtual: [{addresses: [203.0.113.80], ports: [80]}], backends: [{address: 10.0.0.11}]}\n"
	for name, k := range map[string]struct{ function, path, want string }{
		"a router before backends": {
			"{name: rt, router: {address: 10.255.0.1, routes: [{prefix: 0.0.0.0/0, port: outside}]}}", "[inside, rt, lb, outside]",
			`functions[0].loadBalancer.mode: "DSR": router "rt" lies between the load balancer and its backends`,
		},
		"a NAPT of the clients": {
			"{name: nat, napt: {pool: [203.0.113.9]}}", "[inside, lb, nat, outside]", `functions[0].loadBalancer.mode: "DSR": servers reply past "nat"`,
		},
		"a strict firewall": {
			"{name: fw, firewall: {stateful: true, tracking: {strict: true}, rules: [{name: in, action: Accept, state: [New, Established]}]}}", "[inside, fw, lb, outside]",
			`functions[0].loadBalancer.mode: "DSR": servers reply past "fw"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := graphtest.Header + gatewayed + "  functions:\n" + lb + "  - " + k.function + "\n  path: " + k.path + "\n"
			if found := graphtest.Findings(t, text); !strings.Contains(found.String(), k.want) {
				t.Errorf("got\n%s\nwant in it\n%s", found, k.want)
			}
		})
	}
}

func TestTheEndpointsOfAServiceAreKnownInAClusterOnly(t *testing.T) {
	for name, k := range map[string]struct{ change, want string }{
		"a Service":         {"", `loadBalancer.backendsFrom: "web": the endpoints of a Service are known in a cluster only`},
		"servers beside it": {", backends: [{address: 10.0.0.11}]", "set exactly one of backends, backendsFrom"},
	} {
		t.Run(name, func(t *testing.T) {
			text := graphtest.Header + gatewayed + `  functions:
  - name: lb
    loadBalancer: {virtual: [{addresses: [203.0.113.80], ports: [80]}], backendsFrom: {serviceRef: {name: web}}` + k.change + `}
  path: [inside, lb, outside]
`
			if found := graphtest.Findings(t, text); !strings.Contains(found.String(), k.want) {
				t.Errorf("got\n%s\nwant in it\n%s", found, k.want)
			}
		})
	}
}
