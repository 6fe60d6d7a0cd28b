package router

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestGeneratedErrorsReachHostsInTheirVLAN has a host in VLAN 10 whose packets die in every way that is answered.
func TestGeneratedErrorsReachHostsInTheirVLAN(t *testing.T) {
	p := rig.NewPair(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24, vlans: [10]}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254, mtu: 600, vlans: [10]}
  functions:
  - {name: fw, firewall: {default: Accept, rules: [{name: no-dns, protocol: udp, destinationPorts: [53], action: Reject}]}}
  - name: rt
    router:
      address: 172.16.0.1
      routes:
      - {prefix: 0.0.0.0/0, port: outside}
      - {prefix: 198.18.0.0/16, type: Unreachable}
      - {prefix: 198.19.0.0/16, type: Prohibit}
  path: [inside, fw, rt, outside]
`)
	last := draw.UDPTo("10.0.0.2", "8.8.8.8", 9)
	last.TTL = 1
	big := draw.UDPTo("10.0.0.2", "8.8.8.8", 9)
	big.DF, big.Payload = true, packets.UDP(big.Src, big.Dst, 40000, 9, make([]byte, 800))
	for vlan, tags := range map[string][]packets.Tag{
		"":         nil,
		" vlan 10": {{TPID: packets.TPIDQinQ, TCI: 0xa00a}},
	} {
		p.Tags = tags
		p.Wants("inside", last, "inside: 172.16.0.1 > 10.0.0.2 ttl 64"+vlan+" icmp 11/0")
		p.Wants("inside", draw.UDPTo("10.0.0.2", "198.18.0.1", 9), "inside: 172.16.0.1 > 10.0.0.2 ttl 64"+vlan+" icmp 3/1")
		p.Wants("inside", draw.UDPTo("10.0.0.2", "198.19.0.1", 9), "inside: 172.16.0.1 > 10.0.0.2 ttl 64"+vlan+" icmp 3/13")
		p.Wants("inside", draw.UDPTo("10.0.0.2", "8.8.8.8", 53), "inside: 10.0.0.1 > 10.0.0.2 ttl 64"+vlan+" icmp 3/13")
		p.Wants("inside", big, "inside: 10.0.0.1 > 10.0.0.2 ttl 64"+vlan+" icmp 3/4; drop too-big-answered")
	}
	if err := p.Rig.Finish(t.Context(), p.Now); err != nil {
		t.Error(err)
	}
}

// TestAWrongTransportChecksumToAnOwnAddressIsNotAnswered damages a byte of the payload, and then says by UDP's zero that there is no
// checksum.
func TestAWrongTransportChecksumToAnOwnAddressIsNotAnswered(t *testing.T) {
	for _, own := range []string{"10.0.0.1", "172.16.0.1"} {
		p := rig.NewPair(t, routed)
		back := "inside: " + own + " > 10.0.0.2 ttl 64 "
		ping, udp, tcp := draw.PingTo("10.0.0.2", own), draw.UDPTo("10.0.0.2", own, 33434), draw.TCPTo("10.0.0.2", own, packets.SYN, "abc")
		for _, ip := range []*packets.IPv4{&ping, &udp, &tcp} {
			ip.Payload[len(ip.Payload)-1] ^= 4
			p.Wants("inside", *ip, "drop bad-checksum")
		}
		udp.Payload[6], udp.Payload[7] = 0, 0
		p.Wants("inside", udp, back+"icmp 3/3")
		ping.MF, ping.Payload = true, ping.Payload[:8]
		p.Wants("inside", ping, back+"at 0 icmp 0/0") // the checksum covers what is yet to come
		rst := draw.TCPTo("10.0.0.2", own, packets.RST, "abc")
		rst.Payload[20] ^= 1
		p.Wants("inside", rst, "drop local")
		if err := p.Rig.Finish(t.Context(), p.Now); err != nil {
			t.Error(err)
		}
	}
}

// TestARouterDoesNotVerifyTheTransportChecksumsOfOthers has packets with a wrong one forwarded, expired and rejected.
func TestARouterDoesNotVerifyTheTransportChecksumsOfOthers(t *testing.T) {
	p := rig.NewPair(t, routed)
	udp := draw.UDPTo("10.0.0.2", "8.8.8.8", 53)
	udp.Payload[8] ^= 1
	p.Wants("inside", udp, "outside: 10.0.0.2 > 8.8.8.8 ttl 63 udp 40000 > 53")
	udp.TTL = 1
	p.Wants("inside", udp, "inside: 172.16.0.1 > 10.0.0.2 ttl 64 icmp 11/0")
	p = rig.NewPair(t, guarded+"  path: [inside, fw, outside]\n")
	p.Wants("inside", udp, "inside: 10.0.0.1 > 10.0.0.2 ttl 64 icmp 3/13")
}

// TestErrorsComeFromTheInterfaceByWhichTheyLeave is RFC 1812 section 4.3.2.4, also where the packet died at another interface, or a NAPT lies between.
func TestErrorsComeFromTheInterfaceByWhichTheyLeave(t *testing.T) {
	for path, nat := range map[string]string{"inside, rt, outside": "", "inside, rt, nat, outside": "  - {name: nat, napt: {pool: [192.0.2.2]}}\n"} {
		spec := strings.NewReplacer("      address: 172.16.0.1\n", "", "192.0.2.1/24,", "192.0.2.1/24, mtu: 600,", "  path: [inside, rt, outside]\n", nat).Replace(routed)
		p := rig.NewPair(t, spec+"  path: ["+path+"]\n")
		probe := draw.UDPTo("10.0.0.2", "8.8.8.8", 53)
		probe.TTL, probe.DF = 1, true
		p.Wants("inside", probe, "inside: 10.0.0.1 > 10.0.0.2 ttl 64 icmp 11/0")
		probe.TTL, probe.Payload = 64, packets.UDP(probe.Src, probe.Dst, 40000, 53, make([]byte, 800))
		p.Wants("inside", probe, "inside: 10.0.0.1 > 10.0.0.2 ttl 64 icmp 3/4; drop too-big-answered")
	}
}

// TestARejectionFindsTheNextHopOfHostsBeyondTheLink has a firewall before a router that knows the way back to them.
func TestARejectionFindsTheNextHopOfHostsBeyondTheLink(t *testing.T) {
	const chain = `  interfaces:
  - {name: inside, address: 10.0.0.1/24, reversePath: Off}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254}
  functions:
  - {name: watch, monitor: {}}
  - name: fw
    firewall:
      default: Drop
      rules:
      - {name: no-udp, from: Inside, protocol: udp, action: Reject}
      - {name: no-tcp, from: Inside, protocol: tcp, action: Reject}
  - name: rt
    router:
      routes:
      - {prefix: 0.0.0.0/0, port: outside, via: 192.0.2.254}
      - {prefix: 10.5.0.0/16, port: inside, via: 10.0.0.2}
      - {prefix: 10.5.7.0/24, port: outside, via: 192.0.2.7}
  path: [inside, watch, fw, rt, outside]
