package images

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// release runs hack/release.sh with archives that are there already, without signatures.
func release(t *testing.T, images string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(repository, "hack/release.sh"), args...)
	cmd.Env = append(os.Environ(), "IMAGES="+images, "SIGN=no", "PLAIN_HTTP=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestReleaseRefusesATagThatIsNotTheChartsVersion(t *testing.T) {
	out, err := release(t, t.TempDir(), "registry.example.com", "v0.0.0-none")
	if want := "the tag must be v" + chartVersion(t); err == nil || !strings.Contains(out, want) {
		t.Errorf("%v, want an error that says %q:\n%s", err, want, out)
	}
}

func TestReleasePublishesImagesAndChart(t *testing.T) {
	if _, err := os.Stat(filepath.Join(repository, "bin/helm")); err != nil {
		t.Skip("bin/helm is missing: make chart-tools builds it")
	}
	address := startRegistry(t)
	images, version := t.TempDir(), chartVersion(t)
	archive(t, images, "sinter-operator", version)
	archive(t, images, "sinter-dataplane", version)
	out, err := release(t, images, address, "v"+version)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"sinter-operator", "sinter-dataplane", "charts/sinter"} {
		var list struct{ Tags []string }
		read(t, fmt.Sprintf("http://%s/v2/%s/tags/list", address, name), &list)
		if len(list.Tags) != 1 || list.Tags[0] != version {
			t.Errorf("%s has the tags %v in the registry, want %s", name, list.Tags, version)
		}
		if want := "published " + address + "/" + name + ":" + version + "@sha256:"; !strings.Contains(out, want) {
			t.Errorf("release.sh does not say %q:\n%s", want, out)
		}
	}
}

func chartVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "charts/sinter/Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var chart struct{ Version string }
	if err := yaml.Unmarshal(text, &chart); err != nil || chart.Version == "" {
		t.Fatalf("Chart.yaml has no version: %v", err)
	}
	return chart.Version
}
