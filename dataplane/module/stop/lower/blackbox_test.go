package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

const wires = "  - {name: a, wire: true}\n  - {name: b, wire: true}\n"

// boxed is a chain with a blackbox, its interfaces line 8 and 9, and the function line 11.
func boxed(interfaces, spec, path string) string {
	return graphtest.Header + graphtest.TwoInterfaces + interfaces + fmt.Sprintf("  functions:\n  - {name: ips, blackbox: {%s}}\n  path: [%s]\n", spec, path)
}

const through = "inside, ips, outside"

// isRefused wants a chain to have an error with a text.
func isRefused(t *testing.T, chain, want string) {
	t.Helper()
	if found := graphtest.Findings(t, chain); !found.HasErrors() || !strings.Contains(found.String(), want) {
		t.Errorf("got\n%s\nwant in it\n%s", found, want)
	}
}

func TestWhatIsWrongWithABlackbox(t *testing.T) {
	const at = "spec.functions[0].blackbox."
	for name, k := range map[string]struct{ interfaces, spec, path, want string }{
		"no side":                 {wires, "outside: b", through, "spec.functions[0].blackbox: inside is required: the interface (wire: true) of the function's side towards port inside"},
		"an unknown attachment":   {wires, "attachment: Mirror, inside: a, outside: b", through, at + `attachment: "Mirror": must be one of Wire, Tap, Routed, Service`},
		"an unknown fate":         {wires, "inside: a, outside: b, whenDown: Bypass", through, at + `whenDown: "Bypass": must be one of Open, Closed`},
		"open, and it writes":     {wires, "inside: a, outside: b, whenDown: Open, behavior: {writes: [TTL]}", through, "whenDown: Open needs a function that writes nothing"},
		"an unknown wire":         {wires, "inside: a, outside: bb", through, at + `outside: "bb": no interface of the chain with wire: true has this name; did you mean "b"?`},
		"an interface":            {wires, "inside: inside, outside: b", through, at + `inside: "inside": no interface of the chain with wire: true has this name; the interface has an address: set wire: true in its place`},
		"one wire for both sides": {wires, "inside: a, outside: a", through, at + `outside: "a": the wire is a side of "ips" already; each side needs one of its own`},
		"an unknown field":        {wires, "inside: a, outside: b, behavior: {writes: [Checksum]}", through, at + `behavior.writes[0]: "Checksum": must be one of VLAN, Source, `},
		"a path to a wire":        {wires, "inside: a, outside: b", "inside, ips, a", `spec.path[2]: "a": is a wire; packets get there through the blackbox that names it: link that`},
		"a wire that nobody names": {
			wires + "  - {name: c, wire: true}\n", "inside: a, outside: b", through, `spec.interfaces[4].wire: "true": no blackbox names "c"; name it as a blackbox's inside or outside, or take it out`,
		},
		"a wire with an address": {
			"  - {name: a, wire: true, address: 10.9.0.1/24}\n  - {name: b, wire: true}\n", "inside: a, outside: b", through,
			"spec.interfaces[2]: set address, or wire: true for a side of a blackbox",
		},
		"a wire with a gateway": {
			"  - {name: a, wire: true, gateway: 10.9.0.1}\n  - {name: b, wire: true}\n", "inside: a, outside: b", through,
			"spec.interfaces[2].gateway: a wire has none: it is no link of the chain; leave it out, or leave wire out",
		},
		"a wire with VLANs": {
			"  - {name: a, wire: true, vlans: [5]}\n  - {name: b, wire: true}\n", "inside: a, outside: b", through, "spec.interfaces[2].vlans: a wire has none",
		},
		"two on one device": {
			"  - {name: a, wire: true, device: eth7}\n  - {name: b, wire: true, device: eth7}\n", "inside: a, outside: b", through,
			`spec.interfaces[3].device: "eth7": interface "a" is bound to this device; give each interface one of its own`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			isRefused(t, boxed(k.interfaces, k.spec, k.path), k.want)
		})
	}
}

