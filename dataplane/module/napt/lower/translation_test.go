package lower_test

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

// translating is a chain whose NAPT has the given fields, from line 10 on.
func translating(fields ...string) string {
	return graphtest.Header + graphtest.TwoInterfaces + "  functions:\n  - name: nat\n    napt:\n      " + strings.Join(fields, "\n      ") + "\n  path: [inside, nat, outside]\n"
}

const pool = "pool: [203.0.113.10]"

func TestFixedTranslationsAreRefusedByPlaceFieldAndValue(t *testing.T) {
	for name, test := range badTranslations {
		t.Run(name, func(t *testing.T) {
			if got := strings.TrimSpace(graphtest.Findings(t, translating(test.fields...)).String()); got != test.want {
				t.Errorf("findings are\n%s\nwanted\n%s", got, test.want)
			}
		})
	}
}

// badTranslations are fields of a NAPT and what is said of them.
var badTranslations = map[string]struct {
	fields []string
	want   string
}{
	"one outside port for two hosts": {
		[]string{pool, "portForwards:", "- {outsidePorts: 80-90, inside: 10.0.0.5}", "- {outsidePorts: 85, inside: 10.0.0.6}"},
		`chain.yaml:14: spec.functions[0].napt.portForwards[1].outside: "203.0.113.10:85": portForwards[0] has it already, as 203.0.113.10:80-90; give each addresses or ports of its own`,
	},
	"one port of a host by two outside ports": {
		[]string{pool, "portForwards:", "- {outsidePorts: 80, inside: 10.0.0.5}", "- {outsidePorts: 8080, inside: 10.0.0.5, insidePorts: 80}"},
		`chain.yaml:14: spec.functions[0].napt.portForwards[1].inside: "10.0.0.5:80": portForwards[0] has it already, as 10.0.0.5:80: what the host sends would leave from one of the two alone; give each addresses or ports of its own`,
	},
	"more ports outside than inside": {
		[]string{pool, "portForwards:", "- {outsidePorts: 80-90, inside: 10.0.0.5, insidePorts: 80}"},
		`chain.yaml:13: spec.functions[0].napt.portForwards[0].insidePorts: "80": holds 1 port, outsidePorts 11 ports; give as many inside as outside`,
	},
	"a reversed range": {
		[]string{pool, "portForwards:", "- {outsidePorts: 90-80, inside: 10.0.0.5}"},
		`chain.yaml:13: spec.functions[0].napt.portForwards[0].outsidePorts: "90-80": the port range is reversed; write 80-90`,
	},
	"port 0": {
		[]string{pool, "portForwards:", "- {outsidePorts: 0-3, inside: 10.0.0.5}"},
		`chain.yaml:13: spec.functions[0].napt.portForwards[0].outsidePorts: "0-3": holds port 0, which nobody has; begin with 1`,
	},
	"no outside address where there are several": {
		[]string{"pool: [203.0.113.10-203.0.113.13]", "portForwards:", "- {outsidePorts: 80, inside: 10.0.0.5}"},
		`chain.yaml:13: spec.functions[0].napt.portForwards[0].outside: must be given, as the pool has 4 addresses: 203.0.113.10, for example`,
	},
	"a forward to the chain itself": {
		[]string{pool, "portForwards:", "- {outsidePorts: 80, inside: 10.0.0.1}"},
		`chain.yaml:13: spec.functions[0].napt.portForwards[0].inside: "10.0.0.1:80": holds 10.0.0.1, an address of interface "inside"; give addresses of hosts`,
	},
	"a forward of a gateway's address": {
		[]string{pool, "portForwards:", "- {outside: 203.0.113.255, outsidePorts: 80, inside: 10.0.0.5}"},
		`chain.yaml:13: spec.functions[0].napt.portForwards[0].outside: "203.0.113.255:80": holds 203.0.113.255, the broadcast address of interface "outside"; leave it out: the engine would answer ARP requests for it`,
	},
	"prefixes of two lengths": {
		[]string{"static:", "- {inside: 10.0.0.8/29, outside: 198.51.100.0/28}"},
		`chain.yaml:12: spec.functions[0].napt.static[0].outside: "198.51.100.0/28": has another length than 10.0.0.8/29; give a prefix of length 29`,
	},
	"a range of addresses": {
		[]string{"static:", "- {inside: 10.0.0.8-10.0.0.9, outside: 198.51.100.0/28}"},
		`chain.yaml:12: spec.functions[0].napt.static[0].inside: "10.0.0.8-10.0.0.9": is a range; give an address or a prefix, like "192.0.2.0/28"`,
	},
	"too many addresses": {
		[]string{"static:", "- {inside: 10.16.0.0/20, outside: 198.51.0.0/20}", "- {inside: 10.32.0.0, outside: 198.51.100.0}"},
		`chain.yaml:13: spec.functions[0].napt.static[1].outside: "198.51.100.0": static has more than 4096 addresses; give fewer`,
	},
	"an address of the pool": {
		[]string{pool, "static:", "- {inside: 10.0.0.8/29, outside: 203.0.113.8/29}"},
		`chain.yaml:13: spec.functions[0].napt.static[0].outside: "203.0.113.8/29": holds 203.0.113.10, which the NAPT gives to others; take it out of the pool`,
	},
	"an interface's address for a host": {
		[]string{"static:", "- {inside: 10.0.0.5, outside: 203.0.113.1}"},
		`chain.yaml:12: spec.functions[0].napt.static[0].outside: "203.0.113.1": holds 203.0.113.1, an address of interface "outside"; give addresses that hosts inside have for themselves`,
	},
	"an outside address inside": {
		[]string{pool, "static:", "- {inside: 198.51.100.1, outside: 198.51.100.2}", "- {inside: 198.51.100.2, outside: 198.51.100.3}"},
		`chain.yaml:14: spec.functions[0].napt.static[1].inside: "198.51.100.2": is an outside address of static[0]; give addresses of hosts inside`,
	},
	"loopback addresses": {
		[]string{"static:", "- {inside: 127.0.0.1, outside: 198.51.100.2}"},
		`chain.yaml:12: spec.functions[0].napt.static[0].inside: "127.0.0.1": holds loopback addresses (127.0.0.0/8); give addresses that hosts can have`,
	},
}

