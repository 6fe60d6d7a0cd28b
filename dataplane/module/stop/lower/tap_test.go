package lower_test

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

const wire = "  - {name: a, wire: true}\n"

func TestWhatATapBecomes(t *testing.T) {
	for name, k := range map[string]struct {
		interfaces, spec string
		want             []string
	}{
		"one wire has the copies of both directions": {
			"  - {name: a, wire: true, mtu: 1500, device: eth7}\n", "attachment: Tap, inside: a",
			[]string{
				"interface a 10.0.0.1/32 mtu 1500 wire device eth7\n",
				"ips/inside: tee\n  [0] -> outside/out\n  [1] -> ips/to-inside\n",
				"ips/outside: tee\n  [0] -> inside/out\n  [1] -> ips/to-inside\n",
				"ips/to-inside: tap by a\n",
				"a/in: input\n  [0] -> a/returned\n",
				`a/returned: discard "ips/returned"` + "\n",
			},
		},
		"each direction has a wire": {
			wires, "attachment: Tap, inside: a, outside: b",
			[]string{
				"ips/inside: tee\n  [0] -> outside/out\n  [1] -> ips/to-inside\n",
				"ips/outside: tee\n  [0] -> inside/out\n  [1] -> ips/to-outside\n",
				"ips/to-inside: tap by a\n", "ips/to-outside: tap by b\n",
				`a/returned: discard "ips/returned"` + "\n", `b/returned: discard "ips/returned"` + "\n",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dump := graphtest.Dump(t, boxed(k.interfaces, k.spec, through))
			for _, want := range k.want {
				if !strings.Contains(dump, want) {
					t.Errorf("got\n%s\nwant in it\n%s", dump, want)
				}
			}
		})
	}
}

func TestATapInOneDirectionCopiesNothingOfTheOther(t *testing.T) {
	chain := graphtest.Header + graphtest.TwoInterfaces + wires + "  functions:\n  - {name: ips, blackbox: {attachment: Tap, inside: a, outside: b}}\n" +
		"  links:\n  - {from: outside, to: ips.outside, direction: Forward}\n  - {from: ips.inside, to: inside, direction: Forward}\n"
	dump := graphtest.Dump(t, chain)
	if !strings.Contains(dump, "ips/outside: tee\n  [0] -> inside/out\n  [1] -> ips/to-outside\n") || strings.Contains(dump, "ips/to-inside") {
		t.Errorf("got\n%s\nwant copies of packets from outside alone", dump)
	}
}

func TestWhatIsWrongWithATap(t *testing.T) {
	const at = "spec.functions[0].blackbox"
	for name, k := range map[string]struct{ interfaces, spec, want string }{
		"no wire":                           {wire, "attachment: Tap", at + ": inside is required"},
		"it cannot be down":                 {wire, "attachment: Tap, inside: a, whenDown: Closed", "whenDown, behavior and bypass are not for attachment: Tap"},
		"it does nothing to packets":        {wire, "attachment: Tap, inside: a, behavior: {writes: [TTL]}", "whenDown, behavior and bypass are not for attachment: Tap"},
		"an unknown wire":                   {wire, "attachment: Tap, inside: aa", at + `.inside: "aa": no interface of the chain with wire: true has this name; did you mean "a"?`},
		"an unknown wire of the other side": {wire, "attachment: Tap, inside: a, outside: b", at + `.outside: "b": no interface`},
		"one wire, said twice":              {wire, "attachment: Tap, inside: a, outside: a", at + `.outside: "a": the wire is a side of "ips" already; each side needs one of its own`},
		"a wire of its own needs one":       {wire, "inside: a", "outside is required: the interface (wire: true) of the function's other side; only a Tap may have one"},
		"no memory":                         {wire, "attachment: Tap, inside: a, image: ids, resources: {memory: 1Ki}", at + `.resources.memory: "1Ki": must be from 1Mi to 10Ti`},
		"a wire with a card": {
			"  - {name: a, wire: true, resourceName: intel.com/vf}\n", "attachment: Tap, inside: a, image: ids", `spec.interfaces[2].resourceName: "intel.com/vf": the blackbox has an image`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			isRefused(t, boxed(k.interfaces, k.spec, through), k.want)
		})
	}
}

func TestATapWithAnImageNeedsNoWordOnItsEnd(t *testing.T) {
	if found := graphtest.Findings(t, boxed(wire, "attachment: Tap, inside: a, image: ids", through)); len(found) > 0 {
		t.Errorf("got\n%s\nwant nothing", found)
	}
}

// An API server with the CRDs of another release may take what these refuse.
func TestATapThatIsSaidToBeDownIsRefusedWithoutTheRulesOfTheAPI(t *testing.T) {
	b, found := manifest.Parse("chain.yaml", []byte(boxed(wire, "attachment: Tap, inside: a", through)), graphtest.Read)
	b.Chains[0].Spec.Functions[0].Blackbox.WhenDown = v1alpha1.BlackboxOpen
	_, found = graphtest.Build(t, b, found)
	if want := `spec.functions[0].blackbox.whenDown: "Open": a Tap gets copies`; !found.HasErrors() || !strings.Contains(found.String(), want) {
		t.Errorf("got\n%s\nwant in it\n%s", found, want)
	}
}

func TestAWireThatIsNarrowerThanTheChainIsWarnedOf(t *testing.T) {
	for spec, wires := range map[string]string{"attachment: Tap, inside: a": wire, "inside: a, outside: b": wires} {
		chain := strings.Replace(boxed(wires, spec, through), "name: outside,", "name: outside, mtu: 9000,", 1)
		const want = `spec.interfaces[2].mtu: "1500": interface "outside" has packets of up to 9000 bytes; what is too big for the wire is dropped as too-big: set mtu: 9000`
		if found := graphtest.Findings(t, chain); found.HasErrors() || !strings.Contains(found.String(), want) {
			t.Errorf("%s: got\n%s\nwant in it\n%s", spec, found, want)
		}
		wide := strings.ReplaceAll(chain, "wire: true", "wire: true, mtu: 9000")
		if found := graphtest.Findings(t, wide); len(found) > 0 {
			t.Errorf("%s: got\n%s\nwant nothing", spec, found)
		}
	}
}
