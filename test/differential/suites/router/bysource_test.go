package router

import (
	"net/netip"
	"os"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// bySource is a router between three networks and two providers. Guests go by the second provider,
// a lab is refused, and one host's packets to a network go by another next hop.
const bySource = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: providers}
spec:
  interfaces:
  - {name: staff, address: 10.0.1.1/24}
  - {name: guests, address: 10.0.2.1/24}
  - {name: lab, address: 10.0.3.1/24}
  - {name: one, address: 198.51.100.2/24}
  - {name: two, address: 203.0.113.2/24}
  functions:
  - name: rt
    router:
      ports: [{name: staff}, {name: guests}, {name: lab}, {name: one}, {name: two}]
      address: 10.255.0.1
      routes:
      - prefix: 0.0.0.0/0
        port: one
        via: 198.51.100.1
        bySource:
        - {from: [10.0.2.7/32], port: two, via: 203.0.113.9}
        - {from: [10.0.2.0/24, 10.9.0.0/16], port: two, via: 203.0.113.1}
        - {from: [10.0.3.0/24], type: Prohibit}
      - prefix: 192.0.2.0/24
        port: two
        via: 203.0.113.1
        bySource:
        - {from: [10.0.1.0/25], type: Discard}
        - {from: [10.0.1.128/25], port: two}
      - prefix: 172.16.0.0/12
        type: Unreachable
        bySource: [{from: [10.0.3.0/24], port: staff, via: 10.0.1.9}]
  links:
  - {from: staff, to: rt.staff}
  - {from: guests, to: rt.guests}
  - {from: lab, to: rt.lab}
  - {from: rt.one, to: one}
  - {from: rt.two, to: two}
`

// rejectedBySource is a firewall whose answers take the router's routes by source, too: a reset
// comes from whom the packet was for.
const rejectedBySource = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: rejections}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.254}
  functions:
  - name: fw
    firewall:
      rules:
      - {from: Inside, protocol: tcp, destinationPorts: [25], action: Reject}
      - {from: Inside, action: Accept}
      default: Drop # what the router would send back
  - name: rt
    router:
      routes:
      - {prefix: 0.0.0.0/0, port: outside}
      - prefix: 10.5.0.0/16
        port: inside
        via: 10.0.0.2
        bySource:
        - {from: [192.0.2.0/24], port: inside, via: 10.0.0.3}
        - {from: [198.18.0.0/24], port: outside}
        - {from: [198.18.1.0/24], type: Discard}
  path: [inside, fw, rt, outside]
`

func graphOf(t *testing.T, chain string) *graph.Graph {
	t.Helper()
	b, found := manifest.Parse("chain.yaml", []byte(chain), os.ReadFile)
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	g, found := graph.Build(b.Chains[0], graph.Inputs{})
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	draw.Adapt(g)
	return g
}

func TestPacketsOfSomeSourcesGoElsewhere(t *testing.T) {
	g := graphOf(t, bySource)
	const (
		staff = iota
		guests
		lab
		one
		two
	)
	for _, c := range []struct {
		from     int
		src, dst string
		out      int
		hop      string // whose address it is sent to; empty: an error goes back
	}{
		{staff, "10.0.1.5", "8.8.8.8", one, "198.51.100.1"},
		{guests, "10.0.2.5", "8.8.8.8", two, "203.0.113.1"},
		{guests, "10.0.2.7", "8.8.8.8", two, "203.0.113.9"},
		{guests, "10.0.2.7", "10.0.1.5", staff, "10.0.1.5"},   // what is connected stays so
		{guests, "10.0.2.7", "192.0.2.5", two, "203.0.113.1"}, // a longer prefix knows nothing of them
		{lab, "10.0.3.5", "8.8.8.8", lab, ""},
		{staff, "10.0.1.5", "192.0.2.5", -1, ""},
		{staff, "10.0.1.200", "192.0.2.5", -1, ""}, // the interface has no gateway
		{staff, "10.0.1.5", "172.16.0.1", staff, ""},
		{lab, "10.0.3.5", "172.16.0.1", staff, "10.0.1.9"},
	} {
		src, dst := packets.Number(netip.MustParseAddr(c.src)), packets.Number(netip.MustParseAddr(c.dst))
		ip := packets.IPv4{Src: src, Dst: dst, Proto: packets.ProtoUDP, TTL: 64, Payload: packets.UDP(src, dst, 1024, 53, nil)}
		checkWay(t, g, c.from, ip, c.out, c.hop)
	}
}

func TestRejectionsTakeRoutesBySource(t *testing.T) {
	g := graphOf(t, rejectedBySource)
	const (
		inside = iota
		outside
	)
	for _, c := range []struct {
		to  string
		out int
		hop string
	}{
		{"198.51.100.9", inside, "10.0.0.2"},
		{"192.0.2.9", inside, "10.0.0.3"},
		{"198.18.0.9", outside, "203.0.113.254"},
		{"198.18.1.9", -1, ""},
	} {
		src, dst := packets.Number(netip.MustParseAddr("10.5.0.7")), packets.Number(netip.MustParseAddr(c.to))
		ip := packets.IPv4{Src: src, Dst: dst, Proto: packets.ProtoTCP, TTL: 64, Payload: packets.TCP(src, dst, 1024, 25, packets.SYN, 1, nil, nil)}
		checkWay(t, g, inside, ip, c.out, c.hop)
	}
}

// checkWay has the oracle forward a packet, and wants it, or what answers it, to leave by an
// interface to a next hop. A negative interface: it is dropped. No next hop: any.
func checkWay(t *testing.T, g *graph.Graph, in int, ip packets.IPv4, out int, hop string) {
	t.Helper()
	frame := packets.Ethernet(packets.MAC(g.Interfaces[in].MAC), packets.MAC{2, 0, 0, 0, 0, 9}, nil, packets.EtherIPv4, ip.Bytes(), make([]byte, 18))
	got := interp.New(g, interp.Options{}).Process(0, in, frame, nil)
	src, dst := packets.Addr(ip.Src), packets.Addr(ip.Dst)
	switch {
	case out < 0:
		if len(got.Out) > 0 {
			t.Errorf("%s to %s: sent to %s, want it dropped", src, dst, g.Interfaces[got.Out[0].Interface].Name)
		}
	case len(got.Out) != 1 || got.Out[0].Interface != out:
		t.Errorf("%s to %s: %+v, want it sent to %s", src, dst, got, g.Interfaces[out].Name)
	case hop != "":
		a := netip.MustParseAddr(hop).As4()
		want := [6]byte{2, 1, byte(out), a[1], a[2], a[3]} // populate
		if mac := [6]byte(got.Out[0].Frame[:6]); mac != want {
			t.Errorf("%s to %s: sent to %x, want %x (%s)", src, dst, mac, want, hop)
		}
	}
}

func TestTheEngineRoutesBySource(t *testing.T) {
	rig.NeedHarness(t)
	for name, chain := range map[string]string{"packets": bySource, "rejections": rejectedBySource} {
		for kept, inTables := range map[string]bool{"in lists": false, "in tables": true} {
			t.Run(name+", routes "+kept, func(t *testing.T) {
				r, err := rig.NewInTables(graphOf(t, chain), inTables)
				if err != nil {
					t.Fatal(err)
				}
				rig.DriveInTurn(t, r, rig.Scale(60_000, 6_000))
			})
		}
	}
}
