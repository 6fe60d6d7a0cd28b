package servicechain_test

import (
	"slices"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// failing has the chain's controller called some times while objects of a type cannot be written, and checks that it says so each time.
func (w *world) failing(broken string, times int) {
	w.Helper()
	w.broken = broken
	defer func() { w.broken = "" }()
	for range times {
		_, err := w.chains.Reconcile(w.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "edge"}})
		if err == nil || !strings.Contains(err.Error(), broken) {
			w.Errorf("the controller says %v, want it to name %s", err, broken)
		}
	}
}

func TestAProgramIsRolledOutThoughABudgetOrAPolicyCannotBeWritten(t *testing.T) {
	t.Run("a disruption budget", func(t *testing.T) { rollsOutWithout(t, "apply *v1.PodDisruptionBudget") })
	t.Run("a network policy", func(t *testing.T) { rollsOutWithout(t, "apply *v1.NetworkPolicy") })
}

func rollsOutWithout(t *testing.T, broken string) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443))
	w.failing(broken, 1)
	if i := w.instance("edge-0"); i.Spec.Program != w.programs()[0].Name {
		t.Errorf("edge-0 is to run %q, want the chain's program", i.Spec.Program)
	}
	w.says(v1alpha1.ConditionSynthesized, yes, v1alpha1.ReasonCompiled, "")
	w.run()
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")
}

func TestCoresAreAddedThoughANewProgramCannotBeKept(t *testing.T) {
	w := scalable(t)
	before := w.instance("edge-0").Spec.Program
	w.apply(edge(8443, upToTwoCores))
	w.wants(0.9)
	w.failing("create *v1alpha1.ChainProgram", 2)
	w.works(0, 1)
	if now := w.instance("edge-0").Spec.Program; now != before {
		t.Errorf("edge-0 is to run %s, want %s as before", now, before)
	}
}

func TestNoInstanceIsMadeThatMayNotReadItsProgram(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443))
	w.failing("apply *v1.RoleApply", 1)
	if names := w.instanceNames(); len(names) > 0 {
		t.Errorf("instances %v are made, want none", names)
	}
	var budget policyv1.PodDisruptionBudget // needs no rights
	w.must(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "edge-dataplane"}, &budget))
}

func TestAnInstanceThatCannotBeRemovedKeepsNoOther(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443, threeInstances))
	w.run()
	w.apply(edge(443))
	w.failing("delete *v1alpha1.ChainInstance edge-1", 1)
	if got, want := w.instanceNames(), []string{"edge-0", "edge-1"}; !slices.Equal(got, want) {
		t.Errorf("instances %v are left, want %v", got, want)
	}
	w.settle()
	if got, want := w.instanceNames(), []string{"edge-0"}; !slices.Equal(got, want) {
		t.Errorf("instances %v are left, want %v", got, want)
	}
}

// instanceNames are those of the instances that are not going.
func (w *world) instanceNames() (names []string) {
	w.Helper()
	var list v1alpha1.ChainInstanceList
	w.must(w.client.List(w.Context(), &list, client.InNamespace(w.namespace)))
	for _, i := range list.Items {
		if i.DeletionTimestamp.IsZero() {
			names = append(names, i.Name)
		}
	}
	slices.Sort(names)
	return names
}
