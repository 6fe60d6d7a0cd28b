package cluster

import (
	"os"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/stores"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/test/agenttest"
)

// edge takes routes from a text of a store.
func edge(t *testing.T, text string) *v1alpha1.ServiceChain {
	t.Helper()
	b, found := manifest.Options{Stores: &stores.Stores{}}.Parse("edge.yaml", []byte(`
apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: edge, namespace: lab}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 198.51.100.2/24}
  functions:
  - {name: rt, router: {routesFrom: [{port: outside, via: 198.51.100.1, `+text+`}]}}
  path: [inside, rt, outside]
`), os.ReadFile)
	if len(found) > 0 {
		t.Fatal(found)
	}
	b.Chains[0].UID = "1"
	return b.Chains[0]
}

func TestTheRoutesOfAStoreAreExplainedAndTheirTextsTold(t *testing.T) {
	store := agenttest.NewStore(t)
	before, after := edge(t, store.Put("monday", []byte("100.64.0.0/10\n"))), edge(t, store.Put("tuesday", []byte("100.64.0.0/11\n")))
	program := func(number int64, c *v1alpha1.ServiceChain) *v1alpha1.ChainProgram {
		texts := &stores.Stores{}
		return kept(t, "edge", number, compile.Chain(c, compile.Inputs{Stored: func(o *v1alpha1.StoreObject) ([]byte, error) { return texts.Text(t.Context(), o.URL, o.SHA256) }}))
	}
	first, second := program(1, before), program(2, after)
	w := newWorld(t, after, first, second)
	if c, err := w.Compile(t.Context(), "edge", store.URL+"/"); err != nil || c.Hash != second.Spec.Hash {
		t.Errorf("the chain does not compile to the operator's program: %v", err)
	}
	if _, err := w.Compile(t.Context(), "edge"); err == nil || !strings.Contains(err.Error(), "no stores may be read; name them by --store") {
		t.Errorf("without leave to read the store: %v", err)
	}
	diff := says(t, func(b *strings.Builder) error { return w.showDiff(t.Context(), b, "edge", "1", "2") })
	for _, want := range []string{"table of routes 1\n", "- routes of " + store.URL + "/monday with SHA-256 ", "+ routes of " + store.URL + "/tuesday with SHA-256 "} {
		if !strings.Contains(diff, want) {
			t.Errorf("the difference lacks %q:\n%s", want, diff)
		}
	}
}
