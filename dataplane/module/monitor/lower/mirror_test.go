package lower_test

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

// mirrored is a chain with a monitor whose classes are given, and an interface "tap" that is linked
// as given. The monitor is on line 10.
func mirrored(tap, classes, link string) string {
	return "  interfaces:\n  - {name: inside, address: 10.0.0.1/24}\n  - {name: outside, address: 203.0.113.1/24}\n  - {name: tap, address: 192.0.2.1/30" + tap + "}\n" +
		"  functions:\n  - {name: mon, monitor: {classes: [" + classes + "]}}\n  path: [inside, mon, outside]\n  links:\n  - " + link + "\n"
}

func TestMirrors(t *testing.T) {
	const (
		web     = "{name: web, protocol: tcp, mirror: {to: tap}}"
		gateway = ", gateway: 192.0.2.2"
		forward = "{from: mon.tap, to: tap, direction: Forward}"
		at      = "chain.yaml:10: spec.functions[0].monitor.classes[0].mirror.to: "
	)
	for name, test := range map[string]struct{ chain, want string }{
		"to an analyzer":           {mirrored(gateway, web, forward), ""},
		"of two classes":           {mirrored(gateway, web+", {name: dns, protocol: udp, mirror: {to: tap}}", forward), ""},
		"behind a firewall":        {strings.Replace(mirrored(gateway, web, "{from: mon.tap, to: fw.inside, direction: Forward}\n  - {from: fw.outside, to: tap, direction: Forward}"), "  path:", "  - {name: fw, firewall: {default: Accept}}\n  path:", 1), ""},
		"by a port that lets in":   {mirrored(gateway, web, "{from: mon.tap, to: tap}"), at + `"tap": packets come in by the port, which only sends copies: link it with ` + "`direction: Forward`"},
		"to nobody in particular":  {mirrored("", web, forward), strings.Replace(at, ": spec", ": warning: spec", 1) + `"tap": copies go to interface "tap", which has no gateway: each is sent to the host that it is a copy for, if that is there; give the analyzer's address as gateway`},
		"to a side of the monitor": {mirrored(gateway, "{name: web, protocol: tcp, mirror: {to: inside}}", "{from: tap, to: mon.inside, direction: Forward}"), at + `"inside": inside and outside are the monitor's sides; take another name`},
		"by a port without a link": {mirrored(gateway, web, "{from: tap, to: mon.inside, direction: Forward}"), `chain.yaml:10: warning: spec.functions[0]: "mon.tap": the port is not linked; packets that leave by it are dropped as "mon/unlinked": link it, or let nothing go there`},
	} {
		t.Run(name, func(t *testing.T) { graphtest.CheckFindings(t, test.chain, test.want) })
	}
}
