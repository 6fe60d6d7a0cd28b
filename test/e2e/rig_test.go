package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

const (
	repository = "../.."
	system     = "sinter-system" // the operator's namespace
	space      = "default"       // the chain's
	chainName  = "edge"
	podName    = "edge-0"
	sample     = "config/samples/edge.yaml"
)

// world is the cluster as a test sees it.
type world struct {
	*testing.T
	api client.Client
}

// begin skips a test unless `make e2e` has brought up the cluster and the operator.
func begin(t *testing.T) *world {
	t.Helper()
	if os.Getenv("SINTER_E2E") == "" {
		t.Skip("needs a cluster: run by make e2e")
	}
	api, err := connect()
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, api}
}

var connect = sync.OnceValues(func() (client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, fmt.Errorf("KUBECONFIG: %w", err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return client.New(config, client.Options{Scheme: scheme})
})

// run runs a command in the repository and returns what it prints.
func run(ctx context.Context, stdin, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = repository, strings.NewReader(stdin), &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, errs.String(), out.String())
	}
	return out.String(), nil
}

// must fails the test on an error, and passes on the rest.
func (w *world) must(out string, err error) string {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
	return out
}

func (w *world) kubectl(args ...string) string {
	w.Helper()
	return w.must(w.try(args...))
}

func (w *world) try(args ...string) (string, error) {
	return run(w.Context(), "", "kubectl", args...)
}

func (w *world) apply(manifest string) {
	w.Helper()
	w.must(run(w.Context(), manifest, "kubectl", "apply", "-f", "-"))
}

// service starts or stops a daemon of the cluster.
func (w *world) service(action, name string) {
	w.Helper()
	w.must(run(context.WithoutCancel(w.Context()), "", "hack/cluster/cluster.sh", action, name))
}

// eventually waits until a check has nothing to say any more.
func (w *world) eventually(what string, patience time.Duration, check func() error) {
	w.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%s: not within %s: %v\n%s", what, patience, err, w.circumstances())
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// circumstances are what one would look at next.
func (w *world) circumstances() string {
	var b strings.Builder
	for _, args := range [][]string{
		{"get", "servicechains,chaininstances,chainprograms,pods", "-o", "wide"},
		{"describe", "servicechain", chainName},
		{"logs", podName, "--all-containers", "--tail=20"},
	} {
		out, err := w.try(args...)
		fmt.Fprintf(&b, "$ kubectl %s\n%s", strings.Join(args, " "), out)
		if err != nil {
			fmt.Fprintln(&b, err)
		}
	}
	return b.String()
}

func (w *world) chain() *v1alpha1.ServiceChain {
	w.Helper()
	var c v1alpha1.ServiceChain
	if err := w.api.Get(w.Context(), client.ObjectKey{Namespace: space, Name: chainName}, &c); err != nil {
		w.Fatal(err)
	}
	return &c
}

func (w *world) instance() *v1alpha1.ChainInstance {
	w.Helper()
	var i v1alpha1.ChainInstance
	if err := w.api.Get(w.Context(), client.ObjectKey{Namespace: space, Name: podName}, &i); err != nil {
		w.Fatal(err)
	}
	return &i
}

// condition checks one condition of the chain, of its present generation.
func (w *world) condition(name string, status metav1.ConditionStatus, reason string) error {
	c := w.chain()
	found := meta.FindStatusCondition(c.Status.Conditions, name)
	switch {
	case found == nil:
		return fmt.Errorf("%s is not there", name)
	case found.ObservedGeneration != c.Generation:
		return fmt.Errorf("%s is of generation %d, wanted %d", name, found.ObservedGeneration, c.Generation)
	case found.Status != status || reason != "" && found.Reason != reason:
		return fmt.Errorf("%s is %s, %s (%s), wanted %s, %s", name, found.Status, found.Reason, found.Message, status, reason)
	}
	return nil
}

// waitReady waits until the chain forwards with what its spec says now.
func (w *world) waitReady(patience time.Duration) {
	w.Helper()
	w.eventually("the chain is ready", patience, func() error {
		if err := w.condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonForwarding); err != nil {
			return err
		}
		if ro := w.chain().Status.Rollout; ro != nil {
			return fmt.Errorf("program %s is still being rolled out", ro.Program)
		}
		return nil
	})
}

// edge has the sample's chain ready and hosts on both sides of it.
func (w *world) edge() {
	w.Helper()
	w.kubectl("apply", "-f", "config/samples/networks", "-f", "test/e2e/testdata/hosts.yaml")
	if out := w.kubectl("get", "servicechain", chainName, "--ignore-not-found"); out == "" {
		w.kubectl("apply", "-f", sample)
	}
	// Objects that a test before has added go; rollouts are not watched for long.
	spec := w.kubectl("create", "--dry-run=client", "-o", "jsonpath={.spec}", "-f", sample)
	w.kubectl("patch", "servicechain", chainName, "--type=merge", "-p", `{"spec": `+spec+`}`)
	w.kubectl("patch", "servicechain", chainName, "--type=merge", "-p", `{"spec": {"rollbackTo": null, "rollout": {"observeSeconds": 2}}}`)
	w.kubectl("wait", "--for=condition=Ready", "pod/client", "pod/server", "--timeout=60s")
	w.waitReady(time.Minute)
}

// change applies a JSON patch to the chain.
func (w *world) change(patch string) {
	w.Helper()
	w.kubectl("patch", "servicechain", chainName, "--type=json", "-p", patch)
}
