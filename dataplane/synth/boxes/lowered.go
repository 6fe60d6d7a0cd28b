package boxes

import (
	"fmt"
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
func (l *Lowered) Again(shapes []Shape, was []int32, nClasses int, narrow func(shapes, out []Shape) []Shape) (*Lowered, []int, error) {
	if l != nil && was != nil {
		if out := l.again(shapes, was, narrow); out != nil {
			return out, out.perClass(nClasses), nil
		}
	}
	out := &Lowered{layout: tableBuilder{out: &programpb.Table{}, bits: map[string]int{}, refs: map[*headerspace.Set]int{}}}
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
		if out.add(i, &b.one); len(b.out.Classes) > maxBoxes {
			return nil, nil, fmt.Errorf("more than %d boxes in one classifier; use fewer ranges per rule", maxBoxes)
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

// again is nil if the table has another layout, or a shape has rows that had none.
func (l *Lowered) again(shapes []Shape, was []int32, narrow func(shapes, out []Shape) []Shape) *Lowered {
	var fresh []Shape
	for i, o := range was {
		if o < 0 {
			fresh = append(fresh, shapes[i])
		}
	}
	fresh = narrow(fresh, make([]Shape, 0, len(fresh)))
	out := &Lowered{layout: l.layout, whole: -1}
	b := &out.layout
	b.out = &programpb.Table{Dims: l.Table.Dims, Bits: l.Table.Bits}
	b.refs, out.Table = map[*headerspace.Set]int{}, b.out
	b.makeRoom(len(l.Table.Classes) + 4*len(fresh))
	out.asks, out.rows = make([]asks, len(shapes)), make([]int32, 0, len(shapes)+1)
	order := newBitOrder(l.Table.Bits)
	for i, o := range was {
		if o >= 0 {
			out.asks[i] = l.asks[o]
			if l.whole >= 0 && int(o) > l.whole && out.whole < 0 || !out.take(l, i, int(o), shapes[i].Class) {
				return nil
			}
		} else {
			s := &fresh[0]
			if fresh = fresh[1:]; !b.knows(s) {
				return nil
			}
			b.expand(s, &b.one)
			out.asks[i] = b.asks(s)
			out.add(i, &b.one)
		}
		if !order.meets(&out.asks[i]) || len(out.Table.Classes) > maxBoxes {
			return nil
		}
	}
	if !order.complete(len(l.Table.Dims)) {
		return nil
	}
	out.finish()
	return out
}

// take appends the rows of a shape, as another table has them.
func (l *Lowered) take(from *Lowered, i, was, class int) bool {
	l.rows = append(l.rows, int32(len(l.Table.Classes)))
	first, end := int(from.rows[was]), int(from.rows[was+1])
	if l.whole >= 0 {
		return true
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
	}
	if was == from.whole {
		l.whole = i
	}
	return true
}

// knows tells whether the layout has all dimensions and bits of a shape.
func (b *tableBuilder) knows(s *Shape) bool {
	if s.Filter.IsEmpty() {
		return true
	}
	for _, f := range rangeFields {
		if !s.Filter.Any(f) && !slices.Contains(b.out.Dims, programpb.Field(f)) {
			return false
		}
	}
	for _, f := range bitFields {
		if s.Filter.Any(f) {
			continue
		}
		bit, ok := b.bits[bitKey(f, s.Filter.Get(f))]
		if !ok {
			return false
		}
		b.refs[s.Filter.Ref(f)] = bit
	}
	return true
}

// bitOrder finds whether shapes lay a table out as it is: all dimensions and bits are used, and the bits of each field first appear in their order.
type bitOrder struct {
	seen  [maxBits / 64]uint64
	next  [headerspace.NumFields]int // the bit of each field that appears next
	field []programpb.Field          // by bit
	dims  uint8
}

func newBitOrder(sets []*programpb.BitSet) *bitOrder {
	o := &bitOrder{}
	for i := len(sets) - 1; i >= 0; i-- {
		o.next[sets[i].Field] = i
	}
	for _, s := range sets {
		o.field = append(o.field, s.Field)
	}
	return o
}

// meets is false if a shape has a bit that should have appeared later.
func (o *bitOrder) meets(a *asks) bool {
	o.dims |= a.dims
	for w, required := range a.required {
		for fresh := required &^ o.seen[w]; fresh != 0; fresh &= fresh - 1 {
			bit := 64*w + bits.TrailingZeros64(fresh)
			if next := &o.next[o.field[bit]]; *next == bit {
				*next++
			} else {
				return false
			}
		}
		o.seen[w] |= required
	}
	return true
}

func (o *bitOrder) complete(dims int) bool {
	n := 0
	for _, w := range o.seen {
		n += bits.OnesCount64(w)
	}
	return n == len(o.field) && o.dims == uint8(1<<dims-1)
}
