// Package boxes lowers packet filters to the tables of a program: ordered boxes.
package boxes

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// IPv4 is the addresses of packets that come in, so far.
var IPv4 = headerspace.Prefix(netip.MustParsePrefix("0.0.0.0/0"))

// Fields that a table reads as ranges; the others are read as bits, one per distinct set.
var (
	rangeFields = []headerspace.Field{
		headerspace.Src, headerspace.Dst, headerspace.SPort, headerspace.DPort,
		headerspace.VLAN, headerspace.TTL,
	}
	bitFields = []headerspace.Field{
		headerspace.Proto, headerspace.DSCP, headerspace.Frag,
		headerspace.TCPFlags, headerspace.ICMPType, headerspace.ICMPCode, headerspace.Route,
	}
)

const (
	maxDims = 6
	maxBits = 256
)

// Most is how many boxes all tables of a program may have. A table of the Internet that is no table of routes takes half of them.
const Most = 1 << 22

// Range is the values Lo..Hi of a field.
type Range struct{ Lo, Hi uint32 }

// Shape is a filter and its class. Filters of one class that differ in destinations alone share a shape, which has the filter of the first.
type Shape struct {
	Filter headerspace.Filter
	Class  int
}

// Order gives shapes in order of priority, each with its destinations; nil: those of its filter. What it gives holds until the next.
type Order func(yield func(shape int, to []Range) bool)

// tableBuilder expands shapes to boxes.
type tableBuilder struct {
	out    *programpb.Table
	words  int
	bits   map[string]int           // by the set's key
	refs   map[*headerspace.Set]int // the same, by the set's identity
	dst    int                      // the dimension of destinations, if there is one
	shared []*expanded              // shapes of several filters
	one    expanded                 // the shape at work
	boxes  []int                    // per class
	room   int                      // boxes that the table may have
	full   bool                     // a shape's boxes were more
}

// expanded is a shape in the table's dimensions and bits.
type expanded struct {
	class    int
	dims     [maxDims][]Range
	required [maxBits / 64]uint64
	whole    bool // it holds every packet; apart from destinations, if those are given
	whereAny bool // it has every destination
	none     bool // it holds no packet
}

// Table lowers shapes, which are in the order in which they first appear in order, to ordered boxes; empty ones have none. times is about how often each
// appears, for which room is made. nClasses sizes the count of boxes per class that is returned. room is how many boxes the table may have.
func Table(shapes []Shape, order Order, times []int32, nClasses, room int) (*programpb.Table, []int, error) {
	b := tableBuilder{
		out: &programpb.Table{}, bits: map[string]int{}, refs: map[*headerspace.Set]int{}, boxes: make([]int, nClasses), room: room,
	}
	if err := b.layout(shapes); err != nil {
		return nil, nil, err
	}
	b.shared = make([]*expanded, len(shapes))
	b.reserve(shapes, times)
	order(func(shape int, to []Range) bool {
		// The boxes behind one that holds every packet are for none.
		return !b.box(b.expanded(shapes, shape, to != nil), to) && !b.full
	})
	if b.full {
		return nil, nil, errFull
	}
	b.widen()
	return b.out, b.boxes, nil
}

// expanded is a shape in the table's dimensions and bits. That of several filters is kept, that of one holds until the next.
func (b *tableBuilder) expanded(shapes []Shape, at int, shared bool) *expanded {
	if !shared {
		b.expand(&shapes[at], &b.one)
		return &b.one
	}
	if b.shared[at] == nil {
		b.shared[at] = new(expanded)
		b.expand(&shapes[at], b.shared[at])
	}
	return b.shared[at]
}

// reserve makes room for the boxes: most routes have one range.
func (b *tableBuilder) reserve(shapes []Shape, times []int32) {
	n := 0
	for i, k := range times {
		if k > 1 {
			n += int(k) * b.expanded(shapes, i, true).count(len(b.out.Dims), b.dst)
		} else {
			n += count(&shapes[i].Filter)
		}
		n = min(n, b.room+1)
	}
	b.makeRoom(n)
}

// count is the number of boxes of a filter that is alone; a number above Most is some such number.
func count(p *headerspace.Filter) int {
	n := 1
	for _, f := range rangeFields {
		if s := p.Ref(f); s != nil {
			n = min(n, Most+1) * max(1, len(s.Intervals()))
		}
	}
	return min(n, Most+1)
}

func (b *tableBuilder) makeRoom(boxes int) {
	b.out.Bounds = make([]uint32, 0, 2*boxes*len(b.out.Dims))
	b.out.Required = make([]uint64, 0, boxes*b.words)
	b.out.Classes = make([]uint32, 0, boxes)
}

var errFull = fmt.Errorf("more than %d boxes in the chain's classifiers; use fewer ranges per rule, or divide the chain", Most)

// count is the number of the shape's boxes for one range of destinations; a number above Most is some such number.
func (x *expanded) count(dims, dst int) int {
	if x.none {
		return 0
	}
	n := 1
	for d := range dims {
		if d != dst {
			n = min(n, Most+1) * len(x.dims[d])
		}
	}
	return min(n, Most+1)
}

