package router

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// routed is a router between two nets, with a default route out and one to a net behind a host inside.
const routed = `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254}
  functions:
  - name: rt
    router:
      address: 172.16.0.1
      routes:
      - {prefix: 0.0.0.0/0, port: outside, via: 192.0.2.254}
      - {prefix: 10.5.0.0/16, port: inside, via: 10.0.0.2}
  path: [inside, rt, outside]
`

func TestAHostWithoutServicesAnswersAtOwnAddresses(t *testing.T) {
	for name, own := range map[string]string{"an interface's": "10.0.0.1", "a router's": "172.16.0.1"} {
		t.Run(name, func(t *testing.T) {
			p := rig.NewPair(t, routed)
			back := "inside: " + own + " > 10.0.0.2 ttl 64 "
			p.Wants("inside", draw.PingTo("10.0.0.2", own), back+"icmp 0/0")
			p.Wants("inside", draw.UDPTo("10.0.0.2", own, 33434), back+"icmp 3/3")
			other := draw.IP("10.0.0.2", own)
			other.Proto, other.Payload = 47, []byte("a tunnel of ours?")
			p.Wants("inside", other, back+"icmp 3/2")
			p.Wants("inside", draw.TCPTo("10.0.0.2", own, packets.SYN, "abc"), back+"tcp 80 > 40000 flags 0x14 seq 0 ack 1004")
			p.Wants("inside", draw.TCPTo("10.0.0.2", own, packets.FIN, ""), back+"tcp 80 > 40000 flags 0x14 seq 0 ack 1001")
			p.Wants("inside", draw.TCPTo("10.0.0.2", own, packets.ACK, ""), back+"tcp 80 > 40000 flags 0x4 seq 0 ack 0")
			p.Wants("inside", draw.TCPTo("10.0.0.2", own, packets.RST, ""), "drop local")
		})
	}
}

func TestAUDPTracerouteToTheRouterEnds(t *testing.T) {
	p := rig.NewPair(t, routed)
	probe := draw.UDPTo("10.0.0.2", "172.16.0.1", 33434)
	probe.TTL = 1
	p.Wants("inside", probe, "inside: 172.16.0.1 > 10.0.0.2 ttl 64 icmp 3/3")
}

func TestAnswersOfOwnAddressesKeepTheVLAN(t *testing.T) {
	p := rig.NewPair(t, strings.Replace(routed, "10.0.0.1/24", "10.0.0.1/24, vlans: [10]", 1))
	p.Tags = []packets.Tag{{TPID: packets.TPID8021Q, TCI: 10}}
	p.Wants("inside", draw.UDPTo("10.0.0.2", "10.0.0.1", 33434), "inside: 10.0.0.1 > 10.0.0.2 ttl 64 vlan 10 icmp 3/3")
	p.Wants("inside", draw.TCPTo("10.0.0.2", "10.0.0.1", packets.SYN, ""),
		"inside: 10.0.0.1 > 10.0.0.2 ttl 64 vlan 10 tcp 80 > 40000 flags 0x14 seq 0 ack 1001")
}

