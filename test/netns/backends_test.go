package netns

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/health"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// checked is the farm's sample with its backends checked every second: two failures in a row, and one is down.
func (f *farm) checked(t *testing.T) *programpb.Program {
	t.Helper()
	text := strings.NewReplacer(
		"      timeouts: {tcp: 15m}", "      timeouts: {tcp: 15m}\n      healthCheck: {tcp: {port: 80}, interval: 1s, unhealthyThreshold: 2}",
		"      - address: 10.0.0.13\n        weight: 0", "#",
	).Replace(f.sample)
	p := lab.Compile(t, lab.ParseText(t, text))
	f.engine.Load(t, p)
	return p.Program
}

// look checks the backends from the servers' side, as an agent does from its pod, until the test ends.
func (f *farm) look(t *testing.T, p *programpb.Program) {
	t.Helper()
	m := health.Monitor{
		Program: func() *programpb.Program { return p },
		Set: func(ctx context.Context, states []*programpb.BackendState) error {
			_, err := f.engine.SetBackends(ctx, states)
			return err
		},
		Dial: func(ctx context.Context, network, address string) (c net.Conn, err error) {
			f.servers.Do(func() { c, err = new(net.Dialer).DialContext(ctx, network, address) })
			return c, err
		},
		Say: t.Logf,
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { m.Run(ctx); close(over) }()
	t.Cleanup(func() { cancel(); <-over })
}

// TestABackendThatDiesGetsNoNewConnections has a server go silent while clients come all the time, as curl does: one after the other.
// Those of the other server notice nothing, new ones fail until two checks have, and a connection of the dead one ends.
func TestABackendThatDiesGetsNoNewConnections(t *testing.T) {
	f := startFarm(t)
	p := f.checked(t)
	kept := map[string]net.Conn{}
	for tries := 0; len(kept) < 2; tries++ {
		if tries > 60 {
			t.Fatalf("60 connections found %d servers", len(kept))
		}
		c, name := f.connect(t, "tcp", webVIP+":80")
		kept[name] = c
	}
	f.look(t, p)
	f.servers.Sysctl(t, "net.ipv4.conf.eth0.promote_secondaries", "1")
	f.servers.Run(t, "ip", "address", "del", firstHost+"/24", "dev", "eth0")
	f.servers.Run(t, "ip", "route", "replace", "default", "via", "10.0.0.1")
	f.servers.Run(t, "ip", "route", "add", "unreachable", firstHost+"/32") // or checks would wait in the thread of those that succeed
	died := time.Now()
	// A client that comes every 20 ms, and waits for half a second at most.
	last := died
	for good := 0; good < 100; time.Sleep(20 * time.Millisecond) {
		if time.Since(died) > 30*time.Second {
			t.Fatal("30 s after a server died connections fail still")
		}
		if name, err := f.asksOnce(t, webVIP+":80"); err != nil || name != secondHost {
			good, last = 0, time.Now()
			continue
		}
		good++
	}
	// Two checks, a second apart; the last client waits for half a second. Three times that, as machines may be busy.
	if took := last.Sub(died); took > 8*time.Second {
		t.Errorf("new connections fail for %s after a server died, want less than 2.6 s", took)
	} else {
		t.Logf("new connections fail for %s", took)
	}
	if name, err := asks(kept[secondHost]); err != nil || name != secondHost {
		t.Errorf("a connection of %s, after %s died: %s (%v)", secondHost, firstHost, name, err)
	}
	began := time.Now()
	if name, err := asks(kept[firstHost]); err == nil {
		t.Errorf("a connection of the dead %s goes on, with %s", firstHost, name)
	} else if time.Since(began) > 5*time.Second {
		t.Errorf("a connection of the dead %s ends after %s (%v), want a reset of the other server's soon", firstHost, time.Since(began), err)
	}
	// It comes back, and gets connections again.
	f.servers.Run(t, "ip", "route", "del", "unreachable", firstHost+"/32")
	f.servers.Run(t, "ip", "address", "add", firstHost+"/24", "dev", "eth0")
	lab.Until(t, lab.Patience, func() error {
		name, err := f.asksOnce(t, webVIP+":80")
		if err == nil && name != firstHost {
			err = fmt.Errorf("%s replies, want %s", name, firstHost)
		}
		return err
	})
}

// asksOnce opens a connection, and gives the name of the server that replies.
func (f *farm) asksOnce(t *testing.T, to string) (name string, err error) {
	t.Helper()
	var c net.Conn
	f.clients.Do(func() { c, err = net.DialTimeout("tcp4", to, 500*time.Millisecond) })
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintln(c, "who?"); err != nil {
		return "", err
	}
	name, err = bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(name), err
}

// TestServersReplyPastTheChain has two servers with a virtual address of their own, behind one switch with the chain and the clients' way
// back: mode DSR.
func TestServersReplyPastTheChain(t *testing.T) {
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
	for _, key := range []string{"net/ipv4/conf/all/rp_filter", "net/ipv4/conf/eth1/rp_filter", "net/ipv4/conf/eth0/rp_filter"} {
		clients.Sysctl(t, key, "0")
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
	f := &farm{clients: clients, engine: lab.StartEngine(t, box, []string{"clients=clients", "servers=servers"})}
	text, err := os.ReadFile("../../config/samples/direct.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f.sample = string(text)
	for name, change := range map[string][]string{"sessions": nil, "stateless": {"mode: DSR\n", "mode: DSR\n      stateless: true\n"}} {
		f.load(t, change...)
		if got := f.spread(t, "tcp", webVIP+":80", 60); got[firstHost] < 20 || got[secondHost] < 5 || len(got) != 2 {
			t.Errorf("%s: connections spread over %v, want two thirds at %s and one at %s", name, got, firstHost, secondHost)
		}
	}
}
