package netns

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// Addresses of the two-zones chain's world.
const (
	zoneHost   = "10.0.0.10" // in both zones
	zoneRouter = "10.0.0.1"
	provider   = "198.51.100.254"
	server     = "203.0.113.80"
	echoPort   = "7777"
)

// zones is config/samples/two-zones.yaml at work (SNF, Figures 3 and 4).
type zones struct {
	zone    [2]*lab.Space
	isp     *lab.Space
	echo    *echo
	engine  *lab.Engine
	outside *tap
}

func startZones(t *testing.T) *zones {
	t.Helper()
	lab.Require(t, "ping", "traceroute")
	z := &zones{isp: lab.New(t, "isp")}
	box, web := lab.New(t, "engine"), lab.New(t, "server")
	for i := range z.zone {
		z.zone[i] = lab.New(t, fmt.Sprintf("zone%d", i+1))
		lab.Cable(t, lab.End{Space: z.zone[i], Device: "eth0", Address: zoneHost + "/8"}, lab.End{Space: box, Device: z.zone[i].Name})
		z.zone[i].Run(t, "ip", "route", "add", "default", "via", zoneRouter)
	}
	lab.Cable(t, lab.End{Space: z.isp, Device: "eth0", Address: provider + "/24"}, lab.End{Space: box, Device: "internet"})
	lab.Cable(t, lab.End{Space: z.isp, Device: "eth1", Address: "203.0.113.1/24"}, lab.End{Space: web, Device: "eth0", Address: server + "/24"})
	z.isp.Sysctl(t, "net.ipv4.ip_forward", "1")
	z.isp.Sysctl(t, "net.ipv4.icmp_ratelimit", "0")
	web.Sysctl(t, "net.ipv4.icmp_ratelimit", "0")
	web.Run(t, "ip", "route", "add", "default", "via", "203.0.113.1")
	z.echo = serveEcho(t, web, server+":"+echoPort)
	z.outside = startTap(t, z.isp, "eth0")
	z.engine = lab.StartEngine(t, box, []string{"zone1=zone1", "zone2=zone2", "internet=internet"})
	z.engine.Load(t, lab.Compile(t, lab.Parse(t, "../../config/samples/two-zones.yaml")))
	return z
}

// both runs something in both zones at the same time.
func (z *zones) both(t *testing.T, f func(s *lab.Space) error) {
	t.Helper()
	var wg sync.WaitGroup
	for _, s := range z.zone {
		wg.Go(func() {
			if err := f(s); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		})
	}
	wg.Wait()
}

func TestTwoZonesWithTheSameAddressesTalkToTheInternetAtTheSameTime(t *testing.T) {
	z := startZones(t)
	t.Run("TCP and UDP from the same ports get their own answers", z.sameFlows)
	t.Run("a long TCP stream arrives whole", z.longStreams)
	t.Run("ping with the same identifier is answered in both zones", z.pings)
	t.Run("traceroute shows the chain's router, the provider's and the server", z.traceroutes)
	t.Run("echo requests that end on the way are answered by the same three", z.echoesHopByHop)
	t.Run("port unreachable comes to the zone that asked", z.unreachables)
	t.Run("outside only the outer pool is seen", z.onlyPoolOutside)
}

func (z *zones) sameFlows(t *testing.T) {
	const flows = 20
	z.both(t, func(s *lab.Space) error {
		for i := range flows {
			for _, network := range []string{"tcp", "udp"} {
				c, err := dial(s, network, fmt.Sprintf("%s:%d", zoneHost, 40000+i), server+":"+echoPort)
				if err != nil {
					return err
				}
				t.Cleanup(func() { _ = c.Close() }) // all are open at the same time
				for range 3 {
					if err := c.answered(fmt.Appendf(nil, "%s %s flow %d", s.Name, network, i)); err != nil {
						return fmt.Errorf("%s flow %d: %w", network, i, err)
					}
				}
			}
		}
		return nil
	})
	seen := map[string]string{}
	for _, s := range z.zone {
		for i := range flows {
			for _, network := range []string{"tcp", "udp"} {
				text := fmt.Sprintf("%s %s flow %d", s.Name, network, i)
				from := z.echo.peer(text)
				if !inOuterPool(from.Addr()) {
					t.Errorf("%q reached the server from %s, which is not in the outer pool", text, from)
				}
				key := network + " " + from.String()
				if other := seen[key]; other != "" {
					t.Errorf("%q and %q both reached the server from %s", text, other, key)
				}
				seen[key] = text
			}
		}
	}
}

