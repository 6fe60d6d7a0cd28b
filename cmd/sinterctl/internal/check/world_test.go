package check

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/cmd/sinter-smoke/chains"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/cluster"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("output differs from %s (go test -update rewrites it):\n%s", path, got)
	}
}

// world is a cluster that is well: three nodes, Multus with a network of virtual functions, Sinter, and a chain that forwards. A test breaks it.
type world struct {
	nodes     [3]*corev1.Node
	leases    [3]*coordinationv1.Lease
	network   *unstructured.Unstructured
	operator  *appsv1.Deployment
	pod       *corev1.Pod
	hook      *admissionv1.ValidatingWebhookConfiguration
	endpoints *discoveryv1.EndpointSlice
	chain     *v1alpha1.ServiceChain
	more      []client.Object

	kinds   []schema.GroupVersionKind
	server  cluster.Server
	answers error             // of the API server
	kubelet map[string]string // policies by node; a node without one does not answer
	judged  error             // of the chain that is tried
	denied  []string          // "list nodes", "list pods -A"
}

func newWorld() *world {
	w := &world{
		network: &unstructured.Unstructured{}, operator: &appsv1.Deployment{}, pod: &corev1.Pod{}, hook: &admissionv1.ValidatingWebhookConfiguration{},
		endpoints: &discoveryv1.EndpointSlice{}, chain: &v1alpha1.ServiceChain{},
		kinds: []schema.GroupVersionKind{attachment}, server: cluster.Server{Version: "v1.37.1", Time: now}, kubelet: map[string]string{},
		judged: errors.New(`admission webhook "vservicechain.nfv.sinter.dev" denied the request: spec.functions[1]: "lost": ` + chains.Fault),
	}
	for _, kind := range kinds {
		w.kinds = append(w.kinds, v1alpha1.GroupVersion.WithKind(kind))
	}
	for k := range w.nodes {
		n, l := &corev1.Node{}, &coordinationv1.Lease{}
		n.Name = fmt.Sprintf("node-%d", k)
		n.Labels = map[string]string{v1alpha1.LabelCPUManager: static}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		n.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("7500m"), pages: resource.MustParse("2Gi"), "example.com/vf": resource.MustParse("8"),
		}
		l.Namespace, l.Name = corev1.NamespaceNodeLease, n.Name
		l.Spec.RenewTime = new(metav1.NewMicroTime(now.Add(-3 * time.Second)))
		w.nodes[k], w.leases[k], w.kubelet[n.Name] = n, l, static
	}
	w.network.SetGroupVersionKind(attachment)
	w.network.SetNamespace("lab")
	w.network.SetName("vf")
	w.network.SetAnnotations(map[string]string{annotationResource: "example.com/vf"})
	w.install()
	w.chain.Namespace, w.chain.Name, w.chain.Generation = "lab", "edge", 2
	w.chain.Spec.Interfaces = []v1alpha1.Interface{
		{Name: "inside", NetworkRef: &v1alpha1.NetworkRef{Name: "vf"}, ResourceName: "example.com/vf"},
		{Name: "outside", ResourceName: "example.com/vf"},
	}
	w.chain.Status.ObservedGeneration = 2
	w.says(metav1.ConditionTrue, v1alpha1.ReasonForwarding, "program edge-5600e446ce runs on 1 instance")
	return w
}

// install makes the operator and its webhook.
func (w *world) install() {
	labels := map[string]string{"app.kubernetes.io/name": "sinter", v1alpha1.LabelComponent: cluster.ContainerOperator}
	w.operator.Namespace, w.operator.Name, w.operator.Labels = "sinter-system", "sinter-operator", labels
	w.operator.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	w.operator.Status.AvailableReplicas = 1
	w.pod.Namespace, w.pod.Name, w.pod.Labels = "sinter-system", "sinter-operator-1", labels
	w.pod.Spec.Containers = []corev1.Container{{Name: cluster.ContainerOperator, Image: "registry.example.com/sinter-operator:v1"}}
	w.hook.Name = "sinter"
	w.hook.Webhooks = []admissionv1.ValidatingWebhook{{
		Name: "vservicechain.nfv.sinter.dev",
		ClientConfig: admissionv1.WebhookClientConfig{
			CABundle: []byte("ca"), Service: &admissionv1.ServiceReference{Namespace: "sinter-system", Name: "sinter-webhook"},
		},
		Rules: []admissionv1.RuleWithOperations{{Rule: admissionv1.Rule{APIGroups: []string{v1alpha1.GroupVersion.Group}}}},
	}}
	w.endpoints.Namespace, w.endpoints.Name = "sinter-system", "sinter-webhook-1"
	w.endpoints.Labels = map[string]string{discoveryv1.LabelServiceName: "sinter-webhook"}
	w.endpoints.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.7"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}}
}

