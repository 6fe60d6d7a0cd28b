// Package model runs programs as program.proto says, without an engine.
package model

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// Model runs a program as program.proto says, box after box and operation after operation. It is a third
// opinion: where it agrees with the engine against the oracle, the program is wrong; where it
// agrees with the oracle, the engine is.
type Model struct {
	p       *programpb.Program
	links   []graph.Interface
	tables  []bindings
	meters  map[[2]uint32]*level // by table and subscriber
	served  map[uint32]*pairing  // by table
	follows map[known]*followed
	// contacts are connections that limiters count.
	contacts map[contact]*followed
	// passages are flows of which functions outside of the program have let packets through.
	passages map[known]*passage
	// assigned are the flows of replicas.
	assigned map[known]*followed
	// streams are the TCP streams that inspectors know.
	streams map[streamEnds]*begun
	// expressions are those of inspectors, as Go matches them.
	expressions map[string]*regexp.Regexp

	now         time.Duration
	pings       []ping // in fragments, to own addresses
	result      interp.Result
	Subscribers []interp.Told // new for the present frame
	made        []*binding    // for the present frame, whatever became of it
	away        []onward      // packets at stops
	past        []arrival     // frames that go past functions
	// Down tells of the stop behind an interface whether it is down; nil: none is.
	Down func(out int) bool
	undo []func() // takes back what was done to state
	due  []func() // is done to it when the packet leaves or is answered
	// returned are the bindings by which this packet was translated back: an error about it, made on
	// its way, is about them, whatever the run that it meets.
	returned []*binding
	visits   []visit // of the present frame, in order
	// ends are what is said of the legs that were met.
	ends map[*programpb.Leg][]program.End
}

// visit is a leg that a copy of the frame, or of what it was answered with, took.
type visit struct {
	segment int
	leg     *programpb.Leg
	seen    *Shot  // as the segment saw it
	drop    string // the reason under which it ended here
}

// ping is the first fragment of one.
type ping struct {
	key   string // addresses and identification
	until time.Duration
}

// Shot is an IP packet at one place of the program: ip has the checksums of before until seal moves them.
type Shot struct {
	Entry      int
	tpid, tci  uint16
	before, IP []byte
	padding    []byte
	hop        uint32
}

// New is a model of a program without state. Interfaces have these links.
func New(p *programpb.Program, links []graph.Interface) *Model {
	m := &Model{p: p, links: links, meters: map[[2]uint32]*level{}, served: map[uint32]*pairing{}, follows: map[known]*followed{}, contacts: map[contact]*followed{}, passages: map[known]*passage{}, assigned: map[known]*followed{}, ends: map[*programpb.Leg][]program.End{}}
	for range p.GetTables() {
		m.tables = append(m.tables, bindings{inside: map[flow]*binding{}, outside: map[endpoint]*binding{}, used: map[endpoint]*binding{}})
	}
	return m
}

// Tag gives the packet the frame's tag, unless that says a priority only.
func (s *Shot) Tag(t packets.Tag) {
	if t.TCI&0xfff != 0 {
		s.tpid, s.tci = t.TPID, t.TCI
	}
}

// Process runs a frame that has passed the checks of docs/elements.md, "Entry".
func (m *Model) Process(now time.Duration, iface int, frame []byte) interp.Result {
	m.now, m.result, m.made, m.Subscribers, m.visits = now, interp.Result{}, nil, nil, m.visits[:0]
	m.arrive(iface, frame)
	for len(m.past) > 0 {
		next := m.past[0]
		m.past = m.past[1:]
		m.arrive(next.iface, next.frame)
	}
	return m.result
}

func (m *Model) arrive(iface int, frame []byte) {
	m.undo, m.due, m.returned = nil, nil, nil
	v, _ := packets.Parse(frame)
	s, first := &Shot{Entry: iface}, m.p.GetInterfaces()[iface].GetSegment()
	if o, ok := m.cameBack(iface, frame); ok {
		s.Entry, s.hop, first = o.entry, o.hop, o.segment
	}
	at := 14
	if len(v.Tags) > 0 {
		s.Tag(v.Tags[0])
		at += 4
	}
	total := int(binary.BigEndian.Uint16(frame[at+2:]))
	s.before, s.IP, s.padding = frame[at:at+total], bytes.Clone(frame[at:at+total]), frame[at+total:]
	m.segment(s, first)
}

func (m *Model) drop(reason string) (left bool) {
	if v := &m.visits[len(m.visits)-1]; v.drop == "" {
		v.drop = reason
	}
	m.result.Drops = append(m.result.Drops, interp.Drop{Reason: reason})
	return false
}

