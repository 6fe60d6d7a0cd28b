package napt

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestTheSessionsOfAZoneOutliveTheWayToAThirdNAPT has hosts of a zone with addresses of another one's pool, which is right: the zones do not see
// each other. What no NAPT has translated is looked up as any host's, whether or not some packets are translated twice.
func TestTheSessionsOfAZoneOutliveTheWayToAThirdNAPT(t *testing.T) {
	const zones = `  interfaces:
  - {name: zone1, address: 10.0.0.1/24}
  - {name: zone2, address: 192.0.2.1/24}
  - {name: wan, address: 203.0.113.1/24, gateway: 203.0.113.254}
  functions:
  - {name: nat1, napt: {pool: [192.0.2.11]}}
  - {name: nat2, napt: {pool: [198.51.100.12]}}
  - {name: nat3, napt: {pool: [203.0.113.9]}}
  - name: rt
    router:
      ports: [{name: a, address: 172.16.0.1}, {name: b}, {name: out}]
      routes: [{prefix: 0.0.0.0/0, port: out}]
  links:
  - {from: zone1, to: nat1.inside}
  - {from: nat1.outside, to: rt.a}
  - {from: zone2, to: nat2.inside}
  - {from: nat2.outside, to: rt.b}
  - {from: rt.out, to: nat3.inside}
  - {from: nat3.outside, to: wan}
`
	direct := strings.NewReplacer("  - {name: nat3, napt: {pool: [203.0.113.9]}}\n", "", "  - {from: rt.out, to: nat3.inside}\n", "", "nat3.outside", "rt.out")
	p := rig.NewPair(t, zones)
	for round := range 2 {
		for id := range uint32(8) {
			ping := draw.PingTo("192.0.2.11", "172.16.0.1")
			ping.Payload = packets.ICMP(packets.ICMPEchoRequest, 0, id<<16|1, nil)
			p.Wants("zone2", ping, "zone2: 172.16.0.1 > 192.0.2.11 ttl 64 icmp 0/0")
		}
		if round == 0 {
			if err := p.Rig.Become(t.Context(), rig.Compile(t, direct.Replace(zones))); err != nil {
				t.Fatal(err)
			}
		}
	}
}
