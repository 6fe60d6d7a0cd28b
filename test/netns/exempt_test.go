package netns

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// branch is a site whose packets to another one keep their addresses.
const branch = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: branch}
spec:
  interfaces:
  - {name: inside, address: 10.1.0.1/16}
  - {name: outside, address: 198.51.100.1/24}
  functions:
  - name: rt
    router:
      ports: [{name: in}, {name: out}]
      routes:
      - {prefix: 0.0.0.0/0, port: out, via: 198.51.100.2}
  - name: nat
    napt:
      pool: [198.51.100.16]
      exempt:
      - {source: [10.1.0.0/16], destination: [10.2.0.0/16]}
  links:
  - {from: inside, to: rt.in}
  - {from: rt.out, to: nat.inside}
  - {from: nat.outside, to: outside}
`

// TestPacketsBetweenSitesAreExemptFromTranslation has the other site's gateway be a host on the internet, too.
func TestPacketsBetweenSitesAreExemptFromTranslation(t *testing.T) {
	lab.Require(t, "ping")
	lan, wan, box := lanAndWAN(t)
	wan.Run(t, "ip", "address", "add", "10.2.0.2/32", "dev", "eth0")
	wan.Run(t, "ip", "route", "add", "10.1.0.0/16", "via", "198.51.100.1", "src", "10.2.0.2")
	server, host := serveEcho(t, wan, "0.0.0.0:80"), serveEcho(t, lan, "0.0.0.0:80")
	engine := lab.StartEngine(t, box, []string{"inside=lan", "outside=wan"})
	engine.Load(t, lab.Compile(t, lab.ParseText(t, branch)))
	for _, network := range []string{"tcp", "udp"} {
		for to, from := range map[string]string{"10.2.0.2:80": "10.1.0.2", "198.51.100.2:80": "198.51.100.16"} {
			c, err := dial(lan, network, "10.1.0.2:0", to)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			text := network + " to " + to
			if err := c.answered([]byte(text)); err != nil {
				t.Errorf("%s: %v", text, err)
			}
			if seen := server.peer(text).Addr(); seen != netip.MustParseAddr(from) {
				t.Errorf("%s comes from %v, want %s", text, seen, from)
			}
		}
		c, err := dial(wan, network, "10.2.0.2:0", "10.1.0.2:80")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.answered([]byte(network)); err != nil {
			t.Errorf("%s from the other site: %v", network, err)
		}
		if seen := host.peer(network).Addr(); seen != netip.MustParseAddr("10.2.0.2") {
			t.Errorf("%s from the other site comes from %v", network, seen)
		}
	}
	wan.Run(t, "ping", "-n", "-q", "-c", "2", "-i", "0.2", "-W", "5", "-I", "10.2.0.2", "10.1.0.2")
	if out, err := wan.Try("ping", "-n", "-q", "-c", "2", "-i", "0.2", "-W", "1", "-I", "198.51.100.2", "10.1.0.2"); err == nil || !strings.Contains(out, " 0 received") {
		t.Errorf("a stranger gets in by an inside address:\n%s", out)
	}
}
