package check

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/cluster"
)

// checked is what a user finds of an API server, by check.
func checked(t *testing.T, env *envtest.Environment, user string) (byCheck map[string]Line, r *Report) {
	t.Helper()
	kubeconfig := env.KubeConfig
	if user != "" {
		u, err := env.AddUser(envtest.User{Name: user}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if kubeconfig, err = u.KubeConfig(); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	f, set := cluster.Flags{Timeout: "15s"}, pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Add(set)
	if err := set.Parse([]string{"--kubeconfig", file}); err != nil {
		t.Fatal(err)
	}
	c, err := f.Connect()
	if err != nil {
		t.Fatal(err)
	}
	r = Run(t.Context(), c)
	byCheck = map[string]Line{}
	for _, l := range r.Checks {
		byCheck[l.Check] = l
	}
	return byCheck, r
}

// expect tells what is not as it should be of a check.
func expect(t *testing.T, found map[string]Line, check string, result Result, says string) {
	t.Helper()
	if l := found[check]; l.Result != result || !strings.Contains(l.Message, says) {
		t.Errorf("%s is %s: %q, want %s with %q", check, l.Result, l.Message, result, says)
	}
}

// A real API server has discovery, rights and dry runs, and calls webhooks.
func TestARealAPIServer(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("no API server: KUBEBUILDER_ASSETS is not set; make test-envtest builds one and sets it")
	}
	env := &envtest.Environment{}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("before the installation", func(t *testing.T) { beforeTheInstallation(t, env) })
	addNode(t, api)
	crds := envtest.CRDInstallOptions{Paths: []string{filepath.Join("..", "..", "..", "..", "config", "crd")}, ErrorIfPathMissing: true}
	if _, err := envtest.InstallCRDs(config, crds); err != nil {
		t.Fatal(err)
	}
	t.Run("kinds alone", func(t *testing.T) { kindsAlone(t, env) })
	t.Run("a user without rights", func(t *testing.T) { withoutRights(t, env) })
	t.Run("webhooks", func(t *testing.T) { webhooks(t, env, api) })
	var chains v1alpha1.ServiceChainList
	if err := api.List(t.Context(), &chains); err != nil || len(chains.Items) > 0 {
		t.Errorf("the checks left the chains %v, %v", chains.Items, err)
	}
}

func beforeTheInstallation(t *testing.T, env *envtest.Environment) {
	found, r := checked(t, env, "")
	expect(t, found, "APIServer", OK, "the API server answers")
	expect(t, found, "LocalClock", OK, "the same time")
	expect(t, found, "InstallRights", OK, "you may install Sinter")
	expect(t, found, "Multus", Error, "is not installed")
	expect(t, found, "Kinds", OK, "Sinter is not installed")
	if r.Installed {
		t.Error("Sinter is said to be installed")
	}
	found, _ = checked(t, env, "jim")
	expect(t, found, "InstallRights", Warning, "you may not create namespaces, customresourcedefinitions")
}

func kindsAlone(t *testing.T, env *envtest.Environment) {
	found, _ := checked(t, env, "")
	expect(t, found, "Nodes", OK, "1 node may run chains")
	expect(t, found, "NodeClocks", Error, " ahead)")
	expect(t, found, "Hugepages", OK, "1 node, each with 512Mi")
	expect(t, found, "CPUManager", Warning, "not known to be static")
	expect(t, found, "Kinds", OK, "serves the 4 kinds")
	expect(t, found, "Operator", Warning, "no operator")
	expect(t, found, "Webhook", OK, "no webhook is installed")
	expect(t, found, "Chain", OK, "no chain in all namespaces")
}

func withoutRights(t *testing.T, env *envtest.Environment) {
	found, r := checked(t, env, "jane")
	expect(t, found, "APIServer", OK, "the API server answers")
	expect(t, found, "Nodes", Unknown, "needs the right to list nodes")
	expect(t, found, "Kinds", OK, "serves the 4 kinds")
	expect(t, found, "Operator", Unknown, "needs the right to list deployments")
	expect(t, found, "Webhook", Unknown, "needs the right to list validatingwebhookconfigurations")
	expect(t, found, "Chain", Unknown, "needs the right to list servicechains")
	if slices.ContainsFunc(r.Checks, func(l Line) bool { return l.Result == Error && l.Check != "Multus" }) {
		t.Errorf("it is told %+v", r.Checks)
	}
}

func webhooks(t *testing.T, env *envtest.Environment, api client.Client) {
	hook := deadWebhook()
	if err := api.Create(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	untilTold(t, env, "", Error, `failed calling webhook "vservicechain.nfv.sinter.dev"`)
	mayListWebhooks(t, api, "joe")
	untilTold(t, env, "joe", Unknown, "needs the right to create servicechains in namespace default")
	hook.Webhooks[0].FailurePolicy = new(admissionv1.Ignore)
	if err := api.Update(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	untilTold(t, env, "", Warning, "did not ask webhook")
}

// untilTold checks until the API server knows of the webhook as it is now.
func untilTold(t *testing.T, env *envtest.Environment, user string, result Result, says string) {
	t.Helper()
	for range 20 {
		if found, _ := checked(t, env, user); found["Webhook"].Result == result {
			expect(t, found, "Webhook", result, says)
			return
		}
		time.Sleep(time.Second / 2)
	}
	found, _ := checked(t, env, user)
	expect(t, found, "Webhook", result, says)
}

// addNode makes a node with hugepages, whose clock is an hour ahead.
func addNode(t *testing.T, api client.Client) {
	t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-0"}}
	if err := api.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	n.Spec.Taints = nil // that of a node that has not reported
	if err := api.Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	n.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), pages: resource.MustParse("1Gi")}
	n.Status.Allocatable = n.Status.Capacity
	if err := api.Status().Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: corev1.NamespaceNodeLease}}
	if err := client.IgnoreAlreadyExists(api.Create(t.Context(), namespace)); err != nil {
		t.Fatal(err)
	}
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: "node-0"}}
	l.Spec.RenewTime = new(metav1.NewMicroTime(time.Now().Add(time.Hour + 300*time.Millisecond)))
	if err := api.Create(t.Context(), l); err != nil {
		t.Fatal(err)
	}
}

// deadWebhook judges chains at an address where nobody listens.
func deadWebhook() *admissionv1.ValidatingWebhookConfiguration {
	return &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "sinter"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "vservicechain.nfv.sinter.dev", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionv1.SideEffectClassNone),
			ClientConfig: admissionv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/validate")},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"v1alpha1"}, Resources: []string{"servicechains"}},
			}},
		}},
	}
}

// mayListWebhooks gives a user the right to see webhooks, and no other.
func mayListWebhooks(t *testing.T, api client.Client, user string) {
	t.Helper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{admissionv1.GroupName}, Resources: []string{"validatingwebhookconfigurations"}, Verbs: []string{"list"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	for _, o := range []client.Object{role, binding} {
		if err := api.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}
