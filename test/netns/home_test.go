package netns

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// Addresses of the home sample's world.
const (
	homePC     = "192.168.1.50"
	homeSSH    = "192.168.1.10"
	homeWeb    = "192.168.1.80"
	homeGames  = "192.168.1.20"
	homePublic = "203.0.113.7"
	homePeer   = "203.0.113.1" // the provider's router, and a host behind it:
	homeFar    = "198.51.100.1"
)

// household is config/samples/home.yaml at work: the hosts of a home, and the internet.
type household struct {
	lan, wan, box *lab.Space
	engine        *lab.Engine
	services      map[string]*echo // by address and port
}

func startHome(t *testing.T) *household {
	t.Helper()
	lab.Require(t, "ping", "traceroute")
	h := &household{lan: lab.New(t, "lan"), wan: lab.New(t, "wan"), box: lab.New(t, "engine"), services: map[string]*echo{}}
	lab.Cable(t, lab.End{Space: h.lan, Device: "eth0", Address: homePC + "/24"}, lab.End{Space: h.box, Device: "lan"})
	lab.Cable(t, lab.End{Space: h.wan, Device: "eth0", Address: homePeer + "/24"}, lab.End{Space: h.box, Device: "wan"})
	for _, a := range []string{homeSSH, homeWeb, homeGames} {
		h.lan.Run(t, "ip", "address", "add", a+"/24", "dev", "eth0")
	}
	h.lan.Run(t, "ip", "route", "add", "default", "via", "192.168.1.1")
	h.wan.Run(t, "ip", "address", "add", homeFar+"/32", "dev", "lo")
	h.wan.Run(t, "ip", "route", "add", "192.168.1.0/24", "via", homePublic)
	h.wan.Sysctl(t, "net.ipv4.icmp_ratelimit", "0")
	h.lan.Sysctl(t, "net.ipv4.icmp_ratelimit", "0")
	for _, at := range []string{homeSSH + ":22", homeWeb + ":80", homeGames + ":28000", homeGames + ":28030"} {
		h.services[at] = serveEcho(t, h.lan, at)
	}
	for _, at := range []string{homeFar + ":80", homePeer + ":80"} {
		h.services[at] = serveEcho(t, h.wan, at)
	}
	h.engine = lab.StartEngine(t, h.box, []string{"lan=lan", "wan=wan"})
	h.engine.Load(t, lab.Compile(t, lab.Parse(t, "../../config/samples/home.yaml")))
	return h
}

// reaches has a service answer, and tells from where it sees the client.
func (h *household) reaches(from *lab.Space, network, local, to, service string) (seen netip.AddrPort, err error) {
	c, err := dial(from, network, local, to)
	if err != nil {
		return seen, err
	}
	defer c.Close()
	text := fmt.Sprintf("%s from %s to %s", network, c.LocalAddr(), to)
	if err := c.answered([]byte(text)); err != nil {
		return seen, err
	}
	return h.services[service].peer(text), nil
}

// TestAHomeSharesOnePublicAddress has its hosts use the internet, and the internet its services.
func TestAHomeSharesOnePublicAddress(t *testing.T) {
	h := startHome(t)
	for _, c := range []struct {
		name, network, from, to, service string
		space                            *lab.Space
		seen                             string // the client's address, as the service sees it
	}{
		{"a page from the internet", "tcp", homePC + ":0", homeFar + ":80", homeFar + ":80", h.lan, homePublic},
		{"a question to the internet", "udp", homePC + ":0", homeFar + ":80", homeFar + ":80", h.lan, homePublic},
		{"SSH by a port forward", "tcp", homeFar + ":0", homePublic + ":22", homeSSH + ":22", h.wan, homeFar},
		{"a forward to another port", "tcp", homeFar + ":0", homePublic + ":8080", homeWeb + ":80", h.wan, homeFar},
		{"the first port of a range", "udp", homeFar + ":0", homePublic + ":27000", homeGames + ":28000", h.wan, homeFar},
		{"the last port of a range", "udp", homeFar + ":0", homePublic + ":27030", homeGames + ":28030", h.wan, homeFar},
		{"a forward from inside", "tcp", homePC + ":0", homePublic + ":8080", homeWeb + ":80", h.lan, homePublic},
		{"a range from inside", "udp", homePC + ":0", homePublic + ":27030", homeGames + ":28030", h.lan, homePublic},
		{"the server's own service by its outside address", "tcp", homeWeb + ":0", homePublic + ":8080", homeWeb + ":80", h.lan, homePublic},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			seen, err := h.reaches(c.space, c.network, c.from, c.to, c.service)
			if err != nil {
				t.Fatal(err)
			}
			if seen.Addr() != netip.MustParseAddr(c.seen) {
				t.Errorf("the service sees %v, want %s", seen, c.seen)
			}
		})
	}
}

