package lower_test

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

func TestWhatABlackboxThatFlowsGoPastBecomes(t *testing.T) {
	dump := graphtest.Dump(t, boxed(wires, "inside: a, outside: b, bypass: {afterPackets: 20, maxFlows: 5000, timeouts: {udp: 30s}}", through))
	for _, want := range []string{
		"ips: stop between a and b\n  [inside] -> ips/passed-outside\n  [outside] -> ips/passed-inside\n",
		"ips/bypass-inside: bypass ips after 20 packets, at most 5000 flows, tcp 2h4m0s/4m0s/1s udp 30s icmp 1m0s\n  [through] -> ips.inside\n  [past] -> ips/past-inside\n",
		"ips/bypass-outside: bypass ips after 20 packets, at most 5000 flows, tcp 2h4m0s/4m0s/1s udp 30s icmp 1m0s\n  [through] -> ips.outside\n  [past] -> ips/past-outside\n",
		"ips/past-inside: counter\n  [0] -> outside/out\n",
		"ips/past-outside: counter\n  [0] -> inside/out\n",
		"ips/passed-inside: passed ips\n  [0] -> outside/out\n",
		"ips/passed-outside: passed ips\n  [0] -> inside/out\n",
	} {
		if !strings.Contains(dump, want) {
			t.Errorf("got\n%s\nwant in it\n%s", dump, want)
		}
	}
}

func TestABlackboxInOneDirectionHasItsFlowsGoPastInThatAlone(t *testing.T) {
	chain := graphtest.Header + graphtest.TwoInterfaces + wires + "  functions:\n  - {name: ips, blackbox: {inside: a, outside: b, bypass: {afterPackets: 1}}}\n" +
		"  links:\n  - {from: inside, to: ips.inside, direction: Forward}\n  - {from: ips.outside, to: outside, direction: Forward}\n"
	dump := graphtest.Dump(t, chain)
	if !strings.Contains(dump, "ips: stop between a and b\n  [inside] -> ips/unlinked\n  [outside] -> ips/passed-inside\n") || strings.Contains(dump, "bypass-outside") {
		t.Errorf("got\n%s\nwant flows from inside to go past alone", dump)
	}
}

func TestWhatIsWrongWithABypass(t *testing.T) {
	const at = "spec.functions[0].blackbox"
	for name, k := range map[string]struct{ spec, want string }{
		"after nothing":      {"inside: a, outside: b, bypass: {}", at + ".bypass.afterPackets: "},
		"after no packets":   {"inside: a, outside: b, bypass: {afterPackets: 0}", at + `.bypass.afterPackets: "0": `},
		"after too many":     {"inside: a, outside: b, bypass: {afterPackets: 65536}", at + `.bypass.afterPackets: "65536": `},
		"no flows":           {"inside: a, outside: b, bypass: {afterPackets: 1, maxFlows: 16777217}", at + `.bypass.maxFlows: "16777217": `},
		"no time":            {"inside: a, outside: b, bypass: {afterPackets: 1, timeouts: {udp: 1ms}}", at + `.bypass.timeouts.udp: "1ms": `},
		"it writes":          {"inside: a, outside: b, bypass: {afterPackets: 1}, behavior: {writes: [TTL]}", "bypass needs a function that writes nothing"},
		"it gets copies":     {"attachment: Tap, inside: a, outside: b, bypass: {afterPackets: 1}", "whenDown, behavior and bypass are not for attachment: Tap"},
		"there is no option": {"inside: a, outside: b, bypass: {afterPackets: 1, afterBytes: 1}", "afterBytes"},
	} {
		t.Run(name, func(t *testing.T) {
			isRefused(t, boxed(wires, k.spec, through), k.want)
		})
	}
}

// An API server with the CRDs of another release may take what these refuse.
func TestABypassIsRefusedWithoutTheRulesOfTheAPI(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.Blackbox){
		"it writes":      func(b *v1alpha1.Blackbox) { b.Behavior.Writes = []v1alpha1.HeaderField{v1alpha1.FieldTTL} },
		"it gets copies": func(b *v1alpha1.Blackbox) { b.Attachment = v1alpha1.BlackboxTap },
	} {
		t.Run(name, func(t *testing.T) {
			b, found := manifest.Parse("chain.yaml", []byte(boxed(wires, "inside: a, outside: b, bypass: {afterPackets: 20}", through)), graphtest.Read)
			change(b.Chains[0].Spec.Functions[0].Blackbox)
			_, found = graphtest.Build(t, b, found)
			if want := "spec.functions[0].blackbox.bypass: "; !found.HasErrors() || !strings.Contains(found.String(), want) {
				t.Errorf("got\n%s\nwant in it\n%s", found, want)
			}
		})
	}
}
