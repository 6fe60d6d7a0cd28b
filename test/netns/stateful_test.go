package netns

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// Addresses of the stateful sample's world.
const (
	lanWeb  = "10.1.80.10" // of the DMZ, whose web ports are open to all
	lanDesk = "10.1.0.9"
	wanPeer = "198.51.100.1"
)

// guarded is config/samples/stateful.yaml at work: a host inside with an address in the DMZ and one beside it, and a peer outside.
type guarded struct {
	lan, wan, box *lab.Space
	engine        *lab.Engine
}

func startGuarded(t *testing.T) *guarded {
	t.Helper()
	lab.Require(t, "ping", "traceroute")
	g := &guarded{lan: lab.New(t, "lan"), wan: lab.New(t, "wan"), box: lab.New(t, "engine")}
	lab.Cable(t, lab.End{Space: g.lan, Device: "eth0", Address: lanDesk + "/16"}, lab.End{Space: g.box, Device: "lan"})
	lab.Cable(t, lab.End{Space: g.wan, Device: "eth0", Address: wanPeer + "/30"}, lab.End{Space: g.box, Device: "wan"})
	g.lan.Run(t, "ip", "address", "add", lanWeb+"/16", "dev", "eth0")
	g.lan.Run(t, "ip", "route", "add", "default", "via", "10.1.0.1")
	g.wan.Run(t, "ip", "route", "add", "default", "via", "198.51.100.2")
	g.wan.Sysctl(t, "net.ipv4.icmp_ratelimit", "0")
	for _, s := range []*lab.Space{g.lan, g.wan} {
		for _, port := range []string{"25", "80", "8080"} {
			serveEcho(t, s, "0.0.0.0:"+port)
		}
	}
	g.engine = lab.StartEngine(t, g.box, []string{"lan=lan", "wan=wan"})
	g.engine.Load(t, lab.Compile(t, lab.Parse(t, "../../config/samples/stateful.yaml")))
	return g
}

