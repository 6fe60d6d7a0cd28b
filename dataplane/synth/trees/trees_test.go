package trees

import (
	"math/rand/v2"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// That the engine's walks are those that are foreseen here, the differential tests tell of each of their chains.

type box struct{ src, dst, sport, dport [2]uint32 }

var (
	everyAddress = [2]uint32{0, 1<<32 - 1}
	everyPort    = [2]uint32{0, 1 << 16} // a fragment has none: 65536
)

// tableOf is a table of boxes, and one behind them that takes everything.
func tableOf(list []box) *programpb.Table {
	t := &programpb.Table{Dims: []programpb.Field{programpb.Field_SRC, programpb.Field_DST, programpb.Field_SPORT, programpb.Field_DPORT}}
	for _, b := range append(list, box{everyAddress, everyAddress, everyPort, everyPort}) {
		t.Bounds = append(t.Bounds, b.src[0], b.src[1], b.dst[0], b.dst[1], b.sport[0], b.sport[1], b.dport[0], b.dport[1])
		t.Classes = append(t.Classes, 0)
	}
	return t
}

func between(r *rand.Rand, most uint32) [2]uint32 {
	a, b := r.Uint32N(most), r.Uint32N(most)
	return [2]uint32{min(a, b), max(a, b)}
}

// hosts are boxes of one source each, wide of anything between two addresses and ports.
func hosts(r *rand.Rand) box {
	a := r.Uint32()
	return box{[2]uint32{a, a}, everyAddress, everyPort, everyPort}
}

func wide(r *rand.Rand) box {
	return box{between(r, 1<<32-1), between(r, 1<<32-1), between(r, 1<<16), between(r, 1<<16)}
}

func listOf(n int, make func(*rand.Rand) box) (list []box) {
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		list = append(list, make(r))
	}
	return list
}

