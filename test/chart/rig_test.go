package chart

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	root      = "../.."
	chartDir  = root + "/charts/sinter"
	namespace = "sinter-system"
)

// tool finds what hack/chart/tools.sh builds.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("bin/%s is missing: make chart-tools builds it", name)
	}
	return path
}

// run runs a command and returns what it printed.
func run(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	// Nothing of the developer's own helm or cluster must matter.
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home, "HELM_NAMESPACE=", "KUBECONFIG=/dev/null")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func mustRun(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := run(t, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return out
}

// render is what the chart makes of values, as `helm template` prints it.
func render(t *testing.T, args ...string) string {
	t.Helper()
	return mustRun(t, tool(t, "helm"), append([]string{"template", "sinter", chartDir, "--namespace", namespace}, args...)...)
}

// objects reads a stream of manifests.
func objects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, doc := range strings.Split("\n"+text, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(doc), &o.Object); err != nil {
			t.Fatalf("not YAML: %v\n%s", err, doc)
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
	return all
}

// find is the one object of a kind and name.
func find(t *testing.T, all []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, o := range all {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	t.Fatalf("no %s %s is rendered", kind, name)
	return nil
}

// golden compares a text with a file, or writes it.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, []byte(got)) {
		other := filepath.Join(t.TempDir(), "seen")
		if err := os.WriteFile(other, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		diff, _ := run(t, "diff", "-u", path, other)
		t.Errorf("%s differs from what is rendered (go test ./test/chart -update writes it):\n%s", path, diff)
	}
}
