package boxes

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Lowered is the table of shapes that each have one filter, and what of it the table of nearly the same shapes can take over.
type Lowered struct {
	Table *programpb.Table

	layout tableBuilder
	asks   []asks  // by shape
	rows   []int32 // by shape, its first row; and one behind the last
	// bounds and required are the last row's, before it was widened.
	bounds   []uint32
	required []uint64
	whole    int // the shape that holds every packet, behind which none has rows; -1: there is none
}

// asks are the dimensions and bits that a shape uses.
type asks struct {
	required [maxBits / 64]uint64
	dims     uint8
}

// Again is Table for shapes that each have one filter, of which narrow gives the packets that the table is for. was gives for each shape its place
// among those that l was lowered from, if it is the same; -1: it is new. Nil l: all are.
func (l *Lowered) Again(shapes []Shape, was []int32, nClasses, room int, narrow func(shapes, out []Shape) []Shape) (*Lowered, []int, error) {
	if l != nil && was != nil {
		if out := l.again(shapes, was, room, narrow); out != nil {
			return out, out.perClass(nClasses), nil
		}
	}
	out := &Lowered{layout: tableBuilder{out: &programpb.Table{}, bits: map[string]int{}, refs: map[*headerspace.Set]int{}, room: room}}
	b := &out.layout
	narrowed := narrow(shapes, make([]Shape, 0, len(shapes)))
	if err := b.layout(narrowed); err != nil {
		return nil, nil, err
	}
	b.makeRoom(len(shapes))
	out.Table, out.whole = b.out, -1
	out.asks, out.rows = make([]asks, len(shapes)), make([]int32, 0, len(shapes)+1)
	for i := range narrowed {
		b.expand(&narrowed[i], &b.one)
		out.asks[i] = b.asks(&narrowed[i])
		if out.add(i, &b.one); b.full {
			return nil, nil, errFull
		}
	}
	out.finish()
	return out, out.perClass(nClasses), nil
}

// add appends the rows of shape i, which is the next.
func (l *Lowered) add(i int, x *expanded) {
	l.rows = append(l.rows, int32(len(l.Table.Classes)))
	if l.whole < 0 && l.layout.box(x, nil) {
		l.whole = i
	}
}

// finish widens the last row, and keeps it as it was.
func (l *Lowered) finish() {
	l.rows = append(l.rows, int32(len(l.Table.Classes)))
	b := &l.layout
	if n := len(l.Table.Classes); n > 0 {
		l.bounds = slices.Clone(l.Table.Bounds[2*(n-1)*len(l.Table.Dims):])
		l.required = slices.Clone(l.Table.Required[(n-1)*b.words:])
	}
	b.widen()
	b.refs, b.out, b.one = nil, nil, expanded{} // the sets may go; the table stays as it is
}

func (l *Lowered) perClass(n int) []int {
	out := make([]int, n)
	for _, c := range l.Table.Classes[:l.rows[len(l.rows)-1]] {
		out[c]++
	}
	return out
}

// asks are the dimensions and bits of a shape that has been laid out.
func (b *tableBuilder) asks(s *Shape) asks {
	if s.Filter.IsEmpty() {
		return asks{}
	}
	a := asks{required: b.one.required}
	for d, f := range b.out.Dims {
		if !s.Filter.Any(headerspace.Field(f)) {
			a.dims |= 1 << d
		}
	}
	return a
}

// again is nil if the table has other dimensions, or far more bits, or a shape has rows that had none.
func (l *Lowered) again(shapes []Shape, was []int32, room int, narrow func(shapes, out []Shape) []Shape) *Lowered {
	var fresh []Shape
	for i, o := range was {
		if o < 0 {
			fresh = append(fresh, shapes[i])
		}
	}
	fresh = narrow(fresh, make([]Shape, 0, len(fresh)))
	order := newBitOrder(l, fresh)
	out := &Lowered{layout: l.layout, whole: -1, asks: make([]asks, len(shapes)), rows: make([]int32, 0, len(shapes)+1)}
	rest := fresh
	for i, o := range was {
		if o >= 0 {
			out.asks[i] = l.asks[o]
		} else {
			out.asks[i] = order.asks(&rest[0])
			rest = rest[1:]
		}
		order.meet(&out.asks[i])
	}
	if !order.settle(l.layout.words, len(l.Table.Dims)) {
		return nil
	}
	b := &out.layout
	b.room = room
	b.out = &programpb.Table{Dims: l.Table.Dims, Bits: order.sets()}
	b.bits, b.refs, out.Table = order.bits(), order.refs, b.out
	b.makeRoom(len(l.Table.Classes) + 4*len(fresh))
	for i, o := range was {
		order.renumber(out.asks[i].required[:])
		if o >= 0 {
			if l.whole >= 0 && int(o) > l.whole && out.whole < 0 {
				return nil
			}
			out.take(l, i, int(o), shapes[i].Class, order)
		} else {
			b.expand(&fresh[0], &b.one)
			out.add(i, &b.one)
			fresh = fresh[1:]
		}
		if b.full || len(out.Table.Classes) > room { // what is taken over is not counted
			return nil
		}
	}
	out.finish()
	return out
}

