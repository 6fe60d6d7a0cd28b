package napt

import (
	"testing"

	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestErrorsOfRoutersAboutForwardedPacketsLeaveAHome has packets to a port forward expire, and be too big: the errors come from the home's only
// address, which is the forward's as well.
func TestErrorsOfRoutersAboutForwardedPacketsLeaveAHome(t *testing.T) {
	p := rig.NewPair(t, `  interfaces:
  - {name: lan, address: 192.168.1.1/24, mtu: 600}
  - {name: wan, address: 203.0.113.7/24, gateway: 203.0.113.1}
  functions:
  - name: rt
    router:
      ports: [{name: lan}, {name: wan}]
      routes: [{prefix: 0.0.0.0/0, port: wan}]
  - name: nat
    napt:
      masquerade: true
      portForwards: [{outsidePorts: 8080, inside: 192.168.1.80, insidePorts: 80}]
  links: [{from: lan, to: rt.lan}, {from: rt.wan, to: nat.inside}, {from: nat.outside, to: wan}]
`)
	const back = "wan: 203.0.113.7 > 198.51.100.1 ttl 64 icmp "
	syn := draw.IP("198.51.100.1", "203.0.113.7")
	syn.Proto, syn.DF = packets.ProtoTCP, true
	syn.Payload = packets.TCP(syn.Src, syn.Dst, 40000, 8080, packets.ACK, 1, nil, make([]byte, 700))
	p.Wants("wan", syn, back+"3/4; drop too-big-answered")
	quotes := func() {
		t.Helper()
		v, _ := packets.Parse(p.Last)
		if q := v.IP.Payload[8:]; packets.Addr(uint32(q[16])<<24|uint32(q[17])<<16|uint32(q[18])<<8|uint32(q[19])).String() != "203.0.113.7" || q[22] != 8080>>8 || q[23] != 8080&255 {
			t.Errorf("the error quotes % x, which nobody outside has sent", q[:28])
		}
	}
	quotes()
	syn.TTL = 1
	p.Wants("wan", syn, back+"11/0")
	quotes()
	syn.Payload = packets.TCP(syn.Src, syn.Dst, 40000, 8081, packets.ACK, 1, nil, nil)
	p.Wants("wan", syn, "drop nat-no-binding")
	forged := draw.IP("192.168.1.9", "198.51.100.1") // of nobody's packet
	forged.Proto, forged.Payload = packets.ProtoICMP, packets.ICMP(11, 0, 0, draw.UDPTo("198.51.100.1", "192.168.1.9", 53).Bytes())
	p.Wants("lan", forged, "drop nat-unsupported")
	if err := p.Rig.Finish(t.Context(), p.Now); err != nil {
		t.Error(err)
	}
}
