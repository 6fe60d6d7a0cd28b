package chart

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/test/free"
)

// The operator runs beside the API server as the account of its deployment, with the deployment's flags.
func TestOperatorWorksWithTheRightsAndFlagsThatTheChartGives(t *testing.T) {
	c := startCluster(t)
	c.helm("install", "sinter", chartDir, "--set", unanswered, "--set", "metrics.reader.serviceAccounts[0].name=default,metrics.reader.serviceAccounts[0].namespace="+namespace)
	metrics := free.Address(t)
	log := c.startOperator(metrics)
	c.create(sampleChain(t))

	c.eventually("a program of the chain", func(ctx context.Context) error {
		programs := &unstructured.UnstructuredList{}
		programs.SetAPIVersion("nfv.sinter.dev/v1alpha1")
		programs.SetKind("ChainProgramList")
		if err := c.List(ctx, programs, client.InNamespace(namespace)); err != nil || len(programs.Items) > 0 {
			return err
		}
		return fmt.Errorf("there is none; the operator said:\n%s", log)
	})
	if said := log.String(); strings.Contains(said, "forbidden") {
		t.Errorf("the operator lacks a right:\n%s", said)
	}

	for token, want := range map[string]int{"": http.StatusUnauthorized, c.tokenOf("sinter"): http.StatusForbidden, c.tokenOf("default"): http.StatusOK} {
		c.eventually(fmt.Sprintf("status %d", want), func(ctx context.Context) error {
			got, err := c.getMetrics(ctx, metrics, token)
			if err == nil && got != want {
				err = fmt.Errorf("metrics answer %d", got)
			}
			return err
		})
	}
}

// startOperator starts the operator and returns what it will have logged.
func (c *cluster) startOperator(metrics string) *output {
	c.t.Helper()
	deployment := get(c, "sinter-operator", &appsv1.Deployment{})
	certificates := c.t.TempDir()
	for name, content := range get(c, "sinter-certificate", &corev1.Secret{}).Data {
		if err := os.WriteFile(filepath.Join(certificates, name), content, 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	args := append([]string(nil), deployment.Spec.Template.Spec.Containers[0].Args...)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "/etc/sinter/certificate", certificates)
	}
	_, port, _ := net.SplitHostPort(free.Address(c.t))
	args = append(args, "--metrics-bind-address="+metrics, "--health-probe-bind-address=0", "--webhook-port="+port, "--leader-election-namespace="+namespace)

	binary := filepath.Join(c.t.TempDir(), "sinter-operator")
	mustRun(c.t, "go", "build", "-o", binary, root+"/cmd/sinter-operator")
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.impersonate(deployment.Spec.Template.Spec.ServiceAccountName))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // as a kubelet does it; the lease is for the next one
	cmd.WaitDelay = 10 * time.Second
	log := &output{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	log.process = cmd.Process
	log.stop = sync.OnceFunc(func() {
		stop()
		_ = cmd.Wait()
	})
	c.t.Cleanup(log.stop)
	return log
}

// impersonate is a kubeconfig of a ServiceAccount of the release.
func (c *cluster) impersonate(account string) string {
	c.t.Helper()
	config, err := clientcmd.LoadFromFile(c.kubeconfig)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:" + namespace + ":" + account
		user.ImpersonateGroups = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
	}
	path := filepath.Join(c.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// tokenOf is a token of a ServiceAccount, which is made if it is missing.
func (c *cluster) tokenOf(account string) string {
	c.t.Helper()
	who := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	if err := c.Create(context.Background(), who); client.IgnoreAlreadyExists(err) != nil {
		c.t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	if err := c.SubResource("token").Create(context.Background(), who, request); err != nil {
		c.t.Fatal(err)
	}
	return request.Status.Token
}

func (c *cluster) getMetrics(ctx context.Context, address, token string) (int, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(get(c, "sinter-certificate", &corev1.Secret{}).Data["ca.crt"])
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: roots, ServerName: "sinter-metrics." + namespace + ".svc", MinVersion: tls.VersionTLS12,
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// patience is how long tests wait. Four costly chains are compiled one after the other, each with up to a minute of processor time.
const patience = 4 * time.Minute

// eventually waits until a thing is so.
func (c *cluster) eventually(what string, check func(context.Context) error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			c.t.Fatalf("want %s: %v", what, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// output is what a process has written so far.
type output struct {
	process *os.Process
	stop    func() // the process

	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