// take appends the rows of a shape, as another table has them.
func (l *Lowered) take(from *Lowered, i, was, class int, order *bitOrder) {
	l.rows = append(l.rows, int32(len(l.Table.Classes)))
	first, end := int(from.rows[was]), int(from.rows[was+1])
	if l.whole >= 0 {
		return
	}
	t, n, words := l.Table, 2*len(l.Table.Dims), l.layout.words
	t.Bounds = append(t.Bounds, from.Table.Bounds[first*n:end*n]...)
	t.Required = append(t.Required, from.Table.Required[first*words:end*words]...)
	if end == int(from.rows[len(from.rows)-1]) && end > first { // its last row was widened
		copy(t.Bounds[len(t.Bounds)-n:], from.bounds)
		copy(t.Required[len(t.Required)-words:], from.required)
	}
	for range end - first {
		t.Classes = append(t.Classes, uint32(class))
		if words > 0 {
			order.renumber(t.Required[(len(t.Classes)-1)*words : len(t.Classes)*words])
		}
	}
	if was == from.whole {
		l.whole = i
	}
}

// bitOrder numbers the bits of a table again: those of each field in the order in which they first appear. Until then they have the numbers of the
// table before, and new ones behind these.
type bitOrder struct {
	dims  []programpb.Field
	known map[string]int // by the set's key
	refs  map[*headerspace.Set]int
	all   []*programpb.BitSet // by number
	seen  []bool
	first [headerspace.Route + 1][]int // numbers as they first appear
	used  uint8                        // dimensions
	fails bool                         // a dimension is missing, or there are too many bits
	now   []int                        // by number: the new one, or -1
	same  bool                         // nothing changes
}

func newBitOrder(l *Lowered, fresh []Shape) *bitOrder {
	o := &bitOrder{dims: l.Table.Dims, known: l.layout.bits, refs: map[*headerspace.Set]int{}, all: slices.Clone(l.Table.Bits)}
	o.known = maps.Clone(o.known)
	for i := range fresh {
		s := &fresh[i]
		if s.Filter.IsEmpty() {
			continue
		}
		for _, f := range rangeFields {
			o.fails = o.fails || !s.Filter.Any(f) && !slices.Contains(o.dims, programpb.Field(f))
		}
		for _, f := range bitFields {
			if !s.Filter.Any(f) {
				o.number(f, s.Filter.Ref(f))
			}
		}
	}
	o.fails = o.fails || len(o.all) > maxBits
	o.seen = make([]bool, len(o.all))
	return o
}

// number gives a set its number.
func (o *bitOrder) number(f headerspace.Field, set *headerspace.Set) {
	key := bitKey(f, *set)
	bit, ok := o.known[key]
	if !ok {
		bit = len(o.all)
		o.known[key] = bit
		o.all = append(o.all, bitSet(f, *set))
	}
	o.refs[set] = bit
}

// asks are those of a new shape.
func (o *bitOrder) asks(s *Shape) (a asks) {
	if o.fails || s.Filter.IsEmpty() {
		return a
	}
	for d, f := range o.dims {
		if !s.Filter.Any(headerspace.Field(f)) {
			a.dims |= 1 << d
		}
	}
	for _, f := range bitFields {
		if !s.Filter.Any(f) {
			bit := o.refs[s.Filter.Ref(f)]
			a.required[bit/64] |= 1 << (bit % 64)
		}
	}
	return a
}

// meet notes what a shape uses; shapes are met in their order.
func (o *bitOrder) meet(a *asks) {
	o.used |= a.dims
	for w, required := range a.required {
		for ; required != 0; required &= required - 1 {
			if bit := 64*w + bits.TrailingZeros64(required); !o.seen[bit] {
				o.seen[bit] = true
				f := o.all[bit].Field
				o.first[f] = append(o.first[f], bit)
			}
		}
	}
}

// settle gives the new numbers. It is false if the table's rows have another form then.
func (o *bitOrder) settle(words, dims int) bool {
	o.now = make([]int, len(o.all))
	for i := range o.now {
		o.now[i] = -1
	}
	n := 0
	o.same = true
	for _, f := range bitFields {
		for _, bit := range o.first[f] {
			o.now[bit] = n
			o.same = o.same && bit == n
			n++
		}
	}
	for set, bit := range o.refs {
		o.refs[set] = o.now[bit]
	}
	return !o.fails && (n+63)/64 == words && o.used == uint8(1<<dims-1)
}

// sets are those of the bits, by their new numbers.
func (o *bitOrder) sets() []*programpb.BitSet {
	var out []*programpb.BitSet
	for _, f := range bitFields {
		for _, bit := range o.first[f] {
			out = append(out, o.all[bit])
		}
	}
	return out
}

// bits are the new numbers by the sets' keys.
func (o *bitOrder) bits() map[string]int {
	out := make(map[string]int, len(o.known))
	for key, bit := range o.known {
		if o.now[bit] >= 0 {
			out[key] = o.now[bit]
		}
	}
	return out
}

// renumber gives the bits of some words their new numbers.
func (o *bitOrder) renumber(words []uint64) {
	if o.same {
		return
	}
	var out [maxBits / 64]uint64
	for w, required := range words {
		for ; required != 0; required &= required - 1 {
			bit := o.now[64*w+bits.TrailingZeros64(required)]
			out[bit/64] |= 1 << (bit % 64)
		}
	}
	copy(words, out[:])
}
