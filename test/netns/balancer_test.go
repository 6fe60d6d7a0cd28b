package netns

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// Addresses of the balancer sample's world.
const (
	webVIP     = "203.0.113.80"
	dnsVIP     = "203.0.113.81"
	firstHost  = "10.0.0.11" // weight 2
	secondHost = "10.0.0.12" // weight 1
)

// farm is config/samples/balancer.yaml at work: clients, and servers that say their address in whatever they reply.
type farm struct {
	clients, servers *lab.Space
	engine           *lab.Engine
	sample           string
}

func startFarm(t *testing.T) *farm {
	t.Helper()
	f, box := buildFarm(t)
	f.engine = lab.StartEngine(t, box, farmBinds)
	f.load(t)
	return f
}

var farmBinds = []string{"clients=clients", "servers=servers"}

// buildFarm makes all of it but the engine, for which there is a host.
func buildFarm(t *testing.T) (f *farm, box *lab.Space) {
	t.Helper()
	lab.Require(t, "ping")
	f = &farm{clients: lab.New(t, "clients"), servers: lab.New(t, "servers")}
	box = lab.New(t, "engine")
	lab.Cable(t, lab.End{Space: f.clients, Device: "eth0", Address: "203.0.113.254/24"}, lab.End{Space: box, Device: "clients"})
	lab.Cable(t, lab.End{Space: f.servers, Device: "eth0", Address: firstHost + "/24"}, lab.End{Space: box, Device: "servers"})
	f.servers.Run(t, "ip", "address", "add", secondHost+"/24", "dev", "eth0")
	f.servers.Run(t, "ip", "route", "add", "default", "via", "10.0.0.1")
	for _, host := range []string{firstHost, secondHost} {
		lab.ServeTCP(t, f.servers, host+":80", sayName(host))
		serveName(t, f.servers, host, host)
	}
	text, err := os.ReadFile("../../config/samples/balancer.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f.sample = string(text)
	return f, box
}

// load has the engine run the sample with pairs of texts replaced.
func (f *farm) load(t *testing.T, oldnew ...string) {
	t.Helper()
	text := strings.NewReplacer(oldnew...).Replace(f.sample)
	if len(oldnew) > 0 && text == f.sample {
		t.Fatalf("the sample has no %q", oldnew[0])
	}
	f.engine.Load(t, lab.Compile(t, lab.ParseText(t, text)))
}

// sayName has a server reply to each line with its name.
func sayName(name string) func(net.Conn) {
	return func(c net.Conn) {
		for in := bufio.NewScanner(c); in.Scan(); {
			if _, err := fmt.Fprintln(c, name); err != nil {
				return
			}
		}
	}
}

// serveName replies to each datagram to port 53 of an address with the server's name.
func serveName(t *testing.T, s *lab.Space, address, name string) {
	t.Helper()
	p := lab.In(t, s, func() (net.PacketConn, error) { return net.ListenPacket("udp4", address+":53") })
	t.Cleanup(func() { _ = p.Close() })
	go func() {
		buf := make([]byte, 2048)
		for {
			_, from, err := p.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = p.WriteTo([]byte(name+"\n"), from)
		}
	}()
}

// asks sends a line, and gives the name of the server that replies.
func asks(c net.Conn) (string, error) {
	if err := c.SetDeadline(time.Now().Add(lab.Patience)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintln(c, "who?"); err != nil {
		return "", err
	}
	name, err := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(name), err
}

// connect opens a connection to a virtual address, and gives the server behind it.
func (f *farm) connect(t *testing.T, network, to string) (net.Conn, string) {
	t.Helper()
	c := lab.In(t, f.clients, func() (net.Conn, error) { return net.DialTimeout(network+"4", to, lab.Patience) })
	t.Cleanup(func() { _ = c.Close() })
	name, err := asks(c)
	if err != nil {
		t.Fatalf("%s %s: %v", network, to, err)
	}
	return c, name
}

// connectToBoth opens connections until each server has one.
func (f *farm) connectToBoth(t *testing.T) map[string]net.Conn {
	t.Helper()
	kept := map[string]net.Conn{}
	for tries := 0; len(kept) < 2; tries++ {
		if tries > 60 {
			t.Fatalf("60 connections found %d servers", len(kept))
		}
		c, name := f.connect(t, "tcp", webVIP+":80")
		kept[name] = c
	}
	return kept
}

// spread says how many of n new connections each server gets.
func (f *farm) spread(t *testing.T, network, to string, n int) map[string]int {
	t.Helper()
	got := map[string]int{}
	for range n {
		c, name := f.connect(t, network, to)
		_ = c.Close()
		got[name]++
	}
	return got
}

func TestABalancerSpreadsConnections(t *testing.T) {
	f := startFarm(t)
	for _, service := range []struct{ network, to string }{{"tcp", webVIP + ":80"}, {"tcp", dnsVIP + ":80"}, {"udp", dnsVIP + ":53"}} {
		// Two thirds of 90 are 60, with a standard deviation of 4.5.
		if got := f.spread(t, service.network, service.to, 90); got[firstHost] < 37 || got[secondHost] < 10 || len(got) != 2 {
			t.Errorf("%v spread over %v, want two thirds at %s and one at %s", service, got, firstHost, secondHost)
		}
	}
	f.clients.Run(t, "ping", "-n", "-q", "-c", "3", "-i", "0.2", "-W", "5", webVIP)
	began := time.Now()
	if _, err := dial(f.clients, "tcp", "203.0.113.254:0", webVIP+":22"); err == nil || !strings.Contains(err.Error(), "refused") || time.Since(began) > 4*time.Second {
		t.Errorf("a port without a service: %v after %s, want it refused at once", err, time.Since(began))
	}
}

// TestABalancersBackendsComeAndGo drains a server, and then takes it away: known connections stay until it is gone, and those of the other
// server notice nothing.
func TestABalancersBackendsComeAndGo(t *testing.T) {
	f := startFarm(t)
	kept := f.connectToBoth(t)
	f.load(t, "weight: 2", "weight: 0")
	if got := f.spread(t, "tcp", webVIP+":80", 30); got[secondHost] != 30 {
		t.Errorf("after %s is drained new connections go to %v", firstHost, got)
	}
	for want, c := range kept {
		if name, err := asks(c); err != nil || name != want {
			t.Errorf("a connection of %s, after %s is drained: %s (%v)", want, firstHost, name, err)
		}
	}
	f.load(t, "      - address: 10.0.0.11\n        weight: 2\n", "")
	if name, err := asks(kept[secondHost]); err != nil || name != secondHost {
		t.Errorf("a connection of %s, after %s is removed: %s (%v)", secondHost, firstHost, name, err)
	}
	if name, err := asks(kept[firstHost]); err == nil {
		t.Errorf("a connection of the removed %s goes on, with %s", firstHost, name)
	}
	f.load(t)
	if got := f.spread(t, "tcp", webVIP+":80", 60); len(got) != 2 {
		t.Errorf("after %s is back new connections go to %v", firstHost, got)
	}
}
