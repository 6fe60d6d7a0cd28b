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
		headerspace.TCPFlags, headerspace.ICMPType, headerspace.ICMPCode,
	}
)

const (
	maxDims  = 6
	maxBits  = 256
	maxBoxes = 1 << 22
)

// tableBuilder expands leaves to boxes.
type tableBuilder struct {
	out   *programpb.Table
	words int
	bits  map[string]int           // by the set's key
	refs  map[*headerspace.Set]int // the same, by the set's identity
	boxes []int                    // per class
}

// Table lowers filters to ordered boxes; empty ones have none. classes are
// the filters' classes; nClasses sizes the count of boxes per class that is returned.
func Table(in []headerspace.Filter, classes []int, nClasses int) (*programpb.Table, []int, error) {
	b := tableBuilder{
		out: &programpb.Table{}, bits: map[string]int{}, refs: map[*headerspace.Set]int{}, boxes: make([]int, nClasses),
	}
	if err := b.layout(in); err != nil {
		return nil, nil, err
	}
	b.out.Bounds = make([]uint32, 0, 2*len(in)*len(b.out.Dims))
	b.out.Required = make([]uint64, 0, len(in)*b.words)
	b.out.Classes = make([]uint32, 0, len(in))
	for i, p := range in {
		if p.IsEmpty() {
			continue
		}
		if b.box(p, classes[i]) {
			break // it holds every packet
		}
		if len(b.out.Classes) > maxBoxes {
			return nil, nil, fmt.Errorf("more than %d boxes in one classifier; use fewer ranges per rule", maxBoxes)
		}
	}
	b.widen()
	return b.out, b.boxes, nil
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
func (b *tableBuilder) layout(in []headerspace.Filter) error {
	for _, f := range rangeFields {
		for i := range in {
			if !in[i].Any(f) && !in[i].IsEmpty() {
				b.out.Dims = append(b.out.Dims, programpb.Field(f))
				break
			}
		}
	}
	for _, f := range bitFields {
		for i := range in {
			if in[i].Any(f) || in[i].IsEmpty() {
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
			set := &programpb.BitSet{Field: programpb.Field(f)}
			for _, iv := range s.Intervals() {
				set.Ranges = append(set.Ranges, uint32(iv.Lo.Lo), uint32(iv.Hi.Lo))
			}
			b.out.Bits = append(b.out.Bits, set)
		}
	}
	if len(b.bits) > maxBits {
		return fmt.Errorf("rules tell apart %d sets of protocols, DSCPs, flags and ICMP types, at most %d are possible; use fewer distinct ones",
			len(b.bits), maxBits)
	}
	b.words = (len(b.bits) + 63) / 64
	return nil
}

func bitKey(f headerspace.Field, s headerspace.Set) string {
	key := []byte{byte(f)}
	for _, iv := range s.Intervals() {
		key = binary.AppendUvarint(key, iv.Lo.Lo)
		key = binary.AppendUvarint(key, iv.Hi.Lo)
	}
	return string(key)
}

// intervals are a field's values that come by IPv4.
func intervals(p headerspace.Filter, f headerspace.Field) []headerspace.Interval {
	switch {
	case f != headerspace.Src && f != headerspace.Dst:
		return p.Get(f).Intervals()
	case p.Any(f):
		return IPv4.Intervals()
	default:
		return p.Get(f).Intersect(IPv4).Intervals()
	}
}

// box appends the filter's boxes; whole tells that one holds every packet.
func (b *tableBuilder) box(p headerspace.Filter, class int) (whole bool) {
	var required [maxBits / 64]uint64
	for _, f := range bitFields {
		if !p.Any(f) {
			bit := b.refs[p.Ref(f)]
			required[bit/64] |= 1 << (bit % 64)
			whole = true
		}
	}
	whole = !whole
	var room [maxDims][]headerspace.Interval
	dims := room[:len(b.out.Dims)]
	for d, f := range b.out.Dims {
		field := headerspace.Field(f)
		whole = whole && p.Any(field)
		dims[d] = intervals(p, field)
		if len(dims[d]) == 0 {
			return false
		}
	}
	var at [maxDims]int
	for {
		for d := range dims {
			iv := dims[d][at[d]]
			b.out.Bounds = append(b.out.Bounds, uint32(iv.Lo.Lo), uint32(iv.Hi.Lo))
		}
		b.out.Required = append(b.out.Required, required[:b.words]...)
		b.out.Classes = append(b.out.Classes, uint32(class))
		b.boxes[class]++
		d := len(dims) - 1
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
