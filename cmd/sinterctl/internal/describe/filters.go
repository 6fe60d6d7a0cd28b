package describe

import (
	"encoding/binary"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Filters are the filters of a segment's boxes, by class, as far as they tell how packets end. Addresses seldom do, so
// boxes that differ in them alone have one filter: a program may have millions.
type Filters struct {
	of      [][]headerspace.Filter
	known   []map[string]bool
	ignored [][]headerspace.Field
	key     []byte
}

// NewFilters has no filter yet.
func NewFilters(p *programpb.Program, segment int) *Filters {
	list := p.GetSegments()[segment].GetClasses()
	f := &Filters{of: make([][]headerspace.Filter, len(list)), known: make([]map[string]bool, len(list)), ignored: make([][]headerspace.Field, len(list))}
	for i, c := range list {
		f.known[i] = map[string]bool{}
		for _, field := range [...]headerspace.Field{headerspace.Src, headerspace.Dst} {
			if !tells(p, segment, c, field) {
				f.ignored[i] = append(f.ignored[i], field)
			}
		}
	}
	return f
}

// tells says whether a field decides how packets of a class end.
func tells(p *programpb.Program, segment int, c *programpb.Class, f headerspace.Field) bool {
	for _, l := range c.GetLegs() {
		for _, e := range program.Ends(p, segment, l) {
			for _, w := range e.When {
				if !w.Any(f) {
					return true
				}
			}
		}
	}
	return false
}

// Add adds the filter of a table's box.
func (f *Filters) Add(t *programpb.Table, box int) {
	class := t.GetClasses()[box]
	ignored := func(d programpb.Field) bool {
		for _, i := range f.ignored[class] {
			if i == headerspace.Field(d) {
				return true
			}
		}
		return false
	}
	f.key = f.key[:0]
	dims, words := t.GetDims(), (len(t.GetBits())+63)/64
	for d, dim := range dims {
		if !ignored(dim) {
			at := 2 * (box*len(dims) + d)
			f.key = binary.BigEndian.AppendUint32(append(f.key, byte(dim)), t.GetBounds()[at])
			f.key = binary.BigEndian.AppendUint32(f.key, t.GetBounds()[at+1])
		}
	}
	for i, b := range t.GetBits() {
		if t.GetRequired()[box*words+i/64]>>(i%64)&1 == 1 {
			f.key = append(f.key, 0xff, byte(b.GetField()))
			for _, r := range b.GetRanges() {
				f.key = binary.AppendUvarint(f.key, uint64(r))
			}
		}
	}
	if f.known[class][string(f.key)] {
		return
	}
	f.known[class][string(f.key)] = true
	p := BoxFilter(t, box)
	for _, i := range f.ignored[class] {
		p = p.Without(i)
	}
	f.of[class] = append(f.of[class], p)
}

// Of are the filters of a class.
func (f *Filters) Of(class int) []headerspace.Filter { return f.of[class] }
