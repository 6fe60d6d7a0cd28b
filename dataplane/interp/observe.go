package interp

import (
	"encoding/binary"
	"maps"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func init() {
	register(func(_ *Chain, _ string, e element.Observe) meaning {
		return &observe{Observe: e, flows: map[Observed]Count{}}
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
	flows map[Observed]Count
}

// pass counts the packet, whatever becomes of it later.
func (o *observe) pass(r *run, _ *graph.Node, p *packet, _ int) (int, bool) {
	f := flowAt(p)
	was, known := o.flows[f]
	o.flows[f] = Count{was.Packets + 1, was.Bytes + uint64(binary.BigEndian.Uint16(p.ip[2:]))}
	r.lasting(func() {
		o.flows[f] = was
		if !known {
			delete(o.flows, f)
		}
	})
	return 0, false
}

func flowAt(p *packet) Observed {
	var sport, dport uint16
	switch t := icmpType(p.ip); {
	case ported(p.ip):
		l4 := transport(p.ip)
		sport, dport = binary.BigEndian.Uint16(l4), binary.BigEndian.Uint16(l4[2:])
	case t >= 0:
		dport = uint16(t) << 8
	}
	at := func(address uint32, port uint16) netip.AddrPort {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], address)
		return netip.AddrPortFrom(netip.AddrFrom4(b), port)
	}
	return Observed{Interface: p.entry, Proto: p.ip[9], Src: at(srcOf(p.ip), sport), Dst: at(dstOf(p.ip), dport)}
}

// resume implements keeping: an observation of the same name that asks for the same goes on.
func (o *observe) resume(before meaning) meaning {
	if b, ok := before.(*observe); ok && b.String() == o.String() {
		o.flows = b.flows
	}
	return o
}

// Observed are the flows that an observation has seen, by its name.
func (c *Chain) Observed(name string) map[Observed]Count {
	out := map[Observed]Count{}
	for _, m := range c.means {
		o, ok := m.(*observe)
		if !ok || o.Name != name {
			continue
		}
		if len(out) == 0 {
			out = maps.Clone(o.flows)
			continue
		}
		for f, n := range o.flows {
			was := out[f]
			out[f] = Count{was.Packets + n.Packets, was.Bytes + n.Bytes}
		}
	}
	return out
}
