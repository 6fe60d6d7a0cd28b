package servicechain_test

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
)

func TestANetworkPolicyFollowsTheAdministratorAndTheChain(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.chains.Isolation.MetricsFrom = []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}}
	w.apply(edge(443))
	w.run()
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "edge-dataplane"}}
	read := func() error { return w.client.Get(t.Context(), client.ObjectKeyFromObject(policy), policy) }
	w.must(read())
	if rules := policy.Spec.Ingress; len(rules) != 1 || len(rules[0].From) != 1 || rules[0].From[0].NamespaceSelector == nil {
		t.Errorf("let in are %+v, want metrics, from all namespaces", rules)
	}
	selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	w.must(err)
	if pod := w.pod("edge-0"); !selector.Matches(labels.Set(pod.Labels)) {
		t.Errorf("the chain's pod, with %v, is not selected by %s", pod.Labels, selector)
	}

	// Somebody opens it.
	policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{})
	w.must(w.client.Update(t.Context(), policy))
	w.run()
	w.must(read())
	if n := len(policy.Spec.Ingress); n != 1 {
		t.Errorf("%d rules, want the one of before", n)
	}

	w.apply(edge(443, oneOrTwo))
	w.run()
	w.must(read())
	if n := len(policy.Spec.Ingress); n != 2 {
		t.Errorf("%d rules where state is shared, want one for peers, too", n)
	}

	w.chains.Isolation = desired.Isolation{}
	w.run()
	if err := read(); !apierrors.IsNotFound(err) {
		t.Errorf("the policy is still there (%v), although the administrator wants none", err)
	}
}

// A policy of the name that somebody else made stays.
func TestAPolicyOfSomebodyElseIsNotTakenAway(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	other := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "edge-dataplane"}}
	w.must(w.client.Create(t.Context(), other))
	w.chains.Isolation = desired.Isolation{}
	w.apply(edge(443))
	w.run()
	w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(other), other))
}
