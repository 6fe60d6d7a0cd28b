package trees

import "github.com/sinter-nfv/sinter/dataplane/program/programpb"

// boxes are a table's in normal form: only columns that tell boxes apart, only boxes before the first one that takes everything.
type boxes struct {
	n         int
	ranges    []column
	masks     [][]uint32 // by column and box: bits that it requires
	addresses []int      // ranges of addresses
	rare      bool
}

// column is a dimension of the boxes.
type column struct{ low, high []uint32 }

func readBoxes(t *programpb.Table, rare bool) *boxes {
	b := &boxes{rare: rare}
	dims, words := len(t.GetDims()), (len(t.GetBits())+63)/64
	hulls := hullsOf(t)
	for b.n < len(t.GetClasses()) && !takesAll(t, hulls, b.n, words) {
		b.n++
	}
	for d, f := range t.GetDims() {
		c, differs := column{make([]uint32, b.n), make([]uint32, b.n)}, false
		for i := range b.n {
			c.low[i], c.high[i] = t.Bounds[2*(i*dims+d)], t.Bounds[2*(i*dims+d)+1]
			differs = differs || c.low[i] != hulls[d][0] || c.high[i] != hulls[d][1]
		}
		if !differs {
			continue
		}
		if f == programpb.Field_SRC || f == programpb.Field_DST {
			b.addresses = append(b.addresses, len(b.ranges))
		}
		b.ranges = append(b.ranges, c)
	}
	for half := range 2 * words {
		mask, any := make([]uint32, b.n), uint32(0)
		for i := range b.n {
			mask[i] = uint32(t.Required[i*words+half/2] >> (half % 2 * 32))
			any |= mask[i]
		}
		if any != 0 {
			b.masks = append(b.masks, mask)
		}
	}
	return b
}

// hullsOf is the least range that holds those of all boxes, by dimension.
func hullsOf(t *programpb.Table) [][2]uint32 {
	dims := len(t.GetDims())
	hulls := make([][2]uint32, dims)
	for d := range hulls {
		hulls[d] = [2]uint32{^uint32(0), 0}
	}
	for i := 0; i < len(t.GetBounds()); i += 2 {
		h := &hulls[i/2%dims]
		h[0], h[1] = min(h[0], t.Bounds[i]), max(h[1], t.Bounds[i+1])
	}
	return hulls
}

func takesAll(t *programpb.Table, hulls [][2]uint32, box, words int) bool {
	for d, h := range hulls {
		if at := 2 * (box*len(hulls) + d); t.Bounds[at] != h[0] || t.Bounds[at+1] != h[1] {
			return false
		}
	}
	for _, required := range t.Required[box*words : (box+1)*words] {
		if required != 0 {
			return false
		}
	}
	return true
}

// kind is how boxes are divided, those that have a tree together.
type kind int

const (
	notDivided kind = iota
	byAddress       // those that are narrow in an address, those that are narrow in the other alone, the rest
	byPort          // as before, but of the rest those that are narrow in a port have a tree of their own
	kinds
)

// division is which boxes have a tree together.
type division struct {
	kind      kind
	addresses [2]int // columns: the one in which more boxes are narrow that are wide in the other, and the other
	port      int    // column
}

const (
	many    = 8  // 1 in so many boxes
	some    = 64 // boxes that are worth a tree of their own
	further = 3  // what a further tree costs beside its walk, in steps
	few     = 8  // steps that several trees do not better
	long    = 64 // steps up to which the longest walk does not matter
)

// wide tells whether a range of addresses is.
func (b *boxes) wide(column, box int) bool {
	c := &b.ranges[column]
	return c.high[box]-c.low[box] > 1<<16-1
}

// narrow tells whether a range of ports is, or of another field.
func (b *boxes) narrow(column, box int) bool {
	c := &b.ranges[column]
	return c.high[box]-c.low[box] < 1<<8
}

// divisions are the ways in which boxes may be divided, and whether each is possible. Not to divide them is not if that is worse for sure.
func (b *boxes) divisions() (by [kinds]division, possible [kinds]bool) {
	possible[notDivided] = true
	if len(b.addresses) < 2 {
		return by, possible
	}
	columns := [2]int(b.addresses[:2])
	var only [2]int
	for i := range b.n {
		first, second := b.wide(columns[0], i), b.wide(columns[1], i)
		if second && !first {
			only[0]++
		} else if first && !second {
			only[1]++
		}
	}
	if only[0] < only[1] {
		columns[0], columns[1] = columns[1], columns[0]
	}
	by[byAddress] = division{kind: byAddress, addresses: columns}
	possible[byAddress] = only[0]+only[1] > 0
	possible[notDivided] = min(only[0], only[1]) <= b.n/many
	by[byPort], possible[byPort] = b.byPort(by[byAddress])
	possible[byPort] = possible[byPort] && possible[byAddress]
	return by, possible
}

// byPort divides by the field in which most boxes are narrow, or most are not, of those that are wide in both addresses.
func (b *boxes) byPort(d division) (by division, possible bool) {
	by = division{kind: byPort, addresses: d.addresses}
	most := 0
	for c := range b.ranges {
		narrow, all := 0, 0
		for i := range b.n {
			if d.tree(b, i) != 2 {
				continue
			}
			if all++; b.narrow(c, i) {
				narrow++
			}
		}
		if n := min(narrow, all-narrow); n > most {
			most, by.port = n, c
		}
	}
	return by, most >= some
}

// tree is the place of a box's tree.
func (d *division) tree(b *boxes, box int) int {
	switch {
	case d.kind == notDivided || !b.wide(d.addresses[0], box):
		return 0
	case !b.wide(d.addresses[1], box):
		return 1
	case d.kind == byPort && !b.narrow(d.port, box):
		return 3
	}
	return 2
}
