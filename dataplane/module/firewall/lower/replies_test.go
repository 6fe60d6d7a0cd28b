package lower_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

func TestAFirewallThatLetsNoReplyReturnIsWarnedOf(t *testing.T) {
	with := func(rules string) string {
		return "  interfaces:\n  - {name: inside, address: 10.0.0.1/24}\n  - {name: outside, address: 203.0.113.1/24}\n" +
			"  functions:\n  - name: fw\n    firewall:\n      rules: [" + rules + "]\n  path: [inside, fw, outside]\n"
	}
	says := func(what, rule string) string {
		return "chain.yaml:10: warning: spec.functions[0].firewall: accepts " + what + " outward, and drops every reply inward; " +
			"no state is kept: to let replies return, add a rule, like " + rule
	}
	const (
		tcp = "{from: Outside, protocol: tcp, tcpFlags: {set: [ACK]}, action: Accept}"
		udp = "{from: Outside, protocol: udp, action: Accept}"
	)
	for name, test := range map[string]struct{ rules, want string }{
		"outward only":                                {"{from: Inside, action: Accept}", says("tcp, udp, icmp echo", tcp)},
		"replies of TCP, nothing else named":          {"{from: Inside, action: Accept}, " + tcp, ""},
		"replies of TCP, DNS named":                   {"{from: Inside, protocol: udp, destinationPorts: [53], action: Accept}, {from: Inside, action: Accept}, " + tcp, says("udp", udp)},
		"replies of DNS from another port":            {"{from: Inside, protocol: udp, destinationPorts: [53], action: Accept}, {from: Outside, protocol: udp, sourcePorts: [54], action: Accept}", says("udp", udp)},
		"replies of DNS":                              {"{from: Inside, protocol: udp, destinationPorts: [53], action: Accept}, {from: Outside, protocol: udp, sourcePorts: [53], action: Accept}", ""},
		"replies shadowed by a rule above":            {"{from: Inside, protocol: tcp, action: Accept}, {from: Outside, destination: [10.0.0.0/8], action: Drop}, {from: Outside, destination: [10.1.0.0/16], action: Accept}, {from: Inside, source: [192.0.2.0/24], action: Drop}, {from: Outside, source: [0.0.0.0/1], action: Drop}, {from: Outside, source: [128.0.0.0/1], action: Drop}, {from: Outside, action: Accept}", says("tcp", tcp)},
		"replies of half the Internet are blocked":    {"{from: Inside, protocol: tcp, action: Accept}, {from: Outside, source: [0.0.0.0/2], action: Drop}, {from: Outside, source: [64.0.0.0/2], action: Drop}, {from: Outside, action: Accept}", ""},
		"replies of all of it are, by two fields":     {"{from: Inside, protocol: tcp, action: Accept}, {from: Outside, source: [0.0.0.0/2], action: Drop}, {from: Outside, source: [64.0.0.0/2], action: Drop}, {from: Outside, destination: [0.0.0.0/1], action: Drop}, {from: Outside, destination: [128.0.0.0/1], source: [128.0.0.0/1], action: Drop}, {from: Outside, action: Accept}", says("tcp", tcp)},
		"only a SYN gets in":                          {"{from: Inside, protocol: tcp, action: Accept}, {from: Outside, protocol: tcp, tcpFlags: {set: [SYN], clear: [ACK]}, action: Accept}", says("tcp", tcp)},
		"pings out, pings in, but no replies":         {"{protocol: icmp, icmpType: 8, action: Accept}", says("icmp echo", "{from: Outside, protocol: icmp, icmpType: 0, action: Accept}")},
		"servers inside, whose replies go out":        {"{from: Outside, destination: [10.0.0.80], protocol: tcp, destinationPorts: [443], action: Accept}, {from: Inside, source: [10.0.0.80], protocol: tcp, sourcePorts: [443], action: Accept}", ""},
		"replies to other hosts than those that send": {"{from: Inside, source: [10.0.0.0/25], action: Accept}, {from: Outside, destination: [10.0.0.128/25], action: Accept}", says("tcp, udp, icmp echo", tcp)},
		"nothing goes out":                            {"{from: Outside, action: Accept}", ""},
	} {
		t.Run(name, func(t *testing.T) { graphtest.CheckFindings(t, with(test.rules), test.want) })
	}
	// One way only: replies come by another.
	graphtest.CheckFindings(t, graphtest.TwoInterfaces+"  functions:\n  - {name: fw, firewall: {rules: [{action: Accept}]}}\n  links: [{from: inside, to: fw.inside, direction: Forward}, {from: fw.outside, to: outside, direction: Forward}, {from: outside, to: inside, direction: Forward}]\n", "")
}

// Rule by rule, what is left of all addresses would be copied for each: 10,000 took 7 s and 900 MB.
func TestAListOfAddressesToBlockTakesWhatItsLengthAsksFor(t *testing.T) {
	chain := graphtest.Header + "  interfaces:\n  - {name: inside, address: 10.0.0.1/24}\n  - {name: outside, address: 203.0.113.1/24}\n" +
		"  functions:\n  - name: fw\n    firewall: {default: Accept, rulesFrom: {file: block.csv, format: CSV}}\n  path: [inside, fw, outside]\n"
	allocated := func(n int) uint64 {
		var list strings.Builder
		list.WriteString("action,source\n")
		for i := range n {
			fmt.Fprintf(&list, "Drop,%d.%d.%d.%d/32\n", 20+i*7%100, i*31%256, i/256, i*13%256)
		}
		bundle, findings := manifest.Parse("chain.yaml", []byte(chain), func(string) ([]byte, error) { return []byte(list.String()), nil })
		if err := findings.Err(); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, findings = graph.Build(bundle.Chains[0], graph.Inputs{Functions: bundle.Functions, Files: bundle.Files})
		runtime.ReadMemStats(&after)
		if len(findings) > 0 {
			t.Errorf("the findings are %s", findings)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := allocated(2_000), allocated(20_000)
	t.Logf("2,000 addresses: %d KB are allocated, 20,000: %d KB", few>>10, many>>10)
	if many > 20*few {
		t.Errorf("10 times as many addresses take %d times as much memory", many/few)
	}
}
