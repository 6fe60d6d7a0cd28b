package netns

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// Addresses of the world of config/samples/dmz.yaml.
const (
	dmzStaff    = "10.1.0.10"
	dmzWeb      = "192.168.2.80"
	dmzMail     = "192.168.2.25"
	dmzPublic   = "203.0.113.2"
	dmzMailName = "203.0.113.25"
	dmzVisitor  = "198.51.100.1" // behind the provider's router, 203.0.113.1
)

// company is config/samples/dmz.yaml at work.
type company struct {
	lan, dmz, wan *lab.Space
	engine        *lab.Engine
	services      map[string]*echo // by address and port
}

func startCompany(t *testing.T) *company {
	t.Helper()
	lab.Require(t)
	c := &company{lan: lab.New(t, "lan"), dmz: lab.New(t, "dmz"), wan: lab.New(t, "wan"), services: map[string]*echo{}}
	box := lab.New(t, "engine")
	lab.Cable(t, lab.End{Space: c.lan, Device: "eth0", Address: dmzStaff + "/24"}, lab.End{Space: box, Device: "lan"})
	lab.Cable(t, lab.End{Space: c.dmz, Device: "eth0", Address: dmzWeb + "/24"}, lab.End{Space: box, Device: "dmz"})
	lab.Cable(t, lab.End{Space: c.wan, Device: "eth0", Address: "203.0.113.1/24"}, lab.End{Space: box, Device: "wan"})
	c.dmz.Run(t, "ip", "address", "add", dmzMail+"/24", "dev", "eth0")
	c.wan.Run(t, "ip", "address", "add", dmzVisitor+"/32", "dev", "lo")
	c.lan.Run(t, "ip", "route", "add", "default", "via", "10.1.0.1")
	c.dmz.Run(t, "ip", "route", "add", "default", "via", "192.168.2.1")
	for _, at := range []struct {
		space   *lab.Space
		address string
	}{
		{c.lan, dmzStaff + ":443"},
		{c.dmz, dmzWeb + ":22"},
		{c.dmz, dmzWeb + ":80"},
		{c.dmz, dmzWeb + ":443"},
		{c.dmz, dmzMail + ":22"},
		{c.dmz, dmzMail + ":25"},
		{c.wan, dmzVisitor + ":25"},
		{c.wan, dmzVisitor + ":443"},
	} {
		c.services[at.address] = serveEcho(t, at.space, at.address)
	}
	c.engine = lab.StartEngine(t, box, []string{"lan=lan", "dmz=dmz", "wan=wan"})
	c.engine.Load(t, lab.Compile(t, lab.Parse(t, "../../config/samples/dmz.yaml")))
	return c
}

func TestADMZPublishesItsServicesAndNoOthers(t *testing.T) {
	w := startCompany(t)
	for _, c := range []struct {
		name, from, to, service string
		space                   *lab.Space
		seen                    string // the client's address, as the service sees it
	}{
		{"a visitor to the web server", dmzVisitor, dmzPublic + ":80", dmzWeb + ":80", w.wan, dmzVisitor},
		{"a visitor to the web server by TLS", dmzVisitor, dmzPublic + ":443", dmzWeb + ":443", w.wan, dmzVisitor},
		{"mail that comes in", dmzVisitor, dmzMailName + ":25", dmzMail + ":25", w.wan, dmzVisitor},
		{"mail that goes out, by the mail server's address", dmzMail, dmzVisitor + ":25", dmzVisitor + ":25", w.dmz, dmzMailName},
		{"updates of the web server", dmzWeb, dmzVisitor + ":443", dmzVisitor + ":443", w.dmz, dmzPublic},
		{"staff to the internet", dmzStaff, dmzVisitor + ":443", dmzVisitor + ":443", w.lan, dmzPublic},
		{"staff to the web server by its public address", dmzStaff, dmzPublic + ":443", dmzWeb + ":443", w.lan, dmzPublic},
		{"staff to the mail server by its public address", dmzStaff, dmzMailName + ":25", dmzMail + ":25", w.lan, dmzPublic},
		{"staff to the web server by its own address", dmzStaff, dmzWeb + ":22", dmzWeb + ":22", w.lan, dmzStaff},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, err := dial(c.space, "tcp", c.from+":0", c.to)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			text := fmt.Sprintf("from %s to %s", p.LocalAddr(), c.to)
			if err := p.answered([]byte(text)); err != nil {
				t.Fatal(err)
			}
			if seen := w.services[c.service].peer(text); seen.Addr() != netip.MustParseAddr(c.seen) {
				t.Errorf("the service sees %v, want %s", seen, c.seen)
			}
		})
	}
}

// TestWhatADMZDoesNotPublishIsDroppedUnderAReason sends datagrams to hosts that are there, from
// hosts that may not reach them.
func TestWhatADMZDoesNotPublishIsDroppedUnderAReason(t *testing.T) {
	w := startCompany(t)
	for _, c := range []struct {
		name, from, to, reason string
		space                  *lab.Space
	}{
		{"a visitor to another port of the mail server", dmzVisitor, dmzMailName + ":22", "guard/default", w.wan},
		{"a visitor to another port of the company", dmzVisitor, dmzPublic + ":22", "nat-no-binding", w.wan},
		{"the web server to the LAN", dmzWeb, dmzStaff + ":443", "guard/drop", w.dmz},
		{"the web server sends no mail", dmzWeb, dmzVisitor + ":25", "guard/default", w.dmz},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := w.engine.Dropped(t, c.reason)
			p, err := dial(c.space, "udp", c.from+":0", c.to)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			lab.Until(t, lab.Patience, func() error {
				if _, err := p.Write([]byte("hello")); err != nil {
					return err
				}
				if w.engine.Dropped(t, c.reason) == before {
					return fmt.Errorf("nothing is dropped as %s", c.reason)
				}
				return nil
			})
		})
	}
}
