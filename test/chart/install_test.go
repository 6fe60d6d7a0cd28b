package chart

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// cluster is an API server without nodes, and helm pointed at it.
type cluster struct {
	client.Client
	t          *testing.T
	helmPath   string
	kubeconfig string
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, helmPath: tool(t, "helm"), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		out, err := exec.CommandContext(t.Context(), root+"/hack/envtest.sh", "--cached").CombinedOutput()
		if err != nil {
			t.Skip(strings.TrimSpace(string(out)))
		}
		assets = strings.TrimSpace(string(out))
	}
	env := &envtest.Environment{BinaryAssetsDirectory: assets}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	if err := os.WriteFile(c.kubeconfig, env.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	known := kubernetes(t)
	if err := v1alpha1.AddToScheme(known); err != nil {
		t.Fatal(err)
	}
	if c.Client, err = client.New(config, client.Options{Scheme: known}); err != nil {
		t.Fatal(err)
	}
	// The strictest of namespaces, as a careful administrator makes it.
	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   namespace,
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}})
	return c
}

// helm runs a command. Chains may be made after an installation: the API server tells of new kinds some time after they are there.
func (c *cluster) helm(args ...string) string {
	c.t.Helper()
	out := mustRun(c.t, c.helmPath, append(args, "--namespace", namespace, "--kubeconfig", c.kubeconfig)...)
	if args[0] == "install" {
		c.takes(func() error {
			_, err := c.RESTMapper().RESTMapping(schema.GroupKind{Group: "nfv.sinter.dev", Kind: "ServiceChain"})
			return err
		})
	}
	return out
}

func (c *cluster) create(o client.Object) {
	c.t.Helper()
	if err := c.Create(context.Background(), o); err != nil {
		c.t.Fatal(err)
	}
}

// get reads an object of the release's namespace.
func get[T client.Object](c *cluster, name string, o T) T {
	c.t.Helper()
	if err := c.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		c.t.Fatal(err)
	}
	return o
}

// unanswered lets chains be made though no operator runs that would check them.
const unanswered = "webhook.failurePolicy=Ignore,webhook.timeoutSeconds=1"

func TestReleaseLivesFromInstallToUninstall(t *testing.T) {
	c := startCluster(t)

	notes := c.helm("install", "sinter", chartDir, "--set", unanswered)
	if !strings.Contains(notes, "kubectl apply") || !strings.Contains(notes, "keeps the CustomResourceDefinitions") {
		t.Errorf("the notes do not say what to do next, or what an uninstall leaves:\n%s", notes)
	}
	c.podsAreAdmitted()
	first := get(c, "sinter-certificate", &corev1.Secret{})
	c.create(sampleChain(t))

	c.helm("upgrade", "sinter", chartDir, "--set", "operator.replicas=2,"+unanswered)
	if n := *get(c, "sinter-operator", &appsv1.Deployment{}).Spec.Replicas; n != 2 {
		t.Errorf("after the upgrade: %d replicas, want 2", n)
	}
	if string(get(c, "sinter-certificate", &corev1.Secret{}).Data["tls.crt"]) != string(first.Data["tls.crt"]) {
		t.Error("the upgrade changed the certificate, which has years left")
	}

	c.helm("rollback", "sinter", "1")
	if n := *get(c, "sinter-operator", &appsv1.Deployment{}).Spec.Replicas; n != 1 {
		t.Errorf("after the rollback: %d replicas, want 1", n)
	}

	said := c.helm("uninstall", "sinter")
	if !strings.Contains(said, "kept due to the resource policy") {
		t.Errorf("the uninstall does not say that definitions are kept:\n%s", said)
	}
	c.onlyDefinitionsAreLeft()
	get(c, "edge", sampleChain(t))

	c.helm("install", "sinter", chartDir, "--set", unanswered) // takes the definitions over again
}

func TestCertificateIsRenewedInItsLastThird(t *testing.T) {
	c := startCluster(t)
	c.helm("install", "sinter", chartDir, "--set", unanswered)
	secret := get(c, "sinter-certificate", &corev1.Secret{})
	first := string(secret.Data["tls.crt"])

	secret.Annotations["nfv.sinter.dev/renew-after"] = "1"
	if err := c.Update(context.Background(), secret); err != nil {
		t.Fatal(err)
	}
	c.helm("upgrade", "sinter", chartDir)
	if string(get(c, "sinter-certificate", &corev1.Secret{}).Data["tls.crt"]) == first {
		t.Error("the upgrade kept a certificate whose time to be renewed has come")
	}
}

