package telemetry

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

// contradictions says whether functions do what they declare. They are known by their wires.
func contradictions(list []*controlpb.WireStats, functions map[string]string) (status metav1.ConditionStatus, reason, message string) {
	var wrong, unchecked []string
	for _, w := range list {
		way := w.GetOut() + " to " + w.GetBack()
		if w.GetReturned() == 0 {
			unchecked = append(unchecked, way)
		}
		for _, c := range w.GetContradictions() {
			if c.GetLately() {
				wrong = append(wrong, way+": "+functions[w.GetOut()]+" "+contradiction(c.GetWhat()))
			}
		}
	}
	switch {
	case len(wrong) > 0:
		return metav1.ConditionFalse, v1alpha1.ReasonContradicted, strings.Join(wrong, "; ")
	case len(unchecked) == len(list):
		return metav1.ConditionUnknown, v1alpha1.ReasonNotChecked, "no packet has come back yet to be compared with what left"
	case len(unchecked) > 0:
		return metav1.ConditionTrue, v1alpha1.ReasonAsDeclared, "no packet has come back yet to be compared: " + strings.Join(unchecked, ", ")
	}
	return metav1.ConditionTrue, v1alpha1.ReasonAsDeclared, "packets come back with no other change than declared"
}

// contradiction is what a function does against its declaration, as the end of a sentence.
func contradiction(what string) string {
	switch what {
	case "Protocol":
		return "changes the protocol, which no function may"
	case "TTLRaised":
		return "raises the TTL, which no function may"
	case "Dropped":
		return "drops packets, though its behavior.drops is false"
	case "Resized":
		return "changes the length of packets, though its behavior.resizes is false"
	case "Originated":
		return "sends packets of its own, though its behavior.originates is false"
	case "Reordered":
		return "gives packets of a flow back in another order, though its behavior.reorders is false"
	}
	return "changes " + what + ", which its behavior.writes does not have"
}