// TestAStatefulFirewallLetsRepliesIn tries what is allowed and what is not from both sides.
func TestAStatefulFirewallLetsRepliesIn(t *testing.T) {
	g := startGuarded(t)
	for _, c := range []struct {
		name, network string
		s             *lab.Space
		from, to      string
		want          string // in the error; empty: there is a reply
	}{
		{"a connection from inside", "tcp", g.lan, lanDesk + ":0", wanPeer + ":8080", ""},
		{"a question from inside", "udp", g.lan, lanDesk + ":0", wanPeer + ":8080", ""},
		{"mail from inside", "tcp", g.lan, lanDesk + ":0", wanPeer + ":25", "refused"},
		{"a closed port, of which an ICMP error tells", "udp", g.lan, lanDesk + ":0", wanPeer + ":9", "refused"},
		{"a web server of the DMZ", "tcp", g.wan, wanPeer + ":0", lanWeb + ":80", ""},
		{"another of its ports", "tcp", g.wan, wanPeer + ":0", lanWeb + ":8080", "timeout"},
		{"a host beside it", "tcp", g.wan, wanPeer + ":0", lanDesk + ":80", "timeout"},
		{"a question from outside", "udp", g.wan, wanPeer + ":0", lanWeb + ":8080", "timeout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			switch err := g.tries(c.s, c.network, c.from, c.to); {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func (g *guarded) tries(s *lab.Space, network, from, to string) error {
	c, err := dial(s, network, from, to)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.answered([]byte("hello"))
}

// TestAStatefulFirewallKnowsWhatBelongs has pings, errors of routers, transfers and segments of no connection meet the firewall.
func TestAStatefulFirewallKnowsWhatBelongs(t *testing.T) {
	g := startGuarded(t)
	g.lan.Run(t, "ping", "-n", "-q", "-c", "3", "-i", "0.2", "-W", "5", "-I", lanDesk, wanPeer)
	g.wan.Run(t, "ping", "-n", "-q", "-c", "3", "-i", "0.2", "-W", "5", lanWeb)
	if out, err := g.wan.Try("ping", "-n", "-q", "-c", "2", "-i", "0.2", "-W", "1", lanDesk); err == nil {
		t.Errorf("a host beside the DMZ answers pings from outside:\n%s", out)
	}
	if out := g.lan.Run(t, "traceroute", "-n", "-q", "1", "-w", "3", "-m", "3", wanPeer); !strings.Contains(out, "10.255.0.1") || !strings.Contains(out, wanPeer+" ") {
		t.Errorf("want the router's error and then the peer's:\n%s", out)
	}
	t.Run("what no connection sent is dropped", g.strays)
	t.Run("a transfer arrives whole", g.transfer)
}

// strays sends segments of no connection.
func (g *guarded) strays(t *testing.T) {
	before := g.engine.Dropped(t, "fw/invalid")
	w := g.wan.Wire(t, "eth0", lab.LargeSlot)
	for _, flags := range []uint8{packets.ACK, packets.ACK | packets.FIN, packets.SYN | packets.ACK, packets.RST} {
		segment := packets.IPv4{
			Src: number(wanPeer), Dst: number(lanWeb), Proto: packets.ProtoTCP, TTL: 64,
			Payload: packets.TCP(number(wanPeer), number(lanWeb), 4444, 80, flags, 1000, nil, nil),
		}
		if err := w.Send(packets.Ethernet(g.box.MAC(t, "wan"), w.MAC, nil, packets.EtherIPv4, segment.Bytes(), nil)); err != nil {
			t.Fatal(err)
		}
	}
	lab.Until(t, lab.Patience, func() error {
		if n := g.engine.Dropped(t, "fw/invalid") - before; n < 4 {
			return fmt.Errorf("%d of 4 segments of no connection were dropped", n)
		}
		return nil
	})
}

// transfer has a megabyte go each way of a connection.
func (g *guarded) transfer(t *testing.T) {
	c, err := dial(g.lan, "tcp", lanDesk+":0", wanPeer+":8080")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.answered(make([]byte, 1<<20)); err != nil {
		t.Error(err)
	}
}

// TestAStrictFirewallLetsInWhatFitsTheWindows has real stacks send megabytes, with scaled windows, past a strict firewall: nothing of that is
// invalid. A stranger's segments and resets, of ports and addresses of a connection, but not of its numbers, are.
func TestAStrictFirewallLetsInWhatFitsTheWindows(t *testing.T) {
	g := startGuarded(t)
	text, err := os.ReadFile("../../config/samples/stateful.yaml")
	if err != nil {
		t.Fatal(err)
	}
	strict := strings.Replace(string(text), "      tracking:\n", "      tracking:\n        strict: true\n", 1)
	if strict == string(text) {
		t.Fatal("the sample does not say how it follows flows")
	}
	g.engine.Load(t, lab.Compile(t, lab.ParseText(t, strict)))
	before := g.engine.Dropped(t, "fw/invalid")
	for range 4 {
		g.transfer(t)
	}
	c, err := dial(g.lan, "tcp", lanDesk+":0", wanPeer+":8080")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.answered(make([]byte, 1<<16)); err != nil {
		t.Fatal(err)
	}
	if n := g.engine.Dropped(t, "fw/invalid") - before; n != 0 {
		t.Errorf("%d segments of real connections are invalid", n)
	}
	before = g.engine.Dropped(t, "fw/invalid")
	port := netip.MustParseAddrPort(c.LocalAddr().String()).Port()
	w := g.wan.Wire(t, "eth0", lab.LargeSlot)
	for _, flags := range []uint8{packets.RST, packets.RST | packets.ACK, packets.ACK, packets.FIN | packets.ACK} {
		segment := packets.IPv4{
			Src: number(wanPeer), Dst: number(lanDesk), Proto: packets.ProtoTCP, TTL: 64,
			Payload: packets.TCP(number(wanPeer), number(lanDesk), 8080, port, flags, 1000, nil, nil),
		}
		if err := w.Send(packets.Ethernet(g.box.MAC(t, "wan"), w.MAC, nil, packets.EtherIPv4, segment.Bytes(), nil)); err != nil {
			t.Fatal(err)
		}
	}
	lab.Until(t, lab.Patience, func() error {
		if n := g.engine.Dropped(t, "fw/invalid") - before; n < 4 {
			return fmt.Errorf("%d of 4 segments that fit no window were dropped", n)
		}
		return nil
	})
	if err := c.answered([]byte("still there?")); err != nil {
		t.Error(err)
	}
}
