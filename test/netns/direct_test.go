package netns

import (
	"fmt"
	"os"
	"testing"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// startDirectFarm has config/samples/direct.yaml at work: a switch behind the chain, with two servers that have the virtual address on their
// loopback interface, and the gateway of the servers, which is the clients' host.
func startDirectFarm(t *testing.T) *farm {
	t.Helper()
	lab.Require(t)
	clients, box, wire := lab.New(t, "clients"), lab.New(t, "engine"), lab.New(t, "switch")
	lab.Cable(t, lab.End{Space: clients, Device: "eth0", Address: "203.0.113.254/24"}, lab.End{Space: box, Device: "clients"})
	wire.Run(t, "ip", "link", "add", "br0", "type", "bridge")
	wire.Run(t, "ip", "link", "set", "br0", "up")
	plug := func(s *lab.Space, device, address, port string) {
		lab.Cable(t, lab.End{Space: s, Device: device, Address: address}, lab.End{Space: wire, Device: port})
		wire.Run(t, "ip", "link", "set", port, "master", "br0")
	}
	plug(box, "servers", "", "chain")
	plug(clients, "eth1", "10.0.0.254/24", "back")
	for _, device := range []string{"all", "eth0", "eth1"} {
		clients.Sysctl(t, "net/ipv4/conf/"+device+"/rp_filter", "0")
	}
	for i, host := range []string{firstHost, secondHost} {
		s := lab.New(t, fmt.Sprintf("server%d", i))
		plug(s, "eth0", host+"/24", fmt.Sprintf("server%d", i))
		s.Run(t, "ip", "link", "set", "lo", "up")
		s.Run(t, "ip", "address", "add", webVIP+"/32", "dev", "lo")
		s.Sysctl(t, "net/ipv4/conf/all/arp_ignore", "1")
		s.Run(t, "ip", "route", "add", "default", "via", "10.0.0.254")
		lab.ServeTCP(t, s, webVIP+":80", sayName(host))
	}
	text, err := os.ReadFile("../../config/samples/direct.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return &farm{clients: clients, sample: string(text), engine: lab.StartEngine(t, box, farmBinds)}
}

func TestServersReplyPastTheChain(t *testing.T) {
	f := startDirectFarm(t)
	for name, change := range map[string][]string{"sessions": nil, "stateless": {"mode: DSR\n", "mode: DSR\n      stateless: true\n"}} {
		t.Run(name, func(t *testing.T) {
			f.load(t, change...)
			if got := f.spread(t, "tcp", webVIP+":80", 60); got[firstHost] < 20 || got[secondHost] < 5 || len(got) != 2 {
				t.Errorf("connections spread over %v, want two thirds at %s and one at %s", got, firstHost, secondHost)
			}
		})
	}
	for _, p := range f.engine.Counters(t).GetPorts() {
		if p.GetInterface() == "servers" && p.GetTxPackets() < 10*p.GetRxPackets() {
			t.Errorf("the chain got %d packets of the servers, and sent %d: replies pass it", p.GetRxPackets(), p.GetTxPackets())
		}
	}
}

// TestAConnectionStaysWithAServerThatIsDrained has sessions tell the server of a known connection; without, the table tells.
func TestAConnectionStaysWithAServerThatIsDrained(t *testing.T) {
	f := startDirectFarm(t)
	f.load(t)
	c := f.connectToBoth(t)[firstHost]
	f.load(t, "weight: 2", "weight: 0")
	if got := f.spread(t, "tcp", webVIP+":80", 20); got[secondHost] != 20 {
		t.Errorf("after %s is drained new connections go to %v", firstHost, got)
	}
	if name, err := asks(c); err != nil || name != firstHost {
		t.Errorf("a connection of %s, after it is drained: %s (%v)", firstHost, name, err)
	}
}
