package walk

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/boxes"
	"github.com/sinter-nfv/sinter/dataplane/synth/longest"
)

// DefaultICMPRate bounds the ICMP errors that a chain sends per second (RFC 1812 section 4.3.2.8).
const DefaultICMPRate = 1000

// Emitter writes a walked chain as a program.
type Emitter struct {
	w          *Walker
	p          *programpb.Program
	r          *Result
	key        []byte           // of the class at work
	keys       map[string]int32 // of the segment at work: numbers what classes do
	shapes     []boxes.Shape    // of the segment at work
	narrow     []boxes.Shape    // of its table at work
	runs       []runID          // of the leg at work
	room       int              // boxes that tables may have yet
	generators map[int]uint32   // by node
	reasons    map[string]uint32
}

func emit(w *Walker) (*Result, error) {
	e := &Emitter{
		w: w, p: &programpb.Program{Schema: program.SchemaVersion, Chain: w.g.Chain, IcmpRate: DefaultICMPRate, Counters: w.counters.names},
		generators: map[int]uint32{}, reasons: map[string]uint32{}, room: boxes.Most,
	}
	e.r = &Result{Program: e.p, graph: w.g}
	e.interfaces()
	e.tables()
	for _, m := range w.means {
		if d, ok := m.(Declaring); ok {
			d.Declare(e.p)
		}
	}
	u := newUsage(w)
	for _, s := range w.segments {
		if err := e.segment(s, u); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	e.r.Cuts = e.cuts()
	l, loops := loopsOf(w)
	most, err := longest.Way(e.p, l.bound())
	if err != nil {
		return nil, err
	}
	e.p.LongestWay = uint32(most)
	e.r.Warnings = append(loops, u.warnings()...)
	return e.r, nil
}

func (e *Emitter) interfaces() {
	for _, i := range e.w.g.Interfaces {
		in := e.w.g.Nodes[i.In].Out[0]
		out := &programpb.Interface{
			Name: i.Name, Address: IPv4(i.Prefix.Addr()), PrefixLen: uint32(i.Prefix.Bits()), Mtu: uint32(i.MTU),
			Gateway: IPv4(i.Gateway), Function: i.Function, Watched: IPv4(i.Watched), Mac: i.MAC, AnswerTtl: uint32(i.AnswerTTL), TinyFragments: i.TinyFragments, Wire: i.Wire,
			Segment: uint32(e.w.index[start{kind: startEntry, node: in.To, port: in.Port}]),
		}
		if i.Wire {
			out.Function = e.w.g.Nodes[i.In].Function
			out.Full = 1 + e.Drop(i.Full).GetChain()
		}
		for _, v := range i.VLANs {
			out.Vlans = append(out.Vlans, uint32(v))
		}
		for _, n := range i.Neighbors {
			out.Neighbors = append(out.Neighbors, &programpb.Neighbor{Address: IPv4(n.Addr), Mac: n.MAC, Vlan: uint32(n.VLAN)})
		}
		for _, a := range slices.Concat(i.Addresses, i.Proxy) {
			out.Proxy = append(out.Proxy, IPv4(a))
		}
		for _, r := range i.Refused {
			reason := programpb.DropReason(programpb.DropReason_value[builtinName(r.Reason)])
			out.Refused = append(out.Refused, &programpb.RefusedSources{First: IPv4(r.First), Last: IPv4(r.Last), Reason: reason})
		}
		e.p.Interfaces = append(e.p.Interfaces, out)
	}
}

// segment numbers the classes of a segment's leaves and lowers them to tables.
func (e *Emitter) segment(s *segment, u *usage) error {
	out, info := &programpb.Segment{Name: s.name}, &Segment{Name: s.name, leaves: s.pruned(u)}
	out.Fib = e.fib(s, info)
	e.classes(s, info.leaves, out, info)
	common := boxes.CommonPackets(e.shapes)
	out.TtlFloor, out.WholeOnly = common.TTLFloor, common.WholeOnly
	perClass, err := e.lower(s, common, info.leaves, out, len(info.Classes))
	if err != nil {
		return err
	}
	for c, n := range perClass {
		info.Classes[c].Boxes = n
	}
	e.p.Segments = append(e.p.Segments, out)
	e.r.Segments = append(e.r.Segments, info)
	return nil
}

// fib is 1 + the place among the program's FIBs of what the segment's leaves ask for; 0: they do not.
func (e *Emitter) fib(s *segment, info *Segment) uint32 {
	if s.lookup == 0 {
		return 0
	}
	l := e.w.means[s.lookup-1].(*lookup)
	info.table = l.Table.Table()
	hash := info.table.Hash()
	for i, t := range e.r.Tables {
		if t.Hash() == hash && int(e.p.Fibs[i].NextHops) == len(l.Table.Hops) {
			return uint32(i + 1)
		}
	}
	e.r.Tables = append(e.r.Tables, info.table)
	e.p.Fibs = append(e.p.Fibs, &programpb.Fib{Hash: hash[:], NextHops: uint32(len(l.Table.Hops)), Source: program.FIBSource(l.Table.Source)})
	return uint32(len(e.p.Fibs))
}

// lower lowers the shapes of a segment's leaves to its tables. It tells how many boxes each class has of packets with enough TTL.
func (e *Emitter) lower(s *segment, common boxes.Commons, list leaves, out *programpb.Segment, classes int) (perClass []int, err error) {
	if s.log != nil && s.log.kept != nil {
		s.log.kept.common = common
		return e.lowerAgain(s, list, out, classes)
	}
	order, times := orderOf(list), list.times(len(e.shapes))
	if out.Table, perClass, err = boxes.Table(common.Narrow(e.shapes, e.narrow), order, times, classes, e.room); err != nil {
		return nil, err
	}
	e.room -= len(out.Table.Classes)
	if common != (boxes.Commons{}) {
		if out.Low, _, err = boxes.Table(common.Others(e.shapes, e.narrow), order, times, classes, e.room); err != nil {
			return nil, err
		}
		boxes.Unite(out.Low) // packets whose TTL ends differ little
		e.room -= len(out.Low.Classes)
	}
	return perClass, nil
}

// classes numbers the leaves' classes and shapes as they come. What a leaf does, its class has from then on.
func (e *Emitter) classes(s *segment, list leaves, out *programpb.Segment, info *Segment) {
	e.shapes = slices.Grow(e.shapes[:0], len(list))
	e.narrow = slices.Grow(e.narrow[:0], len(list))
	e.keys = s.keys()
	var byKind []int32
	list.all(func(l *found, _ int, to spans) bool {
		if l.shape >= 0 {
			return true
		}
		k := e.kind(l, s.log)
		for int(k) >= len(byKind) {
			byKind = append(byKind, -1)
		}
		if byKind[k] < 0 {
			byKind[k] = int32(len(out.Classes))
			pc, ic := e.class(l.legs)
			out.Classes = append(out.Classes, pc)
			info.Classes = append(info.Classes, ic)
		}
		l.class, l.shape, l.legs = byKind[k], int32(len(e.shapes)), nil
		s.note(l, k)
		e.shapes = append(e.shapes, boxes.Shape{Filter: l.filterOf(to), Class: int(l.class)})
		return true
	})
}

// orderOf gives the shapes of the leaves as they come.
func orderOf(list leaves) boxes.Order {
	return func(yield func(int, []boxes.Range) bool) {
		var buf []boxes.Range
		list.all(func(l *found, _ int, to spans) bool {
			if to == nil {
				return yield(int(l.shape), nil)
			}
			buf = buf[:0]
			for _, s := range to {
				buf = append(buf, boxes.Range{Lo: s.lo, Hi: s.hi})
			}
			return yield(int(l.shape), buf)
		})
	}
}

// times is about how often each of n shapes has a leaf.
func (s leaves) times(n int) []int32 {
	out := make([]int32, n)
	s.count(out)
	return out
}

// count adds how often each shape has a leaf: in a fan, as many times as its group has routes.
func (s leaves) count(out []int32) {
	for i := range s {
		f := s[i].fan
		if f == nil {
			out[s[i].shape]++
			continue
		}
		routes := make([]int32, len(f.of))
		for _, r := range f.routes {
			routes[f.fib.group[r]]++
		}
		for g, list := range f.of {
			for k := range list {
				if list[k].shape >= 0 { // else no route has it
					out[list[k].shape] += routes[g]
				}
			}
		}
	}
}

// classKey is equal for legs that do the same; it is appended to key.
func (e *Emitter) classKey(legs []leg, key []byte) []byte {
	for i := range legs {
		l := &legs[i]
		e.runs = l.runs
		for _, o := range l.ops {
			arg := o.Arg
			if key := operations[o.Kind].Key; key != nil {
				arg = key(e, o)
			}
			key = append(key, byte(o.Kind), byte(o.field))
			key = binary.AppendVarint(key, arg)
		}
		key = append(key, 0xff, byte(l.outcome.Kind))
		key = binary.AppendVarint(key, int64(l.outcome.Arg))
		key = append(append(key, l.outcome.reason...), 0)
		for _, c := range l.counters {
			key = binary.AppendUvarint(key, uint64(c)+1)
		}
		key = append(key, 0)
	}
	return key
}

func (e *Emitter) class(legs []leg) (*programpb.Class, Class) {
	out := &programpb.Class{}
	info := Class{}
	for i := range legs {
		pl, il := e.leg(&legs[i])
		out.Legs = append(out.Legs, pl)
		info.Legs = append(info.Legs, il)
	}
	return out, info
}

func (e *Emitter) leg(l *leg) (*programpb.Leg, Leg) {
	out, info := &programpb.Leg{}, Leg{}
	e.runs = l.runs
	for _, o := range l.ops {
		out.Ops = append(out.Ops, operations[o.Kind].Write(e, o, &info))
	}
	for _, c := range l.counters {
		out.Counters = append(out.Counters, uint32(c))
		info.Counters = append(info.Counters, e.w.counters.names[c])
	}
	info.Outcome = endings[l.outcome.Kind].Write(e, l.outcome, out)
	return out, info
}

// Program is what was written so far.
func (e *Emitter) Program() *programpb.Program { return e.p }

// Interfaces are those of the chain; the program has them in the same places.
func (e *Emitter) Interfaces() []graph.Interface { return e.w.g.Interfaces }

// Node is a node of the chain.
func (e *Emitter) Node(i int) *graph.Node { return &e.w.g.Nodes[i] }

// Table is the place of a node's state table in the program.
func (e *Emitter) Table(node int) uint32 { return uint32(e.w.Table(node)) }

// Counter is the place of one of a node's counters in the program (see WithCounters).
func (e *Emitter) Counter(node, i int) uint32 { return uint32(e.w.counters.of[node][i]) }

// Behind is the segment of packets that go on behind an output of a node (see Forking).
func (e *Emitter) Behind(node, out int) uint32 { return uint32(e.w.index[behind(node, out)]) }

func addrText(a uint32) string {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], a)
	return netip.AddrFrom4(b).String()
}

