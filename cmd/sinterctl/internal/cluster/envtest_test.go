package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// A real API server has the schema and the defaults that the fake has not.
func TestTheCommandsWorkWithARealAPIServer(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("no API server: KUBEBUILDER_ASSETS is not set; make test-envtest builds one and sets it")
	}
	config, direct := startAPI(t)
	c := &Cluster{Client: direct, Namespace: "lab", Pods: pods{kubernetes.NewForConfigOrDie(config), config}, Now: time.Now}
	chain := officeOn(t, c)

	compiled, err := c.Compile(t.Context(), "office")
	if err != nil {
		t.Fatal(err)
	}
	second := revision(t, 2, 9000, "25-26")
	if compiled.Hash != second.Spec.Hash {
		t.Errorf("the chain of the API server compiles to %s, that of the file to %s", compiled.Hash, second.Spec.Hash)
	}
	for _, p := range []*v1alpha1.ChainProgram{revision(t, 1, 1500, "25"), second} {
		p.CreationTimestamp = metav1.Time{}
		p.OwnerReferences[0].UID = chain.UID
		if err := direct.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	for want, do := range map[string]func(b *strings.Builder) error{
		"lab/office: program none":                   func(b *strings.Builder) error { return c.showStatus(t.Context(), b, "", false) },
		second.Name:                                  func(b *strings.Builder) error { return c.showPrograms(t.Context(), b, "office", false) },
		"+ 10.0.0.1/24, mtu 9000":                    func(b *strings.Builder) error { return c.showDiff(t.Context(), b, "office", "1", "2") },
		"spec.rollbackTo is now " + second.Name[:10]: func(b *strings.Builder) error { return c.Rollback(t.Context(), b, "office", "2") },
	} {
		if got := says(t, do); !strings.Contains(got, want) {
			t.Errorf("it said %q, want it to say %q", got, want)
		}
	}
	if err := direct.Get(t.Context(), client.ObjectKeyFromObject(chain), chain); err != nil {
		t.Fatal(err)
	}
	if chain.Spec.RollbackTo != second.Name || chain.ManagedFields[len(chain.ManagedFields)-1].Manager != string(fieldOwner) {
		t.Errorf("the chain is held at %q by %v", chain.Spec.RollbackTo, chain.ManagedFields)
	}
	says(t, func(b *strings.Builder) error { return c.Undo(t.Context(), b, "office") })
	if files := collected(t, c); !strings.Contains(files["versions.txt"], "API server: v1.") || files["errors.txt"] != "" {
		t.Errorf("a collection has versions %q and errors %q", files["versions.txt"], files["errors.txt"])
	}
}

// startAPI starts an API server that knows Sinter's kinds, and returns a client that may do everything.
func startAPI(t *testing.T) (*rest.Config, client.Client) {
	t.Helper()
	env := &envtest.Environment{CRDDirectoryPaths: []string{filepath.Join("..", "..", "..", "..", "config", "crd")}, ErrorIfCRDPathMissing: true}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return config, direct
}

// officeOn makes the office on an API server.
func officeOn(t *testing.T, c *Cluster) *v1alpha1.ServiceChain {
	t.Helper()
	b := parsed(t, 9000, "25-26")
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "lab"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "acl"}, Data: map[string]string{"rules": rules("25-26")}},
		b.Functions[0], b.Chains[0],
	} {
		if err := c.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return b.Chains[0]
}
