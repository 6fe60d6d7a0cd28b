package servicechain

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// ensureAccess gives the chain's agents an account, whose rights end at the chain.
func (r *Reconciler) ensureAccess(ctx context.Context, s *scope) error {
	name, namespace := v1alpha1.DataPlaneName(s.Chain.Name), s.Chain.Namespace
	var account corev1.ServiceAccount
	wantAccount := coreac.ServiceAccount(name, namespace).WithLabels(desired.Labels(s.Chain)).WithOwnerReferences(desired.Owns(s.Chain))
	if err := r.ensure(ctx, s, &account, wantAccount, func() bool { return true }); err != nil {
		return err
	}
	var role rbacv1.Role
	rules := desired.AgentRules(s.Chain, s.Instances, s.Programs)
	wantRole := rbacac.Role(name, namespace).WithLabels(desired.Labels(s.Chain)).WithOwnerReferences(desired.Owns(s.Chain))
	for _, rule := range rules {
		wantRole.WithRules(rbacac.PolicyRule().WithAPIGroups(rule.APIGroups...).WithResources(rule.Resources...).
			WithResourceNames(rule.ResourceNames...).WithVerbs(rule.Verbs...))
	}
	if err := r.ensure(ctx, s, &role, wantRole, func() bool { return equality.Semantic.DeepEqual(role.Rules, rules) }); err != nil {
		return err
	}
	return r.ensureBinding(ctx, s)
}

// ensureBinding binds the agents' role to their account.
func (r *Reconciler) ensureBinding(ctx context.Context, s *scope) error {
	name, namespace := v1alpha1.DataPlaneName(s.Chain.Name), s.Chain.Namespace
	var binding rbacv1.RoleBinding
	subject := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace}
	to := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &binding)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get %s: %w", name, err)
	}
	if err == nil && metav1.IsControlledBy(&binding, s.Chain) && binding.RoleRef != to { // what a binding gives never changes
		if err := r.Client.Delete(ctx, &binding, client.Preconditions{UID: &binding.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete RoleBinding %s, which gives the rights of %s %s: %w", name, binding.RoleRef.Kind, binding.RoleRef.Name, err)
		}
	}
	want := rbacac.RoleBinding(name, namespace).WithLabels(desired.Labels(s.Chain)).WithOwnerReferences(desired.Owns(s.Chain)).
		WithRoleRef(rbacac.RoleRef().WithAPIGroup(to.APIGroup).WithKind(to.Kind).WithName(to.Name)).
		WithSubjects(rbacac.Subject().WithKind(subject.Kind).WithName(subject.Name).WithNamespace(subject.Namespace))
	return r.ensure(ctx, s, &binding, want, func() bool {
		return binding.RoleRef == to && equality.Semantic.DeepEqual(binding.Subjects, []rbacv1.Subject{subject})
	})
}

// ensureBudget lets evictions take one instance at a time. It says how many must stay:
// how many may go is counted for the cluster's own workloads only. An instance that is not ready forwards nothing, and
// keeps no node from being drained.
func (r *Reconciler) ensureBudget(ctx context.Context, s *scope) error {
	rest, always := intstr.FromInt32(max(s.Desired()-1, 0)), policyv1.AlwaysAllow
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

// takenError says that an object of a wanted name is somebody else's.
type takenError struct{ kind, name string }

func (e *takenError) Error() string {
	return fmt.Sprintf("%s %s is there and is not this chain's, which needs one of that name: delete or rename it, or rename the chain", e.kind, e.name)
}

// ensure applies an object unless it exists and is right. One that is not the chain's is left alone: what others gave it, the chain's pods would get.
func (r *Reconciler) ensure(ctx context.Context, s *scope, have client.Object, want apply.Configuration, right func() bool) error {
	key := client.ObjectKey{Namespace: s.Chain.Namespace, Name: *want.GetName()}
	err := r.Client.Get(ctx, key, have)
	if apierrors.IsNotFound(err) {
		err = r.Live.Get(ctx, key, have) // the cache has none but the operator's own
	}
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("get %s: %w", key.Name, err)
	case !metav1.IsControlledBy(have, s.Chain):
		return &takenError{*want.GetKind(), key.Name}
	case right():
		return nil
	}
	return apply.Object(ctx, r.Client, fieldManager, want)
}
