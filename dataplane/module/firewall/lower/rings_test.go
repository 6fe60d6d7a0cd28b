package lower_test

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

// TestRingsOfFirewallsThatRejectAreRefused: their answers look for the router behind them, which
// once went round without end, too.
func TestRingsOfFirewallsThatRejectAreRefused(t *testing.T) {
	for name, links := range map[string]string{
		"both ways": "  - {from: inside, to: a.inside, direction: Forward}\n  - {from: a.outside, to: b.inside}\n  - {from: b.outside, to: a.inside}\n",
		"one way": "  - {from: inside, to: a.inside, direction: Forward}\n  - {from: a.outside, to: b.inside, direction: Forward}\n" +
			"  - {from: b.outside, to: a.inside, direction: Forward}\n",
	} {
		t.Run(name, func(t *testing.T) {
			found := graphtest.Findings(t, graphtest.Header+graphtest.TwoInterfaces+
				"  functions:\n  - {name: a, firewall: {default: Accept}}\n"+
				"  - {name: b, firewall: {default: Accept, rules: [{name: telnet, protocol: tcp, destinationPorts: [23], action: Reject}]}}\n"+
				"  links:\n"+links)
			const want = "chain.yaml:9: spec.functions[0].firewall: packets would go round without end: a/inside -> b/inside -> a/inside; take a link out"
			if !strings.Contains(found.String(), want) {
				t.Errorf("found\n%s\nwant in it\n%s", found, want)
			}
		})
	}
}