// builtinName is a reason as the engine's are named in the program.
func builtinName(reason string) string {
	return "DROP_" + strings.ToUpper(strings.ReplaceAll(reason, "-", "_"))
}

// Drop is a reason of the engine's, if it has one of the name, else one that the chain defines.
func (e *Emitter) Drop(reason string) *programpb.Drop {
	if n, ok := programpb.DropReason_value[builtinName(reason)]; ok && n != 0 {
		return &programpb.Drop{Reason: &programpb.Drop_Builtin{Builtin: programpb.DropReason(n)}}
	}
	i, ok := e.reasons[reason]
	if !ok {
		i = uint32(len(e.p.Reasons))
		e.reasons[reason] = i
		e.p.Reasons = append(e.p.Reasons, reason)
	}
	return &programpb.Drop{Reason: &programpb.Drop_Chain{Chain: i}}
}

func (e *Emitter) generator(node int) uint32 {
	if i, ok := e.generators[node]; ok {
		return i
	}
	g := &programpb.Generator{Name: e.w.g.Nodes[node].Name, Segment: uint32(e.w.index[start{kind: startAnswer, node: node}])}
	e.w.means[node].(answering).generator(g)
	i := uint32(len(e.p.Generators))
	e.generators[node] = i
	e.p.Generators = append(e.p.Generators, g)
	return i
}

