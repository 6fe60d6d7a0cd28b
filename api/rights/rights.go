// Package rights says what the agents of a chain may do in the cluster: the operator grants it, and agents are tested with no more.
package rights

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Agent are the rights of the agents of instances: each watches its instance, reads the programs that this may name, and reports what the engine does.
func Agent(instances, programs []string) []rbacv1.PolicyRule {
	rule := func(resource string, names []string, verbs ...string) rbacv1.PolicyRule {
		names = slices.Compact(slices.Sorted(slices.Values(names)))
		return rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{resource}, ResourceNames: names, Verbs: verbs}
	}
	rules := []rbacv1.PolicyRule{
		rule("chaininstances", instances, "get", "list", "watch"),
		rule("chaininstances/status", instances, "patch"),
		rule("chainprograms", programs, "get"),
	}
	// A rule without names would be for all.
	return slices.DeleteFunc(rules, func(r rbacv1.PolicyRule) bool { return len(r.ResourceNames) == 0 })
}