func TestEveryOwnAddressAnswersFromEverySide(t *testing.T) {
	p := rig.NewPair(t, routed)
	p.Wants("inside", draw.PingTo("10.0.0.2", "192.0.2.1"), "inside: 192.0.2.1 > 10.0.0.2 ttl 64 icmp 0/0")
	p.Wants("outside", draw.PingTo("192.0.2.9", "10.0.0.1"), "outside: 10.0.0.1 > 192.0.2.9 ttl 64 icmp 0/0")
	p.Wants("outside", draw.PingTo("8.8.8.8", "10.0.0.1"), "outside: 10.0.0.1 > 8.8.8.8 ttl 64 icmp 0/0")

	nat := rig.NewPair(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254}
  functions:
  - {name: nat, napt: {pool: [192.0.2.2]}}
  path: [inside, nat, outside]
`)
	nat.Wants("inside", draw.PingTo("10.0.0.2", "192.0.2.1"), "inside: 192.0.2.1 > 10.0.0.2 ttl 64 icmp 0/0")
	nat.Wants("outside", draw.PingTo("8.8.8.8", "192.0.2.1"), "outside: 192.0.2.1 > 8.8.8.8 ttl 64 icmp 0/0")
}

// TestAnAddressThatAnotherRealmHasForItsOwnIsNotAnsweredThere has two zones with one prefix.
func TestAnAddressThatAnotherRealmHasForItsOwnIsNotAnsweredThere(t *testing.T) {
	p := rig.NewPair(t, `  interfaces:
  - {name: zone1, address: 10.0.0.1/24}
  - {name: zone2, address: 10.0.0.9/24}
  - {name: wan, address: 192.0.2.1/24, gateway: 192.0.2.254}
  functions:
  - {name: nat1, napt: {pool: [192.0.2.11]}}
  - {name: nat2, napt: {pool: [192.0.2.12]}}
  - {name: rt, router: {ports: [{name: a}, {name: b}, {name: out}], routes: [{prefix: 0.0.0.0/0, port: out}]}}
  links:
  - {from: zone1, to: nat1.inside}
  - {from: nat1.outside, to: rt.a}
  - {from: zone2, to: nat2.inside}
  - {from: nat2.outside, to: rt.b}
  - {from: rt.out, to: wan}
`)
	p.Wants("zone1", draw.PingTo("10.0.0.2", "10.0.0.1"), "zone1: 10.0.0.1 > 10.0.0.2 ttl 64 icmp 0/0")
	p.Wants("zone2", draw.PingTo("10.0.0.2", "10.0.0.9"), "zone2: 10.0.0.9 > 10.0.0.2 ttl 64 icmp 0/0")
	if got := p.Send("zone1", draw.PingTo("10.0.0.2", "10.0.0.9")); strings.HasPrefix(got, "zone1: 10.0.0.9 >") {
		t.Errorf("zone 2's address answered a host of zone 1, for which it is a neighbour's: %s", got)
	}
}

func TestEchoRepliesAreRoutedLikeAnyPacket(t *testing.T) {
	p := rig.NewPair(t, strings.Replace(routed, "10.0.0.1/24", "10.0.0.1/24, reversePath: Off", 1))
	p.Wants("inside", draw.PingTo("192.0.2.9", "10.0.0.1"), "outside: 10.0.0.1 > 192.0.2.9 ttl 64 icmp 0/0")
	p.Wants("inside", draw.PingTo("10.5.0.7", "10.0.0.1"), "inside: 10.0.0.1 > 10.5.0.7 ttl 64 icmp 0/0")
	p.Wants("inside", draw.PingTo("8.8.8.8", "10.0.0.1"), "outside: 10.0.0.1 > 8.8.8.8 ttl 64 icmp 0/0")
	p.Wants("outside", draw.PingTo("10.5.0.7", "192.0.2.1"), "inside: 192.0.2.1 > 10.5.0.7 ttl 64 icmp 0/0")
}

// TestAStatefulFirewallLetsOwnAddressesAnswer has hosts behind a router ask the addresses of an interface, whose firewall sees neither question nor answer.
func TestAStatefulFirewallLetsOwnAddressesAnswer(t *testing.T) {
	const chain = `  interfaces:
  - {name: inside, address: 10.0.0.1/24, reversePath: Off}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254, reversePath: Off}
  functions:
  - {name: watch, monitor: {}}
  - {name: fw, firewall: {stateful: true, rules: [{from: Inside, action: Accept}]}}
  - name: rt
    router:
      routes:
      - {prefix: 0.0.0.0/0, port: outside, via: 192.0.2.254}
      - {prefix: 10.5.0.0/16, port: inside, via: 10.0.0.2, bySource: [{from: [10.0.0.0/24, 192.0.2.1/32], port: inside, via: 10.0.0.5}]}
      - {prefix: 10.5.7.0/24, port: outside, via: 192.0.2.7}
  path: [inside, watch, fw, rt, outside]