func TestMasqueradeNeedsOneInterfaceOutside(t *testing.T) {
	links := "  links:\n  - {from: inside, to: nat.inside}\n  - {from: nat.outside, to: rt.a}\n  - {from: rt.b, to: outside}\n  - {from: rt.c, to: other}\n"
	chain := graphtest.Header + graphtest.TwoInterfaces + "  - {name: other, address: 192.0.2.1/24}\n" +
		"  functions:\n  - {name: nat, napt: {masquerade: true}}\n  - {name: rt, router: {ports: [{name: a}, {name: b}, {name: c}], routes: []}}\n" + links
	want := `chain.yaml:10: spec.functions[0].napt.masquerade: "true": several interfaces lie outside (outside, other); give a pool with the addresses that are meant`
	if got := graphtest.Findings(t, chain).String(); !strings.Contains(got, want) {
		t.Errorf("findings are\n%s\nwanted\n%s", got, want)
	}
}

// TestTwoNAPTsCannotMasqueradeBehindOneAddress: replies would not tell whose they are.
func TestTwoNAPTsCannotMasqueradeBehindOneAddress(t *testing.T) {
	chain := graphtest.Header + graphtest.TwoInterfaces + "  - {name: guests, address: 10.9.0.1/24}\n" +
		"  functions:\n  - {name: nat, napt: {masquerade: true}}\n  - {name: too, napt: {masquerade: true}}\n" +
		"  - {name: rt, router: {ports: [{name: a}, {name: b}, {name: up}], routes: [{prefix: 0.0.0.0/0, port: up, via: 203.0.113.2}]}}\n" +
		"  links:\n  - {from: inside, to: nat.inside}\n  - {from: nat.outside, to: rt.a}\n  - {from: guests, to: too.inside}\n  - {from: too.outside, to: rt.b}\n  - {from: rt.up, to: outside}\n"
	want := `"203.0.113.1": overlaps 203.0.113.1 of the pool of "nat", and no NAPT lies between them`
	if got := graphtest.Findings(t, chain).String(); !strings.Contains(got, want) {
		t.Errorf("findings are\n%s\nwanted\n%s", got, want)
	}
}
