package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
)

// pinned is the version of a module that a folder's go.mod names.
func pinned(t *testing.T, folder, module string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, folder, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^(?:require )?\s*` + regexp.QuoteMeta(module) + ` v([0-9.]+)`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s/go.mod names no version of %s", folder, module)
	}
	return string(found[1])
}

func TestTheTableOfSupportHasTheVersionsThatAreTested(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repository, "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Support\n")
	section, _, found := strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("docs/install.md has no section Support")
	}
	oldest := pinned(t, "hack/envtest/apiserver-oldest", "k8s.io/kubernetes")
	newest := pinned(t, "hack/envtest/apiserver", "k8s.io/kubernetes")
	for _, want := range []string{
		"| " + oldest + ", the oldest |",
		"| " + newest + ", the newest |",
		"containerd " + pinned(t, "hack/cluster/containerd", "github.com/containerd/containerd/v2"),
		"runc " + pinned(t, "hack/cluster/runc", "github.com/opencontainers/runc"),
		"Multus " + pinned(t, "hack/cluster/multus", "gopkg.in/k8snetworkplumbingwg/multus-cni.v4"),
		"| Helm | " + pinned(t, "hack/chart", "helm.sh/helm/v3") + " |",
	} {
		if !strings.Contains(section, want) {
			t.Errorf("the section Support of docs/install.md lacks %q, which is what the tests build", want)
		}
	}
	if cluster := pinned(t, "hack/cluster/kubernetes", "k8s.io/kubernetes"); cluster != newest {
		t.Errorf("the local cluster has Kubernetes %s, the section Support says %s", cluster, newest)
	}
}

func TestTheOldestKubernetesThatIsPromisedIsTested(t *testing.T) {
	oldest := version.MustParseGeneric(pinned(t, "hack/envtest/apiserver-oldest", "k8s.io/kubernetes"))
	minor := version.MajorMinor(oldest.Major(), oldest.Minor()).String()
	for file, promise := range map[string]string{
		"README.md":                "Kubernetes " + minor + " or later",
		"docs/install.md":          "Kubernetes " + minor + " or later",
		"charts/sinter/README.md":  "Kubernetes " + minor + " or later",
		"charts/sinter/Chart.yaml": `kubeVersion: ">=` + minor + `.0-0"`,
	} {
		text, err := os.ReadFile(filepath.Join(repository, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), promise) {
			t.Errorf("%s does not say %q, and make test-oldest tests with %s", file, promise, oldest)
		}
	}
}
