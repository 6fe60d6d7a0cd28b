package lower_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

func TestTranslationToAnAddressThatNobodyAnswersForIsWarnedOf(t *testing.T) {
	with := func(addresses, field, value, pool string) string {
		return "  interfaces:\n  - {name: inside, address: 10.0.0.1/24}\n  - {name: outside, address: 203.0.113.1/24" + addresses + "}\n" +
			"  functions:\n  - {name: nat, napt: {pool: [" + pool + "]}}\n  - name: one\n    elements:\n      elements: [{name: s, kind: SetField, setField: {field: " + field + ", value: " + value + "}}]\n" +
			"      links: [{from: inside, to: s}, {from: s, to: outside}, {from: outside, to: inside}]\n  path: [inside, nat, one, outside]\n"
	}
	at := `chain.yaml:12: warning: spec.functions[1].elements.elements[0].setField.value: `
	for name, test := range map[string]struct{ addresses, field, value, pool, want string }{
		"in the prefix":          {"", "Source", "203.0.113.7", "192.0.2.1", at + `"203.0.113.7": lies in 203.0.113.0/24 of interface "outside", which does not answer ARP requests for it: replies never arrive; add it to the interface's addresses`},
		"a further address":      {", addresses: [203.0.113.7]", "Source", "203.0.113.7", "192.0.2.1", ""},
		"routed to us":           {"", "Source", "198.51.100.7", "192.0.2.1", ""},
		"to a host":              {"", "Destination", "203.0.113.7", "192.0.2.1", ""},
		"to the broadcast":       {"", "Destination", "203.0.113.255", "192.0.2.1", at + `"203.0.113.255": is the network or broadcast address of 203.0.113.0/24, of interface "outside"; nobody answers for it`},
		"of inside, leaving out": {"", "Source", "10.0.0.7", "192.0.2.1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			graphtest.CheckFindings(t, with(test.addresses, test.field, test.value, test.pool), test.want)
		})
	}
}
