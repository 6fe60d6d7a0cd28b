package servicechain_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// What the API server says of an old value is all that users of kubectl see: it refuses before the webhook.
func TestTheAPIServerRefusesOldValuesAndListsTheNewOnes(t *testing.T) {
	w := newWorld(t)
	for element, wants := range map[string][]string{
		"{name: e, kind: dec-ttl}":                                         {`kind: Unsupported value: "dec-ttl": supported values: `, `"DecTTL"`},
		"{name: e, kind: SetField, setField: {field: dst, value: 1}}":      {`field: Unsupported value: "dst": supported values: `, `"Destination"`},
		"{name: e, kind: SetField, setField: {field: VLAN, value: none}}":  {`value: Invalid value: "none"`, `(None|`},
		"{name: e, kind: Filter, filter: {match: [{vlan: none}]}}":         {`vlan: Invalid value: "none"`, `|None)`},
		"{name: e, kind: set-field, setField: {field: VLAN, value: None}}": {`kind: Unsupported value: "set-field": supported values: `, `"SetField"`},
	} {
		o := document(t, "apiVersion: nfv.sinter.dev/v1alpha1\nkind: NetworkFunction\nmetadata: {name: own}\nspec:\n  elements:\n"+
			"    elements: ["+element+"]\n    links: [{from: inside, to: e}]\n")
		o.SetNamespace(w.namespace)
		err := w.client.Create(t.Context(), o)
		for _, want := range wants {
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the API server says %v; want it to say %s", element, err, want)
			}
		}
	}
}
