package interp

import (
	"encoding/binary"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	registerOwn(func(c *Chain, _ string, e element.Output) pass.Element { return output{c.linkNamed(e.Interface)} })
}

type output struct{ link int }

func (o output) Pass(r *pass.Run, n *graph.Node, p *pass.Packet, _ int) (int, bool) {
	return pass.Ended, runOf(r).output(n, o.link, p)
}

// output sends the packet out of an interface (docs/elements.md, "Exit"). It
// tells whether the packet left, waits, or was answered.
func (r *run) output(n *graph.Node, iface int, p *pass.Packet) bool {
	l := &r.c.links[iface]
	next, ok := l.nextHop(p)
	if !ok {
		r.Note("drop no-next-hop: %v is not on-link and there is no gateway", header.Addr(header.Dst(p.IP)))
		r.Step(n, -1, p)
		r.Drop("no-next-hop")
		return false
	}
	if !l.has(p.Tag) {
		r.Note("drop vlan-unknown: the interface has no VLAN %d", p.Tag.ID())
		r.Step(n, -1, p)
		r.Drop("vlan-unknown")
		return false
	}
	if len(p.IP) > l.mtu {
		return r.tooBig(n, iface, p)
	}
	mac, known := l.neighbors[neighbor{p.Tag.ID(), next}]
	r.Note("next hop %v", next)
	r.Step(n, -1, p)
	r.Result.Out = append(r.Result.Out, pass.Out{
		Interface: iface, Frame: frame(p, mac, l.mac), Unresolved: !known, NextHop: next,
	})
	return true
}

func (l *link) nextHop(p *pass.Packet) (netip.Addr, bool) {
	dst := header.Addr(header.Dst(p.IP))
	switch {
	case p.Via.IsValid():
		return p.Via, true
	case l.prefix.Contains(dst):
		return dst, true
	}
	return l.gateway, l.gateway.IsValid()
}

// tooBig answers as the router behind the interface would, or drops.
func (r *run) tooBig(n *graph.Node, iface int, p *pass.Packet) bool {
	if p.IP[6]&header.DF == 0 {
		r.Note("drop too-big: %d bytes, MTU %d", len(p.IP), r.c.links[iface].mtu)
		r.Step(n, -1, p)
		r.Drop("too-big")
		return false
	}
	l := &r.c.links[iface]
	e := icmpError(p, header.Unreachable, header.FragNeeded, uint16(l.mtu), r.c.links[p.Entry].addr, l.answerTTL)
	if e != nil {
		e.Entry = iface
		r.Drop("too-big-answered")
	}
	r.answer(n, p, e, graph.Edge{To: l.in})
	return true
}

// frame is the packet as it goes on the wire. A nil dst is left zero.
func frame(p *pass.Packet, dst, src []byte) []byte {
	b := make([]byte, 0, 18+len(p.IP)+len(p.Padding))
	b = append(b, make([]byte, 12)...)
	copy(b, dst)
	copy(b[6:], src)
	if p.Tag.TPID != 0 {
		b = binary.BigEndian.AppendUint16(b, p.Tag.TPID)
		b = binary.BigEndian.AppendUint16(b, p.Tag.TCI)
	}
	b = binary.BigEndian.AppendUint16(b, header.EtherIPv4)
	b = append(b, p.IP...)
	header.MoveChecksums(p.Entered, b[len(b)-len(p.IP):])
	return append(b, p.Padding...)
}