`
	p := rig.NewPair(t, chain)
	p.Wants("inside", draw.PingTo("10.0.0.5", "10.0.0.1"), "inside: 10.0.0.1 > 10.0.0.5 ttl 64 icmp 0/0")
	router := nextMAC(p)
	for _, own := range []string{"10.0.0.1", "192.0.2.1"} {
		p.Wants("inside", draw.PingTo("10.5.0.7", own), "inside: "+own+" > 10.5.0.7 ttl 64 icmp 0/0")
		if via := nextMAC(p); via != router {
			t.Errorf("the answer went to %x, not to the next hop at %x", via, router)
		}
		p.Wants("inside", draw.TCPTo("10.5.0.7", own, packets.SYN, ""), "inside: "+own+" > 10.5.0.7 ttl 64 tcp 80 > 40000 flags 0x14 seq 0 ack 1001")
		p.Wants("inside", draw.UDPTo("10.5.0.7", own, 53), "inside: "+own+" > 10.5.0.7 ttl 64 icmp 3/3")
		p.Wants("inside", draw.PingTo("10.5.7.7", own), "outside: "+own+" > 10.5.7.7 ttl 64 icmp 0/0")
	}
	p.Wants("outside", draw.PingTo("10.5.0.7", "192.0.2.1"), "drop fw/invalid") // a forged source: nobody inside has asked
	if err := p.Rig.Finish(t.Context(), p.Now); err != nil {
		t.Error(err)
	}
}

func TestGeneratedErrorsLeaveWithTheirFullTTL(t *testing.T) {
	p := rig.NewPair(t, routed)
	last := draw.UDPTo("10.0.0.2", "8.8.8.8", 53)
	last.TTL = 1
	p.Wants("inside", last, "inside: 172.16.0.1 > 10.0.0.2 ttl 64 icmp 11/0")
}

// A packet that is too big for an interface is answered by it: whether the answer meets a router depends on the chain.
func TestErrorsOfInterfacesLeaveWithTheirFullTTL(t *testing.T) {
	thin := strings.NewReplacer("192.0.2.1/24,", "192.0.2.1/24, mtu: 600,")
	const open = "  - {name: fw, firewall: {default: Accept}}\n  - {name: nat, napt: {pool: [192.0.2.2]}}\n"
	router := strings.TrimSuffix(routed, "  path: [inside, rt, outside]\n")
	for path, spec := range map[string]string{
		"inside, rt, outside":          router,
		"inside, rt, fw, nat, outside": router + open,
		"inside, fw, outside":          strings.NewReplacer("default: Reject", "default: Accept").Replace(guarded[:strings.Index(guarded, "      rules:")]),
	} {
		t.Run(path, func(t *testing.T) {
			p := rig.NewPair(t, thin.Replace(spec)+"  path: ["+path+"]\n")
			big := draw.UDPTo("10.0.0.2", "8.8.8.8", 53)
			big.DF = true
			big.Payload = packets.UDP(big.Src, big.Dst, 40000, 53, make([]byte, 800))
			p.Wants("inside", big, "inside: 10.0.0.1 > 10.0.0.2 ttl 64 icmp 3/4; drop too-big-answered")
		})
	}
}

func TestSourceQuenchIsIgnoredAndNeverAnswered(t *testing.T) {
	p := rig.NewPair(t, routed)
	quench := draw.IP("10.0.0.2", "10.0.0.1")
	quench.Proto, quench.Payload = packets.ProtoICMP, packets.ICMP(4, 0, 0, draw.UDPTo("10.0.0.1", "10.0.0.2", 53).Bytes())
	p.Wants("inside", quench, "drop local")
	quench.Dst, quench.TTL = packets.Number(netip.MustParseAddr("8.8.8.8")), 1
	p.Wants("inside", quench, "drop icmp-suppressed")
}

// TestTheNAPTIgnoresSourceQuenchAndTakesEchoRepliesOfAnyCode has a flow of each kind through a NAPT, and ICMP messages about it.
func TestTheNAPTIgnoresSourceQuenchAndTakesEchoRepliesOfAnyCode(t *testing.T) {
	p := rig.NewPair(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254}
  functions:
  - {name: nat, napt: {pool: [192.0.2.2]}}
  path: [inside, nat, outside]
`)
	p.Wants("inside", draw.PingTo("10.0.0.2", "8.8.8.8"), "outside: 192.0.2.2 > 8.8.8.8 ttl 64 icmp 8/0")
	request, _ := packets.Parse(p.Last)
	for _, code := range []uint8{0, 1, 255} {
		reply := draw.IP("8.8.8.8", "192.0.2.2")
		reply.Proto, reply.Payload = packets.ProtoICMP, packets.ICMP(packets.ICMPEchoReply, code, binary.BigEndian.Uint32(request.IP.Payload[4:]), []byte("sinter"))
		p.Wants("outside", reply, fmt.Sprintf("inside: 8.8.8.8 > 10.0.0.2 ttl 64 icmp 0/%d", code))
	}
	p.Send("inside", draw.UDPTo("10.0.0.2", "8.8.8.8", 53))
	about, _ := packets.Parse(p.Last)
	first := about.IP
	first.MF = true
	later := first
	later.Offset = 1
	for _, c := range []struct {
		typ, code uint8
		quoted    packets.IPv4
		want      string
	}{
		{4, 0, about.IP, "drop nat-no-binding"},
		{3, 3, about.IP, "inside: 9.9.9.9 > 10.0.0.2 ttl 64 icmp 3/3"},
		{11, 1, first, "inside: 9.9.9.9 > 10.0.0.2 ttl 64 icmp 11/1"},
		{11, 1, later, "drop nat-no-binding"},
	} {
		e := draw.IP("9.9.9.9", "192.0.2.2")
		e.Proto, e.Payload = packets.ProtoICMP, packets.ICMP(c.typ, c.code, 0, c.quoted.Bytes())
		p.Wants("outside", e, c.want)
	}
}

