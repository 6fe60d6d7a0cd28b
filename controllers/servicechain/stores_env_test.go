package servicechain_test

import (
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain/memory"
	"github.com/sinter-nfv/sinter/controllers/source"
	"github.com/sinter-nfv/sinter/test/agenttest"
)

// routed is a chain with a router that takes routes from a text.
func routed(from string) string {
	return `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: edge}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24, networkRef: {name: lan}}
  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.254, networkRef: {name: wan, namespace: networks}}
  functions:
  - {name: rt, router: {routesFrom: [{port: outside, ` + from + `}]}}
  path: [inside, rt, outside]
`
}

func TestAStoreThatDoesNotGiveATextIsAskedAgain(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	store := agenttest.NewStore(t)
	w.chains.Stores = source.NewStores(store.URL + "/")
	w.apply(routed(store.Put("a", []byte("100.64.0.0/10\n"))))
	w.run()
	w.says(v1alpha1.ConditionSynthesized, yes, v1alpha1.ReasonCompiled, "tables of routes from stores: 1")
	if p, i := w.programs()[0], w.instance("edge-0"); p.Spec.TableMemoryMiB != 256 || i.Spec.TableMemoryMiB != 256 {
		t.Errorf("program and instance ask for %d and %d MiB for tables, want 256", p.Spec.TableMemoryMiB, i.Spec.TableMemoryMiB)
	}
	text := []byte("100.64.0.0/11\n")
	from := store.Put("b", text)
	store.Remove("b")
	w.apply(routed(from))
	w.settle()
	w.says(v1alpha1.ConditionSynthesized, no, v1alpha1.ReasonInvalid, "/b\": the store answers 404 Not Found")
	w.says(v1alpha1.ConditionProgrammed, yes, v1alpha1.ReasonApplied, "")
	store.Put("b", text)
	asked := store.Asked.Load()
	w.settle()
	if n := store.Asked.Load() - asked; n > 0 {
		t.Errorf("the store was asked %d times at once, want later", n)
	}
	w.clock.SetTime(w.clock.Now().Add(memory.AskAgain + time.Second))
	w.run()
	w.says(v1alpha1.ConditionSynthesized, yes, v1alpha1.ReasonCompiled, "")
	if n := len(w.programs()); n != 2 {
		t.Errorf("there are %d programs, want 2", n)
	}
}
