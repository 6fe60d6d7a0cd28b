package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/cluster"
)

func TestTheCommandsOfAClusterAreAtTheTopOfThePlugin(t *testing.T) {
	for _, name := range []string{"check", "status", "shards", "programs", "diff", "rollback", "explain", "trace", "collect"} {
		for _, c := range []struct {
			plugin bool
			args   []string
			path   string
		}{
			{false, []string{"cluster", name}, "sinterctl cluster " + name},
			{true, []string{name}, "kubectl sinter " + name},
		} {
			cmd, _, err := newRoot(c.plugin).Find(c.args)
			if err != nil || cmd.CommandPath() != c.path || cmd.Flags().Lookup("kubeconfig") == nil {
				t.Errorf("%v is the command %q (%v), want %q with kubectl's flags", c.args, cmd.CommandPath(), err, c.path)
			}
		}
	}
	if cmd, _, err := newRoot(true).Find([]string{"synth"}); err != nil || cmd.Name() != "synth" {
		t.Errorf("the plugin has no synth: %v", err)
	}
	if cmd, _, _ := newRoot(false).Find([]string{"explain"}); cmd.Flags().Lookup("kubeconfig") != nil {
		t.Error("explain of sinterctl is about a cluster, not about files")
	}
}

func TestAWatchedLineIsNoWiderThanTheTerminal(t *testing.T) {
	if got := string(clip([]byte("→ four\nto\n"), 4)); got != "→ f…\nto\n" {
		t.Errorf("cut off at 4 it is %q", got)
	}
	if got := string(clip([]byte("→ four\n"), 0)); got != "→ four\n" {
		t.Errorf("with no width known it is %q", got)
	}
}

func TestACollectionOverwritesNothingAndLeavesNoHalves(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ticket.tar.gz")
	args := []string{"cluster", "collect", "-f", name, "--server", "http://127.0.0.1:1"}
	_, stderr, err := sinterctl(t, args...)
	if err != nil || !strings.Contains(stderr, "things could not be read") {
		t.Fatalf("of a cluster that is not there: error %v, warnings %q", err, stderr)
	}
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := sinterctl(t, args...); !os.IsExist(err) {
		t.Errorf("the second time the error is %v, want one that the file is there", err)
	}
	if after, err := os.ReadFile(name); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the first collection was touched: %v", err)
	}
}

func TestCommandsAskTheClusterOfTheKubeconfig(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("no API server: KUBEBUILDER_ASSETS is not set; make test-envtest builds one and sets it")
	}
	kubeconfig := officeInACluster(t)
	t.Run("explain says the same as of the file", func(t *testing.T) {
		stdout, stderr, err := sinterctl(t, "cluster", "explain", "office", "--kubeconfig", kubeconfig,
			"--in", "inside", "--src", "10.0.0.7", "--dst", "203.0.113.5", "--dport", "443", "--reply")
		if err != nil || stderr != "" {
			t.Fatalf("error %v, warnings %q", err, stderr)
		}
		golden(t, "explain-web.txt", stdout)
	})
	t.Run("names are completed", func(t *testing.T) { clusterNamesAreCompleted(t, kubeconfig) })
	for output, want := range map[string]string{"wide": "default/office: program none, ", "json": `    "name": "office",`, "yaml": "  name: office\n"} {
		if stdout, _, err := sinterctl(t, "cluster", "status", "--kubeconfig", kubeconfig, "-o", output); err != nil || !strings.Contains(stdout, want) {
			t.Errorf("-o %s: the status is %q, %v, want %q in it", output, stdout, err, want)
		}
	}
	for output, want := range map[string]string{
		"table": "chain office in namespace default has no instances; its status says why\n", "json": "[]\n", "yaml": "[]\n",
	} {
		if stdout, _, err := sinterctl(t, "cluster", "shards", "office", "--kubeconfig", kubeconfig, "-o", output); err != nil || stdout != want {
			t.Errorf("-o %s: the shards are %q, %v, want %q", output, stdout, err, want)
		}
	}
	t.Run("check finds faults with exit code 1", func(t *testing.T) {
		stdout, _, err := sinterctl(t, "cluster", "check", "--kubeconfig", kubeconfig, "-o", "json")
		var report struct {
			Checks []struct{ Check, Result, Message string }
		}
		if jsonErr := json.Unmarshal([]byte(stdout), &report); jsonErr != nil || err == nil || len(report.Checks) < 5 {
			t.Errorf("it printed %q, %v, and fails with %v", stdout, jsonErr, err)
		}
		code, said := runProcess(t, []string{"cluster", "check", "--kubeconfig", kubeconfig})
		// There is no node, and no operator for the chain.
		if want := "sinterctl: 2 errors found\n"; code != exitError || !strings.HasSuffix(said, want) {
			t.Errorf("exit code %d, and it said %q, want %d and %q", code, said, exitError, want)
		}
	})
	t.Run("wait times out with exit code 1", func(t *testing.T) {
		code, said := runProcess(t, []string{"cluster", "status", "office", "--kubeconfig", kubeconfig, "--wait", "--timeout", "2s"})
		const what = "the operator has not looked at the newest spec yet (generation 1, seen 0)\n"
		if want := "waiting for chain default/office: " + what + "sinterctl: timed out: chain default/office is not ready: " + what; code != exitError || said != want {
			t.Errorf("exit code %d, and it said %q, want %d and %q", code, said, exitError, want)
		}
	})
}

