package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/synth"
)

// notes are what helm prints after an installation. `helm template` leaves them out, and a dry run asks for a cluster; so a copy of the
// chart has them as the text of an object.
func notes(t *testing.T, args ...string) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "sinter")
	if err := os.CopyFS(copied, os.DirFS(chartDir)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(copied, "templates/NOTES.txt"))
	if err != nil {
		t.Fatal(err)
	}
	object := "{{- define \"notes\" }}" + string(text) + "{{ end }}\nkind: Notes\nmetadata: {name: notes}\ntext: {{ include \"notes\" . | toJson }}\n"
	if err := os.WriteFile(filepath.Join(copied, "templates/printed.yaml"), []byte(object), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"template", "sinter", copied, "--namespace", namespace, "--show-only", "templates/printed.yaml"}, args...)
	printed, _, err := unstructured.NestedString(find(t, objects(t, mustRun(t, tool(t, "helm"), args...)), "Notes", "notes").Object, "text")
	if err != nil {
		t.Fatal(err)
	}
	return printed
}

var (
	heredoc   = regexp.MustCompile(`(?ms)^kubectl apply -f - <<'EOF'\n(.*?)^EOF$`)
	fileGiven = regexp.MustCompile(`-f (\S+)`)
)

func TestChainOfTheNotesCompilesWithItsNetworks(t *testing.T) {
	for name, values := range valueFiles(t) {
		t.Run(name, func(t *testing.T) {
			given := heredoc.FindAllStringSubmatch(notes(t, "--values", values), -1)
			if len(given) != 1 {
				t.Fatalf("the notes have %d manifests, want one", len(given))
			}
			text := given[0][1]
			b, found := manifest.Parse("notes", []byte(text), nil)
			for _, f := range found {
				// The networks are not Sinter's.
				if f.Severity == finding.Error || !strings.Contains(f.String(), "k8s.cni.cncf.io/v1") {
					t.Error(f)
				}
			}
			if len(b.Chains) != 1 {
				t.Fatalf("%d chains, want one", len(b.Chains))
			}
			g, found := graph.Build(b.Chains[0], graph.Inputs{})
			if len(found) > 0 {
				t.Fatal(found)
			}
			if _, err := synth.Synthesize(g, synth.Options{}); err != nil {
				t.Fatal(err)
			}
			all := objects(t, text)
			for _, i := range b.Chains[0].Spec.Interfaces {
				find(t, all, "NetworkAttachmentDefinition", i.NetworkRef.Name)
			}
		})
	}
}

func TestNotesNameFilesThatExistAndNoAddressOfTheWeb(t *testing.T) {
	text := notes(t)
	files := 0
	for _, m := range fileGiven.FindAllStringSubmatch(text, -1) {
		if m[1] == "-" {
			continue
		}
		files++
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Error(err)
		}
	}
	if files < 2 {
		t.Errorf("the notes name %d files of a checkout, want the networks and the chain:\n%s", files, text)
	}
	if url := regexp.MustCompile(`https?://\S+`).FindString(text); url != "" {
		t.Errorf("the notes name %s; nothing is published", url)
	}
}
