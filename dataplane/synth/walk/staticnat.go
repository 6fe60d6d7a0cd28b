package walk

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func init() { Register(func(e element.StaticNAT) Meaning { return &staticNAT{StaticNAT: e} }) }

// staticNAT: what a mapping does to a packet is the sum of its address or port and a number, which is known at compile time. Which mapping an ICMP
// error is of, its quoted packet tells, and so run time.
type staticNAT struct{ element.StaticNAT }

// Inputs, beside the two sides, of ICMP errors whose quoted packet was looked at: the side's number and two.
const lookedAt = 2

var (
	// byAddress is what a mapping of all packets translates by address alone: all but protocols whose checksums cover addresses in a way that is not
	// known, ICMP messages that quote packets, and source quench and redirects, which nobody takes from afar (RFC 6633).
	byAddress = [...]headerspace.Filter{
		headerspace.Filter{}.With(headerspace.Proto, headerspace.Full(headerspace.Proto).Subtract(headerspace.Of(1, 33, 51, 136))),
		headerspace.Filter{}.With(headerspace.Proto, headerspace.Of(1)).
			With(headerspace.ICMPType, headerspace.Full(headerspace.ICMPType).Subtract(headerspace.Of(3, 4, 5, 11, 12))),
	}
	quoting = Unfragmented.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(3, 11, 12))
)

// ends are the address and port that are translated of packets from a side.
func ends(side int) (address, port headerspace.Field) {
	if side == element.StaticInside {
		return headerspace.Src, headerspace.SPort
	}
	return headerspace.Dst, headerspace.DPort
}

