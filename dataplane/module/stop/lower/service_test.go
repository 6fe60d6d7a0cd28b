package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

const (
	proxies = "  - {name: a, address: 172.31.0.1/29}\n"
	service = "attachment: Service, inside: a"
)

func TestWhatIsWrongWithAService(t *testing.T) {
	const at = "spec.functions[0].blackbox."
	for name, k := range map[string]struct{ interfaces, spec, path, want string }{
		"no such interface":         {proxies, "attachment: Service, inside: aa", through, at + `inside: "aa": no interface of the chain with an address has this name; did you mean "a"?`},
		"a wire":                    {wires, service, through, at + `inside: "a": no interface of the chain with an address has this name; it is a wire: give it an address, and leave wire out`},
		"an interface of the path":  {proxies, "attachment: Service, inside: inside", through, `already leads to "ips.inside" by spec.path[0]`},
		"an interface linked twice": {proxies, service, "inside, ips, outside]\n  links: [{from: a, to: outside}", `one port has one way out`},
		"on no path":                {proxies, service, "inside, outside", `spec.functions[0].name: "ips": no path and no link leads to this function; name it in the path, or take it out`},
		"with a side":               {proxies, service + ", outside: outside", through, "outside, whenDown, behavior, bypass and image are not for attachment: Service"},
		"watched":                   {proxies, service + ", whenDown: Closed", through, "outside, whenDown, behavior, bypass and image are not for attachment: Service"},
		"an address elsewhere":      {proxies, service + ", address: 172.31.1.2", through, at + `address: "172.31.1.2": is not on-link; give an address within 172.31.0.0/29`},
		"the chain's address":       {proxies, service + ", address: 172.31.0.1", through, at + `address: "172.31.0.1": is the interface's own address; give that of the neighbour`},
		"with a container":          {proxies, service + ", image: proxy", through, "outside, whenDown, behavior, bypass and image are not for attachment: Service"},
	} {
		t.Run(name, func(t *testing.T) {
			isRefused(t, boxed(k.interfaces, k.spec, k.path), k.want)
		})
	}
}

// between has a service between two interfaces, of which some have a gateway.
func between(inside, outside, functions, path string) string {
	return graphtest.Header + fmt.Sprintf(`  interfaces:
  - {name: inside, address: 10.0.0.1/24%s}
  - {name: outside, address: 203.0.113.1/24%s}
%s  functions:
  - {name: ips, blackbox: {%s}}
%s  path: [%s]
`, inside, outside, proxies, service, functions, path)
}

const (
	insideGateway, outsideGateway = ", gateway: 10.0.0.9", ", gateway: 203.0.113.9"
	connected                     = "  10.0.0.0/24 [%d]\n  172.31.0.0/29 [%d]\n  203.0.113.0/24 [%d]\n"
)

func TestAServiceWithAnAddressIsWatched(t *testing.T) {
	for name, k := range map[string]struct{ interfaces, spec, want string }{
		"with an address":                 {proxies, service + ", address: 172.31.0.2", " function ips watched 172.31.0.2 answer-ttl"},
		"without":                         {proxies, service, " function ips answer-ttl"},
		"with a MAC address in the chain": {strings.Replace(proxies, "}", ", neighbors: [{address: 172.31.0.2, mac: '02:00:00:00:00:01'}]}", 1), service + ", address: 172.31.0.2", " function ips answer-ttl 65 neighbor "},
		"on a trunk":                      {strings.Replace(proxies, "}", ", vlans: [7]}", 1), service + ", address: 172.31.0.2", " function ips answer-ttl 65 vlan 7"},
	} {
		t.Run(name, func(t *testing.T) {
			if dump := graphtest.Dump(t, boxed(k.interfaces, k.spec, through)); !strings.Contains(dump, k.want) {
				t.Errorf("got\n%s\nwant in it\n%s", dump, k.want)
			}
		})
	}
}

func TestWhereAServicesPacketsGo(t *testing.T) {
	for name, k := range map[string]struct{ inside, outside, want string }{
		"to connected networks":              {"", "", "ips/lookup: lookup, else [3]\n" + fmt.Sprintf(connected, 0, 2, 1)},
		"to the rest by the gateway outside": {"", outsideGateway, "ips/lookup: lookup, else [3]\n  0.0.0.0/0 [1]\n" + fmt.Sprintf(connected, 0, 2, 1)},
		"to the rest by the gateway inside":  {insideGateway, "", "ips/lookup: lookup, else [3]\n  0.0.0.0/0 [0]\n" + fmt.Sprintf(connected, 0, 2, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			if dump := graphtest.Dump(t, between(k.inside, k.outside, "", through)); !strings.Contains(dump, k.want) {
				t.Errorf("got\n%s\nwant in it\n%s", dump, k.want)
			}
		})
	}
}

// Where more than one way leads further, routes have to be written.
func TestAServiceWithMoreThanOneWayIsRefused(t *testing.T) {
	const at = `spec.functions[0].blackbox.attachment: "Service": `
	rt := "  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}}\n"
	for name, k := range map[string]struct{ chain, want string }{
		"gateways at both sides": {between(insideGateway, outsideGateway, "", through), at + `interfaces at both sides have a gateway, so nothing says where a packet of the service belongs; use a router with a port for interface "a" instead`},
		"a router behind it":     {between("", outsideGateway, rt, "inside, ips, rt, outside"), at + `"rt" is a router behind port "outside", and nothing says what lies behind that; give it a port for interface "a": the service is a host there`},
	} {
		t.Run(name, func(t *testing.T) {
			isRefused(t, k.chain, k.want)
		})
	}
}