// guarded is a firewall that rejects telnet and UDP from inside, and what comes from outside.
const guarded = `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254}
  functions:
  - name: fw
    firewall:
      default: Reject
      rules:
      - {name: telnet, from: Inside, protocol: tcp, destinationPorts: [23], action: Reject}
      - {name: no-udp, from: Inside, protocol: udp, action: Reject}
      - {name: out, from: Inside, action: Accept}
`

func TestAFirewallRejectsWithAResetOrProhibited(t *testing.T) {
	p := rig.NewPair(t, guarded+"  path: [inside, fw, outside]\n")
	p.Wants("outside", draw.TCPTo("8.8.8.8", "10.0.0.2", packets.SYN, ""),
		"outside: 10.0.0.2 > 8.8.8.8 ttl 64 tcp 80 > 40000 flags 0x14 seq 0 ack 1001")
	p.Wants("outside", draw.UDPTo("8.8.8.8", "10.0.0.2", 53), "outside: 192.0.2.1 > 8.8.8.8 ttl 64 icmp 3/13")
	p.Wants("outside", draw.PingTo("8.8.8.8", "10.0.0.2"), "outside: 192.0.2.1 > 8.8.8.8 ttl 64 icmp 3/13")
	p.Wants("outside", draw.TCPTo("8.8.8.8", "10.0.0.2", packets.RST, ""), "drop icmp-suppressed")
	p.Wants("inside", draw.UDPTo("10.0.0.2", "8.8.8.8", 53), "inside: 10.0.0.1 > 10.0.0.2 ttl 64 icmp 3/13")
	later := draw.UDPTo("10.0.0.2", "8.8.8.8", 53)
	later.Offset = 4
	p.Wants("inside", later, "drop icmp-suppressed")
	telnet := draw.TCPTo("10.0.0.2", "8.8.8.8", packets.SYN, "")
	telnet.Payload = packets.TCP(telnet.Src, telnet.Dst, 40000, 23, packets.SYN, 7, nil, nil)
	p.Wants("inside", telnet, "inside: 8.8.8.8 > 10.0.0.2 ttl 64 tcp 23 > 40000 flags 0x14 seq 0 ack 8")
	p.Wants("inside", draw.TCPTo("10.0.0.2", "8.8.8.8", packets.SYN, ""),
		"outside: 10.0.0.2 > 8.8.8.8 ttl 64 tcp 40000 > 80 flags 0x2 seq 1000 ack 0")
	if n := p.Rig.Oracle.Counters()["fw/reject-default-outside"].Packets; n != 4 {
		t.Errorf("fw/reject-default-outside counted %d, want 4", n)
	}
	if err := p.Rig.Finish(t.Context(), p.Now); err != nil {
		t.Error(err)
	}
}

