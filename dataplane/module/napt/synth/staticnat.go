package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

func init() {
	walk.Register(func(e element.StaticNAT) walk.Meaning { return &staticNAT{StaticNAT: e} })
}

// staticNAT: what a mapping does to a packet is the sum of its address or port and a number, which is known at compile time. Which mapping an ICMP
// error is of, its quoted packet tells, and so run time.
type staticNAT struct{ element.StaticNAT }

// byAddress is what a mapping of all packets translates by address alone: all but protocols whose checksums cover addresses in a way that is not
// known, ICMP messages that quote packets, and source quench and redirects, which nobody takes from afar (RFC 6633).
var byAddress = [...]headerspace.Filter{
	headerspace.Filter{}.With(headerspace.Proto, headerspace.Full(headerspace.Proto).Subtract(headerspace.Of(1, 33, 51, 136))),
	headerspace.Filter{}.With(headerspace.Proto, headerspace.Of(1)).
		With(headerspace.ICMPType, headerspace.Full(headerspace.ICMPType).Subtract(headerspace.Of(3, 4, 5, 11, 12))),
}

// ends are the address and port that are translated of packets from a side.
func ends(side int) (address, port headerspace.Field) {
	if side == element.StaticInside {
		return headerspace.Src, headerspace.SPort
	}
	return headerspace.Dst, headerspace.DPort
}

func (s *staticNAT) Walk(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	if at.Port >= lookedAt {
		return s.goOn(w, t, at.Node, at.Port-lookedAt)
	}
	if at.Port == element.StaticOutside {
		if err := t.ByDst(); err != nil {
			return err
		}
	}
	ended, err := w.Divide(t, at, func() (n, boxes int) { return s.ways(t, at.Port) })
	if ended || err != nil {
		return err
	}
	for i := range s.Mappings {
		for _, f := range taken(&s.Mappings[i], at.Port) {
			found, decided := t.Match(f)
			if !decided {
				return w.Undecided(t, at.Node, at.Port)
			}
			for k := range found.N {
				u := w.Branch(t, *found.At(k))
				if !u.Reaches() {
					continue
				}
				if err := s.translate(w, u, at, &s.Mappings[i]); err != nil {
					return err
				}
			}
		}
	}
	if err := s.errors(w, t, at); err != nil {
		return err
	}
	return w.Follow(t, at.Node, at.Port+element.StaticInsideRest, -1)
}

// Divides implements Dividing.
func (s *staticNAT) Divides() int { return len(s.Mappings) }

// ways is into how many units the mappings divide a unit from a side, and how many boxes these are at most.
func (s *staticNAT) ways(t *walk.Unit, side int) (n, boxes int) {
	n = len(s.Mappings)
	if address, _ := ends(side); address == headerspace.Dst {
		return n, n - 1 + t.Ranges()
	}
	return n, n * t.Ranges()
}

// taken are the packets from a side that are of a mapping, but for ICMP errors.
func taken(m *element.StaticMapping, side int) []headerspace.Filter {
	address, port := ends(side)
	own := headerspace.Prefix(m.Addresses(side))
	if m.Proto != 0 {
		first := uint64(m.Port(side))
		return []headerspace.Filter{walk.Unfragmented.With(headerspace.Proto, headerspace.Of(uint64(m.Proto))).With(address, own).
			With(port, headerspace.Range(first, first+uint64(m.Ports)-1))}
	}
	out := make([]headerspace.Filter, len(byAddress))
	for i, f := range byAddress {
		out[i] = f.With(address, own)
	}
	return out
}

// translate leads a unit of a mapping's packets on.
func (s *staticNAT) translate(w *walk.Walker, t *walk.Unit, at walk.Arrival, m *element.StaticMapping) error {
	address, port := ends(at.Port)
	from, to := m.Addresses(at.Port), m.Addresses(1-at.Port)
	if err := w.AddTo(t, at.Node, address, int64(walk.IPv4(to.Addr()))-int64(walk.IPv4(from.Addr()))); err != nil {
		return err
	}
	if err := w.AddTo(t, at.Node, port, int64(m.Port(1-at.Port))-int64(m.Port(at.Port))); err != nil {
		return err
	}
	return w.Follow(t, at.Node, 1-at.Port, -1)
}

// Leads: what comes from outside for an outside address may get another one, see Redirects. Errors begin a segment here.
func (s *staticNAT) Leads(h walk.HopTo, in int, on func(walk.HopTo, int)) {
	h = h.Starting()
	on(h, in%lookedAt+element.StaticInsideRest)
	if in%lookedAt == element.StaticInside {
		on(h, element.StaticOutside)
	}
}

func (s *staticNAT) Redirects(on func(port int, to headerspace.Set)) {
	on(element.StaticInside, s.Addresses(element.StaticInside))
}

func (s *staticNAT) Sources() headerspace.Set { return s.Addresses(element.StaticOutside) }
