package interp

import (
	"encoding/binary"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func init() {
	register(func(_ *Chain, _ string, e element.StaticNAT) meaning { return staticNAT{e} })
}

// staticNAT is the section "static-nat" of docs/elements.md.
type staticNAT struct{ element element.StaticNAT }

// end is an address and port that may be of a mapping.
type end struct {
	proto uint8
	addr  uint32
	port  uint16
}

func (s staticNAT) pass(r *run, _ *graph.Node, p *packet, in int) (int, bool) {
	if !s.translate(p, in) {
		return in + element.StaticInsideRest, false
	}
	if in == element.StaticInside {
		r.note("fixed translation, from %s", addr(srcOf(p.ip)))
	} else {
		r.note("fixed translation, to %s", addr(dstOf(p.ip)))
	}
	return 1 - in, false
}

// translate tells whether the packet, from a side, is of a mapping.
func (s staticNAT) translate(p *packet, side int) bool {
	if quotes(p.ip) {
		return s.translateError(p, side)
	}
	at := endOf(p.ip, side)
	m, ok := s.of(p.ip, at, side)
	if !ok {
		return false
	}
	to := m.to(at, side)
	if side == element.StaticInside {
		setSrc(p.ip, to.addr)
		p.by.src = nil
	} else {
		setDst(p.ip, to.addr)
		p.by.dst = nil
	}
	if m.Proto == 0 {
		return true
	}
	binary.BigEndian.PutUint16(transport(p.ip)[portAt(side):], to.port)
	if side == element.StaticInside {
		p.by.sport = nil
	} else {
		p.by.dport = nil
	}
	return true
}

// quotes tells ICMP errors, which are translated with what they quote.
func quotes(ip []byte) bool {
	switch icmpType(ip) {
	case icmpUnreachable, icmpTimeExceeded, icmpParameterProblem:
		return true
	}
	return false
}

// portAt is where a side's port lies in a transport header.
func portAt(side int) int {
	if side == element.StaticInside {
		return 0
	}
	return 2
}

// mapping is one of the element's.
type mapping struct{ element.StaticMapping }

// endOf is a packet's end on a side; without ports it has 0.
func endOf(ip []byte, side int) end {
	at := end{proto: ip[9], addr: srcOf(ip)}
	if side == element.StaticOutside {
		at.addr = dstOf(ip)
	}
	if ported(ip) {
		at.port = binary.BigEndian.Uint16(transport(ip)[portAt(side):])
	}
	return at
}

// of is the mapping of a packet that is no error, by its end on a side.
func (s staticNAT) of(ip []byte, at end, side int) (mapping, bool) {
	if ported(ip) && fragOf(ip) == fragWhole {
		if m, ok := s.find(at, side, true); ok {
			return m, true
		}
	}
	if sealed(ip[9]) || icmpType(ip) == icmpSourceQuench || icmpType(ip) == icmpRedirect {
		return mapping{}, false
	}
	return s.find(at, side, false)
}

// find is the mapping that holds an end on a side: one of ports, or one of addresses.
func (s staticNAT) find(at end, side int, ports bool) (mapping, bool) {
	i := slices.IndexFunc(s.element.Mappings, func(m element.StaticMapping) bool {
		if (m.Proto != 0) != ports || !m.Addresses(side).Contains(addr(at.addr)) {
			return false
		}
		first := int(m.Port(side))
		return !ports || m.Proto == at.proto && int(at.port) >= first && int(at.port) < first+m.Ports
	})
	if i < 0 {
		return mapping{}, false
	}
	return mapping{s.element.Mappings[i]}, true
}

// to is what an end of a side is on the other one.
func (m mapping) to(at end, side int) end {
	at.addr = at.addr - num(m.Addresses(side).Addr()) + num(m.Addresses(1-side).Addr())
	if m.Proto != 0 {
		at.port = at.port - m.Port(side) + m.Port(1-side)
	}
	return at
}

// translateError translates an ICMP error about a packet that a mapping has translated.
func (s staticNAT) translateError(p *packet, side int) bool {
	if fragOf(p.ip) != fragWhole {
		return false
	}
	q := quotedFlow(p.ip)
	if q == nil {
		return false
	}
	f, _ := tuple(q)
	if side == element.StaticOutside {
		return s.errorFromOutside(p, q, f)
	}
	return s.errorFromInside(p, q, f)
}

// quotedEnd is the mapping of an end of a quoted packet, and what it becomes.
func (s staticNAT) quotedEnd(q []byte, at end, side int) (mapping, end, bool) {
	if q[9] == protoTCP || q[9] == protoUDP {
		if m, ok := s.find(at, side, true); ok {
			return m, m.to(at, side), true
		}
	}
	m, ok := s.find(at, side, false)
	if !ok {
		return m, at, false
	}
	return m, m.to(at, side), true
}

// errorFromOutside: the quoted packet is one that we sent.
func (s staticNAT) errorFromOutside(p *packet, q []byte, f flow) bool {
	if dstOf(p.ip) != f.src {
		return false
	}
	m, to, ok := s.quotedEnd(q, end{f.proto, f.src, f.sport}, element.StaticOutside)
	if !ok {
		return false
	}
	setDst(p.ip, to.addr)
	setSrc(q, to.addr)
	p.by.dst, p.by.qsrc = nil, nil
	if m.Proto != 0 {
		binary.BigEndian.PutUint16(transport(q), to.port)
		p.by.qsport = nil
	}
	return true
}

// errorFromInside: the quoted packet is one that we delivered. A sender with an outside address of its own has that (RFC 5508 section 4.2), any
// other one that of the packet's destination.
func (s staticNAT) errorFromInside(p *packet, q []byte, f flow) bool {
	from := srcOf(p.ip)
	if isOutside := slices.ContainsFunc(s.element.Mappings, func(m element.StaticMapping) bool { return m.Outside.Contains(addr(from)) }); isOutside {
		return false
	}
	m, to, ok := s.quotedEnd(q, end{f.proto, f.dst, f.dport}, element.StaticInside)
	if !ok {
		return false
	}
	if own, ok := s.find(end{addr: from}, element.StaticInside, false); ok {
		setSrc(p.ip, own.to(end{addr: from}, element.StaticInside).addr)
	} else {
		setSrc(p.ip, to.addr)
	}
	setDst(q, to.addr)
	p.by.src, p.by.qdst = nil, nil
	if m.Proto != 0 {
		binary.BigEndian.PutUint16(transport(q)[2:], to.port)
		p.by.qdport = nil
	}
	return true
}
