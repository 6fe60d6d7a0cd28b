package trees

import "math"

// As in the engine's sn_table_cut.c, whose comments say why.
const (
	maxWidth   = 16      // bits of a cut
	widthStep  = 2       // every other width will do
	groupCost  = 0.6     // of each group after the first
	treeCost   = 1.5     // of what is below, as trees usually come out: a constant,
	doubleCost = 0.3     // and this for each doubling of the number of boxes
	copyCost   = 0.15    // for each doubling of the number of copies
	traffic    = 1 << 14 // of a box, divided among its children
	slot       = 0.125   // memory of a child's entry, in boxes
	longList   = 1024    // boxes that are not left to a list because a sample says so
	hugeList   = 1 << 14 // and those for which cuts of any width are tried
)

// cut is how a node divides its boxes: by some adjacent bits of a column. Width 0: it does not.
type cut struct {
	column, shift, width int // ranges, then masks
	cost                 float32
}

// used are the bits by which the nodes above have been cut, per column.
type used [maxColumns]uint32

const maxColumns = 6 + 8

// change is that of the number of boxes, and of the share of traffic that they bring.
type change struct {
	boxes int32
	share int64
}

func (c *change) note(boxes int32, share int64) {
	c.boxes += boxes
	c.share += share
}

// cutter finds the best cut of a list of boxes.
type cutter struct {
	*boxes
	sample, widths, stride int       // boxes that stand for a large node; widths and shifts that are tried
	narrow                 bool      // all widths are
	rest                   []float32 // expected cost of a list of so many boxes
	part                   []int64   // of the traffic of a box that goes to i + 1 children
	steps                  []change  // from each child of a cut to the next
	low, high              []uint32  // of the sample, in the column at work
}

func newCutter(b *boxes) *cutter {
	c := &cutter{boxes: b, sample: 64, widths: 8, stride: 4}
	if b.rare {
		c.sample, c.widths, c.stride = 32, 6, 8
	}
	children := 1 << widestFor(b.n)
	c.rest, c.part = make([]float32, b.n+1), make([]int64, children)
	for n := range c.rest {
		c.rest[n] = expectedCost(n)
	}
	for i := range c.part {
		c.part[i] = traffic / int64(i+1)
	}
	c.steps = make([]change, children+1)
	c.low, c.high = make([]uint32, b.n), make([]uint32, b.n)
	return c
}

// widestFor is the widest cut that is tried for a list.
func widestFor(n int) int {
	width := 1
	for ; n > 1 && width < maxWidth; n >>= 1 {
		width++
	}
	return width
}

// log2 is linear between powers of two, as the engine has it.
func log2(x float32) float32 { return float32(math.Float32bits(x))*0x1p-23 - 127 }

// listCost is that of a leaf.
func listCost(n int) float32 {
	if n <= group {
		return 0
	}
	return groupCost * (float32(n)/group - 1)
}

// expectedCost is that of what will come of a list.
func expectedCost(n int) float32 {
	if n <= group {
		return 0
	}
	return min(listCost(n), treeCost+doubleCost*log2(float32(n)/group))
}

// judge keeps the cut if it is the best so far. rest is the sum over children of their traffic times their cost.
func (x *cut) judge(rest, copies float32, n int, budget float32, best *cut) {
	taken := copies + float32(int(1)<<x.width)*slot
	x.cost = rest/(float32(n)*traffic) + copyCost*log2(taken/float32(n))
	if x.cost < best.cost && taken <= budget {
		*best = *x
	}
}

// byRange is the children with a part of low..high: from..to, modulo their number.
func byRange(low, high uint32, shift int, mask uint32) (from, to uint32) {
	first, last := low>>shift, high>>shift
	if last-first >= mask {
		return 0, mask
	}
	return first & mask, last & mask
}

// children are those that a box goes to.
func (b *boxes) children(x cut, box int32) (from, to uint32) {
	if x.column < len(b.ranges) {
		c := &b.ranges[x.column]
		return byRange(c.low[box], c.high[box], x.shift, 1<<x.width-1)
	}
	return b.masks[x.column-len(b.ranges)][box] >> x.shift & 1, 1
}

