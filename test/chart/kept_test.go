package chart

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/test/kept"
)

// With the oldest Kubernetes that is supported (make test-oldest), this finds fields that are newer. Helm does not report them.
func TestTheAPIServerKeepsEveryFieldOfTheManifests(t *testing.T) {
	c := startCluster(t)
	manifests := map[string]string{"kustomize": mustRun(t, tool(t, "kustomize"), "build", root+"/config/default")}
	for name, values := range valueFiles(t) {
		manifests[name] = render(t, "--values", values)
	}
	for name, text := range manifests {
		t.Run(name, func(t *testing.T) {
			for _, o := range objects(t, text) {
				switch o.GroupVersionKind().Group {
				case "monitoring.coreos.com", "cert-manager.io": // not served here
					continue
				}
				c.keeps(t, o)
			}
		})
	}
}

// keeps checks that the API server takes an object as it is. Nothing is stored.
func (c *cluster) keeps(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	if o.GetKind() == "Namespace" {
		return // made below, for other objects
	}
	if name := o.GetNamespace(); name != "" {
		err := c.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	got := o.DeepCopy()
	if err := c.Create(context.Background(), got, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
		t.Errorf("%s %s: the API server refuses it: %v", o.GetKind(), o.GetName(), err)
		return
	}
	lost, err := kept.Missing(o, got)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range lost {
		t.Errorf("%s %s: the API server does not keep %s", o.GetKind(), o.GetName(), field)
	}
}
