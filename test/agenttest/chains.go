package agenttest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// Heavy is a chain with a NAPT that copies each packet to a probe 60 times, so that few packets load a core: rings are long in time
// then, and bear that the tests' machine gives an engine's core to others for a while.
func Heavy(t *testing.T) *delivery.Program {
	t.Helper()
	var outputs, links []string
	for i := range 16 {
		outputs = append(outputs, fmt.Sprintf("c%d", i))
	}
	for _, tee := range []string{"one", "two", "three", "four"} {
		for i, out := range outputs {
			if tee != "one" || i > 3 {
				links = append(links, fmt.Sprintf("{from: %s.%s, to: way}", tee, out))
			}
		}
	}
	kind := "kind: Tee, tee: {outputs: [" + strings.Join(outputs, ", ") + "]}}"
	text := `
apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: edge}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 198.51.100.2/24, gateway: 198.51.100.1, neighbors: [{address: 198.51.100.1, mac: "02:00:00:00:00:01"}]}
  - {name: probe, address: 10.9.0.1/24, gateway: 10.9.0.2, neighbors: [{address: 10.9.0.2, mac: "02:00:00:00:00:02"}]}
  functions:
  - name: copies
    elements:
      ports: [inside, outside, probe]
      elements:
      - {name: one, ` + kind + `
      - {name: two, ` + kind + `
      - {name: three, ` + kind + `
      - {name: four, ` + kind + `
      - {name: way, kind: Lookup, lookup: {routes: [{prefix: 0.0.0.0/0, output: out, via: 10.9.0.2}]}}
      links: [{from: inside, to: one}, {from: outside, to: inside}, {from: one.c0, to: outside}, {from: way.out, to: probe},
              {from: one.c1, to: two}, {from: one.c2, to: three}, {from: one.c3, to: four}, ` + strings.Join(links, ", ") + `]
  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}}
  - {name: nat, napt: {pool: [198.51.100.16]}}
  links:
  - {from: inside, to: copies.inside}
  - {from: copies.outside, to: rt.inside}
  - {from: rt.outside, to: nat.inside}
  - {from: nat.outside, to: outside}
  - {from: copies.probe, to: probe, direction: Forward}
`
	return synthesized(t, text)
}

// synthesized is the program of a chain.
func synthesized(t *testing.T, text string) *delivery.Program {
	t.Helper()
	return Encoded(t, lab.Compile(t, lab.ParseText(t, text)).Program)
}

// FlowsPerHost is how many flows a capture has. They are heavy enough to be worth a move each.
const FlowsPerHost = 16

// Capture is a file with a packet of each of an inside host's UDP flows.
func Capture(t *testing.T, dir string, host uint8) string {
	t.Helper()
	var frames [][]byte
	for n := range uint16(FlowsPerHost) {
		src, dst := 0x0a000000|uint32(host), uint32(0xcb007105)
		ip := packets.IPv4{Src: src, Dst: dst, Proto: packets.ProtoUDP, TTL: 64, Payload: packets.UDP(src, dst, 1024+n, 53, nil)}
		// DPDK gives the first of its pcap devices this address.
		frames = append(frames, packets.Ethernet(packets.MAC{2, 'p', 'c', 'a', 'p', 0}, packets.MAC{2, 0, 0, 0, 0, 9}, nil, packets.EtherIPv4, ip.Bytes(), make([]byte, 18)))
	}
	path := filepath.Join(dir, fmt.Sprintf("host-%d.pcap", host))
	if err := packets.WriteCapture(path, frames); err != nil {
		t.Fatal(err)
	}
	return path
}

// Office is a chain with drops and a NAPT.
func Office(t *testing.T, drops string) *delivery.Program {
	return synthesized(t, `
apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: edge}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 198.51.100.2/24, gateway: 198.51.100.1}
  functions:
  - name: fw
    firewall:
      rules:
      - {name: no-telnet, from: Inside, protocol: tcp, destinationPorts: [`+drops+`], action: Drop}
      - {name: out, from: Inside, action: Accept}
      - {name: replies, from: Outside, action: Accept}
  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}}
  - {name: nat, napt: {pool: [198.51.100.16]}}
  path: [inside, fw, rt, nat, outside]
`)
}