`
	p := rig.NewPair(t, chain)
	p.Wants("inside", draw.UDPTo("10.0.0.2", "8.8.8.8", 53), "inside: 10.0.0.1 > 10.0.0.2 ttl 64 icmp 3/13")
	onLink := nextMAC(p)
	p.Wants("inside", draw.UDPTo("10.5.0.7", "8.8.8.8", 53), "inside: 10.0.0.1 > 10.5.0.7 ttl 64 icmp 3/13")
	if via := nextMAC(p); via != onLink {
		t.Errorf("the answer went to %x, not to the next hop at %x", via, onLink)
	}
	p.Wants("inside", draw.TCPTo("10.5.0.7", "8.8.8.8", packets.SYN, ""),
		"inside: 8.8.8.8 > 10.5.0.7 ttl 64 tcp 80 > 40000 flags 0x14 seq 0 ack 1001")
	p.Wants("inside", draw.UDPTo("10.5.7.7", "8.8.8.8", 53), "outside: 10.0.0.1 > 10.5.7.7 ttl 64 icmp 3/13")
	p.Wants("inside", draw.UDPTo("8.8.4.4", "8.8.8.8", 53), "outside: 10.0.0.1 > 8.8.4.4 ttl 64 icmp 3/13")
	if err := p.Rig.Finish(t.Context(), p.Now); err != nil {
		t.Error(err)
	}
}

// nextMAC is where the last frame went.
func nextMAC(p *rig.Pair) packets.MAC {
	v, _ := packets.Parse(p.Last)
	return v.DstMAC
}

// TestALoopThroughManyElementsEndsByTTL has two routers that send what they do not know to each other, through thirty firewalls.
func TestALoopThroughManyElementsEndsByTTL(t *testing.T) {
	spec := `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24}
  functions:
  - {name: a, router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}}
  - {name: b, router: {routes: [{prefix: 0.0.0.0/0, port: inside}]}}
`
	path := "inside, a"
	for i := range 30 {
		name := fmt.Sprintf("fw%d", i)
		spec += "  - {name: " + name + ", firewall: {default: Accept, rules: [{name: none, protocol: " + fmt.Sprint(200+i) + ", action: Drop}]}}\n"
		path += ", " + name
	}
	p := rig.NewPair(t, spec+"  path: ["+path+", b, outside]\n")
	for _, ttl := range []uint8{1, 64, 128, 254, 255} {
		probe := draw.UDPTo("10.0.0.2", "8.8.8.8", 53)
		probe.TTL = ttl
		p.Wants("inside", probe, "inside: 10.0.0.1 > 10.0.0.2 ttl "+map[bool]string{true: "64", false: "63"}[ttl%2 == 1]+" icmp 11/0")
	}
}
