package chart

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestNoRoleHasAWildcard(t *testing.T) {
	for _, o := range objects(t, render(t, "--values", "testdata/everything.values.yaml")) {
		for _, rule := range rules(t, o) {
			if slices.Contains(slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs), "*") {
				t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), rule)
			}
		}
	}
}

// The markers beside the code say what the code needs; the chart's rules say why.
func TestOperatorMayDoWhatItsCodeAsksForAndNoMore(t *testing.T) {
	text, err := os.ReadFile(root + "/config/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rendered := objects(t, render(t))
	for _, marked := range objects(t, string(text)) {
		kind := marked.GetKind()
		want, got := rights(t, marked), rights(t, find(t, rendered, kind, "sinter-operator"))
		for right := range want {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(got)), narrows(right)) {
				t.Errorf("the markers of the code ask to %s; the chart's %s does not let it", right, kind)
			}
		}
		for right := range got {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(asked string) bool { return narrows(asked)(right) }) {
				t.Errorf("the chart's %s lets the operator %s; no marker asks for it", kind, right)
			}
		}
	}
}

// narrows tells whether a right is the one asked for, or that for one name only.
func narrows(asked string) func(string) bool {
	return func(right string) bool { return right == asked || strings.HasPrefix(right, asked+" ") }
}

func rules(t *testing.T, o *unstructured.Unstructured) []rbacv1.PolicyRule {
	t.Helper()
	if o.GetKind() != "Role" && o.GetKind() != "ClusterRole" {
		return nil
	}
	var role rbacv1.ClusterRole
	convert(t, o, &role)
	return role.Rules
}

// rights are a role's rules taken apart: "list pods", "bind rbac.authorization.k8s.io/clusterroles sinter-agent".
func rights(t *testing.T, o *unstructured.Unstructured) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, rule := range rules(t, o) {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					right := verb + " " + strings.TrimPrefix(group+"/"+resource, "/")
					all[strings.TrimSpace(right+" "+strings.Join(rule.ResourceNames, " "))] = true
				}
			}
		}
	}
	return all
}