func (z *zones) longStreams(t *testing.T) {
	z.both(t, func(s *lab.Space) error {
		c, err := dial(s, "tcp", zoneHost+":39999", server+":"+echoPort)
		if err != nil {
			return err
		}
		defer c.Close()
		return c.answered(bytes.Repeat([]byte(s.Name+" says the same again and again. "), 40_000))
	})
}

func (z *zones) pings(t *testing.T) {
	z.both(t, func(s *lab.Space) error {
		for _, to := range []string{server, provider, zoneRouter} {
			if _, err := s.Try("ping", "-n", "-q", "-e", "77", "-c", "5", "-i", "0.01", "-W", "5", to); err != nil {
				return err
			}
		}
		return nil
	})
}

// hop is a line of traceroute -n -q1.
var hop = regexp.MustCompile(`(?m)^ *\d+ +(\S+)`)

// traceroutes sends UDP, which ends by port unreachable. Its method -I is not used: it keeps one raw
// socket, whose error comes a moment after the message that explains it. A router that answers
// at once lets traceroute 2.1 read the message, see the error for ever, and never read the reply.
func (z *zones) traceroutes(t *testing.T) {
	z.both(t, func(s *lab.Space) error {
		out, err := s.Try("traceroute", "-n", "-q", "1", "-N", "1", "-w", "5", "-m", "6", server)
		if err != nil {
			return err
		}
		var hops []string
		for _, m := range hop.FindAllStringSubmatch(out, -1) {
			hops = append(hops, m[1])
		}
		if got, want := strings.Join(hops, " "), strings.Join([]string{zoneRouter, provider, server}, " "); got != want {
			return fmt.Errorf("traceroute saw %s, want %s\n%s", got, want, out)
		}
		return nil
	})
}

// answers are lines of ping that name who answered: "From 10.0.0.1 icmp_seq=1 Time to live exceeded", "64 bytes from …".
var answers = regexp.MustCompile(`(?m)^(?:From|\d+ bytes from) ([0-9.]+)`)

// echoesHopByHop sends an echo request with each TTL, and with the same identifier in both zones.
func (z *zones) echoesHopByHop(t *testing.T) {
	z.both(t, func(s *lab.Space) error {
		for i, want := range []string{zoneRouter, provider, server} {
			// Error and status of ping say no more than who answered: it fails on each error, also on those wanted.
			out, _ := s.Try("ping", "-n", "-e", "78", "-c", "1", "-W", "5", "-t", fmt.Sprint(i+1), server)
			if m := answers.FindStringSubmatch(out); m == nil || m[1] != want {
				return fmt.Errorf("an echo request with TTL %d has no answer of %s:\n%s", i+1, want, out)
			}
		}
		return nil
	})
}

func (z *zones) unreachables(t *testing.T) {
	for i, asking := range z.zone {
		other := z.zone[1-i]
		// Both know the same flow to a port where nobody listens; one of them uses it.
		from, to := fmt.Sprintf("%s:%d", zoneHost, 41000+i), server+":9"
		silent, err := dial(other, "udp", from, to)
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		c, err := dial(asking, "udp", from, to)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.answered([]byte("anybody?")); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s asked a closed port and got %v, want connection refused (port unreachable)", asking.Name, err)
		}
		if err := pendingError(silent); err != nil {
			t.Errorf("%s got the error that %s had asked for: %v", other.Name, asking.Name, err)
		}
	}
}

func (z *zones) onlyPoolOutside(t *testing.T) {
	sources := map[netip.Addr]int{}
	for _, f := range z.outside.stop() {
		if v, ok := packets.Parse(f); ok && v.EtherType == packets.EtherIPv4 {
			sources[address(v.IP.Src)]++
		}
	}
	if len(sources) == 0 {
		t.Error("no packet was seen outside")
	}
	for a, n := range sources {
		if !inOuterPool(a) {
			t.Errorf("%d packets left with the source %s, which is not in the outer pool", n, a)
		}
	}
	t.Logf("seen outside: %v", sources)
}

// inOuterPool tells whether an address is one of nat3's.
func inOuterPool(a netip.Addr) bool {
	return a.Compare(netip.MustParseAddr("198.51.100.2")) >= 0 && a.Compare(netip.MustParseAddr("198.51.100.5")) <= 0
}
