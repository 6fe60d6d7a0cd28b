package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

// ICMP errors at fixed translations. What they quote is looked at at run time, and they go on in a segment of their own.

// lookedAt is the first input, beside the two sides, of ICMP errors whose quoted packet was looked at: the side's number and two.
const lookedAt = 2

var quoting = walk.Unfragmented.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(3, 11, 12))

// errors has the packets that ICMP errors quote looked at, and decides then by what the errors have become. An error whose own address is the other side's
// would not tell, and is of no mapping.
func (s *staticNAT) errors(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	address, _ := ends(at.Port)
	mine := quoting
	outside := s.Addresses(element.StaticOutside)
	if at.Port == element.StaticOutside {
		mine = mine.With(address, outside)
	} else {
		mine = mine.With(address, headerspace.Full(address).Subtract(outside))
	}
	found, decided := t.Match(mine)
	if !decided {
		return w.Undecided(t, at.Node, at.Port)
	}
	for i := range found.N {
		u := w.Branch(t, *found.At(i))
		if !u.Reaches() {
			continue
		}
		become := s.Addresses(1 - at.Port).Union(u.Present(address))
		o := walk.Op{Kind: opTranslateError, Arg: int64(at.Node)<<1 | int64(at.Port)}
		reads := []headerspace.Field{headerspace.Src, headerspace.Dst}
		if err := w.Act(u, at.Node, o, reads, map[headerspace.Field]headerspace.Set{address: become}); err != nil {
			return err
		}
		if err := w.Undecided(u, at.Node, at.Port+lookedAt); err != nil {
			return err
		}
	}
	return nil
}

// Comes implements ComingTo.
func (s *staticNAT) Comes(port int) headerspace.Filter {
	switch port {
	case lookedAt + element.StaticInside:
		return walk.Everything.Intersect(quoting)
	case lookedAt + element.StaticOutside:
		return walk.Everything.Intersect(quoting).With(headerspace.Dst, s.Addresses(element.StaticInside).Union(s.Addresses(element.StaticOutside)))
	}
	return walk.Everything
}

// InputName implements ComingTo.
func (s *staticNAT) InputName(port int) string { return element.PortName(s.StaticNAT, port) }

// goOn decides about errors by their address: an outside address says from outside that they are of no mapping, from inside that they are of one.
func (s *staticNAT) goOn(w *walk.Walker, t *walk.Unit, node, side int) error {
	address, _ := ends(side)
	outside, decided := t.Match(headerspace.Filter{}.With(address, s.Addresses(element.StaticOutside)))
	if !decided {
		return w.Undecided(t, node, side+lookedAt)
	}
	has, hasNot := 1-side, side+element.StaticInsideRest
	if side == element.StaticOutside {
		has, hasNot = hasNot, has
	}
	for i := range outside.N {
		u := w.Branch(t, *outside.At(i))
		if !u.Reaches() {
			continue
		}
		if err := w.Follow(u, node, has, -1); err != nil {
			return err
		}
	}
	return w.Follow(t, node, hasNot, -1)
}

var opTranslateError = walk.NewOperation(walk.Operation{
	Write: func(e *walk.Emitter, o walk.Op, says *walk.Leg) *programpb.Op {
		at, side := e.Node(int(o.Arg>>1)), int(o.Arg&1)
		says.Ops = append(says.Ops, "translate error ("+at.Name+")")
		return &programpb.Op{Op: &programpb.Op_TranslateError{TranslateError: tableOf(at.Element.(element.StaticNAT), side)}}
	},
})

// tableOf is mappings as the program has them.
func tableOf(s element.StaticNAT, side int) *programpb.TranslateError {
	t := &programpb.TranslateError{FromInside: side == element.StaticInside}
	for _, m := range s.Mappings {
		t.Mappings = append(t.Mappings, &programpb.FixedMapping{
			Inside: walk.IPv4(m.Inside.Addr()), Outside: walk.IPv4(m.Outside.Addr()), PrefixLen: uint32(m.Inside.Bits()),
			Proto: uint32(m.Proto), InsidePort: uint32(m.InsidePort), OutsidePort: uint32(m.OutsidePort), Ports: uint32(m.Ports),
		})
	}
	return t
}
