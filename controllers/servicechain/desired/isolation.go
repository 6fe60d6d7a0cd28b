package desired

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Isolation is what the administrator lets reach the pods of chains over the cluster's network.
type Isolation struct {
	// On has each chain get a NetworkPolicy.
	On bool
	// MetricsFrom are the peers that may read metrics; empty: all.
	MetricsFrom []networkingv1.NetworkPolicyPeer
}

// Policy is the NetworkPolicy of a chain's pods; nil: it has none. Kubernetes lets a node reach its pods whatever a policy says, so that kubelet's probes need
// no rule. Where a chain takes the pod's own devices, its packets may come by the cluster's network, and a policy would stop them.
func (i Isolation) Policy(c *v1alpha1.ServiceChain, instances []v1alpha1.ChainInstance) *networkingv1.NetworkPolicySpec {
	ownDevice := func(n v1alpha1.Interface) bool { return n.Device != "" && n.NetworkRef == nil }
	if !i.On || slices.ContainsFunc(c.Spec.Interfaces, ownDevice) {
		return nil
	}
	pods := metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelChain: c.Name, v1alpha1.LabelComponent: v1alpha1.ComponentDataPlane}}
	spec := &networkingv1.NetworkPolicySpec{
		PodSelector: pods,
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{Ports: tcp(v1alpha1.MetricsPort), From: i.MetricsFrom}},
	}
	shares := func(i v1alpha1.ChainInstance) bool { return i.Spec.Shared }
	if c.Spec.Scaling.Shared() || slices.ContainsFunc(instances, shares) {
		spec.Ingress = append(spec.Ingress, networkingv1.NetworkPolicyIngressRule{
			Ports: tcp(v1alpha1.PeersPort), From: []networkingv1.NetworkPolicyPeer{{PodSelector: pods.DeepCopy()}},
		})
	}
	return spec
}

func tcp(port int32) []networkingv1.NetworkPolicyPort {
	protocol, number := corev1.ProtocolTCP, intstr.FromInt32(port)
	return []networkingv1.NetworkPolicyPort{{Protocol: &protocol, Port: &number}}
}