// uninstall leaves what a cluster has before Sinter is installed.
func (w *world) uninstall() {
	w.kinds = w.kinds[:1]
	w.operator, w.pod, w.hook, w.endpoints, w.chain = nil, nil, nil, nil, nil
}

// says sets the chain's condition Ready.
func (w *world) says(status metav1.ConditionStatus, reason, message string) {
	w.chain.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message, ObservedGeneration: 2}}
}

// waits sets why the operator's container does not run.
func (w *world) waits(state, last corev1.ContainerState) {
	w.operator.Status.AvailableReplicas = 0
	w.pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: cluster.ContainerOperator, State: state, LastTerminationState: last}}
}

func (w *world) objects() (list []client.Object) {
	for k := range w.nodes {
		list = append(list, w.nodes[k])
		if w.leases[k] != nil {
			list = append(list, w.leases[k])
		}
	}
	if w.network != nil {
		list = append(list, w.network)
	}
	if w.operator != nil {
		list = append(list, w.operator, w.pod)
	}
	if w.hook != nil {
		list = append(list, w.hook)
	}
	if w.endpoints != nil {
		list = append(list, w.endpoints)
	}
	if w.chain != nil {
		list = append(list, w.chain)
	}
	return append(list, w.more...)
}

// run checks the world.
func (w *world) run(t *testing.T) *Report {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	scheme.AddKnownTypeWithName(attachment, &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(attachment.GroupVersion().WithKind(attachment.Kind+"List"), &unstructured.UnstructuredList{})
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{v1alpha1.GroupVersion, {Group: v1alpha1.GroupVersion.Group, Version: "v1"}})
	for _, kind := range w.kinds {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(w.objects()...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			what := "list " + strings.ToLower(strings.TrimSuffix(kindOf(t, c, list), "List")) + "s"
			err := w.forbidden(what)
			if (&client.ListOptions{}).ApplyOptions(opts).Namespace == "" {
				err = cmp.Or(err, w.forbidden(what+" -A"))
			}
			if err != nil {
				return err
			}
			return c.List(ctx, list, opts...)
		},
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			if review, ok := o.(*authorizationv1.SelfSubjectAccessReview); ok {
				review.Status.Allowed = w.forbidden("create "+review.Spec.ResourceAttributes.Resource) == nil
				return nil
			}
			if err := w.forbidden("create servicechains"); err != nil {
				return err
			}
			return w.judged
		},
	}).Build()
	return Run(t.Context(), &cluster.Cluster{Client: c, Namespace: "lab", Pods: w, Now: func() time.Time { return now }})
}

func (w *world) text(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	if err := w.run(t).Text(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func kindOf(t *testing.T, c client.Client, o client.ObjectList) string {
	t.Helper()
	kind, err := c.GroupVersionKindFor(o)
	if err != nil {
		t.Fatal(err)
	}
	return kind.Kind
}

// Server implements cluster.Pods.
func (w *world) Server(context.Context) (cluster.Server, error) { return w.server, w.answers }

// CPUManagerPolicy implements cluster.Pods.
func (w *world) CPUManagerPolicy(_ context.Context, node string) (string, error) {
	if err := w.forbidden("get nodes/proxy"); err != nil {
		return "", err
	}
	if policy, ok := w.kubelet[node]; ok {
		return policy, nil
	}
	return "", errors.New("the kubelet does not answer")
}

// Log implements cluster.Pods.
func (w *world) Log(context.Context, client.ObjectKey, string, bool) ([]byte, error) {
	return []byte("2026-05-04T11:59:00Z {\"level\":\"ERROR\",\"msg\":\"ended\",\"err\":\"the certificate cannot be read\"}\n2026-05-04T11:59:00Z bye\n"), nil
}

// Exec implements cluster.Pods.
func (w *world) Exec(context.Context, client.ObjectKey, string, []string, io.Reader, io.Writer) error {
	return errors.New("nothing is executed by a check")
}
