package docs

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// describedField is a line of `kubectl describe` that begins with a field's name.
var describedField = regexp.MustCompile(`(?m)^ +([A-Z][A-Za-z ]*):`)

// TestTheOperatorsPageDescribesFieldsThatAChainsStatusHas needs no cluster. The end-to-end suite compares values and order, too.
func TestTheOperatorsPageDescribesFieldsThatAChainsStatusHas(t *testing.T) {
	page, err := os.ReadFile("../../docs/operator.md")
	if err != nil {
		t.Fatal(err)
	}
	_, described, found := strings.Cut(string(page), "$ kubectl describe servicechain edge\nStatus:\n")
	described, _, ended := strings.Cut(described, "\nEvents:\n")
	if !found || !ended {
		t.Fatal("docs/operator.md does not show the status of servicechain edge and its events")
	}
	known := map[string]bool{}
	addFields(known, reflect.TypeFor[v1alpha1.ServiceChainStatus]())
	shown := describedField.FindAllStringSubmatch(described, -1)
	for _, field := range shown {
		// kubectl makes "Load Percent" of loadPercent.
		if !known[strings.ToLower(strings.ReplaceAll(field[1], " ", ""))] {
			t.Errorf("docs/operator.md shows %q, which the status does not have", field[1])
		}
	}
	names := map[string]bool{}
	for _, field := range shown {
		names[strings.ToLower(strings.ReplaceAll(field[1], " ", ""))] = true
	}
	for name := range fieldNames(reflect.TypeFor[v1alpha1.ServiceChainStatus]()) {
		if !names[name] && !slices.Contains([]string{"lostsessions", "front", "rollout", "functions"}, name) { // the chain works, and has no blackbox
			t.Errorf("docs/operator.md does not show %q, which the status of a chain that works has", name)
		}
	}
	if len(shown) < 40 {
		t.Errorf("docs/operator.md shows %d fields, want 40 and more: are they still found?", len(shown))
	}
}

// addFields adds the JSON names of a type's fields and of all below them, in lower case.
func addFields(names map[string]bool, t reflect.Type) {
	for k := t.Kind(); k == reflect.Pointer || k == reflect.Slice || k == reflect.Map; k = t.Kind() {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	maps.Copy(names, fieldNames(t))
	for f := range t.Fields() {
		if f.IsExported() {
			addFields(names, f.Type)
		}
	}
}

// fieldNames are the JSON names of a type's own fields, in lower case.
func fieldNames(t reflect.Type) map[string]bool {
	names := map[string]bool{}
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names[strings.ToLower(name)] = true
		}
	}
	return names
}

// TestEveryCommandOfTheReadmeIsFollowed keeps `make readme` from missing a block. It runs them before a release.
func TestEveryCommandOfTheReadmeIsFollowed(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), repository+"/hack/readme/follow.sh", "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	var followed, written []string
	for line := range strings.Lines(string(out)) {
		followed = append(followed, strings.Join(strings.Fields(line), " "))
	}
	for _, b := range blocks(t, repository+"/README.md") {
		if b.language == "sh" {
			for line := range strings.Lines(strings.ReplaceAll(b.text, "\\\n", " ")) {
				written = append(written, strings.Join(strings.Fields(line), " "))
			}
		}
	}
	slices.Sort(followed)
	slices.Sort(written)
	if len(written) < 12 || !slices.Equal(followed, written) {
		t.Errorf("README.md has the commands\n%s\nand hack/readme/follow.sh follows\n%s", strings.Join(written, "\n"), strings.Join(followed, "\n"))
	}
}

// TestThePagesShowTheClassesThatTheSampleHas compares numbers that the end-to-end suite takes for any number.
func TestThePagesShowTheClassesThatTheSampleHas(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), buildSinterctl(t), "synth", repository+"/config/samples/edge.yaml").Output()
	if err != nil {
		t.Fatal(err)
	}
	of := regexp.MustCompile(`, (\d+) classes, `).FindSubmatch(out)
	if of == nil {
		t.Fatalf("sinterctl synth counts no classes: %.100s", out)
	}
	for page, lines := range map[string][]string{
		"README.md": {
			`servicechain\.nfv\.sinter\.dev/edge( +\S+){5} +(\d+) `,
			`chainprogram\.nfv\.sinter\.dev/edge-\w+ +edge( +\S+) +(\d+) `,
		},
		"docs/operator.md": {`()  Classes: +(\d+)\n`, `()Message: +(\d+) traffic classes`, `with( )(\d+) traffic classes`},
	} {
		text, err := os.ReadFile(filepath.Join(repository, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if shown := regexp.MustCompile(line).FindSubmatch(text); shown == nil || string(shown[2]) != string(of[1]) {
				t.Errorf("%s shows %q, and the sample has %s classes", page, shown, of[1])
			}
		}
	}
}