func TestWhatABlackboxBecomes(t *testing.T) {
	spec := "inside: a, outside: b, behavior: {writes: [TTL, Source]}"
	dump := graphtest.Dump(t, boxed("  - {name: a, wire: true, mtu: 9000, device: eth7}\n  - {name: b, wire: true, mac: '02:00:00:00:00:01'}\n", spec, through))
	for _, want := range []string{
		"interface a 10.0.0.1/32 mtu 9000 wire device eth7\n",
		"interface b 10.0.0.1/32 mtu 1500 wire mac 02:00:00:00:00:01\n",
		"ips: stop between a and b, changes src ttl\n  [inside] -> inside/out\n  [outside] -> outside/out\n",
		"a/in: input\n  [0] -> a/untagged\n",
		"a/untagged: counter\n  [0] -> inside/out\n",
		"b/untagged: counter\n  [0] -> outside/out\n",
	} {
		if !strings.Contains(dump, want) {
			t.Errorf("got\n%s\nwant in it\n%s", dump, want)
		}
	}
}

func TestWhatBecomesOfPacketsWhileABlackboxIsDown(t *testing.T) {
	for spec, want := range map[string]string{
		"inside: a, outside: b":                                              "ips: stop between a and b\n",
		"inside: a, outside: b, whenDown: Open":                              "ips: stop between a and b, open when down\n",
		"inside: a, outside: b, whenDown: Closed":                            "ips: stop between a and b, closed when down\n",
		"inside: a, outside: b, whenDown: Closed, behavior: {writes: [TTL]}": "ips: stop between a and b, changes ttl, closed when down\n",
	} {
		if dump := graphtest.Dump(t, boxed(wires, spec, through)); !strings.Contains(dump, want) {
			t.Errorf("%s: got\n%s\nwant in it\n%s", spec, dump, want)
		}
	}
}

func TestWhatABlackboxSaysItNeverDoes(t *testing.T) {
	for behavior, want := range map[string]string{
		"{drops: true, resizes: true, originates: true, reorders: true}": "ips: stop between a and b\n",
		"{reorders: false}": "ips: stop between a and b, never reorders\n",
		"{drops: false}":    "ips: stop between a and b, never drops\n",
		"{writes: [TTL], drops: false, resizes: false, originates: false}": "ips: stop between a and b, changes ttl, never drops resizes originates\n",
	} {
		if dump := graphtest.Dump(t, boxed(wires, "inside: a, outside: b, behavior: "+behavior, through)); !strings.Contains(dump, want) {
			t.Errorf("%s: got\n%s\nwant in it\n%s", behavior, dump, want)
		}
	}
}

// An API server with the CRDs of another release may take what these refuse.
func TestAnOpenBlackboxThatWritesIsRefusedWithoutTheRulesOfTheAPI(t *testing.T) {
	b, found := manifest.Parse("chain.yaml", []byte(boxed(wires, "inside: a, outside: b, whenDown: Open", through)), graphtest.Read)
	b.Chains[0].Spec.Functions[0].Blackbox.Behavior.Writes = []v1alpha1.HeaderField{v1alpha1.FieldTTL}
	_, found = graphtest.Build(t, b, found)
	if want := `spec.functions[0].blackbox.whenDown: "Open": `; !found.HasErrors() || !strings.Contains(found.String(), want) {
		t.Errorf("got\n%s\nwant in it\n%s", found, want)
	}
}

func TestABlackboxInOneDirectionDropsWhatTheFunctionSendsInTheOther(t *testing.T) {
	chain := graphtest.Header + graphtest.TwoInterfaces + wires + "  functions:\n  - {name: ips, blackbox: {inside: a, outside: b}}\n" +
		"  links:\n  - {from: inside, to: ips.inside, direction: Forward}\n  - {from: ips.outside, to: outside, direction: Forward}\n"
	dump := graphtest.Dump(t, chain)
	for _, want := range []string{"[inside] -> ips/unlinked\n", "a/untagged: counter\n  [0] -> ips/unlinked\n", "b/untagged: counter\n  [0] -> outside/out\n"} {
		if !strings.Contains(dump, want) {
			t.Errorf("got\n%s\nwant in it\n%s", dump, want)
		}
	}
}
