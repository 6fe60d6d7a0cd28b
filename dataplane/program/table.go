package program

import (
	"fmt"
	"math"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// dims are the fields that a box may give a range for.
var dims = []programpb.Field{
	programpb.Field_SRC, programpb.Field_DST, programpb.Field_SPORT,
	programpb.Field_DPORT, programpb.Field_VLAN, programpb.Field_TTL,
}

// table checks that a table's arrays have the lengths that its boxes ask for, and hold what they may.
func table(at string, t *programpb.Table, classes int, fib bool) error {
	boxes, words := len(t.GetClasses()), (len(t.GetBits())+63)/64
	switch {
	case t == nil:
		return fmt.Errorf("%s: is missing", at)
	case boxes < 1 || boxes > maxBoxes:
		return fmt.Errorf("%s: has %d boxes, want 1..%d", at, boxes, maxBoxes)
	case len(t.GetBits()) > MaxBits:
		return fmt.Errorf("%s: has %d bit sets, want at most %d", at, len(t.GetBits()), MaxBits)
	case len(t.GetBounds()) != boxes*len(t.GetDims())*2:
		return fmt.Errorf("%s: has %d bounds, want %d (%d boxes of %d ranges)",
			at, len(t.GetBounds()), boxes*len(t.GetDims())*2, boxes, len(t.GetDims()))
	case len(t.GetRequired()) != boxes*words:
		return fmt.Errorf("%s: has %d required words, want %d (%d boxes of %d)", at, len(t.GetRequired()), boxes*words, boxes, words)
	}
	for i, c := range t.GetClasses() {
		if uint64(c) >= uint64(classes) {
			return rule.Index(at, fmt.Sprintf("classes[%d]", i), c, classes)
		}
	}
	if err := tableDims(at, t); err != nil {
		return err
	}
	if err := tableBits(at, t, words, fib); err != nil {
		return err
	}
	return lastBox(at, t, words)
}

// lastBox checks that the last box holds every packet, so that the table does.
func lastBox(at string, t *programpb.Table, words int) error {
	last := len(t.GetClasses()) - 1
	bounds, required := t.GetBounds()[last*len(t.GetDims())*2:], t.GetRequired()[last*words:]
	for d, f := range t.GetDims() {
		if bounds[2*d] != 0 || bounds[2*d+1] != FieldMax(f) {
			return fmt.Errorf("%s: box %d is the last and holds %s %d-%d alone: want one that holds every packet",
				at, last, f, bounds[2*d], bounds[2*d+1])
		}
	}
	for _, w := range required {
		if w != 0 {
			return fmt.Errorf("%s: box %d is the last and requires bits: want one that holds every packet", at, last)
		}
	}
	return nil
}

func tableDims(at string, t *programpb.Table) error {
	for i, f := range t.GetDims() {
		if !slices.Contains(dims, f) {
			return fmt.Errorf("%s: dims[%d]: %s is no dimension; use a bit set", at, i, f)
		}
		if slices.Contains(t.GetDims()[:i], f) {
			return fmt.Errorf("%s: dims[%d]: %s is there twice", at, i, f)
		}
	}
	bounds, n := t.GetBounds(), len(t.GetDims())
	for d, f := range t.GetDims() {
		for i, most := d, FieldMax(f); 2*i < len(bounds); i += n {
			if lo, hi := bounds[2*i], bounds[2*i+1]; lo > hi || hi > most {
				return fmt.Errorf("%s: box %d: %s %d-%d, want an ascending range up to %d", at, i/n, f, lo, hi, most)
			}
		}
	}
	return nil
}

func tableBits(at string, t *programpb.Table, words int, fib bool) error {
	for i, b := range t.GetBits() {
		if b.GetField() == programpb.Field_ROUTE && !fib {
			return fmt.Errorf("%s: bits[%d]: field is ROUTE, but the segment has no FIB", at, i)
		}
		if err := ranges(fmt.Sprintf("%s: bits[%d]", at, i), b); err != nil {
			return err
		}
	}
	if rest := len(t.GetBits()) % 64; rest != 0 {
		for i := words - 1; i < len(t.GetRequired()); i += words {
			if t.GetRequired()[i]>>rest != 0 {
				return fmt.Errorf("%s: box %d: requires a bit beyond the %d bit sets", at, i/words, len(t.GetBits()))
			}
		}
	}
	return nil
}

func ranges(at string, b *programpb.BitSet) error {
	if _, ok := programpb.Field_name[int32(b.GetField())]; !ok {
		return fmt.Errorf("%s: field %d is unknown", at, b.GetField())
	}
	r := b.GetRanges()
	if len(r)%2 != 0 {
		return fmt.Errorf("%s: has %d range ends, want pairs", at, len(r))
	}
	for i := 0; i < len(r); i += 2 {
		if r[i] > r[i+1] || r[i+1] > FieldMax(b.GetField()) || i > 0 && r[i] <= r[i-1] {
			return fmt.Errorf("%s: %s %d-%d, want ascending ranges up to %d", at, b.GetField(), r[i], r[i+1], FieldMax(b.GetField()))
		}
	}
	return nil
}

// FieldMax is the largest value of a field in a program, absence included.
func FieldMax(f programpb.Field) uint32 {
	switch f {
	case programpb.Field_VLAN:
		return 4096
	case programpb.Field_DSCP:
		return 63
	case programpb.Field_PROTO, programpb.Field_TTL:
		return 255
	case programpb.Field_FRAG:
		return 2
	case programpb.Field_SPORT, programpb.Field_DPORT:
		return 65536
	case programpb.Field_ROUTE:
		return MaxNextHops
	case programpb.Field_TCP_FLAGS, programpb.Field_ICMP_TYPE, programpb.Field_ICMP_CODE:
		return 256
	default:
		return math.MaxUint32
	}
}
