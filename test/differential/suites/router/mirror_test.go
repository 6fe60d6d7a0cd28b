package router

import (
	"testing"

	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestCopiesBehindARouterGoToTheAnalyzer and not to the next hop that the router chose; they are as
// the packet is at the monitor.
func TestCopiesBehindARouterGoToTheAnalyzer(t *testing.T) {
	p := rig.NewPair(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24}
  - {name: tap, address: 198.51.100.1/30, gateway: 198.51.100.2}
  functions:
  - name: rt
    router: {routes: [{prefix: 0.0.0.0/0, port: outside, via: 192.0.2.254}]}
  - name: mon
    monitor: {classes: [{name: dns, protocol: udp, mirror: {to: tap}}]}
  path: [inside, rt, mon, outside]
  links:
  - {from: mon.tap, to: tap, direction: Forward}
`)
	const packet = "10.0.0.9 > 8.8.8.8 ttl 63 udp 40000 > 53"
	analyzer := packets.MAC{2, 1, 2, 51, 100, 2}
	for range 2 {
		p.Wants("inside", draw.UDPTo("10.0.0.9", "8.8.8.8", 53), "outside: "+packet+"; tap: "+packet)
		if v, ok := packets.Parse(p.Last); !ok || v.DstMAC != analyzer {
			t.Errorf("the copy went to %v, want %s", v.DstMAC, analyzer)
		}
	}
	p.Wants("inside", draw.TCPTo("10.0.0.9", "8.8.8.8", packets.SYN, ""),
		"outside: 10.0.0.9 > 8.8.8.8 ttl 63 tcp 40000 > 80 flags 0x2 seq 1000 ack 0")
}