// segment runs a packet from a segment on; it tells whether a copy left, or reached a generator. What was done to
// state on the way of a copy that did not is taken back.
func (m *Model) segment(s *Shot, n uint32) (left bool) {
	seg := m.p.GetSegments()[n]
	table := seg.GetTable()
	fragment := binary.BigEndian.Uint16(s.IP[6:])&0x3fff != 0
	if uint32(s.IP[8]) < seg.GetTtlFloor() || seg.GetWholeOnly() && fragment {
		table = seg.GetLow()
	}
	for _, l := range seg.GetClasses()[s.Class(table)].GetLegs() {
		c := *s
		c.IP = bytes.Clone(s.IP)
		mark, due := len(m.undo), len(m.due)
		m.visits = append(m.visits, visit{segment: int(n), leg: l, seen: s})
		if m.leg(&c, l) {
			left = true
			m.leaves()
		} else {
			m.due = m.due[:min(due, len(m.due))]
			for ; len(m.undo) > mark; m.undo = m.undo[:len(m.undo)-1] {
				m.undo[len(m.undo)-1]()
			}
		}
	}
	return left
}

// leaves does what is done to state when a packet leaves or is answered: it does so now.
func (m *Model) leaves() {
	for _, f := range m.due {
		f()
	}
	m.due = nil
}

// Class is the class of the first box that holds the packet.
func (s *Shot) Class(t *programpb.Table) uint32 {
	words := (len(t.GetBits()) + 63) / 64
	mask := make([]uint64, words)
	for i, b := range t.GetBits() {
		v := s.Field(b.GetField())
		for r := 0; r < len(b.GetRanges()); r += 2 {
			if b.GetRanges()[r] <= v && v <= b.GetRanges()[r+1] {
				mask[i/64] |= 1 << (i % 64)
			}
		}
	}
	key := make([]uint32, len(t.GetDims()))
	for d, f := range t.GetDims() {
		key[d] = s.Field(f)
	}
boxes:
	for box, class := range t.GetClasses() {
		for d, v := range key {
			if at := 2 * (box*len(key) + d); v < t.GetBounds()[at] || v > t.GetBounds()[at+1] {
				continue boxes
			}
		}
		for w, have := range mask {
			if need := t.GetRequired()[box*words+w]; have&need != need {
				continue boxes
			}
		}
		return class
	}
	panic("a table holds every packet")
}

func (s *Shot) transport() []byte { return s.IP[int(s.IP[0]&15)*4:] }

// Frag is the packet's value of the field of fragments.
func (s *Shot) Frag() uint32 {
	switch w := binary.BigEndian.Uint16(s.IP[6:]); {
	case w&0x1fff != 0:
		return 2
	case w&0x2000 != 0:
		return 1
	}
	return 0
}

func (s *Shot) ported() bool {
	return (s.IP[9] == packets.ProtoTCP || s.IP[9] == packets.ProtoUDP) && Headed(s.IP)
}

// Headed tells whether the transport header is whole and its lengths can be; a fragment's may go beyond it.
func Headed(ip []byte) bool {
	frag := binary.BigEndian.Uint16(ip[6:])
	t := ip[int(ip[0]&15)*4:]
	room := len(t)
	if frag&0x2000 != 0 {
		room = 1 << 16
	}
	if frag&0x1fff != 0 {
		return false
	}
	switch ip[9] {
	case packets.ProtoTCP:
		return len(t) >= 20 && t[12]>>4 >= 5 && int(t[12]>>4)*4 <= room
	case packets.ProtoUDP:
		return len(t) >= 8 && binary.BigEndian.Uint16(t[4:]) >= 8 && int(binary.BigEndian.Uint16(t[4:])) <= room
	}
	return ip[9] == packets.ProtoICMP && len(t) >= 8
}

// Field is the packet's value of a field, or that of packets which have no such field.
func (s *Shot) Field(f programpb.Field) uint32 {
	b := s.IP
	switch f {
	case programpb.Field_VLAN:
		if s.tpid == 0 {
			return 4096
		}
		return uint32(s.tci & 0xfff)
	case programpb.Field_SRC:
		return binary.BigEndian.Uint32(b[12:])
	case programpb.Field_DST:
		return binary.BigEndian.Uint32(b[16:])
	case programpb.Field_PROTO:
		return uint32(b[9])
	case programpb.Field_DSCP:
		return uint32(b[1] >> 2)
	case programpb.Field_TTL:
		return uint32(b[8])
	case programpb.Field_FRAG:
		return s.Frag()
	case programpb.Field_SPORT, programpb.Field_DPORT:
		if !s.ported() {
			return 65536
		}
		return uint32(binary.BigEndian.Uint16(s.transport()[2*(f-programpb.Field_SPORT):]))
	case programpb.Field_TCP_FLAGS:
		if b[9] == packets.ProtoTCP && Headed(b) {
			return uint32(s.transport()[13])
		}
	case programpb.Field_ICMP_TYPE, programpb.Field_ICMP_CODE:
		if b[9] == packets.ProtoICMP && Headed(b) {
			return uint32(s.transport()[f-programpb.Field_ICMP_TYPE])
		}
	case programpb.Field_ROUTE: // of tables that the model does not run
	}
	return 256
}