// TestARejectionFindsItsWayBackThroughANAPT has the firewall outside of a NAPT.
func TestARejectionFindsItsWayBackThroughANAPT(t *testing.T) {
	p := rig.NewPair(t, guarded+"  - {name: nat, napt: {pool: [192.0.2.2]}}\n  path: [inside, nat, fw, outside]\n")
	p.Wants("inside", draw.UDPTo("10.0.0.2", "8.8.8.8", 53), "inside: 10.0.0.1 > 10.0.0.2 ttl 64 icmp 3/13")
	telnet := draw.TCPTo("10.0.0.2", "8.8.8.8", packets.SYN, "")
	telnet.Payload = packets.TCP(telnet.Src, telnet.Dst, 40000, 23, packets.SYN, 7, nil, nil)
	p.Wants("inside", telnet, "inside: 8.8.8.8 > 10.0.0.2 ttl 64 tcp 23 > 40000 flags 0x14 seq 0 ack 8")
}

// refusing is a chain in which each check of sources has something to refuse.
const refusing = `  interfaces:
  - {name: inside, address: 10.0.0.1/24%s}
  - {name: more, address: 10.0.1.1/24}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254}
  functions:
  - {name: rt, router: {ports: [{name: a, address: 172.16.0.1}, {name: b}, {name: out}], routes: [{prefix: 0.0.0.0/0, port: out}]}}
  - {name: nat, napt: {pool: [192.0.2.2, 198.51.100.8]}}
  links:
  - {from: inside, to: rt.a}
  - {from: more, to: rt.b}
  - {from: rt.out, to: nat.inside}
  - {from: nat.outside, to: outside}
`

func TestSourcesThatCannotBeRightAreDroppedUnderTheirReason(t *testing.T) {
	p := rig.NewPair(t, fmt.Sprintf(refusing, ""))
	for _, c := range []struct{ in, src, dst, want string }{
		{"inside", "10.0.0.1", "8.8.8.8", "drop own-source"},
		{"inside", "172.16.0.1", "8.8.8.8", "drop own-source"},
		{"inside", "10.0.1.1", "8.8.8.8", "drop own-source"},
		{"outside", "192.0.2.1", "192.0.2.2", "drop own-source"},
		{"outside", "192.0.2.2", "192.0.2.1", "drop pool-source"},
		{"outside", "198.51.100.8", "192.0.2.1", "drop pool-source"},
		{"outside", "192.0.2.255", "192.0.2.1", "drop broadcast-source"},
		{"inside", "10.0.0.255", "8.8.8.8", "drop broadcast-source"},
		{"inside", "10.0.1.7", "8.8.8.8", "drop reverse-path"},
		{"inside", "8.8.4.4", "8.8.8.8", "drop reverse-path"},
		{"inside", "127.0.0.1", "8.8.8.8", "drop martian"},
		{"inside", "10.0.0.7", "10.0.0.255", "drop directed-broadcast"},
		{"outside", "8.8.8.8", "10.0.1.255", "drop directed-broadcast"},
		{"outside", "10.0.0.1", "192.0.2.2", "drop nat-no-binding"}, // another realm's address
		{"outside", "8.8.8.8", "192.0.2.1", "outside: 192.0.2.1 > 8.8.8.8 ttl 64 icmp 0/0"},
		{"inside", "10.0.0.7", "10.0.0.1", "inside: 10.0.0.1 > 10.0.0.7 ttl 64 icmp 0/0"},
	} {
		p.Wants(c.in, draw.PingTo(c.src, c.dst), c.want)
	}
	if err := p.Rig.Finish(t.Context(), p.Now); err != nil {
		t.Error(err)
	}
}

func TestTheReversePathCanBeRelaxed(t *testing.T) {
	for mode, want := range map[string][3]string{
		"Strict": {"drop reverse-path", "drop reverse-path", "drop own-source"},
		"Loose":  {"more: 10.0.0.1 > 10.0.1.7 ttl 64 icmp 0/0", "drop reverse-path", "drop own-source"},
		"Off":    {"more: 10.0.0.1 > 10.0.1.7 ttl 64 icmp 0/0", "", "drop own-source"},
	} {
		t.Run(mode, func(t *testing.T) {
			p := rig.NewPair(t, fmt.Sprintf(refusing, ", reversePath: "+mode))
			p.Wants("inside", draw.PingTo("10.0.1.7", "10.0.0.1"), want[0])
			if got := p.Send("inside", draw.PingTo("8.8.4.4", "8.8.8.8")); strings.HasPrefix(got, "drop") != (want[1] != "") {
				t.Errorf("from 8.8.4.4: %s, wanted %q", got, want[1])
			}
			p.Wants("inside", draw.PingTo("10.0.1.1", "8.8.8.8"), want[2])
		})
	}
}

