package trees

import "slices"

// tree is one or several trees of a table's boxes.
type tree struct {
	roots   []entry
	entries []entry
	steps   float32 // of a walk, on average
	longest int
}

// entry is a node, whose child is at base + some bits of a column, or a leaf of so many groups.
type entry struct {
	groups int // 0: a node
	base   int
	cut    cut
}

// builder makes trees: cuts until the lists are short. A budget of copies, handed down, bounds what boxes cost that lie in many children.
type builder struct {
	*cutter
	tree   *tree
	groups int                 // of leaves made so far
	known  map[uint64]struct{} // leaves of one group, by content: these are one
}

func newTree(c *cutter, d division) *tree {
	x := &builder{cutter: c, tree: &tree{}, groups: 1, known: map[uint64]struct{}{}}
	lists := make([][]int32, maxRoots)
	for i := range c.n {
		t := d.tree(c.boxes, i)
		lists[t] = append(lists[t], int32(i))
	}
	for _, list := range lists {
		if len(list) == 0 {
			continue
		}
		root, longest := x.build(list, c.budget(len(list)), used{})
		x.tree.roots, x.tree.longest = append(x.tree.roots, root), x.tree.longest+longest
	}
	x.tree.average(c.boxes)
	return x.tree
}

// budget is how many boxes the leaves of n may hold in all, slots of nodes included.
func (b *boxes) budget(n int) float32 {
	each := float32(16)
	if b.rare {
		each = 4
	}
	return 16*float32(min(n, 1024)) + each*float32(n)
}

// build makes a tree of a list. It tells how long the longest walk is.
func (x *builder) build(list []int32, budget float32, u used) (e entry, longest int) {
	if c := x.choose(list, budget, &u); c.width > 0 {
		return x.node(list, budget, c, u)
	}
	n := max(1, (len(list)+group-1)/group)
	if n > 1 || len(list) > 0 && x.isNew(list) {
		x.groups += n
	}
	return entry{groups: n}, n
}

// isNew tells whether no leaf was of such a list.
func (x *builder) isNew(list []int32) bool {
	hash := uint64(len(list))
	for _, box := range list {
		hash = (hash ^ uint64(box)) * 0x9e3779b97f4a7c15
		hash ^= hash >> 29
	}
	n := len(x.known)
	x.known[hash] = struct{}{}
	return len(x.known) > n
}

// spent is what leaves and nodes made so far take, in boxes.
func (x *builder) spent() float64 { return float64(x.groups)*group + float64(len(x.tree.entries))*slot }

func (x *builder) node(list []int32, budget float32, c cut, u used) (e entry, longest int) {
	size, base := 1<<c.width, len(x.tree.entries)
	begin, lists := x.deal(list, c)
	x.tree.entries = append(x.tree.entries, make([]entry, size)...)
	budget -= float32(size) * slot
	long := 0
	for v := range size {
		if n := begin[v+1] - begin[v]; n <= group {
			budget -= float32(n)
		} else {
			long += n
		}
	}
	u[c.column] |= uint32(size-1) << c.shift
	var child entry
	for v := range size {
		of := lists[begin[v]:begin[v+1]]
		before := x.spent()
		if v == 0 || !slices.Equal(of, lists[begin[v-1]:begin[v]]) {
			var steps int
			child, steps = x.build(of, budget*float32(len(of))/float32(long+1), u)
			longest = max(longest, steps)
		}
		if len(of) > group { // what a child leaves over is for the next ones
			budget -= float32(x.spent() - before)
			long -= len(of)
		}
		x.tree.entries[base+v] = child
	}
	return entry{base: base, cut: c}, longest + 1
}

// deal gives the lists of a cut's children, one behind the other: child v's is at begin[v]..begin[v + 1].
func (x *builder) deal(list []int32, c cut) (begin []int, lists []int32) {
	size := uint32(1) << c.width
	begin = make([]int, size+2)
	each := func(do func(box int32, child uint32)) {
		for _, box := range list {
			from, to := x.children(c, box)
			for v := from; ; v = (v + 1) & (size - 1) {
				if do(box, v); v == to {
					break
				}
			}
		}
	}
	each(func(_ int32, child uint32) { begin[child+2]++ })
	for v := range size {
		begin[v+2] += begin[v+1]
	}
	lists = make([]int32, begin[size+1])
	each(func(box int32, child uint32) { // begin[child + 1] moves from where the child's list begins to where it ends
		lists[begin[child+1]] = box
		begin[child+1]++
	})
	return begin, lists
}

// random is splitmix64: the engine tries the same keys.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	x := uint64(*r)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// average tries keys where the boxes are, evenly.
func (t *tree) average(b *boxes) {
	const most = 1024
	n, steps, r := min(b.n, most), 0, random(1)
	key := make([]uint32, len(b.ranges)+len(b.masks))
	for i := range n {
		box := i * b.n / n
		for c := range b.ranges {
			low, high := b.ranges[c].low[box], b.ranges[c].high[box]
			key[c] = low + uint32(r.next()%(uint64(high)-uint64(low)+1))
		}
		for c := range b.masks {
			key[len(b.ranges)+c] = b.masks[c][box]
		}
		steps += t.walk(key)
	}
	t.steps = float32(steps)/float32(n) + further*float32(len(t.roots)-1)
}

// walk is how many steps a key takes, from each root to a leaf and through all of its groups.
func (t *tree) walk(key []uint32) (steps int) {
	for _, e := range t.roots {
		for ; e.groups == 0; steps++ {
			e = t.entries[e.base+int(key[e.cut.column]>>e.cut.shift&(1<<e.cut.width-1))]
		}
		steps += e.groups
	}
	return steps
}
