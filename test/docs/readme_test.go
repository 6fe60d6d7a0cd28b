package docs

import (
	"os"
	"reflect"
	"regexp"
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
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names[strings.ToLower(name)] = true
		}
		if f.IsExported() {
			addFields(names, f.Type)
		}
	}
}