func clusterNamesAreCompleted(t *testing.T, kubeconfig string) {
	t.Helper()
	for line, want := range map[string]string{
		"cluster status --kubeconfig K o":                "office",
		"cluster top flows --kubeconfig K o":             "office",
		"cluster shards --kubeconfig K o":                "office",
		"cluster explain office --kubeconfig K --in out": "outside",
		"cluster status office --kubeconfig K o":         "",
		"cluster status --kubeconfig K -n kube-s":        "kube-system",
		"cluster rollback office --kubeconfig K 2":       "2\toffice-0123456789",
		"cluster diff office 2 --kubeconfig K 2":         "2\toffice-0123456789",
		"cluster diff office 2 2 --kubeconfig K 2":       "",
		"cluster programs office --kubeconfig K 2":       "",
		"cluster rollback office --undo --kubeconfig K ": "",
	} {
		args := strings.Split(strings.ReplaceAll(line, "K", kubeconfig), " ")
		if got := strings.Join(completed(t, args...), " "); got != want {
			t.Errorf("%s: offered is %q, want %q", line, got, want)
		}
	}
}

// officeInACluster starts an API server that has the office and a revision of it, and returns a kubeconfig for it.
func officeInACluster(t *testing.T) string {
	t.Helper()
	env := &envtest.Environment{CRDDirectoryPaths: []string{filepath.Join("..", "..", "config", "crd")}, ErrorIfCRDPathMissing: true}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, env.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	bundle, found := manifest.Load(office)
	if len(found) > 0 {
		t.Fatal(found)
	}
	chain := bundle.Chains[0]
	chain.Namespace = metav1.NamespaceDefault
	if err := c.Create(t.Context(), chain); err != nil {
		t.Fatal(err)
	}
	program := &v1alpha1.ChainProgram{
		ObjectMeta: metav1.ObjectMeta{Namespace: chain.Namespace, Name: "office-0123456789", Labels: map[string]string{v1alpha1.LabelChain: chain.Name}},
		Spec: v1alpha1.ChainProgramSpec{
			Chain: chain.Name, Revision: 2, Hash: "0123456789" + strings.Repeat("0", 54), Schema: 1, Encoding: v1alpha1.EncodingGzip, Program: []byte("none"),
			Interfaces: []v1alpha1.Name{"inside", "outside"},
		},
	}
	if err := errors.Join(controllerutil.SetControllerReference(chain, program, scheme), c.Create(t.Context(), program)); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}
