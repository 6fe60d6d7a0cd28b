package soak

import (
	"math/rand/v2"

	"github.com/sinter-nfv/sinter/test/packets"
)

// flood is frames that somebody inside sends to everybody's harm. The i-th frame of a turn may be that of the turn before.
type flood struct {
	name  string
	frame func(r *rand.Rand, router packets.MAC, i int) []byte
}

var (
	nobody   = number("10.1.128.0")     // and following: hosts that begin nothing else
	floodee  = number("198.51.100.2")   // it answers nothing
	deadFrom = number("198.51.100.200") // and following: nobody answers for them
)

func isDead(a uint32) bool { return a >= deadFrom && a < deadFrom+40 }

func udp(src, dst uint32, sport, dport uint16, body int) packets.IPv4 {
	return packets.IPv4{Src: src, Dst: dst, Proto: packets.ProtoUDP, TTL: 64, Payload: packets.UDP(src, dst, sport, dport, make([]byte, body))}
}

func ip(router packets.MAC, p packets.IPv4) []byte {
	return packets.Ethernet(router, macOf(p.Src), nil, packets.EtherIPv4, p.Bytes(), nil)
}

// plain is a datagram of one of so many hosts.
func plain(i, hosts int) packets.IPv4 {
	return udp(nobody+uint32(i%hosts), floodee, uint16(1024+i%50_000), 9, 0)
}

var floods = []flood{
	{name: "no flood"},
	{"SYN of 20,000 hosts", func(_ *rand.Rand, router packets.MAC, i int) []byte {
		p := packets.IPv4{Src: nobody + uint32(i%20_000), Dst: floodee, Proto: packets.ProtoTCP, TTL: 64}
		p.Payload = packets.TCP(p.Src, p.Dst, uint16(1024+i%60_000), 80, packets.SYN, uint32(i), nil, nil)
		return ip(router, p)
	}},
	// More than anything else begins. Workers remember what they have decided, and take more memory for that once they have so many flows.
	{"UDP flows of 20,000 hosts", func(_ *rand.Rand, router packets.MAC, i int) []byte {
		return ip(router, udp(nobody+uint32(i%20_000), floodee, uint16(1024+i/20_000%8), 53, 0))
	}},
	{"UDP flows of one host", func(_ *rand.Rand, router packets.MAC, i int) []byte {
		return ip(router, udp(nobody+7, floodee, uint16(1024+i%60_000), 53, 64))
	}},
	{"UDP beyond a rate", func(_ *rand.Rand, router packets.MAC, i int) []byte { return ip(router, plain(i, 100)) }},
	{"UDP to a port that is closed and opened", func(_ *rand.Rand, router packets.MAC, i int) []byte {
		return ip(router, udp(nobody+uint32(i%200), floodee, 1024, 7001, 200))
	}},
	{"UDP to hosts that are not there", func(_ *rand.Rand, router packets.MAC, i int) []byte {
		return ip(router, udp(nobody+uint32(i%200), deadFrom+uint32(i%40), 1024, 53, 0))
	}},
	{"pings of 20,000 hosts to the interface", func(_ *rand.Rand, router packets.MAC, i int) []byte {
		return ip(router, packets.IPv4{
			Src: nobody + uint32(i%20_000), Dst: own[inside], Proto: packets.ProtoICMP, TTL: 64, Payload: packets.ICMP(packets.ICMPEchoRequest, 0, uint32(i), nil),
		})
	}},
	{"ARP of 20,000 hosts", func(_ *rand.Rand, router packets.MAC, i int) []byte {
		host := nobody + uint32(i%20_000)
		return packets.Ethernet(router, macOf(host), nil, packets.EtherARP, packets.ARP(packets.ARPRequest, macOf(host), host, packets.MAC{}, own[inside]), nil)
	}},
	{"fragments", func(_ *rand.Rand, router packets.MAC, i int) []byte {
		p := plain(i, 1000)
		p.Payload = packets.UDP(p.Src, p.Dst, 1024, 53, make([]byte, 64))
		p.ID = uint16(i)
		if p.MF = i%3 > 0; !p.MF {
			p.Offset = 9
		}
		return ip(router, p)
	}},
	{"TTL 1", func(_ *rand.Rand, router packets.MAC, i int) []byte {
		p := udp(nobody+uint32(i%1000), floodee, 1024, 53, 0)
		p.TTL = 1
		return ip(router, p)
	}},
	{"IP options", func(r *rand.Rand, router packets.MAC, i int) []byte {
		p := udp(nobody+uint32(i%1000), floodee, 1024, 53, 0)
		p.Options = packets.Options(r)
		return ip(router, p)
	}},
	{"packets that are too big", func(_ *rand.Rand, router packets.MAC, i int) []byte {
		p := udp(nobody+uint32(i%100), floodee, 1024, 53, 1440)
		p.DF = i%2 == 0
		return ip(router, p)
	}},
	{"frames that are damaged", func(r *rand.Rand, router packets.MAC, i int) []byte {
		for {
			if b := packets.Odd(r, ip(router, udp(nobody+uint32(i%1000), floodee, 1024, 53, 64))); len(b) >= 14 { // which a veth takes
				return b
			}
		}
	}},
	{"tiny frames", func(_ *rand.Rand, router packets.MAC, i int) []byte { return ip(router, plain(i, 1000))[:14+i%20] }},
}
