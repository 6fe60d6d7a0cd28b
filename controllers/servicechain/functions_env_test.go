package servicechain_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain"
)

// ownFilter is a function that chains refer to.
const ownFilter = `apiVersion: nfv.sinter.dev/v1alpha1
kind: NetworkFunction
metadata: {name: filter}
spec:
  firewall:
    rules:
    - {name: out, from: Inside, protocol: tcp, destinationPorts: [443], action: Accept}
`

func (w *world) function(name string) *v1alpha1.NetworkFunction {
	w.Helper()
	f := &v1alpha1.NetworkFunction{}
	w.must(w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, f))
	return f
}

// functionSays checks what the status of the function filter says of its newest generation.
func (w *world) functionSays(chains int32, status metav1.ConditionStatus, reason, text string) {
	w.Helper()
	f := w.function("filter")
	c := meta.FindStatusCondition(f.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || f.Status.Kind != "firewall" || f.Status.Chains != chains || f.Status.ObservedGeneration != f.Generation || c.ObservedGeneration != f.Generation {
		w.Fatalf("generation %d of the function has status %+v, want one of this generation, kind firewall and %d chains", f.Generation, f.Status, chains)
	}
	if c.Status != status || c.Reason != reason || !strings.Contains(c.Message, text) {
		w.Errorf("Ready of the function is %s, %s: %q; wanted %s, %s with %q", c.Status, c.Reason, c.Message, status, reason, text)
	}
}

func TestTheStatusOfAFunctionTellsWhetherChainsRunIt(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(ownFilter)
	w.settle()
	w.functionSays(0, metav1.ConditionUnknown, v1alpha1.ReasonNotUsed, "no chain refers")
	w.apply(filtered())
	w.settle()
	w.functionSays(1, no, v1alpha1.ReasonWaitingForPods, "chain edge: ")
	w.run()
	w.functionSays(1, yes, v1alpha1.ReasonForwarding, "generation 1 is in force in 1 chain: edge")
	first := w.programs()[0].Name

	w.apply(strings.Replace(ownFilter, "443", "8443", 1))
	f := w.function("filter")
	_, err := w.functions.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(f)})
	w.must(err)
	w.functionSays(1, no, v1alpha1.ReasonPending, "chain edge has not taken over generation 2 yet")
	w.settle()
	w.functionSays(1, no, v1alpha1.ReasonRollingOut, "chain edge: ")
	w.report("edge-0", nil)
	w.settle()
	w.clock.SetTime(w.clock.Now().Add(11e9)) // longer than a new program is watched
	w.report("edge-0", nil)
	w.settle()
	w.functionSays(1, yes, v1alpha1.ReasonForwarding, "generation 2 is in force in 1 chain: edge")

	// An operator that has just started knows of no chain what its status is about. That is no news.
	said := w.function("filter").ResourceVersion
	w.chains = &servicechain.Reconciler{Client: w.chains.Client, Live: w.client, Recorder: w, Clock: w.clock, Stores: w.chains.Stores}
	w.functions.Judged = w.chains.Judged
	_, err = w.functions.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(f)})
	w.must(err)
	if w.settle(); w.function("filter").ResourceVersion != said {
		t.Error("the next operator writes another status of the function, though nothing has changed")
	}

	w.apply(strings.Replace(ownFilter, "protocol", `source: ["300.0.0.1"], protocol`, 1))
	w.settle()
	w.functionSays(1, no, v1alpha1.ReasonInvalid, "300.0.0.1")

	w.apply(ownFilter)
	w.apply(filtered() + "  rollbackTo: " + first + "\n")
	w.settle()
	w.functionSays(1, no, v1alpha1.ReasonPinned, first)

	w.must(w.client.Delete(t.Context(), w.chain("edge")))
	w.settle()
	w.functionSays(0, metav1.ConditionUnknown, v1alpha1.ReasonNotUsed, "no chain refers")
}
