package netns

import (
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// Addresses of the world of config/samples/carrier.yaml.
const (
	carrierHost    = "100.64.0.2" // the others are of 100.64.64.0/24
	carrierGateway = "198.51.100.254"
	carrierPeer    = "198.51.100.2"
)

// carrier is config/samples/carrier.yaml at work: a network of subscribers, and the internet.
type carrier struct {
	access, internet, box *lab.Space
	engine                *lab.Engine
}

func startCarrier(t *testing.T) *carrier {
	t.Helper()
	lab.Require(t)
	c := &carrier{access: lab.New(t, "access"), internet: lab.New(t, "internet"), box: lab.New(t, "engine")}
	lab.Cable(t, lab.End{Space: c.access, Device: "eth0", Address: carrierHost + "/16"}, lab.End{Space: c.box, Device: "access"})
	lab.Cable(t, lab.End{Space: c.internet, Device: "eth0", Address: carrierGateway + "/24"}, lab.End{Space: c.box, Device: "internet"})
	c.access.Run(t, "ip", "route", "add", "default", "via", "100.64.0.1")
	c.access.Run(t, "ip", "route", "add", "local", "100.64.64.0/24", "dev", "lo")
	c.internet.Run(t, "ip", "address", "add", carrierPeer+"/24", "dev", "eth0")
	c.internet.Run(t, "ip", "route", "add", "203.0.113.16/28", "via", "198.51.100.1")
	c.engine = lab.StartEngine(t, c.box, []string{"access=access", "internet=internet"}, "--workers", "2")
	c.engine.Load(t, lab.Compile(t, lab.Parse(t, "../../config/samples/carrier.yaml")))
	return c
}

// TestACarriersSubscribersShareItsAddresses has 64 hosts talk by TCP and UDP: each leaves by one address, and together they use all sixteen.
func TestACarriersSubscribersShareItsAddresses(t *testing.T) {
	c := startCarrier(t)
	servers := map[string]*echo{}
	for _, a := range []string{carrierGateway, carrierPeer} {
		servers[a] = serveEcho(t, c.internet, a+":80")
	}
	used := map[netip.Addr]int{}
	for host := range 64 {
		seen := map[netip.Addr]bool{}
		for i, network := range []string{"udp", "tcp", "udp", "tcp"} {
			to := []string{carrierGateway, carrierPeer}[i/2]
			client, err := dial(c.access, network, fmt.Sprintf("100.64.64.%d:0", host), to+":80")
			if err != nil {
				t.Fatalf("host %d, %s: %v", host, network, err)
			}
			defer client.Close()
			text := fmt.Sprintf("host %d, %d", host, i)
			if err := client.answered([]byte(text)); err != nil {
				t.Fatalf("host %d, %s: %v", host, network, err)
			}
			seen[servers[to].peer(text).Addr()] = true
		}
		if len(seen) != 1 {
			t.Errorf("host %d leaves by %v, want one address", host, seen)
		}
		for a := range seen {
			used[a]++
		}
	}
	if len(used) != 16 {
		t.Errorf("hosts leave by %v, want all sixteen addresses of the pool", used)
	}
}

// TestACarriersSubscriberHasNoMoreThanItsLimits floods from 6,000 ports of a host, and from those that have a mapping to two more places: it gets
// 2,000 ports and 4,000 sessions. Others are served meanwhile, and what the host has goes on.
func TestACarriersSubscriberHasNoMoreThanItsLimits(t *testing.T) {
	c := startCarrier(t)
	const sessions, ports, others = 4000, 2000, 50
	serveEcho(t, c.internet, "0.0.0.0:80")
	mine, err := dial(c.access, "udp", carrierHost+":999", carrierGateway+":80")
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	if err := mine.answered([]byte("before")); err != nil {
		t.Fatal(err)
	}
	wire, mac := c.access.Wire(t, "eth0", lab.LargeSlot), c.box.MAC(t, "access")
	flood := func(dport uint16) {
		for from := 0; from < 6000; from += lab.Batch {
			var frames [][]byte
			for i := from; i < min(from+lab.Batch, 6000); i++ {
				p := packets.IPv4{Src: 0x64400002, Dst: 0xc6336402, Proto: packets.ProtoUDP, TTL: 64}
				p.Payload = packets.UDP(p.Src, p.Dst, uint16(1024+i), dport, []byte("scan"))
				frames = append(frames, packets.Ethernet(mac, wire.MAC, nil, packets.EtherIPv4, p.Bytes(), nil))
			}
			if err := wire.Send(frames...); err != nil {
				t.Fatal(err)
			}
		}
	}
	lab.Until(t, lab.Patience, func() error { // frames that the engine's socket dropped come again
		for dport := range uint16(3) {
			flood(9000 + dport)
		}
		all := c.engine.Counters(t).GetSubscribers()[0].GetHeaviest()
		if h := all[0]; h.GetPrefix() != 0x64400002 || h.GetUdpPorts() != ports || h.GetSessions() != sessions || h.GetRefused() == 0 {
			return fmt.Errorf("the heaviest subscriber is %v, want %s with %d ports of UDP and %d sessions, and some refused", h, carrierHost, ports, sessions)
		}
		return nil
	})
	if c.engine.Dropped(t, "nat/subscriber-limit") == 0 {
		t.Error("nothing was dropped for the limit")
	}
	for host := range others {
		client, err := dial(c.access, "udp", fmt.Sprintf("100.64.64.%d:0", host), carrierGateway+":80")
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		flood(9000)
		if err := client.answered([]byte(fmt.Sprint("host ", host))); err != nil {
			t.Fatalf("host %d: %v", host, err)
		}
	}
	if err := mine.answered([]byte("after")); err != nil {
		t.Errorf("a session from before: %v", err)
	}
}

// TestPeersReachACarriersSubscriberByItsMapping: servers see one address and port, by which anybody gets in.
func TestPeersReachACarriersSubscriberByItsMapping(t *testing.T) {
	c := startCarrier(t)
	servers := map[string]net.PacketConn{}
	for _, a := range []string{carrierGateway, carrierPeer} {
		servers[a] = stunServe(t, c.internet, netip.MustParseAddrPort(a+":3478"))
	}
	host := lab.In(t, c.access, func() (net.PacketConn, error) { return net.ListenPacket("udp4", carrierHost+":5000") })
	defer host.Close()
	known, err := stunAsk(host, netip.MustParseAddrPort(carrierGateway+":3478"))
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := reaches(servers[carrierPeer], host, known); !ok || err != nil {
		t.Errorf("a peer that the host never sent to does not reach it at %v: %v", known, err)
	}
	if again, err := stunAsk(host, netip.MustParseAddrPort(carrierPeer+":3478")); again != known || err != nil {
		t.Errorf("another server sees %v (%v), want %v", again, err, known)
	}
}
