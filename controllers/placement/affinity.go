package placement

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Affinity is the decision for kube-scheduler, which binds the pod. Nodes are named by
// field and not by label: then it does not look at any other node. Nil if refused.
func (d Decision) Affinity() *corev1.NodeAffinity {
	if !d.Placed() {
		return nil
	}
	var required corev1.NodeSelector
	var preferred []corev1.PreferredSchedulingTerm
	for _, c := range d.Candidates {
		// One name per term: the API allows no list here, but terms are alternatives.
		term := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{
			Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{c.Node},
		}}}
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, term)
		preferred = append(preferred, corev1.PreferredSchedulingTerm{Weight: c.Weight, Preference: term})
	}
	return &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution:  &required,
		PreferredDuringSchedulingIgnoredDuringExecution: preferred,
	}
}
