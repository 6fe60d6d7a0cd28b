package netns

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// proxied has a proxy of somebody else's before two servers.
const proxied = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: proxied}
spec:
  interfaces:
  - {name: servers, address: 10.0.0.1/24}
  - {name: proxies, address: 172.31.0.1/29}
  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.254}
  functions:
  - {name: proxy, blackbox: {attachment: Service, inside: proxies, address: 172.31.0.2}}
  - name: fw
    firewall:
      stateful: true
      rules:
      - {from: Outside, destination: [172.31.0.2], protocol: tcp, destinationPorts: [80], action: Accept}
      default: Drop
  - {name: nat, napt: {masquerade: true, portForwards: [{outsidePorts: 80, inside: 172.31.0.2}]}}
  path: [servers, proxy, fw, nat, outside]
`

// proxyRules have HAProxy give connections to two servers by turns, and to one of them while the other does not answer.
const proxyRules = `
defaults
  mode tcp
  retries 0
  timeout connect 1s
  timeout client 60s
  timeout server 60s
  timeout check 500ms
frontend web
  bind 172.31.0.2:80
  default_backend servers
backend servers
  server first 10.0.0.11:80 check inter 200ms fall 2 rise 1
  server second 10.0.0.12:80 check inter 200ms fall 2 rise 1
`

// proxiedFarm is such a chain at work, with clients outside.
func proxiedFarm(t *testing.T) (f *farm, proxy *lab.Space) {
	t.Helper()
	f = &farm{clients: lab.New(t, "clients"), servers: lab.New(t, "servers")}
	proxy, box := lab.New(t, "proxy"), lab.New(t, "engine")
	lab.Cable(t, lab.End{Space: f.clients, Device: "eth0", Address: "203.0.113.254/24"}, lab.End{Space: box, Device: "outside"})
	lab.Cable(t, lab.End{Space: f.servers, Device: "eth0", Address: firstHost + "/24"}, lab.End{Space: box, Device: "servers"})
	lab.Cable(t, lab.End{Space: proxy, Device: "eth0", Address: "172.31.0.2/29"}, lab.End{Space: box, Device: "proxies"})
	f.clients.Run(t, "ip", "route", "add", "10.0.0.0/24", "via", "203.0.113.1")
	f.servers.Run(t, "ip", "address", "add", secondHost+"/24", "dev", "eth0")
	f.servers.Run(t, "ip", "route", "add", "default", "via", "10.0.0.1")
	proxy.Run(t, "ip", "route", "add", "default", "via", "172.31.0.1")
	for _, host := range []string{firstHost, secondHost} {
		lab.ServeTCP(t, f.servers, host+":80", sayName(host))
	}
	f.engine = lab.StartEngine(t, box, []string{"servers=servers", "proxies=proxies", "outside=outside"}, "--workers", "2")
	f.engine.Load(t, lab.Compile(t, lab.ParseText(t, proxied)))
	return f, proxy
}

// TestAProxyIsAFunctionOfAChain has HAProxy before two servers, of which one goes, and then HAProxy itself.
func TestAProxyIsAFunctionOfAChain(t *testing.T) {
	lab.Require(t, "haproxy", "ping")
	f, proxy := proxiedFarm(t)
	rules := write(t, t.TempDir(), "haproxy.cfg", proxyRules)
	const service = "203.0.113.1:80"
	start := func() *lab.Process {
		p := proxy.Spawn(t, "haproxy", "-db", "-f", rules)
		t.Cleanup(p.Kill)
		lab.Until(t, lab.Patience, func() error {
			_, err := f.ask(service)
			return err
		})
		return p
	}
	running := start()
	f.bothServe(t, service)
	areUp(t, f.engine, true)
	if c, err := dialWithin(300*time.Millisecond, f.clients, "tcp", "203.0.113.254:0", firstHost+":80"); err == nil {
		_ = c.Close()
		t.Error("a client reaches a server past the proxy")
	}
	for from, to := range map[*lab.Space]string{f.servers: "172.31.0.2", proxy: firstHost} {
		if out := from.Run(t, "ping", "-c", "1", "-W", "5", to); !strings.Contains(out, " 0% packet loss") {
			t.Errorf("no ping from one side of the chain to %s on the other:\n%s", to, out)
		}
	}

	f.servers.Run(t, "ip", "address", "del", secondHost+"/24", "dev", "eth0")
	lab.Until(t, lab.Patience, func() error {
		for range 4 {
			if name, err := f.ask(service); err != nil || name != firstHost {
				return fmt.Errorf("the server is %q (%w), and the second one is gone", name, err)
			}
		}
		return nil
	})
	running.Kill()
	if c, err := dialWithin(300*time.Millisecond, f.clients, "tcp", "203.0.113.254:0", service); err == nil {
		_ = c.Close()
		t.Error("there is a connection to the proxy, which was killed")
	}
	proxy.Run(t, "ip", "link", "set", "eth0", "down")
	areUp(t, f.engine, false)
	proxy.Run(t, "ip", "link", "set", "eth0", "up")
	proxy.Run(t, "ip", "route", "replace", "default", "via", "172.31.0.1")
	areUp(t, f.engine, true)
	f.servers.Run(t, "ip", "address", "add", secondHost+"/24", "dev", "eth0")
	start()
	f.bothServe(t, service)
}

// bothServe wants connections to an address to find both servers. A machine that is busy may have the proxy take one for dead for a moment.
func (f *farm) bothServe(t *testing.T, address string) {
	t.Helper()
	if got := f.spread(t, "tcp", address, 20); len(got) != 2 {
		t.Errorf("of 20 connections the servers got %v, want some each", got)
	}
}

// ask is the server behind an address.
func (f *farm) ask(address string) (name string, err error) {
	c, err := dialWithin(time.Second, f.clients, "tcp", "203.0.113.254:0", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	return asks(c.Conn)
}