// maxKeys is from how many on the numbers of what classes do are given again: each may be one that no class has any more.
const maxKeys = 1 << 12

// keys number what classes do. The numbers of the version before hold.
func (s *segment) keys() map[string]int32 {
	if s.log == nil || s.log.kept == nil {
		return map[string]int32{}
	}
	k := s.log.kept
	n := len(s.log.leaves)
	k.kinds, k.shapes = make([]int32, n), make([]int32, n)
	for i := range n {
		k.kinds[i], k.shapes[i] = -1, -1
	}
	if b := s.log.before; b != nil && b.kept != nil {
		if len(b.kept.keys) < maxKeys {
			k.keys = b.kept.keys
			return k.keys
		}
		b.kept.kinds = nil
	}
	k.keys = map[string]int32{}
	return k.keys
}

// note notes what a leaf does, and its shape.
func (s *segment) note(l *found, kind int32) {
	if s.log != nil && s.log.kept != nil {
		s.log.kept.kinds[l.at], s.log.kept.shapes[l.at] = kind, l.shape
	}
}

// kind numbers what a leaf of a segment does.
func (e *Emitter) kind(l *found, log *walkLog) int32 {
	if log != nil && log.kept != nil && log.before != nil && log.before.kept != nil && log.was[l.at] >= 0 {
		if kinds := log.before.kept.kinds; kinds != nil && kinds[log.was[l.at]] >= 0 {
			return kinds[log.was[l.at]]
		}
	}
	e.key = e.classKey(l.legs, e.key[:0])
	k, ok := e.keys[string(e.key)]
	if !ok {
		k = int32(len(e.keys))
		e.keys[string(e.key)] = k
	}
	return k
}

