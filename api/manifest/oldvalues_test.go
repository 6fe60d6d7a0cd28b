package manifest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// oldKinds and oldFields are values of elements before they were in PascalCase, and those of today.
var (
	oldKinds = map[string]string{
		"classifier": "Classifier", "filter": "Filter", "lookup": "Lookup", "dec-ttl": "DecTTL", "ttl-guard": "TTLGuard", "set-field": "SetField",
		"check-ip-header": "CheckIPHeader", "counter": "Counter", "tee": "Tee", "discard": "Discard", "icmp-error": "ICMPError",
		"echo-responder": "EchoResponder", "napt": "NAPT", "meter": "Meter",
	}
	oldFields = map[string]string{
		"vlan": "VLAN", "src": "Source", "dst": "Destination", "dscp": "DSCP", "ttl": "TTL", "sport": "SourcePort", "dport": "DestinationPort",
	}
)

// The reader says what to write instead of an old value; the API server lists it among those that it supports.
func TestOldValuesOfElementsAreRefusedWithTheNewOne(t *testing.T) {
	s := servers(t)["NetworkFunction"]
	refused := func(element, old, written string) {
		text, err := yaml.YAMLToJSON([]byte("apiVersion: nfv.sinter.dev/v1alpha1\nkind: NetworkFunction\nmetadata: {name: own}\nspec:\n  elements:\n" +
			"    elements: [" + element + "]\n    links: [{from: inside, to: e}]\n"))
		must(t, err)
		var o map[string]any
		must(t, utiljson.Unmarshal(text, &o))
		ours := reader(t, o)
		if len(ours) != 1 || !strings.HasSuffix(ours[0], "; write "+strconv.Quote(written)) {
			t.Errorf("of %q the reader says %q, want %q to be written", old, ours, written)
		}
		theirs := strings.Join(s.refuses(t, o), "\n")
		if !strings.Contains(theirs, `Unsupported value: "`+old+`": supported values: `) || !strings.Contains(theirs, strconv.Quote(written)) {
			t.Errorf("of %q the API server says %q, want %q to be listed", old, theirs, written)
		}
	}
	for _, old := range slices.Sorted(maps.Keys(oldKinds)) {
		refused("{name: e, kind: "+old+"}", old, oldKinds[old])
	}
	for _, old := range slices.Sorted(maps.Keys(oldFields)) {
		refused("{name: e, kind: SetField, setField: {field: "+old+", value: 1}}", old, oldFields[old])
	}
}