func (s *Shot) set(f programpb.Field, v uint32) {
	switch f {
	case programpb.Field_VLAN:
		switch {
		case v > 4095:
			s.tpid, s.tci = 0, 0
		case s.tpid == 0:
			s.tpid, s.tci = packets.TPID8021Q, uint16(v)
		default:
			s.tci = s.tci&0xf000 | uint16(v)
		}
	case programpb.Field_SRC:
		binary.BigEndian.PutUint32(s.IP[12:], v)
	case programpb.Field_DST:
		binary.BigEndian.PutUint32(s.IP[16:], v)
	case programpb.Field_DSCP:
		s.IP[1] = s.IP[1]&3 | byte(v)<<2
	case programpb.Field_TTL:
		s.IP[8] = byte(v)
	case programpb.Field_SPORT, programpb.Field_DPORT:
		if s.ported() {
			binary.BigEndian.PutUint16(s.transport()[2*(f-programpb.Field_SPORT):], uint16(v))
		}
	default:
	}
}

func (m *Model) leg(s *Shot, l *programpb.Leg) (left bool) {
	for _, o := range l.GetOps() {
		if reason := m.op(s, o); reason != "" {
			return m.drop(reason)
		}
	}
	switch o := l.GetOutcome().(type) {
	case *programpb.Leg_Output:
		return m.output(s, int(o.Output))
	case *programpb.Leg_Drop:
		if r, ok := o.Drop.GetReason().(*programpb.Drop_Chain); ok {
			return m.drop(m.p.GetReasons()[r.Chain])
		}
		return m.drop(ReasonName(o.Drop.GetBuiltin()))
	case *programpb.Leg_Generator:
		m.leaves()
		m.generate(s, m.p.GetGenerators()[o.Generator])
		return true
	case *programpb.Leg_Segment:
		return m.segment(s, o.Segment)
	case *programpb.Leg_StateReturn:
		return m.back(s, o.StateReturn)
	case *programpb.Leg_Track:
		return m.track(s, o.Track)
	case *programpb.Leg_Bypass:
		return m.bypass(s, o.Bypass)
	case *programpb.Leg_Assign:
		return m.assign(s, o.Assign)
	case *programpb.Leg_Stop:
		return m.stop(s, o.Stop)
	case *programpb.Leg_Tap:
		return m.tap(s, int(o.Tap.GetOut()))
	}
	return false
}

// op does an operation to a packet; the reason, if it drops it.
func (m *Model) op(s *Shot, o *programpb.Op) (reason string) {
	switch op := o.GetOp().(type) {
	case *programpb.Op_Set:
		s.set(op.Set.GetField(), op.Set.GetValue())
	case *programpb.Op_Add:
		s.add(op.Add.GetField(), op.Add.GetValue())
	case *programpb.Op_TranslateError:
		s.translateError(op.TranslateError)
	case *programpb.Op_AddTtl:
		s.IP[8] = byte(int32(s.IP[8]) + op.AddTtl)
	case *programpb.Op_NextHop:
		s.hop = op.NextHop
	case *programpb.Op_StateForward:
		return m.forward(s, op.StateForward)
	case *programpb.Op_Balance:
		return m.balance(s, op.Balance)
	case *programpb.Op_BalanceBack:
		m.balanceBack(s, op.BalanceBack)
	case *programpb.Op_Meter:
		return m.measure(s, op.Meter)
	case *programpb.Op_Inspect:
		return m.inspect(s, op.Inspect)
	case *programpb.Op_Admit:
		return m.admit(s, op.Admit)
	case *programpb.Op_Connect:
		return m.connect(s, op.Connect)
	case *programpb.Op_Passed:
		m.passed(s, op.Passed)
	case *programpb.Op_Assigned:
		m.assignOn(s, op.Assigned)
	}
	return ""
}

// ReasonName is a reason as statistics tell it.
func ReasonName(r programpb.DropReason) string {
	b := []byte(r.String()[len("DROP_"):])
	for i, c := range b {
		if c == '_' {
			b[i] = '-'
		} else {
			b[i] |= 0x20
		}
	}
	return string(b)
}

// Way is how many segments the present frame passed until it left, was dropped or answered, and whether it came to one again.
func (m *Model) Way() (passes int, again bool) {
	seen := map[int]bool{}
	for _, v := range m.visits {
		again = again || seen[v.segment]
		seen[v.segment] = true
		passes++
		if _, on := v.leg.GetOutcome().(*programpb.Leg_Segment); !on {
			break
		}
	}
	return passes, again
}
