package interp

import (
	"encoding/binary"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func init() {
	register(func(c *Chain, _ string, e element.Output) meaning { return output{c.linkNamed(e.Interface)} })
}

type output struct{ link int }

func (o output) pass(r *run, n *graph.Node, p *packet, _ int) (int, bool) {
	return ended, r.output(n, o.link, p)
}

// output sends the packet out of an interface (docs/elements.md, "Exit"). It
// tells whether the packet left, waits, or was answered.
func (r *run) output(n *graph.Node, iface int, p *packet) bool {
	l := &r.c.links[iface]
	next, ok := l.nextHop(p)
	if !ok {
		r.note("drop no-next-hop: %v is not on-link and there is no gateway", addr(dstOf(p.ip)))
		r.step(n, -1, p)
		r.drop("no-next-hop")
		return false
	}
	if !l.has(p.tag) {
		r.note("drop vlan-unknown: the interface has no VLAN %d", p.tag.vid())
		r.step(n, -1, p)
		r.drop("vlan-unknown")
		return false
	}
	if len(p.ip) > l.mtu {
		return r.tooBig(n, iface, p)
	}
	mac, known := l.neighbors[neighbor{p.tag.vid(), next}]
	r.note("next hop %v", next)
	r.step(n, -1, p)
	r.res.Out = append(r.res.Out, Out{
		Interface: iface, Frame: p.frame(mac, l.mac), Unresolved: !known, NextHop: next,
	})
	return true
}

func (l *link) nextHop(p *packet) (netip.Addr, bool) {
	dst := addr(dstOf(p.ip))
	switch {
	case p.via.IsValid():
		return p.via, true
	case l.prefix.Contains(dst):
		return dst, true
	}
	return l.gateway, l.gateway.IsValid()
}

// tooBig answers as the router behind the interface would, or drops.
func (r *run) tooBig(n *graph.Node, iface int, p *packet) bool {
	if p.ip[6]&flagDF == 0 {
		r.note("drop too-big: %d bytes, MTU %d", len(p.ip), r.c.links[iface].mtu)
		r.step(n, -1, p)
		r.drop("too-big")
		return false
	}
	l := &r.c.links[iface]
	e := icmpError(p, icmpUnreachable, icmpFragNeeded, uint16(l.mtu), r.c.links[p.entry].addr, l.answerTTL)
	if e != nil {
		e.entry = iface
		r.drop("too-big-answered")
	}
	r.answer(n, p, e, graph.Edge{To: l.in})
	return true
}

// frame is the packet as it goes on the wire. A nil dst is left zero.
func (p *packet) frame(dst, src []byte) []byte {
	b := make([]byte, 0, 18+len(p.ip)+len(p.padding))
	b = append(b, make([]byte, 12)...)
	copy(b, dst)
	copy(b[6:], src)
	if p.tag.tpid != 0 {
		b = binary.BigEndian.AppendUint16(b, p.tag.tpid)
		b = binary.BigEndian.AppendUint16(b, p.tag.tci)
	}
	b = binary.BigEndian.AppendUint16(b, etherIPv4)
	b = append(b, p.ip...)
	moveChecksums(p.entered, b[len(b)-len(p.ip):])
	return append(b, p.padding...)
}
