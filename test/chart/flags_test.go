package chart

import (
	"regexp"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

var flagName = regexp.MustCompile(`--[a-z][-a-z0-9]*`)

func TestProgramsKnowTheFlagsThatTheChartGivesThem(t *testing.T) {
	all := objects(t, render(t, "--values", "testdata/everything.values.yaml"))
	var deployment appsv1.Deployment
	convert(t, find(t, all, "Deployment", "sinter-operator"), &deployment)
	containers := map[string][]string{"sinter-operator": deployment.Spec.Template.Spec.Containers[0].Args}

	smoke, _, err := unstructured.NestedSlice(find(t, all, "Pod", "sinter-smoke").Object, "spec", "containers")
	if err != nil || len(smoke) != 1 {
		t.Fatalf("containers of the test's pod: %v, %v", smoke, err)
	}
	args, _, err := unstructured.NestedStringSlice(smoke[0].(map[string]any), "args")
	if err != nil {
		t.Fatal(err)
	}
	containers["sinter-smoke"] = args

	for program, args := range containers {
		help, _ := run(t, "go", "run", root+"/cmd/"+program, "--help")
		known := map[string]bool{}
		for _, flag := range flagName.FindAllString(help, -1) {
			known[flag] = true
		}
		for _, arg := range args {
			if flag := flagName.FindString(arg); !known[flag] {
				t.Errorf("%s has no flag %s; the chart gives it %s\n%s", program, flag, arg, help)
			}
		}
	}
}

func convert(t *testing.T, o *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		t.Fatal(err)
	}
}
