package walk_test

import (
	"strings"
	"testing"
)

// TestAddressesThatLongerRoutesTakeHaveNoLeafBehindAStaticTranslation: two longer routes together
// take the addresses that are translated behind a shorter one. Neither alone covers them, so no
// later step of the synthesis would find that no packet comes there.
func TestAddressesThatLongerRoutesTakeHaveNoLeafBehindAStaticTranslation(t *testing.T) {
	r := synthesize(t, `
  interfaces:
  - {name: lan, address: 192.168.1.1/24}
  - {name: wan, address: 203.0.113.7/24, gateway: 203.0.113.1}
  functions:
  - name: rt
    router:
      ports: [{name: nat}, {name: wan}]
      routes:
      - {prefix: 0.0.0.0/0, port: wan}
      - {prefix: 198.51.100.4/31, port: wan, via: 203.0.113.9}
      - {prefix: 198.51.100.6/31, port: wan, via: 203.0.113.10}
      - {prefix: 198.51.100.0/24, port: nat}
  - name: nat
    napt:
      pool: [198.51.100.200]
      static: [{inside: 192.168.1.4/30, outside: 198.51.100.4/30}]
  links: [{from: lan, to: nat.inside}, {from: nat.outside, to: rt.nat}, {from: rt.wan, to: wan}]
`)
	for _, s := range r.Segments {
		if s.Name != "from wan" {
			continue
		}
		for _, c := range s.Classes {
			for _, l := range c.Legs {
				if strings.HasSuffix(l.String(), "→ output lan") {
					t.Errorf("packets that a longer route takes reach the hosts inside: %s", l)
				}
			}
		}
		return
	}
	t.Error("there is no segment for what comes from outside")
}
