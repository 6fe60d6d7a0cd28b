package servicechain_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// reporting is a world with a chain that runs, and how its instance's agent reports a condition.
func reporting(t *testing.T, condition string) (*world, func(status metav1.ConditionStatus, reason, message string)) {
	t.Helper()
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443))
	w.run()
	return w, func(status metav1.ConditionStatus, reason, message string) {
		w.report("edge-0", func(i *v1alpha1.ChainInstance) {
			meta.SetStatusCondition(&i.Status.Conditions, metav1.Condition{
				Type: condition, Status: status, Reason: reason, Message: message, ObservedGeneration: i.Generation,
			})
		})
		w.settle()
	}
}

// TestAChainSaysWhetherItsFunctionsAnswer has an agent report of a function outside of the chain that is down, in ways that drop packets and in ways
// that do not, that is up again, and that gets no probes any more.
func TestAChainSaysWhetherItsFunctionsAnswer(t *testing.T) {
	w, report := reporting(t, v1alpha1.ConditionFunctionsUp)
	report(no, v1alpha1.ReasonFunctionBypassed, "packets pass the function by")
	w.says(v1alpha1.ConditionFunctionsUp, no, v1alpha1.ReasonFunctionBypassed, "edge-0: packets pass the function by")
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")

	report(no, v1alpha1.ReasonFunctionDown, "packets are dropped")
	w.told("FunctionDown: FunctionsUp is False: edge-0: packets are dropped")
	w.says(v1alpha1.ConditionReady, no, v1alpha1.ReasonFunctionDown, "edge-0: packets are dropped")

	report(yes, v1alpha1.ReasonAnswering, "probes come back")
	w.told("Answering: FunctionsUp is True: edge-0: probes come back")
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")

	w.report("edge-0", func(i *v1alpha1.ChainInstance) {
		meta.RemoveStatusCondition(&i.Status.Conditions, v1alpha1.ConditionFunctionsUp)
	})
	w.settle()
	if c := meta.FindStatusCondition(w.chain("edge").Status.Conditions, v1alpha1.ConditionFunctionsUp); c != nil {
		t.Errorf("the condition is %v, want none", c)
	}
}

// TestAChainSaysWhetherItsFunctionsDoWhatTheyDeclare has an agent report of a function that nobody has checked, that changes more than it declares, and
// that does so no longer.
func TestAChainSaysWhetherItsFunctionsDoWhatTheyDeclare(t *testing.T) {
	w, report := reporting(t, v1alpha1.ConditionFunctionsAsDeclared)
	report(unknown, v1alpha1.ReasonNotChecked, "no packet yet")
	w.says(v1alpha1.ConditionFunctionsAsDeclared, unknown, v1alpha1.ReasonNotChecked, "edge-0: no packet yet")

	report(no, v1alpha1.ReasonContradicted, "the function changes DSCP")
	w.told("Contradicted: FunctionsAsDeclared is False: edge-0: the function changes DSCP")
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")

	report(yes, v1alpha1.ReasonAsDeclared, "no other change")
	w.told("AsDeclared: FunctionsAsDeclared is True: edge-0: no other change")
}
