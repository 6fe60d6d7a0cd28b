package interp

import (
	"encoding/binary"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	registerOwn(func(_ *Chain, _ string, e element.ICMPError) pass.Element { return icmpSender{e} })
}

// icmpSender answers with an error.
type icmpSender struct{ element.ICMPError }

func (s icmpSender) Pass(r *pass.Run, n *graph.Node, p *pass.Packet, _ int) (int, bool) {
	at := runOf(r)
	at.answer(n, p, icmpError(p, s.Type, s.Code, 0, at.errorSource(s.ICMPError, p), answerTTL), n.Out[0])
	return pass.Ended, true
}

// errorSource is the source address of an icmp-error's answer.
func (r *run) errorSource(e element.ICMPError, p *pass.Packet) uint32 {
	if e.Source.IsValid() {
		return header.Number(e.Source)
	}
	return r.c.links[p.Entry].addr
}

const (
	maxQuote                      = 548 // of the packet that an error is about: 576 bytes in all (RFC 1812 section 4.3.2.3)
	answerTTL                     = 64
	precedenceInternetworkControl = 48 << 2 // RFC 1812 section 4.3.2.5
)

// icmpError is the error about a packet as it is here, in its VLAN; nil if none may be sent (RFC 1122 section 3.2.2).
func icmpError(p *pass.Packet, typ, code uint8, mtu uint16, source uint32, ttl byte) *pass.Packet {
	if header.IsICMPError(p.IP) || header.Frag(p.IP) == header.FragLater {
		return nil
	}
	quote := p.Bytes()
	quote = quote[:min(len(quote), maxQuote)]
	b := make([]byte, 20+8+len(quote))
	b[0] = 4<<4 | 5
	b[1] = precedenceInternetworkControl
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	b[8] = ttl
	b[9] = header.ICMP
	header.SetSrc(b, source)
	header.SetDst(b, header.Src(p.IP))
	binary.BigEndian.PutUint16(b[10:], header.Checksum(b[:20]))
	m := b[20:]
	m[0], m[1] = typ, code
	binary.BigEndian.PutUint16(m[6:], mtu) // RFC 1191 section 4
	copy(m[8:], quote)
	binary.BigEndian.PutUint16(m[2:], header.Checksum(m))
	return &pass.Packet{
		Entry: p.Entry, Size: 14 + len(b), Tag: p.Tag.Fresh(),
		Entered: append([]byte(nil), b...), IP: b,
		By: pass.Origins{Dst: p.By.Src, QuotedSrc: p.By.Src, QuotedSport: p.By.Sport, QuotedDst: p.By.Dst, QuotedDport: p.By.Dport},
	}
}

// answer sends an error, if there is one, about p, which ends here.
func (r *run) answer(n *graph.Node, p, e *pass.Packet, to graph.Edge) {
	if e == nil {
		r.Note("drop %s", element.ReasonICMPSuppressed)
		r.Step(n, -1, p)
		r.Drop(element.ReasonICMPSuppressed)
		return
	}
	r.Note("answered with ICMP type %d code %d", e.IP[20], e.IP[21])
	r.Step(n, 0, e)
	r.Left()
	r.Walk(e, to)
}
