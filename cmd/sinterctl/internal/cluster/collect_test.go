package cluster

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

const secret = "hunter2"

func pod(namespace, name string, labels map[string]string, statuses ...corev1.ContainerStatus) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: labels,
		Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: secret},
	}}
	p.Status.ContainerStatuses = statuses
	for _, s := range statuses {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
			Name: s.Name, Image: "sinter:v1", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: secret}},
		})
	}
	return p
}

func event(namespace, name string, about corev1.ObjectReference, message string) *corev1.Event {
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, InvolvedObject: about, Message: message}
}

func collected(t *testing.T, c *Cluster) map[string]string {
	t.Helper()
	var b bytes.Buffer
	if _, err := c.Collect(t.Context(), &b, "sinterctl v1"); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(text)
	}
}

func ticketWorld(t *testing.T) *world {
	t.Helper()
	return newWorld(
		t,
		pod("lab", "office-0", map[string]string{v1alpha1.LabelChain: "office", v1alpha1.LabelComponent: v1alpha1.ComponentDataPlane},
			corev1.ContainerStatus{Name: "engine", RestartCount: 1}, corev1.ContainerStatus{Name: "mute"}),
		pod("lab", "database", nil, corev1.ContainerStatus{Name: "db"}),
		pod("sinter-system", "operator-1", map[string]string{"app.kubernetes.io/name": "renamed", "app.kubernetes.io/part-of": "sinter", v1alpha1.LabelComponent: "operator"}, corev1.ContainerStatus{Name: "operator"}),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "password"}, StringData: map[string]string{"x": secret}},
		event("lab", "placed", corev1.ObjectReference{APIVersion: "nfv.sinter.dev/v1alpha1", Kind: "ServiceChain", Name: "office", Namespace: "lab"}, "placed"),
		event("lab", "started", corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Name: "office-0", Namespace: "lab"}, "started"),
		event("lab", "foreign", corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Name: "database", Namespace: "lab"}, secret),
	)
}

func TestACollectionHasWhatATicketNeedsAndNoSecrets(t *testing.T) {
	w := ticketWorld(t)
	files := collected(t, w.Cluster)
	golden(t, "collected.txt", strings.Join(slices.Sorted(maps.Keys(files)), "\n")+"\n")
	for name, text := range files {
		if strings.Contains(text, secret) {
			t.Errorf("%s has the secret: %s", name, text)
		}
	}
	for name, part := range map[string]string{
		"lab/servicechain/office.yaml":              "kind: ServiceChain",
		"lab/pod/office-0.yaml":                     "name: PASSWORD",
		"lab/pod/office-0.engine.previous.log":      "office-0 engine previous=true",
		"lab/event/started.yaml":                    "message: started",
		"errors.txt":                                "lab/pod/office-0.mute.log: container is waiting to start",
		"versions.txt":                              "sinterctl: sinterctl v1\nAPI server: v1.37.1\n",
		"sinter-system/pod/operator-1.yaml":         "kind: Pod",
		"lab/chaininstance/office-1.yaml":           "appliedHash: ",
		"sinter-system/pod/operator-1.operator.log": "operator-1 operator previous=false",
	} {
		if !strings.Contains(files[name], part) {
			t.Errorf("%s is %q, want it to have %q", name, files[name], part)
		}
	}
}

func TestACollectionTellsWhatItWasNotAllowedToRead(t *testing.T) {
	w := ticketWorld(t)
	w.Client = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*corev1.PodList); ok {
				return errors.New("pods is forbidden")
			}
			return c.List(ctx, list, opts...)
		},
	})
	files := collected(t, w.Cluster)
	if got := files["errors.txt"]; !strings.Contains(got, "pods of the operator: pods is forbidden") {
		t.Errorf("errors.txt is %q", got)
	}
	if files["lab/servicechain/office.yaml"] == "" {
		t.Error("the chain, which may be read, is missing")
	}
}
