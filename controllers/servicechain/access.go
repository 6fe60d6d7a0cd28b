package servicechain

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/apply"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
)

// ensureAccess gives the chain's agents an account that may read the chain's programs and report.
func (r *Reconciler) ensureAccess(ctx context.Context, s *scope) error {
	head := metav1.ObjectMeta{
		Namespace: s.Chain.Namespace, Name: v1alpha1.DataPlaneName(s.Chain.Name),
		Labels: desired.Labels(s.Chain), OwnerReferences: desired.Owner(s.Chain),
	}
	var account corev1.ServiceAccount
	if err := r.ensure(ctx, &account, &corev1.ServiceAccount{ObjectMeta: head}, func() bool {
		return metav1.IsControlledBy(&account, s.Chain)
	}); err != nil {
		return err
	}
	want := &rbacv1.RoleBinding{
		ObjectMeta: head,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: r.AgentClusterRole},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: head.Name, Namespace: head.Namespace}},
	}
	var binding rbacv1.RoleBinding
	return r.ensure(ctx, &binding, want, func() bool {
		return metav1.IsControlledBy(&binding, s.Chain) && equality.Semantic.DeepEqual(binding.Subjects, want.Subjects)
	})
}

// ensureBudget lets evictions take one instance at a time. It says how many must stay:
// how many may go is counted for the cluster's own workloads only. An instance that is not ready forwards nothing, and
// keeps no node from being drained.
func (r *Reconciler) ensureBudget(ctx context.Context, s *scope) error {
	instances := s.Chain.Spec.Scaling.Instances
	if s.Chain.Spec.Scaling.Shared() {
		instances = max(instances, int32(len(s.Instances)))
	}
	rest := intstr.FromInt32(max(instances-1, 0))
	always := policyv1.AlwaysAllow
	want := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Chain.Namespace, Name: v1alpha1.DataPlaneName(s.Chain.Name),
			Labels: desired.Labels(s.Chain), OwnerReferences: desired.Owner(s.Chain),
		},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable:               &rest,
			Selector:                   &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelChain: s.Chain.Name}},
			UnhealthyPodEvictionPolicy: &always,
		},
	}
	var budget policyv1.PodDisruptionBudget
	return r.ensure(ctx, &budget, want, func() bool {
		return metav1.IsControlledBy(&budget, s.Chain) &&
			equality.Semantic.DeepEqual(budget.Spec.MinAvailable, want.Spec.MinAvailable) &&
			equality.Semantic.DeepEqual(budget.Spec.Selector, want.Spec.Selector) &&
			equality.Semantic.DeepEqual(budget.Spec.UnhealthyPodEvictionPolicy, want.Spec.UnhealthyPodEvictionPolicy)
	})
}

// ensure applies an object unless it is there already and right.
func (r *Reconciler) ensure(ctx context.Context, have, want client.Object, right func() bool) error {
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(want), have)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get %s: %w", want.GetName(), err)
	}
	if err == nil && right() {
		return nil
	}
	return apply.Object(ctx, r.Client, fieldManager, want)
}