func TestTablesThatAreNoTreesHaveNoWalks(t *testing.T) {
	route := func(low uint32) *programpb.BitSet {
		return &programpb.BitSet{Field: programpb.Field_ROUTE, Ranges: []uint32{low, low}}
	}
	for name, table := range map[string]*programpb.Table{
		"one class":   tableOf(nil),
		"one address": tableOf(listOf(100, hosts)),
		"what a FIB says": {
			Bits: []*programpb.BitSet{route(1), route(2)}, Required: []uint64{1, 2, 0}, Classes: []uint32{0, 1, 2},
		},
		"what a FIB says, and a range before it": {
			Dims: []programpb.Field{programpb.Field_DST}, Bounds: []uint32{7, 7, 0, 1<<32 - 1, 0, 1<<32 - 1},
			Bits: []*programpb.BitSet{route(1)}, Required: []uint64{0, 1, 0}, Classes: []uint32{0, 1, 2},
		},
	} {
		if w := Of(table, false); w != (Walk{}) {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

// Eight boxes are a group, sixteen a list of two.
func TestFewBoxesAreAList(t *testing.T) {
	for n, groups := range map[int]int{1: 1, 8: 1, 16: 2} {
		if w := Of(tableOf(listOf(n, wide)), false); w.Longest != groups || w.Steps > float64(groups) {
			t.Errorf("%d boxes: %+v, want up to %d groups", n, w, groups)
		}
	}
}

// Boxes of one host are told apart by few nodes, boxes that are wide in all fields are not.
func TestWideBoxesHaveLongWalks(t *testing.T) {
	ports := func(r *rand.Rand) box {
		b := hosts(r)
		b.dport = between(r, 1<<16)
		return b
	}
	narrow, long := Of(tableOf(listOf(5000, ports)), false), Of(tableOf(listOf(5000, wide)), false)
	if narrow.Longest > 10 {
		t.Errorf("boxes of one host: %+v", narrow)
	}
	if long.Steps < 50 || long.Longest < 100 || long.Longest > 5000/8 {
		t.Errorf("wide boxes: %+v", long)
	}
}

// No walk is longer than the longest that is foreseen, and keys at the bounds of boxes find some that are as long.
func TestNoWalkIsLongerThanForeseen(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, kind := range []func(*rand.Rand) box{hosts, wide, func(r *rand.Rand) box {
		if r.IntN(2) == 0 {
			return hosts(r)
		}
		return wide(r)
	}} {
		b := readBoxes(tableOf(listOf(1000, kind)), false)
		tree, longest := newTree(newCutter(b), division{}), 0
		for range 20_000 {
			key := make([]uint32, len(b.ranges))
			for c := range key {
				at := &b.ranges[c]
				key[c] = []uint32{at.low[r.IntN(b.n)], at.high[r.IntN(b.n)], r.Uint32()}[r.IntN(3)]
			}
			longest = max(longest, tree.walk(key))
		}
		if longest > tree.longest || longest < tree.longest*3/4 {
			t.Errorf("the longest walk that was found takes %d steps, foreseen are %d", longest, tree.longest)
		}
	}
}

// A table that is looked up seldom is divided more coarsely: it is built sooner, and its walks may be longer. They are not long for that.
func TestTablesForFewPacketsAreCoarser(t *testing.T) {
	table := tableOf(listOf(300, wide))
	if most, apart := Of(table, false), Of(table, true); apart.Steps <= most.Steps {
		t.Errorf("300 boxes: %+v for few packets, %+v for most", apart, most)
	}
	table = tableOf(listOf(3000, wide))
	if most, apart := Of(table, false), Of(table, true); apart != most {
		t.Errorf("3,000 boxes: %+v for few packets, %+v for most, want the same", apart, most)
	}
}

// As of routes whose packets are low on TTL: the first box is in every sample, and stands for many there.
func TestAWideBoxBeforeManyNarrowOnesHidesNoCut(t *testing.T) {
	table := &programpb.Table{Dims: []programpb.Field{programpb.Field_DST, programpb.Field_TTL}}
	add := func(bounds ...uint32) {
		table.Bounds, table.Classes = append(table.Bounds, bounds...), append(table.Classes, 0)
	}
	add(10<<24, 11<<24-1, 3, 3)
	for i := range uint32(400_000) {
		add(i<<12, i<<12|0xfff, 2, 4)
	}
	add(0, 1<<32-1, 0, 255)
	if w := Of(table, true); w.Longest > 64 {
		t.Errorf("the longest walk has %d steps", w.Longest)
	}
}

// As of rules of a firewall behind a table of routes: so many of them lie in each child of a wide cut that it takes too much.
func TestWideBoxesAmongManyNarrowOnesLeaveNarrowCuts(t *testing.T) {
	table := &programpb.Table{Dims: []programpb.Field{programpb.Field_DST, programpb.Field_TTL}}
	for i := range uint32(400_000) {
		low, bits := i<<12, uint32(0xfff)
		if i%301 == 0 {
			low, bits = i%32<<27, 0x7ffffff
		}
		table.Bounds, table.Classes = append(table.Bounds, low, low|bits, 2, 4), append(table.Classes, 0)
	}
	if w := Of(table, true); w.Longest > 64 {
		t.Errorf("the longest walk has %d steps", w.Longest)
	}
}

// As of a firewall behind a router: many rules for one port of any address, and many for all ports of large prefixes. In one tree, each of these would lie
// in each child of a cut by ports.
func TestRulesOfAPortAmongRulesOfPrefixesHaveShortWalks(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	prefix := func() [2]uint32 {
		size := uint32(1) << (20 + r.IntN(8))
		low := r.Uint32() &^ (size - 1)
		return [2]uint32{low, low + size - 1}
	}
	var list []box
	for i := range uint32(600) {
		a, b := hosts(r), hosts(r)
		b.src, b.dst = b.dst, b.src
		list = append(list, a, b, box{everyAddress, everyAddress, everyPort, [2]uint32{7 * i, 7 * i}}, box{prefix(), prefix(), everyPort, everyPort})
	}
	if w := Of(tableOf(list), false); w.Longest > 20 {
		t.Errorf("%+v, want at most 20 steps", w)
	}
}
