package compile_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
)

// A stateful firewall and a NAPT, each with as many sessions as it has by default.
func gateway(t *testing.T) *v1alpha1.ServiceChain {
	t.Helper()
	bundle, found := manifest.Parse("gateway.yaml", []byte(`
apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: gateway, namespace: default}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.254}
  functions:
  - name: fw
    firewall: {stateful: true, tracking: {maxFlows: 1000000}, rules: [{name: all, from: Inside, action: Accept}], default: Drop}
  - name: nat
    napt: {pool: [203.0.113.10], mapping: EndpointIndependent}
  path: [inside, fw, nat, outside]
`), nil)
	if found.HasErrors() {
		t.Fatal(found)
	}
	return bundle.Chains[0]
}

// Hosts decide how many sessions there are, up to what the chain allows. An engine without memory for these would be killed.
func TestAChainHasMemoryForAllSessionsThatItAllows(t *testing.T) {
	chain := gateway(t)
	for memory, want := range map[string]string{ // "": it has a program
		"":      "",
		"128Mi": `spec.resources.memory: "128Mi": an engine needs up to`,
		"256Mi": "",
		"512Mi": `; give it 1Gi, leave it out, or lower maxSessions or maxFlows`,
		"1Gi":   "",
	} {
		chain.Spec.Resources.Memory = resource.Quantity{}
		if memory != "" {
			chain.Spec.Resources.Memory = resource.MustParse(memory)
		}
		got := compile.Chain(chain, compile.Inputs{})
		if (got.Program != nil) != (want == "") || !strings.Contains(got.Message, want) {
			t.Errorf("with %q: %s; want %q", memory, got.Message, want)
		}
		if warned := strings.Contains(got.Message, "the system ends the engine"); warned != (memory == v1alpha1.FormerMemory) {
			t.Errorf("with %q: %s", memory, got.Message)
		}
	}
}

func TestAChainOfFewSessionsNeedsLittleMemory(t *testing.T) {
	chain := gateway(t)
	chain.Spec.Functions[0].Firewall.Tracking.MaxFlows = 50_000
	chain.Spec.Functions[1].NAPT.MaxSessions = 50_000
	chain.Spec.Resources.Memory = resource.MustParse("256Mi")
	got := compile.Chain(chain, compile.Inputs{})
	if got.Program == nil || len(got.Findings) > 0 {
		t.Errorf("%s %v; want a program without a warning", got.Message, got.Findings)
	}
}

// Each core has caches of its own.
func TestMoreCoresNeedMoreMemory(t *testing.T) {
	chain := gateway(t)
	chain.Spec.Scaling.MaxCores = 16
	chain.Spec.Resources.Memory = resource.MustParse("1Gi")
	if got := compile.Chain(chain, compile.Inputs{}); got.Program != nil || !strings.Contains(got.Message, "give it 1536Mi") {
		t.Errorf("16 cores: %s", got.Message)
	}
}
