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
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyac "k8s.io/client-go/applyconfigurations/policy/v1"
	rbacac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/apply"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
)

// ensureAccess gives the chain's agents an account that may read the chain's programs and report.
func (r *Reconciler) ensureAccess(ctx context.Context, s *scope) error {
	name, namespace := v1alpha1.DataPlaneName(s.Chain.Name), s.Chain.Namespace
	var account corev1.ServiceAccount
	wantAccount := coreac.ServiceAccount(name, namespace).WithLabels(desired.Labels(s.Chain)).WithOwnerReferences(desired.Owns(s.Chain))
	if err := r.ensure(ctx, s, &account, wantAccount, func() bool { return true }); err != nil {
		return err
	}
	var binding rbacv1.RoleBinding
	subject := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace}
	wantBinding := rbacac.RoleBinding(name, namespace).WithLabels(desired.Labels(s.Chain)).WithOwnerReferences(desired.Owns(s.Chain)).
		WithRoleRef(rbacac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("ClusterRole").WithName(r.AgentClusterRole)).
		WithSubjects(rbacac.Subject().WithKind(subject.Kind).WithName(subject.Name).WithNamespace(subject.Namespace))
	return r.ensure(ctx, s, &binding, wantBinding, func() bool {
		return equality.Semantic.DeepEqual(binding.Subjects, []rbacv1.Subject{subject})
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
	rest, always := intstr.FromInt32(max(instances-1, 0)), policyv1.AlwaysAllow
	selected := map[string]string{v1alpha1.LabelChain: s.Chain.Name}
	want := policyac.PodDisruptionBudget(v1alpha1.DataPlaneName(s.Chain.Name), s.Chain.Namespace).
		WithLabels(desired.Labels(s.Chain)).WithOwnerReferences(desired.Owns(s.Chain)).
		WithSpec(policyac.PodDisruptionBudgetSpec().WithMinAvailable(rest).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selected)).WithUnhealthyPodEvictionPolicy(always))
	var budget policyv1.PodDisruptionBudget
	return r.ensure(ctx, s, &budget, want, func() bool {
		return equality.Semantic.DeepEqual(budget.Spec.MinAvailable, &rest) &&
			equality.Semantic.DeepEqual(budget.Spec.Selector, &metav1.LabelSelector{MatchLabels: selected}) &&
			equality.Semantic.DeepEqual(budget.Spec.UnhealthyPodEvictionPolicy, &always)
	})
}

// ensure applies an object unless it exists, is the chain's and is right.
func (r *Reconciler) ensure(ctx context.Context, s *scope, have client.Object, want apply.Configuration, right func() bool) error {
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.Chain.Namespace, Name: *want.GetName()}, have)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get %s: %w", *want.GetName(), err)
	}
	if err == nil && metav1.IsControlledBy(have, s.Chain) && right() {
		return nil
	}
	return apply.Object(ctx, r.Client, fieldManager, want)
}