func TestSourceRoutesAreDroppedAndOtherOptionsCarried(t *testing.T) {
	p := rig.NewPair(t, routed)
	for name, c := range map[string]struct {
		options []byte
		want    string
	}{
		"loose source route":                      {[]byte{131, 7, 4, 8, 8, 4, 4, 0}, "drop source-route"},
		"strict source route":                     {[]byte{137, 7, 4, 8, 8, 4, 4, 0}, "drop source-route"},
		"a source route behind others":            {[]byte{1, 1, 148, 4, 0, 0, 131, 3, 4, 0, 0, 0}, "drop source-route"},
		"router alert":                            {[]byte{148, 4, 0, 0}, ""},
		"record route":                            {[]byte{7, 7, 4, 0, 0, 0, 0, 0}, ""},
		"timestamp":                               {[]byte{68, 8, 5, 0, 0, 0, 0, 0}, ""},
		"what follows the end of options is none": {[]byte{0, 131, 3, 4}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			u := draw.UDPTo("10.0.0.2", "8.8.8.8", 53)
			u.Options = c.options
			if c.want != "" {
				p.Wants("inside", u, c.want)
				return
			}
			p.Wants("inside", u, "outside: 10.0.0.2 > 8.8.8.8 ttl 63 udp 40000 > 53")
			if v, _ := packets.Parse(p.Last); string(v.IP.Options) != string(c.options) {
				t.Errorf("options %x became %x", c.options, v.IP.Options)
			}
		})
	}
}

func TestAPingInFragmentsIsAnswered(t *testing.T) {
	p := rig.NewPair(t, routed)
	request := draw.PingTo("10.0.0.2", "10.0.0.1")
	request.Payload = packets.ICMP(packets.ICMPEchoRequest, 0, 5<<16|1, []byte(strings.Repeat("sinter! ", 375)))
	cut := func(from, to int, id uint16) packets.IPv4 {
		f := request
		f.ID, f.Offset, f.MF, f.Payload = id, uint16(from/8), to < len(request.Payload), request.Payload[from:min(to, len(request.Payload))]
		return f
	}
	var reply []byte
	for from := 0; from < len(request.Payload); from += 1480 {
		got := p.Send("inside", cut(from, from+1480, 77))
		if !strings.HasPrefix(got, "inside: 10.0.0.1 > 10.0.0.2 ttl 64 at "+fmt.Sprint(from)) {
			t.Fatalf("the fragment from %d on became %s", from, got)
		}
		v, _ := packets.Parse(p.Last)
		if v.IP.ID != 77 || v.IP.MF != (from+1480 < len(request.Payload)) {
			t.Errorf("identification %d, more fragments %t", v.IP.ID, v.IP.MF)
		}
		reply = append(reply, v.IP.Payload...)
	}
	if want := packets.ICMP(packets.ICMPEchoReply, 0, 5<<16|1, request.Payload[8:]); string(reply) != string(want) {
		t.Errorf("put together the reply is not the request with type 0 and its checksum")
	}
	p.Wants("inside", cut(1480, 2960, 78), "drop local") // its first one never came
	later := cut(1480, 2960, 77)
	later.Proto = packets.ProtoUDP
	p.Wants("inside", later, "drop local")
	p.Now += 30 * time.Second
	p.Wants("inside", cut(1480, 2960, 77), "drop local")
	for id := range uint16(65) {
		p.Send("inside", cut(0, 1480, 100+id))
	}
	p.Wants("inside", cut(2960, 4440, 100), "drop local") // forgotten for younger ones
	p.Wants("inside", cut(2960, 4440, 101), "inside: 10.0.0.1 > 10.0.0.2 ttl 64 at 2960")
	if err := p.Rig.Finish(t.Context(), p.Now); err != nil {
		t.Error(err)
	}
}
