package chart

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestKustomizeInstallsWhatTheChartInstalls(t *testing.T) {
	built := objects(t, mustRun(t, tool(t, "kustomize"), "build", root+"/config/default"))
	known := kubernetes(t)
	for _, o := range built {
		strict(t, known, o)
	}

	chart := objects(t, render(t))
	for _, kind := range []string{"ClusterRole", "Role"} {
		for _, o := range chart {
			if o.GetKind() == kind && o.GetAnnotations()["helm.sh/hook"] == "" && o.GetName() != "sinter-operator" {
				sameRules(t, o, find(t, built, kind, o.GetName()))
			}
		}
	}
	same(t, chart, built, "Deployment", "sinter-operator", "spec", "template", "spec")
	same(t, chart, built, "NetworkPolicy", "sinter-operator", "spec")
	same(t, chart, built, "PriorityClass", "sinter-dataplane", "value")
	same(t, chart, built, "Service", "sinter-webhook", "spec", "ports")
	same(t, chart, built, "Service", "sinter-metrics", "spec", "ports")
	same(t, chart, built, "ValidatingAdmissionPolicy", "sinter-devices", "spec")
	same(t, chart, built, "ValidatingAdmissionPolicyBinding", "sinter-devices", "spec")
}

func sameRules(t *testing.T, want, got *unstructured.Unstructured) {
	t.Helper()
	if !equality.Semantic.DeepEqual(rules(t, want), rules(t, got)) {
		t.Errorf("%s %s: the chart has %v, kustomize %v", want.GetKind(), want.GetName(), rules(t, want), rules(t, got))
	}
}

// same compares a field, apart from the label that only a release has.
func same(t *testing.T, chart, built []*unstructured.Unstructured, kind, name string, path ...string) {
	t.Helper()
	var field [2]any
	for i, all := range [][]*unstructured.Unstructured{chart, built} {
		var found bool
		var err error
		if field[i], found, err = unstructured.NestedFieldCopy(find(t, all, kind, name).Object, path...); err != nil || !found {
			t.Fatalf("%s %s has no %v: %v", kind, name, path, err)
		}
		forget(field[i], "app.kubernetes.io/instance")
	}
	if !equality.Semantic.DeepEqual(field[0], field[1]) {
		t.Errorf("%s %s %v differs\nchart:     %v\nkustomize: %v", kind, name, path, field[0], field[1])
	}
}

// forget takes a key out of every map.
func forget(v any, key string) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, key)
		for _, inner := range v {
			forget(inner, key)
		}
	case []any:
		for _, inner := range v {
			forget(inner, key)
		}
	}
}
