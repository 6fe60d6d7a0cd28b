package graph_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

func TestVLANsThatAnInterfaceCannotHaveAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ inside, want string }{
		"single ones and ranges":    {`vlans: [1, "10-20", 4094]`, ""},
		"the priority tag's number": {`vlans: [0]`, `chain.yaml:6: spec.interfaces[0].vlans[0]: "0": not a VLAN or range of VLANs; give numbers from 1 to 4094, like 80 or "100-199"`},
		"the reserved number":       {`vlans: [10, 4095]`, `chain.yaml:6: spec.interfaces[0].vlans[1]: "4095": not a VLAN or range of VLANs; give numbers from 1 to 4094, like 80 or "100-199"`},
		"a range backwards":         {`vlans: ["20-10"]`, `chain.yaml:6: spec.interfaces[0].vlans[0]: "20-10": the range is reversed; write 10-20`},
		"a name":                    {`vlans: [guests]`, `chain.yaml:6: spec.interfaces[0].vlans[0]: "guests": must be a VLAN or a range of them, like 80 or "100-199"`},
		"a neighbour in another": {
			`vlans: [10], neighbors: [{address: 10.0.0.2, mac: "02:00:00:00:00:01", vlan: 11}]`,
			`chain.yaml:6: spec.interfaces[0].neighbors[0].vlan: "11": is no VLAN of the interface; add it to the interface's vlans`,
		},
		"a neighbour twice in one": {
			`vlans: [10], neighbors: [{address: 10.0.0.2, mac: "02:00:00:00:00:01", vlan: 10}, {address: 10.0.0.2, mac: "02:00:00:00:00:02", vlan: 10}]`,
			`chain.yaml:6: spec.interfaces[0].neighbors[1].address: "10.0.0.2,10": is there twice, first in spec.interfaces[0].neighbors[0]; entries must differ`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			graphtest.CheckFindings(t, "  interfaces:\n  - {name: inside, address: 10.0.0.1/24, "+test.inside+"}\n"+
				"  - {name: outside, address: 203.0.113.1/24}\n"+routerBetween, test.want)
		})
	}
}
