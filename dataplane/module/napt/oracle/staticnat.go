package oracle

import (
	"encoding/binary"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(_ *pass.Chain, _ string, e element.StaticNAT) pass.Element { return staticNAT{e} })
}

// staticNAT is the section "static-nat" of docs/elements.md.
type staticNAT struct{ element element.StaticNAT }

// end is an address and port that may be of a mapping.
type end struct {
	proto uint8
	addr  uint32
	port  uint16
}

func (s staticNAT) Pass(r *pass.Run, _ *graph.Node, p *pass.Packet, in int) (int, bool) {
	if !s.translate(p, in) {
		return in + element.StaticInsideRest, false
	}
	if in == element.StaticInside {
		r.Note("fixed translation, from %s", header.Addr(header.Src(p.IP)))
	} else {
		r.Note("fixed translation, to %s", header.Addr(header.Dst(p.IP)))
	}
	return 1 - in, false
}

// translate tells whether the packet, from a side, is of a mapping.
func (s staticNAT) translate(p *pass.Packet, side int) bool {
	if quotes(p.IP) {
		return s.translateError(p, side)
	}
	at := endOf(p.IP, side)
	m, ok := s.of(p.IP, at, side)
	if !ok {
		return false
	}
	to := m.to(at, side)
	if side == element.StaticInside {
		header.SetSrc(p.IP, to.addr)
		p.By.Src = nil
	} else {
		header.SetDst(p.IP, to.addr)
		p.By.Dst = nil
	}
	if m.Proto == 0 {
		return true
	}
	binary.BigEndian.PutUint16(header.Transport(p.IP)[portAt(side):], to.port)
	if side == element.StaticInside {
		p.By.Sport = nil
	} else {
		p.By.Dport = nil
	}
	return true
}

// quotes tells ICMP errors, which are translated with what they quote.
func quotes(ip []byte) bool {
	switch header.ICMPType(ip) {
	case header.Unreachable, header.TimeExceeded, header.ParameterProblem:
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
	at := end{proto: ip[9], addr: header.Src(ip)}
	if side == element.StaticOutside {
		at.addr = header.Dst(ip)
	}
	if header.Ported(ip) {
		at.port = binary.BigEndian.Uint16(header.Transport(ip)[portAt(side):])
	}
	return at
}

// of is the mapping of a packet that is no error, by its end on a side.
func (s staticNAT) of(ip []byte, at end, side int) (mapping, bool) {
	if header.Ported(ip) && header.Frag(ip) == header.FragWhole {
		if m, ok := s.find(at, side, true); ok {
			return m, true
		}
	}
	if flow.Sealed(ip[9]) || header.ICMPType(ip) == header.SourceQuench || header.ICMPType(ip) == header.Redirect {
		return mapping{}, false
	}
	return s.find(at, side, false)
}

// find is the mapping that holds an end on a side: one of ports, or one of addresses.
func (s staticNAT) find(at end, side int, ports bool) (mapping, bool) {
	i := slices.IndexFunc(s.element.Mappings, func(m element.StaticMapping) bool {
		if (m.Proto != 0) != ports || !m.Addresses(side).Contains(header.Addr(at.addr)) {
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
	at.addr = at.addr - header.Number(m.Addresses(side).Addr()) + header.Number(m.Addresses(1-side).Addr())
	if m.Proto != 0 {
		at.port = at.port - m.Port(side) + m.Port(1-side)
	}
	return at
}

// translateError translates an ICMP error about a packet that a mapping has translated.
func (s staticNAT) translateError(p *pass.Packet, side int) bool {
	if header.Frag(p.IP) != header.FragWhole {
		return false
	}
	q := flow.Quoted(p.IP)
	if q == nil {
		return false
	}
	f, _ := flow.Of(q)
	if side == element.StaticOutside {
		return s.errorFromOutside(p, q, f)
	}
	return s.errorFromInside(p, q, f)
}

// quotedEnd is the mapping of an end of a quoted packet, and what it becomes.
func (s staticNAT) quotedEnd(q []byte, at end, side int) (mapping, end, bool) {
	if q[9] == header.TCP || q[9] == header.UDP {
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
func (s staticNAT) errorFromOutside(p *pass.Packet, q []byte, f flow.Flow) bool {
	if header.Dst(p.IP) != f.Src {
		return false
	}
	m, to, ok := s.quotedEnd(q, end{f.Proto, f.Src, f.Sport}, element.StaticOutside)
	if !ok {
		return false
	}
	header.SetDst(p.IP, to.addr)
	header.SetSrc(q, to.addr)
	p.By.Dst, p.By.QuotedSrc = nil, nil
	if m.Proto != 0 {
		binary.BigEndian.PutUint16(header.Transport(q), to.port)
		p.By.QuotedSport = nil
	}
	return true
}

// errorFromInside: the quoted packet is one that we delivered. A sender with an outside address of its own has that (RFC 5508 section 4.2), any
// other one that of the packet's destination.
func (s staticNAT) errorFromInside(p *pass.Packet, q []byte, f flow.Flow) bool {
	from := header.Src(p.IP)
	if isOutside := slices.ContainsFunc(s.element.Mappings, func(m element.StaticMapping) bool { return m.Outside.Contains(header.Addr(from)) }); isOutside {
		return false
	}
	m, to, ok := s.quotedEnd(q, end{f.Proto, f.Dst, f.Dport}, element.StaticInside)
	if !ok {
		return false
	}
	if own, ok := s.find(end{addr: from}, element.StaticInside, false); ok {
		header.SetSrc(p.IP, own.to(end{addr: from}, element.StaticInside).addr)
	} else {
		header.SetSrc(p.IP, to.addr)
	}
	header.SetDst(q, to.addr)
	p.By.Src, p.By.QuotedDst = nil, nil
	if m.Proto != 0 {
		binary.BigEndian.PutUint16(header.Transport(q)[2:], to.port)
		p.By.QuotedDport = nil
	}
	return true
}