// choose is the best cut that takes no more than the budget, in boxes.
func (c *cutter) choose(list []int32, budget float32, u *used) cut {
	if listCost(len(list)) <= 1 {
		return cut{}
	}
	sample := min(len(list), c.sample)
	x := c.chooseBy(sample, list, budget, u)
	for sample < len(list) && c.misled(list, x, budget) {
		sample = min(4*sample, len(list))
		x = c.chooseBy(sample, list, budget, u)
	}
	if x.width == 0 && len(list) >= hugeList { // wide cuts copy too many boxes into each child
		c.narrow = true
		x = c.chooseBy(len(list), list, budget, u)
		c.narrow = false
	}
	return x
}

// misled tells whether a small sample may lack wide boxes, so that the cut takes too much; or have one that stands for too many, so that none
// seems to serve. The latter is looked at again if the list is long: walks would be.
func (c *cutter) misled(list []int32, x cut, budget float32) bool {
	if x.width == 0 {
		return len(list) >= longList
	}
	return !c.fits(list, x, budget)
}

func (c *cutter) chooseBy(sample int, list []int32, budget float32, u *used) cut {
	best := cut{cost: listCost(len(list)) - 1}
	for i := range c.ranges {
		c.tryRanges(i, sample, list, budget, u[i], &best)
	}
	for i := range c.masks {
		c.tryMasks(i, list, budget, u[len(c.ranges)+i], &best)
	}
	return best
}

func (c *cutter) fits(list []int32, x cut, budget float32) bool {
	mask, copies := uint32(1)<<x.width-1, 0
	for _, box := range list {
		from, to := c.children(x, box)
		copies += int((to-from)&mask) + 1
	}
	return float32(copies) <= budget
}

func (c *cutter) tryRanges(column, sample int, list []int32, budget float32, u uint32, best *cut) {
	from, differs := &c.ranges[column], uint32(0)
	for i := range sample {
		box := list[i*len(list)/sample]
		c.low[i], c.high[i] = from.low[box], from.high[box]
		differs |= (c.low[i] ^ c.low[0]) | (c.high[i] ^ c.high[0])
	}
	widest := widestFor(len(list))
	narrowest := max(1, widest-c.widths+1)
	if c.narrow {
		narrowest = 1
	}
	for width := widest; width >= narrowest; width -= widthStep {
		for shift := 0; shift+width <= 32; shift += c.stride {
			if bits := uint32(1<<width-1) << shift; differs&bits != 0 && u&bits == 0 {
				c.tryRange(cut{column: column, shift: shift, width: width}, sample, len(list), budget, best)
			}
		}
	}
}

// tryRange judges a cut by the sample, which stands for n boxes.
func (c *cutter) tryRange(x cut, sample, n int, budget float32, best *cut) {
	mask := uint32(1)<<x.width - 1
	steps := c.steps[:mask+2]
	clear(steps)
	for i, low := range c.low[:sample] {
		from, to := byRange(low, c.high[i], x.shift, mask)
		part := c.part[(to-from)&mask]
		steps[from].note(1, part)
		steps[to+1].note(-1, -part)
		if from > to {
			steps[0].note(1, part)
		}
	}
	scale := float32(n) / float32(sample)
	var boxes, copies int32
	var share int64
	var rest float32
	for i := range steps[:mask+1] {
		boxes += steps[i].boxes
		share += steps[i].share
		copies += boxes
		if boxes > 0 {
			rest += float32(share) * c.rest[int(float32(boxes)*scale)]
		}
	}
	x.judge(rest*scale, float32(copies)*scale, n, budget, best)
}

// tryMasks judges the cuts by one bit.
func (c *cutter) tryMasks(column int, list []int32, budget float32, u uint32, best *cut) {
	mask, any := c.masks[column], uint32(0)
	for _, box := range list {
		any |= mask[box]
	}
	n := len(list)
	for shift := range 32 {
		if any&^u>>shift&1 == 0 {
			continue
		}
		lacking := 0
		for _, box := range list {
			lacking += int(^mask[box] >> shift & 1)
		}
		half := float32(lacking) * 0.5
		rest := traffic * (half*c.rest[lacking] + (float32(n)-half)*c.rest[n])
		x := cut{column: len(c.ranges) + column, shift: shift, width: 1}
		x.judge(rest, float32(lacking+n), n, budget, best)
	}
}
