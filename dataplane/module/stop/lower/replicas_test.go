package lower_test

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

const fourWires = wires + "  - {name: c, wire: true}\n  - {name: d, wire: true}\n"

func TestWhatABlackboxWithReplicasBecomes(t *testing.T) {
	dump := graphtest.Dump(t, boxed(fourWires, "replicas: [{inside: a, outside: b}, {inside: c, outside: d, draining: true}], whenDown: Closed, affinity: {maxFlows: 5000, timeouts: {udp: 30s}}", through))
	for _, want := range []string{
		"ips/a: stop between a and b, closed when down\n  [inside] -> inside/out\n  [outside] -> outside/out\n",
		"ips/c: stop between c and d, closed when down\n  [inside] -> inside/out\n  [outside] -> outside/out\n",
		"ips/assign-inside: assign to ips/a, ips/c (draining)\n  [ips/a] -> ips/a/assigned-inside\n  [ips/c] -> ips/c/assigned-inside\n",
		"ips/a/assigned-inside: assigned ips/a, at most 5000 flows, tcp 2h4m0s/4m0s/1s udp 30s icmp 1m0s\n  [0] -> ips/a.inside\n",
		"ips/c/assigned-outside: assigned ips/c, at most 5000 flows, tcp 2h4m0s/4m0s/1s udp 30s icmp 1m0s\n  [0] -> ips/c.outside\n",
		"d/untagged: counter\n  [0] -> outside/out\n",
	} {
		if !strings.Contains(dump, want) {
			t.Errorf("got\n%s\nwant in it\n%s", dump, want)
		}
	}
}

func TestReplicasThatFlowsGoPast(t *testing.T) {
	dump := graphtest.Dump(t, boxed(fourWires, "replicas: [{inside: a, outside: b}, {inside: c, outside: d}], whenDown: Closed, bypass: {afterPackets: 20}", through))
	for _, want := range []string{
		"  [through] -> ips/assign-inside\n  [past] -> ips/past-inside\n",
		"ips/a: stop between a and b, closed when down\n  [inside] -> ips/passed-outside\n  [outside] -> ips/passed-inside\n",
		"ips/c: stop between c and d, closed when down\n  [inside] -> ips/passed-outside\n  [outside] -> ips/passed-inside\n",
	} {
		if !strings.Contains(dump, want) {
			t.Errorf("got\n%s\nwant in it\n%s", dump, want)
		}
	}
}

func TestAffinityThatIsLeftOutIsTheDefault(t *testing.T) {
	const replicas = "replicas: [{inside: a, outside: b}, {inside: c, outside: d}], whenDown: Open"
	if said, left := graphtest.Dump(t, boxed(fourWires, replicas+", affinity: {}", through)), graphtest.Dump(t, boxed(fourWires, replicas, through)); said != left {
		t.Errorf("with affinity: {}\n%s\nand without\n%s", said, left)
	}
}

func TestWhatIsWrongWithReplicas(t *testing.T) {
	const at, good = "spec.functions[0].blackbox", "replicas: [{inside: a, outside: b}, {inside: c, outside: d}]"
	for name, k := range map[string]struct{ spec, want string }{
		"not watched":          {good, at + ": replicas needs whenDown"},
		"and wires":            {good + ", whenDown: Open, inside: a", at + ": inside and outside are not for a function with replicas"},
		"of a Tap":             {"attachment: Tap, " + good + ", whenDown: Open", at + ": replicas are for attachment: Wire"},
		"none":                 {"replicas: [], whenDown: Open", at + ".replicas"},
		"one without a side":   {"replicas: [{inside: a}], whenDown: Open", at + ".replicas[0].outside: "},
		"one wire twice":       {"replicas: [{inside: a, outside: b}, {inside: c, outside: b}], whenDown: Open", at + `.replicas[1].outside: "b": the wire is a side of "ips" already`},
		"an unknown wire":      {"replicas: [{inside: a, outside: b}, {inside: e, outside: d}], whenDown: Open", at + `.replicas[1].inside: "e": no interface of the chain with wire: true has this name`},
		"affinity to nothing":  {"inside: a, outside: b, affinity: {}", at + ": affinity needs replicas"},
		"no flows":             {good + ", whenDown: Open, affinity: {maxFlows: 0}", at + `.affinity.maxFlows: "0": `},
		"no time":              {good + ", whenDown: Open, affinity: {timeouts: {tcp: 1ms}}", at + `.affinity.timeouts.tcp: "1ms": `},
		"a container's name":   {"image: i, replicas: [{inside: engine, outside: b}], whenDown: Open", at + `.replicas[0].inside: "engine": the pod has another container of this name`},
		"all of them draining": {"replicas: [{inside: a, outside: b, draining: true}], whenDown: Open", at + ".replicas: all are draining"},
	} {
		t.Run(name, func(t *testing.T) {
			isFound(t, boxed(fourWires+"  - {name: engine, wire: true}\n", k.spec, through), k.want)
		})
	}
}

// isFound wants a chain to have an error or a warning with a text.
func isFound(t *testing.T, chain, want string) {
	t.Helper()
	if found := graphtest.Findings(t, chain); !strings.Contains(found.String(), want) {
		t.Errorf("got\n%s\nwant in it\n%s", found, want)
	}
}

// An API server with the CRDs of another release may take what these refuse.
func TestReplicasAreRefusedWithoutTheRulesOfTheAPI(t *testing.T) {
	const good = "replicas: [{inside: a, outside: b}, {inside: c, outside: d}], whenDown: Closed"
	for want, change := range map[string]func(*v1alpha1.Blackbox){
		".whenDown: replicas needs it": func(b *v1alpha1.Blackbox) { b.WhenDown = "" },
		`.replicas: "9": are too many`: func(b *v1alpha1.Blackbox) { b.Replicas = append(b.Replicas, make([]v1alpha1.BlackboxReplica, 7)...) },
	} {
		t.Run(want, func(t *testing.T) {
			b, found := manifest.Parse("chain.yaml", []byte(boxed(fourWires, good, through)), graphtest.Read)
			change(b.Chains[0].Spec.Functions[0].Blackbox)
			_, found = graphtest.Build(t, b, found)
			if !found.HasErrors() || !strings.Contains(found.String(), "spec.functions[0].blackbox"+want) {
				t.Errorf("got\n%s\nwant in it\n%s", found, want)
			}
		})
	}
}
