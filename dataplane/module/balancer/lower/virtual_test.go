package lower_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

// dmz is a chain with a load balancer and a NAPT of some fields, along a path.
func dmz(napt, path string) string {
	return graphtest.Header + gatewayed + `  functions:
  - {name: lb, loadBalancer: {virtual: [{addresses: [203.0.113.80], ports: [80]}], backends: [{address: 10.0.0.11}, {address: 10.0.0.12}]}}
  - {name: nat, napt: {pool: [203.0.113.9]` + napt + `}}
  - {name: fw, firewall: {default: Accept}}
  path: ` + path + "\n"
}

func TestALoadBalancerThatANAPTKeepsFromItsClients(t *testing.T) {
	const (
		clients  = `loadBalancer.virtual: clients behind "nat" reach no virtual address: what they send is dropped as "nat-no-binding"; write into "nat": exempt: [{source: [203.0.113.80], destination: [0.0.0.0/0]}]`
		backends = `loadBalancer.backends: backends behind "nat" get nothing of clients: it is dropped as "nat-no-binding"; put the load balancer on the inside of "nat", or write into that: exempt: [{source: [10.0.0.11-10.0.0.12], destination: [0.0.0.0/0]}]`
	)
	for name, c := range map[string]struct{ napt, path, want string }{
		"clients outside of it":      {"", "[inside, lb, fw, nat, outside]", clients},
		"exempt":                     {", exempt: [{source: [203.0.113.80], destination: [0.0.0.0/0]}]", "[inside, lb, fw, nat, outside]", ""},
		"another address is exempt":  {", exempt: [{source: [203.0.113.81], destination: [0.0.0.0/0]}]", "[inside, lb, fw, nat, outside]", clients},
		"a port is forwarded to it":  {", portForwards: [{outside: 203.0.113.9, outsidePorts: 80, inside: 203.0.113.80}]", "[inside, lb, fw, nat, outside]", ""},
		"an address stands for it":   {", static: [{outside: 203.0.113.7, inside: 203.0.113.80}]", "[inside, lb, fw, nat, outside]", ""},
		"backends inside of it":      {"", "[inside, fw, nat, lb, outside]", backends},
		"backends that are exempt":   {", exempt: [{source: [10.0.0.0/24], destination: [0.0.0.0/0]}]", "[inside, fw, nat, lb, outside]", ""},
		"one of the backends is not": {", exempt: [{source: [10.0.0.11], destination: [0.0.0.0/0]}]", "[inside, fw, nat, lb, outside]", backends},
	} {
		t.Run(name, func(t *testing.T) {
			found := graphtest.Findings(t, dmz(c.napt, c.path)).String()
			for _, text := range []string{clients, backends} {
				if has := strings.Contains(found, text); has != (text == c.want) {
					t.Errorf("findings are\n%swanted: %s", found, c.want)
				}
			}
		})
	}
}

// From a second network clients come without a translation.
func TestALoadBalancerWithAWayPastTheNAPT(t *testing.T) {
	text := graphtest.Header + `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.254}
  - {name: partner, address: 192.0.2.1/24}
  functions:
  - {name: lb, loadBalancer: {virtual: [{addresses: [203.0.113.80], ports: [80]}], backends: [{address: 10.0.0.11}]}}
  - name: rt
    router:
      ports: [inside, outside, partner]
      routes: [{prefix: 10.0.0.0/24, port: inside}, {prefix: 0.0.0.0/0, port: outside}, {prefix: 192.0.2.0/24, port: partner}]
  - {name: nat, napt: {pool: [203.0.113.9]}}
  path: [inside, lb, rt.inside]
  links: [{from: rt.outside, to: nat.inside}, {from: nat.outside, to: outside}, {from: rt.partner, to: partner}]
`
	if found := graphtest.Findings(t, text).String(); strings.Contains(found, "reach no virtual address") || strings.Contains(found, "unknown") {
		t.Errorf("findings are\n%s", found)
	}
}

func TestAnExemptVirtualAddressAnswersARPOutside(t *testing.T) {
	virtual := netip.MustParseAddr("203.0.113.80")
	for exempt, want := range map[string]bool{"": false, ", exempt: [{source: [203.0.113.80], destination: [0.0.0.0/0]}]": true} {
		g, found := graphtest.Lower(t, dmz(exempt, "[inside, lb, fw, nat, outside]"))
		if g == nil {
			t.Fatal(found)
		}
		if got := slices.Contains(g.Interfaces[1].Proxy, virtual); got != want {
			t.Errorf("exempt %q: interface outside answers for %v: %v, want %v", exempt, g.Interfaces[1].Proxy, got, want)
		}
	}
}
