package report

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// badness is the order of what is said of functions outside of the chain, by condition.
var badness = map[string][]string{
	v1alpha1.ConditionFunctionsRunning: {v1alpha1.ReasonContainersRunning, v1alpha1.ReasonWaitingForPods, v1alpha1.ReasonContainerFailed},
	v1alpha1.ConditionFunctionsUp: {
		v1alpha1.ReasonAnswering, v1alpha1.ReasonEngineDown, v1alpha1.ReasonReplicaDown, v1alpha1.ReasonFunctionBypassed, v1alpha1.ReasonFunctionDown,
	},
	v1alpha1.ConditionFunctionsAsDeclared: {
		v1alpha1.ReasonAsDeclared, v1alpha1.ReasonNotChecked, v1alpha1.ReasonEngineDown, v1alpha1.ReasonContradicted,
	},
}

// functions is a condition of those outside of the chain: the worst that an instance says, and all words. Instances of which the same is said are
// named together. Nil: no instance has it.
func (s *View) functions(condition string) *ConditionStatus {
	var worst *ConditionStatus
	var says []string
	names := map[string][]string{} // by what is said
	for _, i := range s.needed() {
		c := meta.FindStatusCondition(i.Status.Conditions, condition)
		if c == nil {
			continue
		}
		if names[c.Message] == nil {
			says = append(says, c.Message)
		}
		names[c.Message] = append(names[c.Message], i.Name)
		if order := badness[condition]; worst == nil || slices.Index(order, c.Reason) > slices.Index(order, worst.Reason) {
			worst = &ConditionStatus{c.Status, c.Reason, ""}
		}
	}
	if worst == nil {
		return nil
	}
	for k, text := range says {
		says[k] = strings.Join(names[text], ", ") + ": " + text
	}
	worst.Message = strings.Join(says, "; ")
	return worst
}
