package netns

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// replicated has a function between a firewall and a NAPT, of which there are replicas.
func replicated(replicas string) string {
	wires := ""
	for _, name := range []string{"a", "b"} {
		if strings.Contains(replicas, name+"-inside") {
			wires += fmt.Sprintf("  - {name: %s-inside, wire: true}\n  - {name: %s-outside, wire: true}\n", name, name)
		}
	}
	text := strings.Replace(watched, "  - {name: ips-inside, wire: true}\n  - {name: ips-outside, wire: true}\n", wires, 1)
	return strings.Replace(text, "inside: ips-inside, outside: ips-outside", "whenDown: Closed, replicas: ["+replicas+"]", 1)
}

const (
	replicaA  = "{inside: a-inside, outside: a-outside}"
	replicaB  = "{inside: b-inside, outside: b-outside}"
	drainingB = "{inside: b-inside, outside: b-outside, draining: true}"
)

// spread is such a chain at work: a bridge of the kernel for each replica, which notes the clients' ends of connections.
type spread struct {
	lan     *lab.Space
	bridges map[string]*lab.Space
	engine  *lab.Engine
}

func startSpread(t *testing.T, chain string) *spread {
	t.Helper()
	lan, wan, box := lanAndWAN(t)
	s := &spread{lan: lan, bridges: map[string]*lab.Space{}}
	binds := []string{"inside=lan", "outside=wan"}
	for _, name := range []string{"a", "b"} {
		at := lab.New(t, name)
		at.Run(t, "ip", "link", "add", "bridge", "type", "bridge", "mcast_snooping", "0")
		for _, side := range []string{"inside", "outside"} {
			wire := name + "-" + side
			lab.Cable(t, lab.End{Space: at, Device: side}, lab.End{Space: box, Device: wire})
			at.Run(t, "ip", "link", "set", side, "master", "bridge")
			binds = append(binds, wire+"="+wire)
		}
		at.Run(t, "ip", "link", "set", "bridge", "up")
		at.Run(t, "nft", `table bridge t {
			set clients { type ipv4_addr . inet_service; flags dynamic; size 65535; }
			chain c { type filter hook forward priority 0; tcp dport 80 add @clients { ip saddr . tcp sport }; tcp sport 80 add @clients { ip daddr . tcp dport }; }
		}`)
		s.bridges[name] = at
	}
	serveEcho(t, wan, "0.0.0.0:80")
	s.engine = lab.StartEngine(t, box, binds, "--workers", "2")
	s.load(t, chain)
	return s
}

func (s *spread) load(t *testing.T, replicas string) {
	t.Helper()
	s.engine.Load(t, lab.Compile(t, lab.ParseText(t, replicated(replicas))))
}

// clients connects from so many hosts, of which the first has a number.
func (s *spread) clients(t *testing.T, from, n int) (all []*client) {
	t.Helper()
	for i := range n {
		address := fmt.Sprintf("10.1.1.%d", from+i)
		s.lan.Run(t, "ip", "address", "add", address+"/32", "dev", "eth0")
		all = append(all, connect(t, s.lan, address, 1)...)
	}
	return all
}

// of are the clients that a bridge has seen.
func (s *spread) of(t *testing.T, bridge string, all []*client) (out []*client) {
	t.Helper()
	list := strings.ReplaceAll(s.bridges[bridge].Run(t, "nft", "list", "set", "bridge", "t", "clients"), " . ", ":")
	seen := regexp.MustCompile(`[\d.]+:\d+`).FindAllString(list, -1)
	for _, c := range all {
		if slices.Contains(seen, c.LocalAddr().String()) {
			out = append(out, c)
		}
	}
	return out
}

// apart wants no connection to have been seen by two bridges, and each by one.
func (s *spread) apart(t *testing.T, all []*client) {
	t.Helper()
	a, b := s.of(t, "a", all), s.of(t, "b", all)
	if len(a)+len(b) != len(all) {
		t.Errorf("of %d connections one replica saw %d, and the other one %d; want each to be seen by one of them", len(all), len(a), len(b))
	}
}

// flows is how many flows belong to a replica.
func (s *spread) flows(t *testing.T, table string) uint64 {
	t.Helper()
	for _, of := range s.engine.Counters(t).GetTables() {
		if of.GetName() == table {
			return of.GetSessions()
		}
	}
	t.Fatalf("the engine has no table %s", table)
	return 0
}

// TestReplicasComeAndGoUnderConnections has one replica, then two, then one again.
func TestReplicasComeAndGoUnderConnections(t *testing.T) {
	lab.Require(t, "nft")
	s := startSpread(t, replicaA)
	clients := s.clients(t, 10, 30)
	exchange(t, clients, "through one replica")

	s.load(t, replicaA+", "+replicaB)
	clients = append(clients, s.clients(t, 50, 30)...)
	exchange(t, clients, "through two replicas")
	s.apart(t, clients)
	moving := s.of(t, "b", clients)
	if len(moving) < 8 || len(moving) > 22 || len(s.of(t, "b", clients[:30])) > 0 {
		t.Errorf("the second replica saw %d connections, want about half of the 30 that are new, and no other", len(moving))
	}
	if n := s.flows(t, "ips/b-inside"); n != uint64(len(moving)) {
		t.Errorf("%d flows belong to the second replica, want %d", n, len(moving))
	}

	s.load(t, replicaA+", "+drainingB)
	clients = append(clients, s.clients(t, 90, 30)...)
	exchange(t, clients, "while one replica is draining")
	s.apart(t, clients)
	if n := len(s.of(t, "b", clients)); n != len(moving) {
		t.Errorf("the draining replica saw %d connections, want the %d that it had", n, len(moving))
	}
	for _, c := range moving {
		_ = c.Close()
		clients = slices.DeleteFunc(clients, func(o *client) bool { return o == c })
	}
	lab.Until(t, lab.Patience, func() error {
		if n := s.flows(t, "ips/b-inside"); n > 0 {
			return fmt.Errorf("%d flows belong to the draining replica, want none when its connections are closed", n)
		}
		return nil
	})

	s.load(t, replicaA)
	exchange(t, clients, "through the one that is left")
	s.apart(t, clients)
}

// TestConnectionsGoOnAtAnotherReplica takes one down, and brings it up again.
func TestConnectionsGoOnAtAnotherReplica(t *testing.T) {
	lab.Require(t, "nft")
	s := startSpread(t, replicaA+", "+replicaB)
	clients := s.clients(t, 10, 40)
	exchange(t, clients, "through two replicas")
	moving := s.of(t, "b", clients)
	if len(moving) == 0 || len(moving) == len(clients) {
		t.Fatalf("the second replica saw %d of %d connections, want some", len(moving), len(clients))
	}
	s.bridges["b"].Run(t, "ip", "link", "set", "bridge", "down")
	exchange(t, clients, "through the replica that is up")
	if n := len(s.of(t, "a", clients)); n != len(clients) {
		t.Errorf("the replica that is up saw %d of %d connections", n, len(clients))
	}
	s.bridges["b"].Run(t, "ip", "link", "set", "bridge", "up")
	lab.Until(t, lab.Patience, func() error {
		for _, w := range s.engine.Counters(t).GetWires() {
			if w.GetDown() {
				return fmt.Errorf("the engine knows %v, want it up", w)
			}
		}
		return nil
	})
	s.bridges["b"].Run(t, "nft", "flush", "set", "bridge", "t", "clients")
	exchange(t, clients, "when both are up again")
	if n := len(s.of(t, "b", clients)); n > 0 {
		t.Errorf("%d connections went back to the replica that was down, which knows them no more", n)
	}
}
