package walk_test

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/synth"
)

const chainHeader = `
apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: net}
spec:
`

// synthesize compiles the chain with this spec.
func synthesize(t *testing.T, spec string) *synth.Result {
	t.Helper()
	bundle, findings := manifest.Parse("net.yaml", []byte(chainHeader+spec), nil)
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	g, findings := graph.Build(bundle.Chains[0], graph.Inputs{Functions: bundle.Functions, Files: bundle.Files})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	r, err := synth.Synthesize(g, synth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func warnings(r *synth.Result) string {
	var out []string
	for _, w := range r.Warnings {
		out = append(out, w.String())
	}
	return strings.Join(out, "\n")
}

func TestASummaryWhoseAddressesAreAllConnectedIsNoLoop(t *testing.T) {
	for name, spec := range map[string]string{
		"two connected /24 below a /23": `
  interfaces:
  - {name: lan0, address: 10.1.0.1/24}
  - {name: lan1, address: 10.1.1.1/24}
  - {name: wan, address: 203.0.113.2/24, gateway: 203.0.113.1}
  functions:
  - name: access
    router:
      ports: [{name: lan0}, {name: lan1}, {name: up}]
      routes: [{prefix: 0.0.0.0/0, port: up}]
  - name: core
    router:
      ports: [{name: down}, {name: wan}]
      routes: [{prefix: 10.1.0.0/23, port: down}, {prefix: 0.0.0.0/0, port: wan}]
  links:
  - {from: lan0, to: access.lan0}
  - {from: lan1, to: access.lan1}
  - {from: access.up, to: core.down}
  - {from: core.wan, to: wan}
`,
		"two connected /9 below a /8": `
  interfaces:
  - {name: lan0, address: 10.0.0.1/9}
  - {name: lan1, address: 10.128.0.1/9}
  - {name: wan, address: 203.0.113.2/24, gateway: 203.0.113.1}
  functions:
  - name: access
    router:
      ports: [{name: lan0}, {name: lan1}, {name: up}]
      routes: [{prefix: 0.0.0.0/0, port: up}]
  - name: core
    router:
      ports: [{name: down}, {name: wan}]
      routes: [{prefix: 10.0.0.0/8, port: down}, {prefix: 0.0.0.0/0, port: wan}]
  links:
  - {from: lan0, to: access.lan0}
  - {from: lan1, to: access.lan1}
  - {from: access.up, to: core.down}
  - {from: core.wan, to: wan}
`,
	} {
		t.Run(name, func(t *testing.T) {
			if w := warnings(synthesize(t, spec)); w != "" {
				t.Errorf("no packet loops, but synthesis warns:\n%s", w)
			}
		})
	}
}

// holed is an access router whose summary at the core has a hole: what lies in it goes round.
const holed = `
  interfaces:
  - {name: lan, address: 10.1.0.1/24}
  - {name: wan, address: 203.0.113.2/24, gateway: 203.0.113.1}
  functions:
  - {name: access, router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}}
  - name: core
    router: {routes: [{prefix: 10.1.0.0/22, port: inside}, {prefix: 0.0.0.0/0, port: outside}]}
  path: [lan, access, core, wan]
`

func TestASummaryWithAHoleIsAWarningThatNamesTheHole(t *testing.T) {
	want := "access/lookup: packets to 10.1.1.0/24, 10.1.2.0/23 go round (access → core → access) until their TTL is used up; " +
		"change a route so that they leave, or give them one of type Discard"
	if got := warnings(synthesize(t, holed)); got != want {
		t.Errorf("warnings are\n%s\nwanted\n%s", got, want)
	}
}

func TestALoopThatAFirewallNarrowsIsNamedAsNarrow(t *testing.T) {
	spec := strings.Replace(holed, "  path: [lan, access, core, wan]", `  - name: fw
    firewall:
      rules:
      - {name: dns, protocol: udp, destinationPorts: [53], from: Outside, action: Accept}
      - {name: out, from: Inside, action: Accept}
  path: [lan, access, fw, core, wan]`, 1)
	want := "access/lookup: packets to 10.1.1.0/24, 10.1.2.0/23 with proto=17 frag=0-1 dport=53 go round (access → core → access) until their TTL is used up; " +
		"change a route so that they leave, or give them one of type Discard"
	if got := warnings(synthesize(t, spec)); !strings.Contains(got, want) {
		t.Errorf("warnings are\n%s\nwanted\n%s", got, want)
	}
}

func TestALoopThatAFirewallBreaksIsNoWarning(t *testing.T) {
	spec := strings.Replace(holed, "  path: [lan, access, core, wan]", `  - name: fw
    firewall:
      rules:
      - {name: hole, destination: [10.1.1.0/24, 10.1.2.0/23], from: Outside, action: Drop}
      - {name: rest, action: Accept}
  path: [lan, access, fw, core, wan]`, 1)
	if got := warnings(synthesize(t, spec)); strings.Contains(got, "round") {
		t.Errorf("the firewall drops what would go round, but synthesis warns:\n%s", got)
	}
}

// answering is a chain in which no packet goes round but the answers to some sources.
const answering = `
  interfaces:
  - {name: lan, address: 10.1.0.1/24, reversePath: Off}
  - {name: wan, address: 203.0.113.2/24}
  functions:
  - name: edge
    router: {routes: [{prefix: 10.2.0.0/16, type: Discard}, {prefix: 203.0.113.0/24, port: outside}]}
  - name: core
    router: {routes: [{prefix: 10.2.0.0/16, port: outside}, {prefix: 203.0.113.0/24, port: outside}, {prefix: 0.0.0.0/0, port: inside}]}
  - {name: far, router: {routes: [{prefix: 0.0.0.0/0, port: inside}]}}
  - name: fw
    firewall:
      rules:
      - {name: none, destination: [10.2.0.0/16], from: Outside, action: Drop}
      - {name: rest, action: Accept}
  path: [lan, edge, core, far, fw, wan]
`

func TestALoopThatOnlyAnswersTakeIsAWarning(t *testing.T) {
	got := warnings(synthesize(t, answering))
	if want := "answers to 10.2.0.0/16 may go round (core → far → core)"; !strings.Contains(got, want) {
		t.Errorf("warnings are\n%s\nwanted %q", got, want)
	}
	strict := strings.Replace(answering, "reversePath: Off", "reversePath: Strict", 1)
	if got := warnings(synthesize(t, strict)); strings.Contains(got, "10.2.0.0/16 may") {
		t.Errorf("nobody of 10.2.0.0/16 gets in, but synthesis warns:\n%s", got)
	}
}
