package chart

import (
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestOneRegistryAndTagAreThoseOfAllImages(t *testing.T) {
	const here = "ghcr.io/sinter-nfv/"
	digest := "sha256:" + strings.Repeat("0a", 32)
	tests := map[string]struct {
		set                 []string
		operator, dataplane string
	}{
		"the chart's own": {
			nil,
			here + "sinter-operator:" + appVersion(t), here + "sinter-dataplane:" + appVersion(t),
		},
		"a registry with a port": {
			[]string{"--set", "image.registry=registry.example.com:5000/a/b", "--set-string", "image.tag=7654321"},
			"registry.example.com:5000/a/b/sinter-operator:7654321", "registry.example.com:5000/a/b/sinter-dataplane:7654321",
		},
		"a repository of one image": {
			[]string{"--set", "image.registry=r.example/s,image.tag=v9,dataplane.image.repository=other.example/engine"},
			"r.example/s/sinter-operator:v9", "other.example/engine:v9",
		},
		"a tag of one image": {
			[]string{"--set", "image.tag=v9,operator.image.tag=v10"},
			here + "sinter-operator:v10", here + "sinter-dataplane:v9",
		},
		"a digest": {
			[]string{"--set", "image.registry=r.example,image.tag=v9,operator.image.digest=" + digest},
			"r.example/sinter-operator@" + digest, "r.example/sinter-dataplane:v9",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			operator, dataplane, smoke := images(t, render(t, tt.set...))
			if operator != tt.operator || dataplane != tt.dataplane || smoke != tt.operator {
				t.Errorf("%v: operator %s, data plane %s, test %s; want %s and %s", tt.set, operator, dataplane, smoke, tt.operator, tt.dataplane)
			}
		})
	}
}

// images are those of operator, data plane and `helm test`.
func images(t *testing.T, rendered string) (operator, dataplane, smoke string) {
	t.Helper()
	all := objects(t, rendered)
	var deployment appsv1.Deployment
	convert(t, find(t, all, "Deployment", "sinter-operator"), &deployment)
	container := deployment.Spec.Template.Spec.Containers[0]
	for _, arg := range container.Args {
		if image, found := strings.CutPrefix(arg, "--dataplane-image="); found {
			dataplane = image
		}
	}
	var pod corev1.Pod
	convert(t, find(t, all, "Pod", "sinter-smoke"), &pod)
	return container.Image, dataplane, pod.Spec.Containers[0].Image
}

func appVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(chartDir + "/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var chart struct{ AppVersion string }
	if err := yaml.Unmarshal(text, &chart); err != nil || chart.AppVersion == "" {
		t.Fatalf("Chart.yaml has no appVersion: %v", err)
	}
	return chart.AppVersion
}
