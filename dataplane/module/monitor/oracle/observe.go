// Package oracle has the meaning of monitors: what observations have seen of flows.
package oracle

import (
	"encoding/binary"
	"maps"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(_ *pass.Chain, _ string, e element.Observe) pass.Element {
		return &observe{Observe: e, flows: map[Observed]pass.Count{}}
	})
}

// Observed is what the packets of a flow have in common where they are observed. Ports of ICMP are 0 and its type times 256.
type Observed struct {
	Interface int // by which they came in
	Proto     uint8
	Src, Dst  netip.AddrPort
}

// observe has what it saw of each flow since it began; bytes are those of IP packets.
type observe struct {
	element.Observe
	flows map[Observed]pass.Count
}

// Pass counts the packet, whatever becomes of it later.
func (o *observe) Pass(r *pass.Run, _ *graph.Node, p *pass.Packet, _ int) (int, bool) {
	f := flowAt(p)
	was, known := o.flows[f]
	o.flows[f] = pass.Count{Packets: was.Packets + 1, Bytes: was.Bytes + uint64(binary.BigEndian.Uint16(p.IP[2:]))}
	r.Lasting(func() {
		o.flows[f] = was
		if !known {
			delete(o.flows, f)
		}
	})
	return 0, false
}

func flowAt(p *pass.Packet) Observed {
	var sport, dport uint16
	switch t := header.ICMPType(p.IP); {
	case header.Ported(p.IP):
		l4 := header.Transport(p.IP)
		sport, dport = binary.BigEndian.Uint16(l4), binary.BigEndian.Uint16(l4[2:])
	case t >= 0:
		dport = uint16(t) << 8
	}
	at := func(address uint32, port uint16) netip.AddrPort {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], address)
		return netip.AddrPortFrom(netip.AddrFrom4(b), port)
	}
	return Observed{Interface: p.Entry, Proto: p.IP[9], Src: at(header.Src(p.IP), sport), Dst: at(header.Dst(p.IP), dport)}
}

// Resume implements pass.Keeping: an observation of the same name that asks for the same goes on.
func (o *observe) Resume(before pass.Element) pass.Element {
	if b, ok := before.(*observe); ok && b.String() == o.String() {
		o.flows = b.flows
	}
	return o
}

// ObservedBy are the flows that an observation of a chain has seen, by its name.
func ObservedBy(c *pass.Chain, name string) map[Observed]pass.Count {
	out := map[Observed]pass.Count{}
	for _, o := range pass.All[*observe](c) {
		if o.Name != name {
			continue
		}
		if len(out) == 0 {
			out = maps.Clone(o.flows)
			continue
		}
		for f, n := range o.flows {
			was := out[f]
			out[f] = pass.Count{Packets: was.Packets + n.Packets, Bytes: was.Bytes + n.Bytes}
		}
	}
	return out
}
