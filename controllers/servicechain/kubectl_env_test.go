package servicechain_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

func TestKubectlScaleChangesTheNumberOfInstances(t *testing.T) {
	w := newWorld(t)
	for _, n := range []string{"a", "b", "c"} {
		w.node(n)
	}
	w.apply(edge(443))
	w.run()
	scale := &autoscalingv1.Scale{}
	w.must(w.client.SubResource("scale").Get(t.Context(), w.chain("edge"), scale))
	if scale.Spec.Replicas != 1 || scale.Status.Replicas != 1 {
		t.Errorf("the scale is %d of %d, want 1 of 1", scale.Status.Replicas, scale.Spec.Replicas)
	}
	selector, err := labels.Parse(scale.Status.Selector)
	w.must(err)
	var pods corev1.PodList
	w.must(w.client.List(t.Context(), &pods, client.InNamespace(w.namespace), client.MatchingLabelsSelector{Selector: selector}))
	if len(pods.Items) != 1 || pods.Items[0].Name != "edge-0" {
		t.Errorf("selector %q finds %d pods, want edge-0", scale.Status.Selector, len(pods.Items))
	}
	scale.Spec.Replicas = 2
	w.must(w.client.SubResource("scale").Update(t.Context(), w.chain("edge"), client.WithSubResourceBody(scale)))
	w.settle()
	if s := w.chain("edge").Status; s.DesiredInstances != 2 || s.Instances != 1 {
		t.Errorf("%d of %d instances run, want 1 of 2", s.Instances, s.DesiredInstances)
	}
	w.run()
	if s := w.chain("edge").Status; s.Instances != 2 {
		t.Errorf("%d of %d instances run, want 2 of 2", s.Instances, s.DesiredInstances)
	}
	for _, replicas := range []int32{0, 65} {
		w.must(w.client.SubResource("scale").Get(t.Context(), w.chain("edge"), scale))
		scale.Spec.Replicas = replicas
		if err := w.client.SubResource("scale").Update(t.Context(), w.chain("edge"), client.WithSubResourceBody(scale)); err == nil || !strings.Contains(err.Error(), "spec.scaling.instances") {
			t.Errorf("with %d replicas the answer is %v, want a refusal that names spec.scaling.instances", replicas, err)
		}
	}
}

// printed is what `kubectl get` prints of the objects of a kind: the columns without -o wide, and each object's cells.
func (w *world) printed(resource string) (columns []string, rows [][]any) {
	w.Helper()
	h, err := rest.HTTPClientFor(cluster)
	w.must(err)
	url := strings.TrimSuffix(cluster.Host, "/") + "/apis/" + v1alpha1.GroupVersion.String() + "/namespaces/" + w.namespace + "/" + resource
	if !strings.Contains(cluster.Host, "://") {
		url = "https://" + url
	}
	req, err := http.NewRequestWithContext(w.Context(), http.MethodGet, url, http.NoBody)
	w.must(err)
	req.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	answer, err := h.Do(req)
	w.must(err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	w.must(err)
	var table metav1.Table
	w.must(json.Unmarshal(data, &table))
	var shown []int
	for i, c := range table.ColumnDefinitions {
		if c.Priority == 0 {
			columns, shown = append(columns, c.Name), append(shown, i)
		}
	}
	for _, r := range table.Rows {
		var cells []any
		for _, i := range shown {
			cells = append(cells, r.Cells[i])
		}
		rows = append(rows, cells)
	}
	return columns, rows
}

func TestKubectlGetPrintsWhyAChainIsNotReady(t *testing.T) {
	w := newWorld(t)
	w.apply(ownFilter)
	w.apply(filtered())
	w.settle() // there is no node
	for _, c := range []struct {
		resource string
		columns  []string
		row      []any
	}{
		{"servicechains", []string{"Name", "Ready", "Reason", "Desired", "Instances", "Cores", "Classes", "Mpps", "Drops/s", "Age"}, []any{"edge", "False", "NoNodes", 1., 0.}},
		{"networkfunctions", []string{"Name", "Kind", "Ready", "Reason", "Chains", "Age"}, []any{"filter", "firewall", "False", "NoNodes", 1.}},
	} {
		columns, rows := w.printed(c.resource)
		if !slices.Equal(columns, c.columns) {
			t.Errorf("the columns of %s are %q, want %q", c.resource, columns, c.columns)
		}
		if len(rows) != 1 || len(rows[0]) < len(c.row) || !slices.Equal(rows[0][:len(c.row)], c.row) {
			t.Errorf("%s are %v, want one that begins with %v", c.resource, rows, c.row)
		}
	}
}
