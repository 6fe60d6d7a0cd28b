package netns

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// Addresses of the world of config/samples/providers.yaml.
const (
	customerOfOne = "198.51.100.10"
	customerOfTwo = "203.0.113.10"
	subscriber    = "100.64.0.10"
	providerOne   = "192.0.2.1"
	providerTwo   = "192.0.2.5"
	transferOfTwo = "192.0.2.6"
	farServer     = "198.18.0.1" // behind both providers
)

var subscriberPool = netip.MustParsePrefix("203.0.113.128/30")

// multihomed is config/samples/providers.yaml at work. Two namespaces are the providers; they
// forward, and drop packets from addresses that are not theirs to give (strict reverse path, RFC
// 3704 section 2.2). A third one is what lies behind both.
type multihomed struct {
	business, homes, one, two, far, box *lab.Space
	engine                              *lab.Engine
	services                            map[string]*echo
}

func startMultihomed(t *testing.T, bundle *manifest.Bundle) *multihomed {
	t.Helper()
	lab.Require(t, "ping", "traceroute")
	m := &multihomed{
		business: lab.New(t, "business"), homes: lab.New(t, "homes"), one: lab.New(t, "provider one"), two: lab.New(t, "provider two"),
		far: lab.New(t, "far"), box: lab.New(t, "engine"), services: map[string]*echo{},
	}
	link := func(s *lab.Space, address, device string) {
		lab.Cable(t, lab.End{Space: s, Device: "eth0", Address: address}, lab.End{Space: m.box, Device: device})
	}
	link(m.business, customerOfOne+"/25", "business")
	link(m.homes, subscriber+"/24", "homes")
	link(m.one, providerOne+"/30", "one")
	link(m.two, providerTwo+"/30", "two")
	m.business.Run(t, "ip", "address", "add", "198.51.100.2/25", "dev", "eth0") // the router of a customer with addresses of two
	m.business.Run(t, "ip", "address", "add", customerOfTwo+"/32", "dev", "lo")
	m.business.Run(t, "ip", "address", "add", "10.1.2.3/32", "dev", "lo")
	m.business.Run(t, "ip", "route", "add", "default", "via", "198.51.100.1")
	m.homes.Run(t, "ip", "route", "add", "default", "via", "100.64.0.1")
	m.far.Run(t, "ip", "address", "add", farServer+"/32", "dev", "lo")
	for i, p := range []struct {
		space          *lab.Space
		edge, gave, to string
	}{{m.one, "192.0.2.2", "198.51.100.0/24", "192.0.2.0/30"}, {m.two, transferOfTwo, "203.0.113.0/24", "192.0.2.4/30"}} {
		near, behind := fmt.Sprintf("10.255.%d.1", i), fmt.Sprintf("10.255.%d.2", i)
		lab.Cable(t, lab.End{Space: p.space, Device: "eth1", Address: near + "/30"}, lab.End{Space: m.far, Device: fmt.Sprintf("eth%d", i), Address: behind + "/30"})
		p.space.Sysctl(t, "net.ipv4.ip_forward", "1")
		p.space.Sysctl(t, "net.ipv4.conf.all.rp_filter", "0")
		p.space.Sysctl(t, "net.ipv4.conf.eth0.rp_filter", "1")
		p.space.Sysctl(t, "net.ipv4.icmp_ratelimit", "0")
		p.space.Run(t, "ip", "route", "add", p.gave, "via", p.edge)
		p.space.Run(t, "ip", "route", "add", "default", "via", behind)
		m.far.Run(t, "ip", "route", "add", p.gave, "via", near)
		m.far.Run(t, "ip", "route", "add", p.to, "via", near)
	}
	m.serve(t, m.far, farServer+":80")
	m.serve(t, m.business, customerOfOne+":80")
	m.serve(t, m.business, customerOfTwo+":80")
	m.engine = lab.StartEngine(t, m.box, []string{"business=business", "homes=homes", "one=one", "two=two"})
	m.engine.Load(t, lab.Compile(t, bundle))
	return m
}

func (m *multihomed) serve(t *testing.T, s *lab.Space, address string) {
	t.Helper()
	m.services[address] = serveEcho(t, s, address)
}

