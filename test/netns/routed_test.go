package netns

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// around has a router of somebody else's between a firewall and a NAPT.
const around = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: around}
spec:
  interfaces:
  - {name: inside, address: 10.1.0.1/16}
  - {name: outside, address: 198.51.100.1/24}
  - {name: hop-inside, address: 172.31.0.1/30, gateway: 172.31.0.2}
  - {name: hop-outside, address: 172.31.0.5/30, gateway: 172.31.0.6}
  functions:
  - {name: fw, firewall: {stateful: true, rules: [{from: Inside, action: Accept}], default: Drop}}
  - {name: hop, blackbox: {attachment: Routed, inside: hop-inside, outside: hop-outside}}
  - {name: nat, napt: {pool: [198.51.100.16]}}
  path: [inside, fw, hop, nat, outside]
`

// routedThrough is such a chain at work: the kernel of a namespace forwards packets between two interfaces.
func routedThrough(t *testing.T) (lan, hop *lab.Space, engine *lab.Engine) {
	t.Helper()
	lan, wan, box := lanAndWAN(t)
	hop = lab.New(t, "hop")
	lab.Cable(t, lab.End{Space: hop, Device: "inside", Address: "172.31.0.2/30"}, lab.End{Space: box, Device: "hop-inside"})
	lab.Cable(t, lab.End{Space: hop, Device: "outside", Address: "172.31.0.6/30"}, lab.End{Space: box, Device: "hop-outside"})
	hop.Run(t, "ip", "route", "add", "10.1.0.0/16", "via", "172.31.0.1")
	hop.Run(t, "ip", "route", "add", "default", "via", "172.31.0.5")
	hop.Run(t, "sysctl", "-qw", "net.ipv4.ip_forward=1")
	serveEcho(t, wan, "0.0.0.0:80")
	serveEcho(t, wan, "0.0.0.0:53")
	binds := []string{"inside=lan", "outside=wan", "hop-inside=hop-inside", "hop-outside=hop-outside"}
	engine = lab.StartEngine(t, box, binds, "--workers", "2")
	engine.Load(t, lab.Compile(t, lab.ParseText(t, around)))
	return lan, hop, engine
}

// areUp waits until the engine says of each host that is a function whether it is there.
func areUp(t *testing.T, engine *lab.Engine, want ...bool) {
	t.Helper()
	start := time.Now()
	lab.Until(t, lab.Patience, func() error {
		var up []bool
		for _, h := range engine.Counters(t).GetHosts() {
			up = append(up, h.GetAnswers() > 0 && !h.GetDown())
		}
		if !slices.Equal(up, want) {
			return fmt.Errorf("hosts are up: %v, want %v", up, want)
		}
		return nil
	})
	t.Logf("hosts are up: %v, after %.1f s", want, time.Since(start).Seconds())
}

// TestAKernelThatForwardsIsAFunctionOfAChain has a rule of nftables on the way.
func TestAKernelThatForwardsIsAFunctionOfAChain(t *testing.T) {
	lab.Require(t, "nft", "ping")
	lan, hop, engine := routedThrough(t)
	areUp(t, engine, true, true)
	hop.Run(t, "nft", "table ip t { chain c { type filter hook forward priority 0; tcp dport 53 counter drop; }; }")
	clients := connect(t, lan, "10.1.0.2", 50)
	exchange(t, clients, "through the router")
	if c, err := dialWithin(300*time.Millisecond, lan, "tcp", "10.1.0.2:0", "198.51.100.2:53"); err == nil {
		_ = c.Close()
		t.Error("there is a connection to port 53, which the rule on the router drops")
	}
	if rules := hop.Run(t, "nft", "list", "ruleset"); strings.Contains(rules, "packets 0 ") {
		t.Errorf("the rule on the router has seen no packet:\n%s", rules)
	}
	for address, what := range map[string]string{"172.31.0.2": "the router's near side", "172.31.0.6": "its far side", "172.31.0.5": "the chain, behind it"} {
		if out := lan.Run(t, "ping", "-c", "1", "-W", "5", address); !strings.Contains(out, " 0% packet loss") {
			t.Errorf("%s (%s) does not answer a host inside:\n%s", address, what, out)
		}
	}
	// Neither half of the chain is a router, so the hop is the only one.
	if out := lan.Run(t, "sh", "-c", "ping -c 1 -W 5 -t 1 198.51.100.2 || true"); !strings.Contains(out, "172.31.0.2") {
		t.Errorf("a packet whose TTL ends is not reported by the router:\n%s", out)
	}
	hop.Run(t, "ip", "link", "set", "inside", "down")
	if err := clients[0].answered([]byte("is anybody there?")); err == nil {
		t.Error("a connection went on while the router was down")
	}
	areUp(t, engine, false, true)
	hop.Run(t, "ip", "link", "set", "inside", "up")
	hop.Run(t, "ip", "route", "replace", "10.1.0.0/16", "via", "172.31.0.1")
	areUp(t, engine, true, true)
	lab.Until(t, lab.Patience, func() error {
		c, err := dialWithin(time.Second, lan, "tcp", "10.1.0.2:0", "198.51.100.2:80")
		if err != nil {
			return fmt.Errorf("no connection after the router came back: %w", err)
		}
		return c.Close()
	})
}
