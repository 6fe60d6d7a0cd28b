package interp

import (
	"encoding/binary"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func init() {
	register(func(_ *Chain, _ string, e element.ICMPError) meaning { return icmpSender{e} })
}

// icmpSender answers with an error.
type icmpSender struct{ element.ICMPError }

func (s icmpSender) pass(r *run, n *graph.Node, p *packet, _ int) (int, bool) {
	r.answer(n, p, icmpError(p, s.Type, s.Code, 0, r.errorSource(s.ICMPError, p), answerTTL), n.Out[0])
	return ended, true
}

// errorSource is the source address of an icmp-error's answer.
func (r *run) errorSource(e element.ICMPError, p *packet) uint32 {
	if e.Source.IsValid() {
		return num(e.Source)
	}
	return r.c.links[p.entry].addr
}

const (
	maxQuote                      = 548 // of the packet that an error is about: 576 bytes in all (RFC 1812 section 4.3.2.3)
	answerTTL                     = 64
	precedenceInternetworkControl = 48 << 2 // RFC 1812 section 4.3.2.5
)

// icmpError is the error about a packet as it is here, in its VLAN; nil if none may be sent (RFC 1122 section 3.2.2).
func icmpError(p *packet, typ, code uint8, mtu uint16, source uint32, ttl byte) *packet {
	if isICMPError(p.ip) || fragOf(p.ip) == fragLater {
		return nil
	}
	quote := p.bytes()
	quote = quote[:min(len(quote), maxQuote)]
	b := make([]byte, 20+8+len(quote))
	b[0] = 4<<4 | 5
	b[1] = precedenceInternetworkControl
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	b[8] = ttl
	b[9] = protoICMP
	setSrc(b, source)
	setDst(b, srcOf(p.ip))
	binary.BigEndian.PutUint16(b[10:], checksum(b[:20]))
	m := b[20:]
	m[0], m[1] = typ, code
	binary.BigEndian.PutUint16(m[6:], mtu) // RFC 1191 section 4
	copy(m[8:], quote)
	binary.BigEndian.PutUint16(m[2:], checksum(m))
	return &packet{
		entry: p.entry, size: 14 + len(b), tag: p.tag.fresh(),
		entered: append([]byte(nil), b...), ip: b,
		by: origins{dst: p.by.src, qsrc: p.by.src, qsport: p.by.sport, qdst: p.by.dst, qdport: p.by.dport},
	}
}

// answer sends an error, if there is one, about p, which ends here.
func (r *run) answer(n *graph.Node, p, e *packet, to graph.Edge) {
	if e == nil {
		r.note("drop %s", element.ReasonICMPSuppressed)
		r.step(n, -1, p)
		r.drop(element.ReasonICMPSuppressed)
		return
	}
	r.note("answered with ICMP type %d code %d", e.ip[20], e.ip[21])
	r.step(n, 0, e)
	r.walk(e, to)
}
