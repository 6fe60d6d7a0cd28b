package images

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// plugin runs hack/plugin.sh with commands that are built already.
func plugin(t *testing.T, binaries string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(repository, "hack/plugin.sh"), args...)
	cmd.Env = append(os.Environ(), "BINARIES="+binaries)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestPluginSaysWhatIsMissing(t *testing.T) {
	for says, args := range map[string][]string{
		"type: hack/plugin.sh v0.1.0 dist":  {"v0.1.0"},
		`"0.1.0" is no tag of a release`:    {"0.1.0", t.TempDir()},
		`"v1-dirty" is no tag of a release`: {"v1-dirty", t.TempDir()},
	} {
		out, err := plugin(t, t.TempDir(), args...)
		if err == nil || !strings.Contains(out, says) {
			t.Errorf("plugin.sh %q: %v, want an error that says %q:\n%s", args, err, says, out)
		}
	}
}

// krewPlugin is what krew reads of a manifest.
type krewPlugin struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Version, Homepage, ShortDescription, Description, Caveats string

		Platforms []struct {
			Selector         struct{ MatchLabels map[string]string }
			URI, SHA256, Bin string
		}
	}
}

// krew unpacks an archive whose checksum the manifest has, and runs the command in it.
func TestPluginPacksACommandForEachProcessor(t *testing.T) {
	binaries, out := t.TempDir(), t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(binaries, "amd64", "sinterctl"), "-ldflags", "-s -w -X main.version=0.1.0", "./cmd/sinterctl")
	build.Dir = repository
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := os.Symlink("amd64", filepath.Join(binaries, "arm64")); err != nil { // this machine's, too: what is tried is the packing
		t.Fatal(err)
	}
	if text, err := plugin(t, binaries, "v0.1.0", out); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	text, err := os.ReadFile(filepath.Join(out, "sinter.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var p krewPlugin
	if err := yaml.UnmarshalStrict(text, &p); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if p.Kind != "Plugin" || p.Metadata.Name != "sinter" || p.Spec.Version != "v0.1.0" || p.Spec.Description == "" {
		t.Errorf("the manifest is %+v", p)
	}
	if n := len(p.Spec.ShortDescription); n == 0 || n > 50 {
		t.Errorf("the short description has %d characters, and krew shows 50", n)
	}
	if len(p.Spec.Platforms) != 2 {
		t.Fatalf("there are %d platforms, want 2", len(p.Spec.Platforms))
	}
	for _, x := range p.Spec.Platforms {
		processor := x.Selector.MatchLabels["arch"]
		name := fmt.Sprintf("kubectl-sinter_v0.1.0_linux_%s.tar.gz", processor)
		if want := "https://github.com/sinter-nfv/sinter/releases/download/v0.1.0/" + name; x.URI != want || x.Selector.MatchLabels["os"] != "linux" {
			t.Errorf("%v is at %s, want %s", x.Selector.MatchLabels, x.URI, want)
		}
		archive, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(archive); hex.EncodeToString(sum[:]) != x.SHA256 {
			t.Errorf("the checksum of %s is not the manifest's", name)
		}
		folder := t.TempDir()
		if text, err := exec.CommandContext(t.Context(), "tar", "-xzf", filepath.Join(out, name), "-C", folder).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		version, err := exec.CommandContext(t.Context(), filepath.Join(folder, x.Bin), "--version").CombinedOutput()
		if err != nil || !strings.HasPrefix(string(version), "sinterctl 0.1.0") {
			t.Errorf("%s says %q, %v", x.Bin, version, err)
		}
		if _, err := os.Stat(filepath.Join(folder, "LICENSE")); err != nil {
			t.Error(err)
		}
	}
}
