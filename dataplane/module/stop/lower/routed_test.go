package lower_test

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

const (
	hops   = "  - {name: a, address: 172.31.0.1/29, gateway: 172.31.0.2}\n  - {name: b, address: 172.31.0.9/29, gateway: 172.31.0.10}\n"
	routed = "attachment: Routed, inside: a, outside: b"
)

func TestWhatIsWrongWithARoutedBlackbox(t *testing.T) {
	const at = "spec.functions[0].blackbox."
	for name, k := range map[string]struct{ interfaces, spec, path, want string }{
		"no outside":                {hops, "attachment: Routed, inside: a", through, "outside is required"},
		"no such interface":         {hops, "attachment: Routed, inside: a, outside: bb", through, at + `outside: "bb": no interface of the chain with an address has this name; did you mean "b"?`},
		"a wire":                    {wires, routed, through, at + `inside: "a": no interface of the chain with an address has this name; it is a wire: give it an address, and leave wire out`},
		"no gateway":                {strings.Replace(hops, ", gateway: 172.31.0.10", "", 1), routed, through, `spec.interfaces[3].gateway: blackbox "ips" is a hop behind this interface: give the address that it has there`},
		"one interface":             {hops, "attachment: Routed, inside: a, outside: a", through, at + `outside: "a": is the interface of the other side already; each side needs one of its own`},
		"an interface of the path":  {hops, "attachment: Routed, inside: inside, outside: b", through, `"inside": links "inside" to itself; packets would never leave it`},
		"an interface linked twice": {hops, routed, "inside, ips, outside]\n  links: [{from: a, to: outside}", `already leads to "inside"`},
		"on no path":                {hops, routed, "inside, outside", `no packet gets to this function; link one of its ports (inside, outside), or take it out`},
		"watched":                   {hops, routed + ", whenDown: Closed", through, "whenDown, behavior, bypass and image are not for attachment: Routed"},
		"with a behavior":           {hops, routed + ", behavior: {writes: [TTL]}", through, "whenDown, behavior, bypass and image are not for attachment: Routed"},
		"with an address":           {hops, routed + ", address: 172.31.0.2", through, "address is for attachment: Service"},
		"with a container":          {hops, routed + ", image: ips", through, "whenDown, behavior, bypass and image are not for attachment: Routed"},
	} {
		t.Run(name, func(t *testing.T) {
			isRefused(t, boxed(k.interfaces, k.spec, k.path), k.want)
		})
	}
}

// A router before the function may have chosen another next hop: it is the function's all the same, but for hosts of the network itself.
func TestWhatComesToARoutedBlackboxLeavesForItsGateway(t *testing.T) {
	chain := graphtest.Header + graphtest.TwoInterfaces + hops + `  functions:
  - {name: rt, router: {address: 10.255.0.1, routes: [{prefix: 0.0.0.0/0, port: outside, via: 172.31.0.3}]}}
  - {name: ips, blackbox: {` + routed + `}}
  path: [inside, rt, ips, outside]
`
	dump := graphtest.Dump(t, chain)
	for _, want := range []string{
		" gateway 172.31.0.2 function ips watched 172.31.0.2",
		" gateway 172.31.0.10 function ips watched 172.31.0.10",
		"ips/inside: lookup, else [0]\n  0.0.0.0/0 via 172.31.0.2 [0]\n  172.31.0.0/29 [0]\n  [0] -> a/out\n",
		"ips/outside: lookup, else [0]\n  0.0.0.0/0 via 172.31.0.10 [0]\n  172.31.0.8/29 [0]\n  [0] -> b/out\n",
	} {
		if !strings.Contains(dump, want) {
			t.Errorf("got\n%s\nwant in it\n%s", dump, want)
		}
	}
}

// A router behind the function knows networks before it by its routes alone: the function may translate, so nothing is connected there.
func TestARouterBehindARoutedBlackboxNeedsRoutesBack(t *testing.T) {
	const warned = `spec.functions[1].router.routes: 10.0.0.0/24 of interface "inside" lies before blackbox "ips", and `
	const add = `replies do not return; add {prefix: 10.0.0.0/24, port: inside, via: 172.31.0.10}`
	for name, k := range map[string]struct{ routes, nat, path, want string }{
		"a default route elsewhere": {"[{prefix: 0.0.0.0/0, port: outside}]", "", "inside, ips, rt, outside", warned + "its routes lead there by outside: " + add},
		"no route":                  {"[{prefix: 192.0.2.0/24, port: outside}]", "", "inside, ips, rt, outside", warned + "no route leads there: " + add},
		"a shorter route back":      {"[{prefix: 0.0.0.0/0, port: outside}, {prefix: 10.0.0.0/8, port: inside, via: 172.31.0.10}]", "", "inside, ips, rt, outside", ""},
		"a longer one elsewhere":    {"[{prefix: 0.0.0.0/0, port: inside, via: 172.31.0.10}, {prefix: 10.0.0.0/23, port: outside}]", "", "inside, ips, rt, outside", warned + "its routes lead there by outside: " + add},
		"one that drops":            {"[{prefix: 0.0.0.0/0, port: outside}, {prefix: 10.0.0.0/24, type: Discard}]", "", "inside, ips, rt, outside", ""},
		"a NAPT before it":          {"[{prefix: 0.0.0.0/0, port: outside}]", "  - {name: nat, napt: {pool: [192.0.2.1]}}\n", "inside, nat, ips, rt, outside", ""},
		"a router before it":        {"[{prefix: 0.0.0.0/0, port: outside, via: 172.31.0.2}]", "", "inside, rt, ips, outside", ""},
	} {
		t.Run(name, func(t *testing.T) {
			chain := graphtest.Header + graphtest.TwoInterfaces + hops + `  functions:
  - {name: ips, blackbox: {` + routed + `}}
  - {name: rt, router: {routes: ` + k.routes + `}}
` + k.nat + "  path: [" + k.path + "]\n"
			found := graphtest.Findings(t, chain)
			if text := found.String(); found.HasErrors() || strings.Contains(text, "replies do not return") != (k.want != "") || !strings.Contains(text, k.want) {
				t.Errorf("got\n%s\nwant in it\n%s", text, k.want)
			}
		})
	}
}

// A packet that the function has forwarded comes in from a host of another interface's network, on the far side alone.
func TestTheFarSideOfARoutedBlackboxTakesPacketsOfTheNearSidesHosts(t *testing.T) {
	refuses := map[string]bool{}
	for _, line := range strings.Split(graphtest.Dump(t, boxed(hops, routed, through)), "\n") {
		if name, is, ok := strings.Cut(strings.TrimPrefix(line, "interface "), " "); ok && strings.HasPrefix(line, "interface ") {
			refuses[name] = strings.Contains(is, "refused 10.0.0.2-10.0.0.254 reverse-path")
		}
	}
	if !refuses["a"] || refuses["b"] {
		t.Errorf("sources of inside are refused at the near side: %v, and at the far side: %v; want the near side alone", refuses["a"], refuses["b"])
	}
}
