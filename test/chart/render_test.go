package chart

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// valueFiles are the installations that are tested, by name.
func valueFiles(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.values.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no testdata/*.values.yaml: %v", err)
	}
	files := map[string]string{}
	for _, path := range paths {
		files[strings.TrimSuffix(filepath.Base(path), ".values.yaml")] = path
	}
	return files
}

// secrets matches what is new with each rendering.
var secrets = regexp.MustCompile(`(?m)^(\s*(?:ca\.crt|tls\.crt|tls\.key|caBundle|nfv\.sinter\.dev/renew-after): ).*$`)

func TestChartRendersTheGoldenManifests(t *testing.T) {
	for name, values := range valueFiles(t) {
		t.Run(name, func(t *testing.T) {
			// The definitions have a test of their own.
			got := render(t, "--values", values, "--set", "crds.install=false")
			golden(t, "testdata/"+name+".golden.yaml", secrets.ReplaceAllString(got, "${1}…"))
		})
	}
}

func TestChartLintsStrictly(t *testing.T) {
	helm := tool(t, "helm")
	for name, values := range valueFiles(t) {
		t.Run(name, func(t *testing.T) {
			mustRun(t, helm, "lint", "--strict", "--quiet", "--values", values, chartDir)
		})
	}
}

func TestManifestsHaveNoFieldThatKubernetesDoesNotKnow(t *testing.T) {
	known := kubernetes(t)
	for name, values := range valueFiles(t) {
		t.Run(name, func(t *testing.T) {
			for _, o := range objects(t, render(t, "--values", values)) {
				strict(t, known, o)
			}
		})
	}
}

// kubernetes is the types that Kubernetes itself has.
func kubernetes(t *testing.T) *runtime.Scheme {
	t.Helper()
	known := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(known), apiextensionsv1.AddToScheme(known)); err != nil {
		t.Fatal(err)
	}
	return known
}

// strict reads an object into Kubernetes' own type.
func strict(t *testing.T, known *runtime.Scheme, o *unstructured.Unstructured) {
	t.Helper()
	switch o.GroupVersionKind().Group {
	case "monitoring.coreos.com", "cert-manager.io": // their types are theirs
		return
	}
	typed, err := known.New(o.GroupVersionKind())
	if err != nil {
		t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		return
	}
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, typed); err != nil {
		t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

func TestDefinitionsAreThoseOfTheAPIAndOutliveTheChart(t *testing.T) {
	kept := crds(t, render(t))
	files, err := filepath.Glob(root + "/config/crd/*_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions in config/crd: %v", err)
	}
	if len(kept) != len(files) {
		t.Errorf("the chart has %d definitions, config/crd %d; run make generate", len(kept), len(files))
	}
	for _, crd := range kept {
		if crd.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s would be deleted with the chart, and every chain with it", crd.GetName())
		}
	}
	for _, crd := range crds(t, render(t, "--set", "crds.keep=false")) {
		if crd.GetAnnotations()["helm.sh/resource-policy"] != "" {
			t.Errorf("%s is kept in spite of crds.keep=false", crd.GetName())
		}
	}
	if n := len(crds(t, render(t, "--set", "crds.install=false"))); n != 0 {
		t.Errorf("%d definitions in spite of crds.install=false", n)
	}
}

func crds(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for _, o := range objects(t, text) {
		if o.GetKind() == "CustomResourceDefinition" {
			found = append(found, o)
		}
	}
	return found
}

func TestValuesThatMeanNothingAreRefused(t *testing.T) {
	helm := tool(t, "helm")
	tests := map[string]struct{ set, says string }{
		"a misspelt value":                          {"operator.replica=2", "replica"},
		"a registry with a scheme":                  {"image.registry=https://registry.example.com", "registry"},
		"a tag with a colon":                        {"image.tag=a:b", "tag"},
		"a negative number of replicas":             {"operator.replicas=-1", "replicas"},
		"an unknown failure policy":                 {"webhook.failurePolicy=Maybe", "failurePolicy"},
		"a digest that is none":                     {"operator.image.digest=latest", "digest"},
		"an argument that is no flag":               {"operator.extraArgs={rm}", "extraArgs"},
		"a priority among those of the system":      {"dataplane.priorityClass.value=2000000000", "value"},
		"a metrics reader without a namespace":      {"metrics.reader.serviceAccounts[0].name=prometheus", "namespace"},
		"a namespace with a star":                   {"metrics.serviceMonitor.namespaces={nfv-*}", "namespaces"},
		"a timeout that the API server won't grant": {"webhook.timeoutSeconds=60", "timeoutSeconds"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			out, err := run(t, helm, "template", "sinter", chartDir, "--set", tt.set)
			if err == nil || !strings.Contains(out, tt.says) {
				t.Errorf("--set %s: want an error that names %s, got %v\n%s", tt.set, tt.says, err, out)
			}
		})
	}
}
