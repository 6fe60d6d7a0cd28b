package servicechain

import (
	"context"
	"encoding/json"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	networkingac "k8s.io/client-go/applyconfigurations/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
)

// ensureIsolation closes the ports of the chain's pods to others, over the cluster's network.
func (r *Reconciler) ensureIsolation(ctx context.Context, s *scope) error {
	name, namespace := v1alpha1.DataPlaneName(s.Chain.Name), s.Chain.Namespace
	var have networkingv1.NetworkPolicy
	spec := r.Isolation.Policy(s.Chain, s.Instances)
	if spec == nil {
		return r.removeIsolation(ctx, s, &have)
	}
	applied, err := applyConfiguration(spec)
	if err != nil {
		return fmt.Errorf("NetworkPolicy %s: %w", name, err)
	}
	want := networkingac.NetworkPolicy(name, namespace).WithLabels(desired.Labels(s.Chain)).WithOwnerReferences(desired.Owns(s.Chain)).WithSpec(applied)
	return r.ensure(ctx, s, &have, want, func() bool { return equality.Semantic.DeepEqual(&have.Spec, spec) })
}

// removeIsolation takes away the policy that the chain got before.
func (r *Reconciler) removeIsolation(ctx context.Context, s *scope, have *networkingv1.NetworkPolicy) error {
	key := client.ObjectKey{Namespace: s.Chain.Namespace, Name: v1alpha1.DataPlaneName(s.Chain.Name)}
	if err := r.Client.Get(ctx, key, have); err != nil || !metav1.IsControlledBy(have, s.Chain) {
		return client.IgnoreNotFound(err)
	}
	if err := r.Client.Delete(ctx, have, client.Preconditions{UID: &have.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete NetworkPolicy %s: %w", key.Name, err)
	}
	return nil
}

// applyConfiguration is a spec as it is applied. The peers in it are the administrator's, and may have any of their fields.
func applyConfiguration(spec *networkingv1.NetworkPolicySpec) (*networkingac.NetworkPolicySpecApplyConfiguration, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	applied := networkingac.NetworkPolicySpec()
	return applied, json.Unmarshal(text, applied)
}
