package testbed

import (
	"net/netip"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

// Pool is a NAPT with one outside address and the ports 2000..2003.
func Pool() element.NAPT {
	return element.NAPT{
		Pool: []netip.Addr{Addr("192.0.2.10")}, PortMin: 2000, PortMax: 2003, MaxSessions: 100,
		Timeouts: element.Timeouts{TCP: 100 * time.Second, TCPTransitory: 10 * time.Second, UDP: 20 * time.Second, ICMP: 5 * time.Second},
	}
}

// Natted is inside ⇄ NAPT ⇄ outside.
func Natted(e element.NAPT) *Builder {
	b := New()
	n := b.Add("nat", e)
	b.Wire(b.In(Inside), 0, n, element.NAPTInside)
	b.Wire(n, element.NAPTOutside, b.Out(Outside), 0)
	b.Wire(b.In(Outside), 0, n, element.NAPTOutside)
	b.Wire(n, element.NAPTInside, b.Out(Inside), 0)
	return b
}

// Answering is inside ⇄ NAPT ⇄ router ⇄ outside; the router's answers go back through the NAPT.
func Answering() *Builder {
	b := Natted(Pool())
	n := len(b.Graph.Nodes) - 1
	ttl, answer := b.Add("rt/ttl", element.DecTTL{}), b.Add("rt/expired", element.ICMPError{Type: 11, Source: Addr("192.0.2.1")})
	b.Wire(n, element.NAPTOutside, ttl, 0)
	b.Wire(ttl, element.TTLAlive, b.Out(Outside), 0)
	b.Wire(ttl, element.TTLExpired, answer, 0)
	b.Wire(answer, 0, n, element.NAPTOutside)
	return b
}

// ErrorTo is an ICMP time exceeded from a router outside about quote.
func ErrorTo(dst string, quote Packet) Packet {
	return Packet{Proto: 1, ICMP: Expired, Src: "203.0.113.99", Dst: dst, Payload: quote.Frame()[14:], To: OutsideMAC, From: RouterMAC}
}
