package netns

import (
	"fmt"
	"testing"

	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// shared is a network of many hosts behind one address.
const shared = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: shared}
spec:
  interfaces:
  - {name: inside, address: 10.1.0.1/16}
  - {name: outside, address: 198.51.100.1/24}
  functions:
  - {name: nat, napt: {pool: [198.51.100.16]}}
  path: [inside, nat, outside]
`

// TestOneHostDoesNotStarveOthers has a host send UDP packets by 160,000 flows, at default limits: it gets a quarter of the address's ports, and
// 200 others talk to a server meanwhile.
func TestOneHostDoesNotStarveOthers(t *testing.T) {
	lab.Require(t)
	const flows, quarter, others = 160_000, 64_512 / 4, 200
	lan, wan, box := lanAndWAN(t)
	lan.Run(t, "ip", "route", "add", "local", "10.1.64.0/24", "dev", "lo") // the others' addresses
	serveEcho(t, wan, "0.0.0.0:80")
	engine := lab.StartEngine(t, box, []string{"inside=lan", "outside=wan"}, "--workers", "2")
	engine.Load(t, lab.Compile(t, lab.ParseText(t, shared)))

	wire, mac := lan.Wire(t, "eth0", lab.LargeSlot), box.MAC(t, "lan")
	flood := func(from, n int) {
		var frames [][]byte
		for i := from; i < from+n; i++ {
			p := packets.IPv4{Src: 0x0a010002, Dst: 0xc6336402, Proto: packets.ProtoUDP, TTL: 64}
			p.Payload = packets.UDP(p.Src, p.Dst, uint16(1024+i%50_000), uint16(1000+i/50_000), []byte("scan"))
			frames = append(frames, packets.Ethernet(mac, wire.MAC, nil, packets.EtherIPv4, p.Bytes(), nil))
		}
		if err := wire.Send(frames...); err != nil {
			t.Fatal(err)
		}
	}
	const burst = lab.Batch
	for i := 0; i < flows; i += burst {
		flood(i, burst)
	}
	lab.Until(t, lab.Patience, func() error { // frames that the engine's socket dropped come again
		flood(0, burst)
		if n := engine.Dropped(t, "nat/subscriber-limit"); n == 0 {
			return fmt.Errorf("no packet met the limit")
		}
		return nil
	})
	for host := range others {
		c, err := dial(lan, "udp", fmt.Sprintf("10.1.64.%d:0", 1+host), "198.51.100.2:80")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.answered([]byte(fmt.Sprint("host ", host))); err != nil {
			t.Fatalf("host %d: %v", host, err)
		}
		flood(host*burst%flows, burst)
	}
	s := engine.Counters(t).GetSubscribers()[0]
	if h := s.GetHeaviest()[0]; h.GetPrefix() != 0x0a010002 || h.GetUdpPorts() != quarter || h.GetRefused() == 0 {
		t.Errorf("the heaviest subscriber is %v, want 10.1.0.2 with %d ports of UDP", h, quarter)
	}
	if n := s.GetSubscribers(); n != others+1 {
		t.Errorf("there are %d subscribers, want %d", n, others+1)
	}
}
