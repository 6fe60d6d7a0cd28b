package synth

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func init() { register(func(e element.StaticNAT) meaning { return &staticNAT{StaticNAT: e} }) }

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
	quoting = unfragmented.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(3, 11, 12))
)

// ends are the address and port that are translated of packets from a side.
func ends(side int) (address, port headerspace.Field) {
	if side == element.StaticInside {
		return headerspace.Src, headerspace.SPort
	}
	return headerspace.Dst, headerspace.DPort
}

func (s *staticNAT) walk(w *walker, t *tcu, at arrival) error {
	if at.port >= lookedAt {
		return s.goOn(w, t, at.node, at.port-lookedAt)
	}
	if address, _ := ends(at.port); t.fan && address == headerspace.Dst && t.val[address].kind == ident {
		return errFan
	}
	why, err := w.budget.apart(w, t, at, asked{ways: func(int) (n, boxes int) { return s.ways(t, at.port) }})
	if err != nil {
		return err
	}
	if why.reason != cutUntold {
		return w.cut(t, at.node, at.port, why)
	}
	for i := range s.Mappings {
		for _, f := range taken(&s.Mappings[i], at.port) {
			found, decided := t.match(f)
			if !decided {
				return w.undecided(t, at.node, at.port)
			}
			for k := range found.n {
				u := w.branch(t, *found.at(k))
				if !u.reaches() {
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
	return w.follow(t, at.node, at.port+element.StaticInsideRest, -1)
}

// ways is into how many units the mappings divide a unit from a side, and how many boxes these are at most.
func (s *staticNAT) ways(t *tcu, side int) (n, boxes int) {
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
		return []headerspace.Filter{unfragmented.With(headerspace.Proto, headerspace.Of(uint64(m.Proto))).With(address, own).
			With(port, headerspace.Range(first, first+uint64(m.Ports)-1))}
	}
	out := make([]headerspace.Filter, len(byAddress))
	for i, f := range byAddress {
		out[i] = f.With(address, own)
	}
	return out
}

// translate leads a unit of a mapping's packets on.
func (s *staticNAT) translate(w *walker, t *tcu, at arrival, m *element.StaticMapping) error {
	address, port := ends(at.port)
	from, to := m.Addresses(at.port), m.Addresses(1-at.port)
	if err := w.move(t, at.node, address, int64(hopAddr(to.Addr()))-int64(hopAddr(from.Addr()))); err != nil {
		return err
	}
	if err := w.move(t, at.node, port, int64(m.Port(1-at.port))-int64(m.Port(at.port))); err != nil {
		return err
	}
	return w.follow(t, at.node, 1-at.port, -1)
}

// move adds to a field of which it is known that the sum is one of its values.
func (w *walker) move(t *tcu, node int, f headerspace.Field, by int64) error {
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
		return w.act(t, node, op{kind: opAdd, field: f, arg: by}, []headerspace.Field{f}, map[headerspace.Field]headerspace.Set{f: e.set.PullBack(f, -by)})
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
func (s *staticNAT) errors(w *walker, t *tcu, at arrival) error {
	address, _ := ends(at.port)
	mine := quoting
	outside := s.Addresses(element.StaticOutside)
	if at.port == element.StaticOutside {
		mine = mine.With(address, outside)
	} else {
		mine = mine.With(address, headerspace.Full(address).Subtract(outside))
	}
	found, decided := t.match(mine)
	if !decided {
		return w.undecided(t, at.node, at.port)
	}
	for i := range found.n {
		u := w.branch(t, *found.at(i))
		if !u.reaches() {
			continue
		}
		become := s.Addresses(1 - at.port).Union(u.present(address))
		o := op{kind: opTranslateError, arg: int64(at.node)<<1 | int64(at.port)}
		if err := w.act(u, at.node, o, []headerspace.Field{headerspace.Src, headerspace.Dst}, map[headerspace.Field]headerspace.Set{address: become}); err != nil {
			return err
		}
		if err := w.cut(u, at.node, at.port+lookedAt, cutting{}); err != nil {
			return err
		}
	}
	return nil
}

// comes are the packets that come to an input where a segment begins.
func (s *staticNAT) comes(port int) headerspace.Filter {
	switch port {
	case lookedAt + element.StaticInside:
		return everything.Intersect(quoting)
	case lookedAt + element.StaticOutside:
		return everything.Intersect(quoting).With(headerspace.Dst, s.Addresses(element.StaticInside).Union(s.Addresses(element.StaticOutside)))
	}
	return everything
}

// goOn decides about errors by their address: an outside address says from outside that they are of no mapping, from inside that they are of one.
func (s *staticNAT) goOn(w *walker, t *tcu, node, side int) error {
	address, _ := ends(side)
	outside, decided := t.read(t.filter, address, s.Addresses(element.StaticOutside))
	if !decided {
		return w.undecided(t, node, side+lookedAt)
	}
	has, hasNot := 1-side, side+element.StaticInsideRest
	if side == element.StaticOutside {
		has, hasNot = hasNot, has
	}
	for _, p := range outside {
		u := w.branch(t, p)
		if !u.reaches() {
			continue
		}
		if err := w.follow(u, node, has, -1); err != nil {
			return err
		}
	}
	return w.follow(t, node, hasNot, -1)
}

// leads: what comes from outside for an outside address may get another one, see redirects. Errors begin a segment here.
func (s *staticNAT) leads(h hopTo, in int, on func(hopTo, int)) {
	h.starts++
	on(h, in%lookedAt+element.StaticInsideRest)
	if in%lookedAt == element.StaticInside {
		on(h, element.StaticOutside)
	}
}

func (s *staticNAT) redirects() (port int, to spans) {
	return element.StaticInside, spansOf(s.Addresses(element.StaticInside))
}

func (s *staticNAT) sources() spans { return spansOf(s.Addresses(element.StaticOutside)) }

// opAddTo is the operation that adds to a field.
func opAddTo(f headerspace.Field) opKind {
	if f == headerspace.TTL {
		return opAddTTL
	}
	return opAdd
}

var (
	opAdd = newOperation(operation{
		write: func(_ *emitter, _ *leg, o op, says *Leg) *programpb.Op {
			says.Ops = append(says.Ops, addedText(o))
			value := uint32(o.arg)
			if o.field == headerspace.SPort || o.field == headerspace.DPort {
				value = uint32(uint16(o.arg))
			}
			return &programpb.Op{Op: &programpb.Op_Add{Add: &programpb.SetField{Field: programpb.Field(o.field), Value: value}}}
		},
	})
	opTranslateError = newOperation(operation{
		write: func(e *emitter, _ *leg, o op, says *Leg) *programpb.Op {
			node, side := int(o.arg>>1), int(o.arg&1)
			says.Ops = append(says.Ops, "translate error ("+e.w.g.Nodes[node].Name+")")
			return &programpb.Op{Op: &programpb.Op_TranslateError{TranslateError: e.w.means[node].(*staticNAT).table(side)}}
		},
	})
)

// addedText says what is added to a field; addresses by the number of the first one's octets.
func addedText(o op) string {
	if o.field != headerspace.Src && o.field != headerspace.Dst {
		return fmt.Sprintf("%s %+d", o.field, o.arg)
	}
	sign, by := "+", uint32(o.arg)
	if o.arg < 0 {
		sign, by = "-", uint32(-o.arg)
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
			Inside: v4(m.Inside.Addr()), Outside: v4(m.Outside.Addr()), PrefixLen: uint32(m.Inside.Bits()),
			Proto: uint32(m.Proto), InsidePort: uint32(m.InsidePort), OutsidePort: uint32(m.OutsidePort), Ports: uint32(m.Ports),
		})
	}
	return t
}