// The API server refuses by itself what the operator would: it may be away, and so may the webhook.
func TestChainsNameDevicesOnlyWhereTheAdministratorAllowsIt(t *testing.T) {
	c := startCluster(t)
	device := func(name string) *unstructured.Unstructured {
		chain := sampleChain(t)
		chain.SetName(name)
		interfaces, _, err := unstructured.NestedSlice(chain.Object, "spec", "interfaces")
		if err != nil {
			t.Fatal(err)
		}
		first := interfaces[0].(map[string]any)
		first["device"] = "net_pcap0,rx_iface=eth0"
		delete(first, "networkRef")
		if err := unstructured.SetNestedSlice(chain.Object, interfaces, "spec", "interfaces"); err != nil {
			t.Fatal(err)
		}
		return chain
	}
	c.helm("install", "sinter", chartDir, "--set", unanswered)
	c.refuses(func(n int) error { return c.Create(context.Background(), device(fmt.Sprintf("refused-%d", n))) }, "do not name devices")
	c.create(sampleChain(t)) // which has none

	c.helm("upgrade", "sinter", chartDir, "--set", "operator.allowDevices=true,"+unanswered)
	there := device("there")
	c.takes(func() error { return c.Create(context.Background(), there) })

	c.helm("upgrade", "sinter", chartDir, "--set", unanswered)
	c.refuses(func(n int) error { return c.Create(context.Background(), device(fmt.Sprintf("again-%d", n))) }, "do not name devices")
	there.SetLabels(map[string]string{"what": "ever"})
	if err := c.Update(context.Background(), there); err != nil {
		t.Errorf("a chain that was there before the policy cannot be labelled: %v", err)
	}
}

// takes tries until the API server takes it, twenty seconds at least.
func (c *cluster) takes(try func() error) {
	c.t.Helper()
	err := try()
	for n := 0; err != nil && n < 100; n++ {
		time.Sleep(200 * time.Millisecond)
		err = try()
	}
	if err != nil {
		c.t.Error(err)
	}
}

// refuses tries until the API server refuses: it learns of a policy some time after that is there.
func (c *cluster) refuses(try func(n int) error, why string) {
	c.t.Helper()
	var err error
	for n := range 100 {
		if err = try(n); err != nil {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	if err == nil || !strings.Contains(err.Error(), why) {
		c.t.Errorf("the API server says %v; want that it refuses, with %q", err, why)
	}
}

// podsAreAdmitted asks the API server, whose namespace is restricted, for the pods of deployment and test.
func (c *cluster) podsAreAdmitted() {
	c.t.Helper()
	template := get(c, "sinter-operator", &appsv1.Deployment{}).Spec.Template
	pods := []*corev1.Pod{{ObjectMeta: template.ObjectMeta, Spec: template.Spec}}
	pods[0].GenerateName = "operator-"

	var smoke corev1.Pod
	convert(c.t, find(c.t, objects(c.t, c.helm("get", "hooks", "sinter")), "Pod", "sinter-smoke"), &smoke)
	smoke.Spec.ServiceAccountName = "" // the hook's own is not there yet
	for _, pod := range append(pods, &smoke) {
		pod.Namespace = namespace
		pod.Spec.AutomountServiceAccountToken = new(bool)
		if err := c.Create(context.Background(), pod, client.DryRunAll); err != nil {
			c.t.Errorf("a restricted namespace refuses %s%s: %v", pod.GenerateName, pod.Name, err)
		}
	}
}

func (c *cluster) onlyDefinitionsAreLeft() {
	c.t.Helper()
	release := client.MatchingLabels{"app.kubernetes.io/instance": "sinter"}
	for _, kind := range []string{
		"v1/Secret", "v1/Service", "v1/ServiceAccount", "v1/ConfigMap", "apps/v1/Deployment", "policy/v1/PodDisruptionBudget",
		"networking.k8s.io/v1/NetworkPolicy", "scheduling.k8s.io/v1/PriorityClass",
		"rbac.authorization.k8s.io/v1/ClusterRole", "rbac.authorization.k8s.io/v1/ClusterRoleBinding",
		"rbac.authorization.k8s.io/v1/Role", "rbac.authorization.k8s.io/v1/RoleBinding",
		"admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration",
	} {
		slash := strings.LastIndex(kind, "/")
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(kind[:slash])
		list.SetKind(kind[slash+1:] + "List")
		if err := c.List(context.Background(), list, release); err != nil {
			c.t.Fatal(err)
		}
		for _, o := range list.Items {
			c.t.Errorf("the uninstall left %s %s", o.GetKind(), o.GetName())
		}
	}
	var definitions apiextensionsv1.CustomResourceDefinitionList
	if err := c.List(context.Background(), &definitions, release); err != nil {
		c.t.Fatal(err)
	}
	if !slices.ContainsFunc(definitions.Items, func(d apiextensionsv1.CustomResourceDefinition) bool { return d.Spec.Names.Kind == "ServiceChain" }) {
		c.t.Error("the uninstall deleted the definition of ServiceChain")
	}
}

func sampleChain(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(root + "/cmd/sinter-smoke/chains/good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	chain := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(text, &chain.Object); err != nil {
		t.Fatal(err)
	}
	chain.SetName("edge")
	chain.SetNamespace(namespace)
	return chain
}
