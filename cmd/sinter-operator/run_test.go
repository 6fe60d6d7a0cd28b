package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/test/free"
	"github.com/sinter-nfv/sinter/test/wait"
)

func TestFlagsThatMakeNoSenseAreRefused(t *testing.T) {
	for args, want := range map[string]string{
		"":                  "--dataplane-image: want the image with engine and agent",
		"--log-level loud":  `--log-level "loud": want debug, info or error`,
		"--no-such-flag":    "unknown flag: --no-such-flag",
		"an argument":       `unknown command "an"`,
		"--workers several": `invalid argument "several"`,
		"--dataplane-image x --compile-time 10ms":                 "--compile-time 10ms: want a second or more",
		`--dataplane-image x --metrics-from [{"namespaces":{}}]`:  `--metrics-from: "[{\"namespaces\":{}}]": want a list such as`,
		`--dataplane-image x --metrics-from [{}]`:                 `--metrics-from: "[{}]": peer 0 is empty; give it a podSelector, a namespaceSelector or an ipBlock`,
		"--dataplane-image x --metrics-reader-cert /none/tls.crt": "--metrics-reader-cert: open /none/tls.crt: no such file or directory",
		"--dataplane-image x --concurrent-compiles 0":             "--concurrent-compiles 0: want 1 or more",
		"--dataplane-image x --store ftp://routes.example.net/":   `--store "ftp://routes.example.net/": want a URL such as https://routes.example.net/tables/`,
	} {
		root := newRoot()
		root.SetArgs(strings.Fields(args))
		if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, wanted %s", args, err, want)
		}
	}
	if _, err := logger("debug"); err != nil {
		t.Error(err)
	}
}

// TestMain lets an operator of a test compile chains: it runs itself for that.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == compileCommand {
		main()
		return
	}
	os.Exit(m.Run())
}

// operator is an operator with an API server.
type operator struct {
	options
	config  *rest.Config
	readers string // file with the certificate of those who read metrics of chains' pods
	pin     string // of its key
}

func startOperator(t *testing.T) *operator {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("no API server: KUBEBUILDER_ASSETS is not set; make test-envtest builds one and sets it")
	}
	ctrl.SetLogger(logr.Discard())
	env := &envtest.Environment{CRDDirectoryPaths: []string{filepath.Join("..", "..", "config", "crd")}}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	o := &operator{
		options: options{leaderElect: true, leaderNamespace: "default", probes: free.Address(t), metrics: free.Address(t), workers: 1, compiles: 1, compileTime: time.Minute},
		config:  config,
		readers: filepath.Join(t.TempDir(), "tls.crt"),
	}
	o.pods.Image = "dataplane:test"
	mgr, err := o.manager(config)
	if err != nil {
		t.Fatal(err)
	}
	o.pin = issue(t, o.readers)
	readers, err := newReaders(o.readers)
	if err != nil {
		t.Fatal(err)
	}
	readers.every = 100 * time.Millisecond
	if err := errors.Join(o.controllers(mgr, readers), mgr.Add(readers)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return o
}

// TestTheOperatorAsAWhole has one for all that its tests ask: each takes an API server.
func TestTheOperatorAsAWhole(t *testing.T) {
	o := startOperator(t)
	t.Run("metrics are for those whom the cluster allows", o.metricsAreForThoseWhomTheClusterAllows)
	t.Run("instances hear of other readers at once", o.instancesHearOfOtherReaders)
}

func (o *operator) metricsAreForThoseWhomTheClusterAllows(t *testing.T) {
	eventually(t, "http://"+o.probes+"/readyz", "", http.StatusOK)
	eventually(t, "http://"+o.probes+"/healthz", "", http.StatusOK)
	metrics := "https://" + o.metrics + "/metrics"
	eventually(t, metrics, "", http.StatusUnauthorized)
	stranger, reader := token(t, o.config, "stranger"), token(t, o.config, "reader")
	allow(t, o.config, "reader")
	eventually(t, metrics, stranger, http.StatusForbidden)
	if text := eventually(t, metrics, reader, http.StatusOK); !strings.Contains(text, "leader_election_master_status") {
		t.Errorf("the metrics are\n%s", text)
	}
}

const office = `
apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: office, namespace: default}
spec:
  interfaces:
  - {name: inside, networkRef: {name: lan}, address: 10.0.0.1/24}
  - {name: outside, networkRef: {name: wan}, address: 198.51.100.2/24, gateway: 198.51.100.1}
  functions:
  - {name: nat, napt: {pool: [198.51.100.16]}}
  path: [inside, nat, outside]
`

func (o *operator) instancesHearOfOtherReaders(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(o.config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	var chain v1alpha1.ServiceChain
	if err := yaml.UnmarshalStrict([]byte(office), &chain); err != nil {
		t.Fatal(err)
	}
	if err := admin.Create(t.Context(), &chain); err != nil {
		t.Fatal(err)
	}
	heard := func(pin string) {
		t.Helper()
		wait.Until(t, 20*time.Second, 50*time.Millisecond, func() error {
			var list v1alpha1.ChainInstanceList
			if err := admin.List(t.Context(), &list); err != nil {
				return err
			}
			if len(list.Items) == 0 || !slices.Equal(list.Items[0].Spec.MetricsReaders, []string{pin}) {
				return fmt.Errorf("instances are %+v, want one with the readers %q", list.Items, pin)
			}
			return nil
		})
	}
	heard(o.pin)
	for range 3 { // not by what else has the chain looked at after its start
		heard(issue(t, o.readers))
	}
}

// eventually asks until the answer has the status, and gives its text.
func eventually(t *testing.T, url, token string, status int) string {
	t.Helper()
	// The certificate is made at start, and by nobody's authority.
	c := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	last := "no answer"
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := c.Do(req)
		if err != nil {
			last = err.Error()
			continue
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode == status && err == nil {
			return string(text)
		}
		last = resp.Status
	}
	t.Fatalf("%s: %s, wanted %d", url, last, status)
	return ""
}

// token is that of a new service account.
func token(t *testing.T, config *rest.Config, name string) string {
	t.Helper()
	c := kubernetes.NewForConfigOrDie(config)
	accounts := c.CoreV1().ServiceAccounts("default")
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Status.Token
}

// allow lets an account read metrics.
func allow(t *testing.T, config *rest.Config, name string) {
	t.Helper()
	roles := kubernetes.NewForConfigOrDie(config).RbacV1()
	head := metav1.ObjectMeta{Name: "metrics-" + name}
	role := &rbacv1.ClusterRole{ObjectMeta: head, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: head, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: head.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: name}},
	}
	_, err := roles.ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	if err == nil {
		_, err = roles.ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(fmt.Errorf("allow %s: %w", name, err))
	}
}