func (s *staticNAT) Walk(w *Walker, t *Unit, at Arrival) error {
	if at.Port >= lookedAt {
		return s.goOn(w, t, at.Node, at.Port-lookedAt)
	}
	if at.Port == element.StaticOutside {
		if err := t.ByDst(); err != nil {
			return err
		}
	}
	why, err := w.budget.apart(w, t, at, asked{ways: func(int) (n, boxes int) { return s.ways(t, at.Port) }})
	if err != nil {
		return err
	}
	if why.reason != cutUntold {
		return w.cut(t, at.Node, at.Port, why)
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

// Ways is into how many units the mappings divide a unit from a side, and how many boxes these are at most.
func (s *staticNAT) ways(t *Unit, side int) (n, boxes int) {
	n = len(s.Mappings)
	if address, _ := ends(side); address == headerspace.Dst {
		return n, n - 1 + t.ranges(&t.filter)
	}
	return n, n * t.ranges(&t.filter)
}

// taken are the packets from a side that are of a mapping, but for ICMP errors.
func taken(m *element.StaticMapping, side int) []headerspace.Filter {
	address, port := ends(side)
	own := headerspace.Prefix(m.Addresses(side))
	if m.Proto != 0 {
		first := uint64(m.Port(side))
		return []headerspace.Filter{Unfragmented.With(headerspace.Proto, headerspace.Of(uint64(m.Proto))).With(address, own).
			With(port, headerspace.Range(first, first+uint64(m.Ports)-1))}
	}
	out := make([]headerspace.Filter, len(byAddress))
	for i, f := range byAddress {
		out[i] = f.With(address, own)
	}
	return out
}

// translate leads a unit of a mapping's packets on.
func (s *staticNAT) translate(w *Walker, t *Unit, at Arrival, m *element.StaticMapping) error {
	address, port := ends(at.Port)
	from, to := m.Addresses(at.Port), m.Addresses(1-at.Port)
	if err := w.move(t, at.Node, address, int64(IPv4(to.Addr()))-int64(IPv4(from.Addr()))); err != nil {
		return err
	}
	if err := w.move(t, at.Node, port, int64(m.Port(1-at.Port))-int64(m.Port(at.Port))); err != nil {
		return err
	}
	return w.Follow(t, at.Node, 1-at.Port, -1)
}

// move adds to a field of which it is known that the sum is one of its values.
func (w *Walker) move(t *Unit, node int, f headerspace.Field, by int64) error {
	if by == 0 {
		return nil
	}
	switch e := t.val[f]; e.kind {
	case ident:
		t.val[f] = expr{kind: add, delta: by}
		if only, ok := t.filter.Get(f).Only(); ok { // one value becomes one value
			t.val[f] = constant(moved(only, by))
		}
	case add:
		t.val[f] = expr{}
		if e.delta+by != 0 {
			t.val[f] = expr{kind: add, delta: e.delta + by}
		}
	case constE:
		c, _ := e.set.Only()
		t.val[f] = constant(moved(c, by))
	case choice, virtual:
		return w.Act(t, node, Op{Kind: opAdd, field: f, Arg: by}, []headerspace.Field{f}, map[headerspace.Field]headerspace.Set{f: e.set.PullBack(f, -by)})
	}
	return nil
}

func moved(v headerspace.Value, by int64) headerspace.Value {
	if by < 0 {
		return v.Sub64(uint64(-by))
	}
	return v.Add64(uint64(by))
}

// errors has the packets that ICMP errors quote looked at, and decides then by what the errors have become. An error whose own address is the other side's
// would not tell, and is of no mapping.
func (s *staticNAT) errors(w *Walker, t *Unit, at Arrival) error {
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
		o := Op{Kind: opTranslateError, Arg: int64(at.Node)<<1 | int64(at.Port)}
		if err := w.Act(u, at.Node, o, []headerspace.Field{headerspace.Src, headerspace.Dst}, map[headerspace.Field]headerspace.Set{address: become}); err != nil {
			return err
		}
		if err := w.cut(u, at.Node, at.Port+lookedAt, cutting{}); err != nil {
			return err
		}
	}
	return nil
}

// comes are the packets that come to an input where a segment begins.
func (s *staticNAT) comes(port int) headerspace.Filter {
	switch port {
	case lookedAt + element.StaticInside:
		return Everything.Intersect(quoting)
	case lookedAt + element.StaticOutside:
		return Everything.Intersect(quoting).With(headerspace.Dst, s.Addresses(element.StaticInside).Union(s.Addresses(element.StaticOutside)))
	}
	return Everything
}

// goOn decides about errors by their address: an outside address says from outside that they are of no mapping, from inside that they are of one.
func (s *staticNAT) goOn(w *Walker, t *Unit, node, side int) error {
	address, _ := ends(side)
	outside, decided := t.read(t.filter, address, s.Addresses(element.StaticOutside))
	if !decided {
		return w.Undecided(t, node, side+lookedAt)
	}
	has, hasNot := 1-side, side+element.StaticInsideRest
	if side == element.StaticOutside {
		has, hasNot = hasNot, has
	}
	for _, p := range outside {
		u := w.Branch(t, p)
		if !u.Reaches() {
			continue
		}
		if err := w.Follow(u, node, has, -1); err != nil {
			return err
		}
	}
	return w.Follow(t, node, hasNot, -1)
}

// Leads: what comes from outside for an outside address may get another one, see Redirects. Errors begin a segment here.
func (s *staticNAT) Leads(h HopTo, in int, on func(HopTo, int)) {
	h.starts++
	on(h, in%lookedAt+element.StaticInsideRest)
	if in%lookedAt == element.StaticInside {
		on(h, element.StaticOutside)
	}
}

func (s *staticNAT) Redirects() (port int, to headerspace.Set) {
	return element.StaticInside, s.Addresses(element.StaticInside)
}

func (s *staticNAT) Sources() headerspace.Set { return s.Addresses(element.StaticOutside) }

// opAddTo is the operation that adds to a field.
func opAddTo(f headerspace.Field) OpKind {
	if f == headerspace.TTL {
		return opAddTTL
	}
	return opAdd
}

var (
	opAdd = NewOperation(Operation{
		Write: func(_ *Emitter, o Op, says *Leg) *programpb.Op {
			says.Ops = append(says.Ops, addedText(o))
			value := uint32(o.Arg)
			if o.field == headerspace.SPort || o.field == headerspace.DPort {
				value = uint32(uint16(o.Arg))
			}
			return &programpb.Op{Op: &programpb.Op_Add{Add: &programpb.SetField{Field: programpb.Field(o.field), Value: value}}}
		},
	})
	opTranslateError = NewOperation(Operation{
		Write: func(e *Emitter, o Op, says *Leg) *programpb.Op {
			node, side := int(o.Arg>>1), int(o.Arg&1)
			says.Ops = append(says.Ops, "translate error ("+e.w.g.Nodes[node].Name+")")
			return &programpb.Op{Op: &programpb.Op_TranslateError{TranslateError: e.w.means[node].(*staticNAT).table(side)}}
		},
	})
)

// addedText says what is added to a field; addresses by the number of the first one's octets.
func addedText(o Op) string {
	if o.field != headerspace.Src && o.field != headerspace.Dst {
		return fmt.Sprintf("%s %+d", o.field, o.Arg)
	}
	sign, by := "+", uint32(o.Arg)
	if o.Arg < 0 {
		sign, by = "-", uint32(-o.Arg)
	}
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], by)
	return fmt.Sprintf("%s %s %s", o.field, sign, netip.AddrFrom4(b))
}

// table is the mappings as the program has them.
func (s *staticNAT) table(side int) *programpb.TranslateError {
	t := &programpb.TranslateError{FromInside: side == element.StaticInside}
	for _, m := range s.Mappings {
		t.Mappings = append(t.Mappings, &programpb.FixedMapping{
			Inside: IPv4(m.Inside.Addr()), Outside: IPv4(m.Outside.Addr()), PrefixLen: uint32(m.Inside.Bits()),
			Proto: uint32(m.Proto), InsidePort: uint32(m.InsidePort), OutsidePort: uint32(m.OutsidePort), Ports: uint32(m.Ports),
		})
	}
	return t
}