// lowerAgain lowers the shapes of a segment whose leaves are all alone to its tables, and keeps what the next version can take over.
func (e *Emitter) lowerAgain(s *segment, list leaves, out *programpb.Segment, classes int) (perClass []int, err error) {
	k, was := s.log.kept, []int32(nil)
	var before keptLeaves
	if b := s.log.before; b != nil && b.kept != nil && b.kept.common == k.common {
		before = *b.kept
		was = make([]int32, len(e.shapes))
		for i := range list {
			was[i] = -1
			if o := s.log.was[list[i].at]; o >= 0 {
				was[i] = before.shapes[o]
			}
		}
	}
	if k.table, perClass, err = before.table.Again(e.shapes, was, classes, e.room, k.common.Narrow); err != nil {
		return nil, err
	}
	out.Table = k.table.Table
	e.room -= len(out.Table.Classes)
	if k.common == (boxes.Commons{}) {
		return perClass, nil
	}
	if k.low, _, err = before.low.Again(e.shapes, was, classes, e.room, k.common.Others); err != nil {
		return nil, err
	}
	out.Low = k.low.Table
	n := len(out.Low.Classes)
	e.room -= n
	if boxes.Unite(out.Low); len(out.Low.Classes) != n {
		k.low = nil // its rows moved
	}
	return perClass, nil
}
