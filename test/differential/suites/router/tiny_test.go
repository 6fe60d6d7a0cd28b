package router

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// routersAlone is a chain of routers alone.
const routersAlone = `
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.2}
  functions:
  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}}
  path: [inside, rt, outside]
`

// withFirewall has a firewall too, which lets all pass.
const withFirewall = `
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.2}
  functions:
  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}}
  - {name: fw, firewall: {rules: [{name: all, action: Accept}]}}
  path: [inside, rt, fw, outside]
`

func TestFirstFragmentsWithoutTheirHeaderAreDroppedWhereAFunctionMayReadIt(t *testing.T) {
	router, firewall := rig.NewPair(t, routersAlone), rig.NewPair(t, withFirewall)
	for proto, header := range map[uint8]int{packets.ProtoTCP: 20, packets.ProtoUDP: 8, packets.ProtoICMP: 8} {
		for _, room := range []int{0, 1, header - 1, header} {
			what := fmt.Sprintf("protocol %d with %d bytes", proto, room)
			ip := packets.IPv4{
				Src: 10<<24 | 2, Dst: 8<<24 | 8<<16 | 8<<8 | 8, Proto: proto, TTL: 9, MF: true,
				Payload: make([]byte, room),
			}
			if got := router.Send("inside", ip); !strings.HasPrefix(got, "outside: ") {
				t.Errorf("%s: a router gives %q, want it forwarded", what, got)
			}
			if got := firewall.Send("inside", ip); (got == "drop truncated") != (room < header) {
				t.Errorf("%s: a firewall gives %q", what, got)
			}
			// To the router itself, and at its end: engine and oracle agree, whatever comes of it.
			ip.Dst = 10<<24 | 1
			router.Send("inside", ip)
			ip.Dst, ip.TTL = 8<<24, 1
			router.Send("inside", ip)
		}
	}
}