// TestAHomesOwnAddressStaysItsOwn: pings to it are answered, routers outside are seen, and what nobody asked for does not get in.
func TestAHomesOwnAddressStaysItsOwn(t *testing.T) {
	h := startHome(t)
	h.wan.Run(t, "ping", "-n", "-q", "-c", "3", "-i", "0.2", "-W", "5", "-I", homeFar, homePublic)
	h.lan.Run(t, "ping", "-n", "-q", "-c", "3", "-i", "0.2", "-W", "5", "-I", homePC, homePublic)
	h.lan.Run(t, "ping", "-n", "-q", "-c", "3", "-i", "0.2", "-W", "5", "-I", homePC, homeFar)
	if out := h.lan.Run(t, "traceroute", "-n", "-q", "1", "-w", "3", "-m", "3", "-s", homePC, homeFar); !strings.Contains(out, "192.168.1.1 ") || !strings.Contains(out, homeFar+" ") {
		t.Errorf("want the home's router, and then the host:\n%s", out)
	}
	for _, to := range []string{homePublic + ":23", homePublic + ":27031", homePC + ":22"} {
		before := h.engine.Dropped(t, "nat-no-binding")
		c, err := dial(h.wan, "udp", homeFar+":0", to)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		lab.Until(t, lab.Patience, func() error {
			if h.engine.Dropped(t, "nat-no-binding") == before {
				return fmt.Errorf("packets to %s are not dropped as nat-no-binding", to)
			}
			return nil
		})
		if err := c.silent(); err != nil {
			t.Errorf("%s: %v", to, err)
		}
	}
}

// TestAClosedPortBehindAForwardIsToldOf: the host's error reaches the client, about the packet that the client sent.
func TestAClosedPortBehindAForwardIsToldOf(t *testing.T) {
	h := startHome(t)
	for _, c := range []struct {
		name        string
		space       *lab.Space
		network     string
		from, where string
	}{
		{"a host's ICMP error, from outside", h.wan, "udp", homeFar, homePublic + ":27001"},
		{"a host's ICMP error, from inside", h.lan, "udp", homePC, homePublic + ":27001"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := dial(c.space, c.network, c.from+":0", c.where)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if err := p.answered([]byte("hello")); err == nil || !strings.Contains(err.Error(), "refused") {
				t.Errorf("got %v, want that the port is closed", err)
			}
		})
	}
}

// TestAHomesHostLearnsItsAddressBySTUN: two servers see one address and port, so that others can
// reach the host there.
func TestAHomesHostLearnsItsAddressBySTUN(t *testing.T) {
	h := startHome(t)
	p := lab.In(t, h.lan, func() (net.PacketConn, error) { return net.ListenPacket("udp4", homePC+":40000") })
	defer p.Close()
	var known [2]netip.AddrPort
	for i, server := range []string{homeFar, homePeer} {
		at := netip.AddrPortFrom(netip.MustParseAddr(server), stunPorts[0])
		stunServe(t, h.wan, at)
		var err error
		if known[i], err = stunAsk(p, at); err != nil {
			t.Fatal(err)
		}
	}
	if known[0] != known[1] || known[0].Addr() != netip.MustParseAddr(homePublic) {
		t.Errorf("the servers see %v, want one port of %s", known, homePublic)
	}
}

// TestHostsInsideReachEachOtherByPoolPorts: each sees the other by the address and port that servers see (RFC 4787 REQ-9).
func TestHostsInsideReachEachOtherByPoolPorts(t *testing.T) {
	w := newSTUNWorld(t)
	chain := strings.Replace(fmt.Sprintf(homes, "EndpointIndependent", "EndpointIndependent"), "filtering:", "hairpinning: All, filtering:", 1)
	w.engine.Load(t, lab.Compile(t, lab.ParseText(t, chain)))
	var sockets [2]net.PacketConn
	var known [2]netip.AddrPort
	for i := range sockets {
		sockets[i] = lab.In(t, w.lan, func() (net.PacketConn, error) { return net.ListenPacket("udp4", fmt.Sprintf("10.0.0.2:%d", 41000+i)) })
		defer sockets[i].Close()
		var err error
		if known[i], err = stunAsk(sockets[i], w.at[0][0]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range sockets {
		lab.Until(t, lab.Patience, func() error {
			if _, err := sockets[i].WriteTo([]byte("hello"), net.UDPAddrFromAddrPort(known[1-i])); err != nil {
				return err
			}
			b := make([]byte, 100)
			if err := sockets[1-i].SetReadDeadline(time.Now().Add(time.Second)); err != nil {
				return err
			}
			n, from, err := sockets[1-i].ReadFrom(b)
			if err != nil {
				return err
			}
			if string(b[:n]) != "hello" || from.String() != known[i].String() {
				return fmt.Errorf("got %q from %v, want it from %v", b[:n], from, known[i])
			}
			return nil
		})
	}
}
