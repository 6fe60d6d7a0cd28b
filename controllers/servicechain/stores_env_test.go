package servicechain_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain"
	"github.com/sinter-nfv/sinter/controllers/servicechain/memory"
	"github.com/sinter-nfv/sinter/controllers/source"
	"github.com/sinter-nfv/sinter/test/agenttest"
)

// routed is a chain with a router that takes routes from a text.
func routed(from string) string {
	return between("{name: rt, router: {routesFrom: [{port: outside, "+from+"}]}}", "rt")
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

// While a silent store is asked again, which takes up to half a minute, nothing is known that was not known before.
func TestAChainThatIsCompiledAgainSaysWhatItSaidBefore(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	var silent, asked atomic.Bool
	store := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if silent.Load() {
			asked.Store(true)
			<-r.Context().Done()
		}
		http.NotFound(answer, r)
	}))
	t.Cleanup(store.CloseClientConnections)
	w.chains.Stores = source.NewStores(store.URL + "/")
	skip := true
	mgr, err := ctrl.NewManager(cluster, ctrl.Options{Scheme: scheme(t), Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &skip}})
	w.must(err)
	w.must(w.chains.SetupWithManager(mgr, 1)) // so that chains are compiled beside
	w.apply(routed("store: {url: " + store.URL + "/a, sha256: " + strings.Repeat("a", 64) + "}"))
	w.eventually("told that the text is missing", func() bool {
		w.reconcile()
		return w.has("edge", v1alpha1.ConditionSynthesized, no)
	})
	silent.Store(true)
	w.clock.SetTime(w.clock.Now().Add(memory.AskAgain + time.Second))
	w.reconcile()
	w.eventually("asked again", asked.Load)
	w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
	w.reconcile()
	w.says(v1alpha1.ConditionSynthesized, no, v1alpha1.ReasonInvalid, "404 Not Found")

	// No more does an operator that knows nothing yet, however long its chains wait to be compiled.
	w.chains = &servicechain.Reconciler{Client: w.chains.Client, Live: w.client, Recorder: w, Clock: w.clock, Stores: w.chains.Stores}
	w.must(w.chains.SetupWithManager(mgr, 1))
	asked.Store(false)
	w.reconcile()
	w.eventually("asked by the next operator", asked.Load)
	w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
	w.reconcile()
	w.says(v1alpha1.ConditionSynthesized, no, v1alpha1.ReasonInvalid, "404 Not Found")
}
