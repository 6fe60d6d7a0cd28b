package netns

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// watched has a function of somebody else's between a firewall and a NAPT.
const watched = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: watched}
spec:
  interfaces:
  - {name: inside, address: 10.1.0.1/16}
  - {name: outside, address: 198.51.100.1/24}
  - {name: ips-inside, wire: true}
  - {name: ips-outside, wire: true}
  functions:
  - {name: fw, firewall: {stateful: true, rules: [{from: Inside, action: Accept}], default: Drop}}
  - {name: ips, blackbox: {inside: ips-inside, outside: ips-outside}}
  - {name: nat, napt: {pool: [198.51.100.16]}}
  path: [inside, fw, ips, nat, outside]
`

// TestAKernelsBridgeIsAFunctionOfAChain has the kernel bridge frames between a chain's wires, with a rule of nftables on the way. It learns MAC
// addresses as a switch does.
func TestAKernelsBridgeIsAFunctionOfAChain(t *testing.T) {
	lab.Require(t, "nft")
	lan, wan, box, ips := lab.New(t, "lan"), lab.New(t, "wan"), lab.New(t, "engine"), lab.New(t, "ips")
	lab.Cable(t, lab.End{Space: lan, Device: "eth0", Address: "10.1.0.2/16"}, lab.End{Space: box, Device: "lan"})
	lab.Cable(t, lab.End{Space: wan, Device: "eth0", Address: "198.51.100.2/24"}, lab.End{Space: box, Device: "wan"})
	lan.Run(t, "ip", "route", "add", "default", "via", "10.1.0.1")
	ips.Run(t, "ip", "link", "add", "bridge", "type", "bridge", "mcast_snooping", "0") // else it announces that it snoops
	for _, side := range []string{"inside", "outside"} {
		lab.Cable(t, lab.End{Space: ips, Device: side}, lab.End{Space: box, Device: "ips-" + side})
		ips.Run(t, "ip", "link", "set", side, "master", "bridge")
	}
	ips.Run(t, "ip", "link", "set", "bridge", "up")
	ips.Run(t, "nft", "table bridge t { chain c { type filter hook forward priority 0; tcp dport 53 counter drop; }; }")
	serveEcho(t, wan, "0.0.0.0:80")
	serveEcho(t, wan, "0.0.0.0:53")
	binds := []string{"inside=lan", "outside=wan", "ips-inside=ips-inside", "ips-outside=ips-outside"}
	engine := lab.StartEngine(t, box, binds, "--workers", "2")
	program := lab.Compile(t, lab.ParseText(t, watched))
	engine.Load(t, program)

	clients := connect(t, lan, "10.1.0.2", 50)
	exchange := func(when string) {
		t.Helper()
		for i, c := range clients {
			if err := c.answered([]byte(strings.Repeat(fmt.Sprint(i, when), 300))); err != nil {
				t.Fatalf("connection %d, %s: %v", i, when, err)
			}
		}
	}
	exchange("through the bridge")
	if c, err := dialWithin(300*time.Millisecond, lan, "tcp", "10.1.0.2:0", "198.51.100.2:53"); err == nil {
		_ = c.Close()
		t.Error("there is a connection to port 53, which the rule on the bridge drops")
	}
	if rules := ips.Run(t, "nft", "list", "ruleset"); strings.Contains(rules, "packets 0 ") {
		t.Errorf("the rule on the bridge has seen no packet:\n%s", rules)
	}
	s := engine.Counters(t)
	for _, c := range s.GetCounters() {
		if c.GetPackets() != 0 {
			t.Errorf("the chain counted %v, want no packet without its continuation", c)
		}
	}
	lab.Until(t, lab.Patience, func() error {
		s := engine.Counters(t)
		in, out := port(t, s, "ips-inside"), port(t, s, "ips-outside")
		if left, back := in.GetTxPackets(), out.GetRxPackets(); left < 100 || left != back+1 {
			return fmt.Errorf("%d packets left by ips-inside, and %d came back by ips-outside, want all but the one to port 53", left, back)
		}
		if left, back := out.GetTxPackets(), in.GetRxPackets(); left < 100 || left != back {
			return fmt.Errorf("%d packets left by ips-outside, and %d came back by ips-inside, want all", left, back)
		}
		return nil
	})
	engine.Load(t, lab.Compile(t, lab.ParseText(t, strings.ReplaceAll(watched, "action: Accept}]", "action: Accept}, {from: Outside, protocol: UDP, action: Drop}]"))))
	exchange("with the next program")
}

// port is the counters of an interface.
func port(t *testing.T, s *controlpb.Stats, name string) *controlpb.PortStats {
	t.Helper()
	for _, p := range s.GetPorts() {
		if p.GetInterface() == name {
			return p
		}
	}
	t.Fatalf("no counters of %s", name)
	return nil
}