// seenBy has a service answer, and tells from where it sees the client.
func (m *multihomed) seenBy(service string, from *lab.Space, network, local string) (netip.Addr, error) {
	c, err := dial(from, network, local+":0", service)
	if err != nil {
		return netip.Addr{}, err
	}
	defer c.Close()
	text := fmt.Sprintf("%s from %s to %s", network, c.LocalAddr(), service)
	if err := c.answered([]byte(text)); err != nil {
		return netip.Addr{}, err
	}
	return m.services[service].peer(text).Addr(), nil
}

const providersSample = "../../config/samples/providers.yaml"

// TestPacketsLeaveByTheProviderOfTheirSource: each provider lets through what is from its own
// addresses alone.
func TestPacketsLeaveByTheProviderOfTheirSource(t *testing.T) {
	m := startMultihomed(t, lab.Parse(t, providersSample))
	one, two := netip.MustParsePrefix(customerOfOne+"/32"), netip.MustParsePrefix(customerOfTwo+"/32")
	for _, c := range []struct {
		name    string
		from    *lab.Space
		local   string
		service string
		seen    netip.Prefix
	}{
		{"addresses of one", m.business, customerOfOne, farServer + ":80", one},
		{"addresses of two", m.business, customerOfTwo, farServer + ":80", two},
		{"subscribers by addresses of two", m.homes, subscriber, farServer + ":80", subscriberPool},
		{"from afar to an address of one", m.far, farServer, customerOfOne + ":80", netip.MustParsePrefix(farServer + "/32")},
		{"from afar to an address of two", m.far, farServer, customerOfTwo + ":80", netip.MustParsePrefix(farServer + "/32")},
		{"subscribers to a customer, past the providers", m.homes, subscriber, customerOfOne + ":80", subscriberPool},
	} {
		for _, network := range []string{"tcp", "udp"} {
			t.Run(c.name+", "+network, func(t *testing.T) {
				t.Parallel()
				seen, err := m.seenBy(c.service, c.from, network, c.local)
				if err != nil {
					t.Fatal(err)
				}
				if !c.seen.Contains(seen) {
					t.Errorf("the service sees %v, want it in %v", seen, c.seen)
				}
			})
		}
	}
}

// TestRoutersOnTheWayAreThoseOfTheSourcesProvider: traceroute sees the provider, which answers, and
// the chain's address answers by it, too.
func TestRoutersOnTheWayAreThoseOfTheSourcesProvider(t *testing.T) {
	m := startMultihomed(t, lab.Parse(t, providersSample))
	for source, provider := range map[string]string{customerOfOne: providerOne, customerOfTwo: providerTwo} {
		out := m.business.Run(t, "traceroute", "-n", "-q", "1", "-w", "3", "-m", "4", "-s", source, farServer)
		for _, hop := range []string{"198.51.100.1", provider, farServer} {
			if !strings.Contains(out, " "+hop+" ") {
				t.Errorf("from %s, want %s on the way:\n%s", source, hop, out)
			}
		}
	}
	m.far.Run(t, "ping", "-n", "-q", "-c", "3", "-i", "0.2", "-W", "5", "-I", farServer, transferOfTwo)
}

// TestAnEntryBySourceDropsPrivateAddresses: it drops under the router's reason.
func TestAnEntryBySourceDropsPrivateAddresses(t *testing.T) {
	m := startMultihomed(t, lab.Parse(t, providersSample))
	c, err := dial(m.business, "udp", "10.1.2.3:0", farServer+":80")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	lab.Until(t, lab.Patience, func() error {
		if _, err := c.Write([]byte("hello")); err != nil {
			return err
		}
		if m.engine.Dropped(t, "rt/discard") == 0 {
			return fmt.Errorf("nothing is dropped as rt/discard")
		}
		return nil
	})
}

// TestAProviderDropsAddressesOfAnother is the world without the entries: it would show if the
// providers let everything pass.
func TestAProviderDropsAddressesOfAnother(t *testing.T) {
	t.Parallel() // waits more than it works
	b := lab.Parse(t, providersSample)
	for i := range b.Chains[0].Spec.Functions {
		if r := b.Chains[0].Spec.Functions[i].Router; r != nil {
			for k := range r.Routes {
				r.Routes[k].BySource = nil
			}
		}
	}
	m := startMultihomed(t, b)
	if _, err := m.seenBy(farServer+":80", m.business, "tcp", customerOfOne); err != nil {
		t.Error(err)
	}
	if _, err := m.seenBy(farServer+":80", m.business, "udp", customerOfTwo); err == nil {
		t.Error("provider one forwards packets from an address of provider two")
	}
}