// widen lets the last box hold every packet: what comes there is held by no other, and a table must be total.
func (b *tableBuilder) widen() {
	last := len(b.out.Classes) - 1
	if last < 0 { // no packet goes by this table
		b.out.Classes, last = []uint32{0}, 0
		b.out.Bounds, b.out.Required = make([]uint32, 2*len(b.out.Dims)), make([]uint64, b.words)
	}
	for d, f := range b.out.Dims {
		at := 2 * (last*len(b.out.Dims) + d)
		b.out.Bounds[at], b.out.Bounds[at+1] = 0, program.FieldMax(f)
	}
	clear(b.out.Required[last*b.words:])
}

// layout finds the dimensions and bits that the filters use.
func (b *tableBuilder) layout(shapes []Shape) error {
	in := make([]*headerspace.Filter, 0, len(shapes))
	for i := range shapes {
		if !shapes[i].Filter.IsEmpty() {
			in = append(in, &shapes[i].Filter)
		}
	}
	b.dst = -1
	for _, f := range rangeFields {
		for i := range in {
			if !in[i].Any(f) {
				if f == headerspace.Dst {
					b.dst = len(b.out.Dims)
				}
				b.out.Dims = append(b.out.Dims, programpb.Field(f))
				break
			}
		}
	}
	for _, f := range bitFields {
		for i := range in {
			if in[i].Any(f) {
				continue
			}
			ref := in[i].Ref(f)
			if _, ok := b.refs[ref]; ok {
				continue
			}
			s := in[i].Get(f)
			key := bitKey(f, s)
			if bit, ok := b.bits[key]; ok {
				b.refs[ref] = bit
				continue
			}
			b.refs[ref] = len(b.bits)
			b.bits[key] = len(b.bits)
			b.out.Bits = append(b.out.Bits, bitSet(f, s))
		}
	}
	if len(b.bits) > maxBits {
		return fmt.Errorf("rules tell apart %d sets of protocols, DSCPs, flags and ICMP types, at most %d are possible; use fewer distinct ones",
			len(b.bits), maxBits)
	}
	b.words = (len(b.bits) + 63) / 64
	return nil
}

func bitSet(f headerspace.Field, s headerspace.Set) *programpb.BitSet {
	set := &programpb.BitSet{Field: programpb.Field(f)}
	for _, iv := range s.Intervals() {
		set.Ranges = append(set.Ranges, uint32(iv.Lo.Lo), uint32(iv.Hi.Lo))
	}
	return set
}

func bitKey(f headerspace.Field, s headerspace.Set) string {
	key := []byte{byte(f)}
	for _, iv := range s.Intervals() {
		key = binary.AppendUvarint(key, iv.Lo.Lo)
		key = binary.AppendUvarint(key, iv.Hi.Lo)
	}
	return string(key)
}

// ranges are a field's values that come by IPv4, in buf.
func ranges(p *headerspace.Filter, f headerspace.Field, buf []Range) []Range {
	var in []headerspace.Interval
	switch {
	case f != headerspace.Src && f != headerspace.Dst:
		in = p.Get(f).Intervals()
	case p.Any(f):
		return append(buf[:0], Range{0, ^uint32(0)})
	default:
		in = p.Get(f).Intersect(IPv4).Intervals()
	}
	buf = buf[:0]
	for _, iv := range in {
		buf = append(buf, Range{uint32(iv.Lo.Lo), uint32(iv.Hi.Lo)})
	}
	return buf
}

// expand finds a shape's ranges and bits. It reuses the memory of x.
func (b *tableBuilder) expand(s *Shape, x *expanded) {
	*x = expanded{class: s.Class, dims: x.dims, whole: true, whereAny: s.Filter.Any(headerspace.Dst)}
	if x.none = s.Filter.IsEmpty(); x.none {
		return
	}
	for _, f := range bitFields {
		if !s.Filter.Any(f) {
			bit := b.refs[s.Filter.Ref(f)]
			x.required[bit/64] |= 1 << (bit % 64)
			x.whole = false
		}
	}
	for d, f := range b.out.Dims {
		field := headerspace.Field(f)
		x.whole = x.whole && (field == headerspace.Dst || s.Filter.Any(field))
		if x.dims[d] = ranges(&s.Filter, field, x.dims[d]); len(x.dims[d]) == 0 {
			x.none = true
		}
	}
}

// box appends a shape's boxes, or none if the table has no room for them; whole tells that one holds every packet.
func (b *tableBuilder) box(x *expanded, to []Range) (whole bool) {
	if x.none {
		return false
	}
	whole = x.whole && x.whereAny
	dims := x.dims
	if to != nil && b.dst >= 0 {
		dims[b.dst] = to
		whole = x.whole && len(to) == 1 && to[0] == Range{0, ^uint32(0)}
	}
	n := len(b.out.Dims)
	more := x.count(n, b.dst)
	if b.dst >= 0 {
		more *= len(dims[b.dst])
	}
	if b.full = b.full || len(b.out.Classes)+more > b.room; b.full {
		return false
	}
	var at [maxDims]int
	for {
		for d := range n {
			r := dims[d][at[d]]
			b.out.Bounds = append(b.out.Bounds, r.Lo, r.Hi)
		}
		b.out.Required = append(b.out.Required, x.required[:b.words]...)
		b.out.Classes = append(b.out.Classes, uint32(x.class))
		if b.boxes != nil {
			b.boxes[x.class]++
		}
		d := n - 1
		for ; d >= 0; d-- {
			if at[d]++; at[d] < len(dims[d]) {
				break
			}
			at[d] = 0
		}
		if d < 0 {
			return whole
		}
	}
}
