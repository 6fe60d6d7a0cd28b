package fib

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// Route is a prefix and where it comes from. Of routes with one prefix that of the least origin counts.
type Route struct {
	Addr   uint32
	Bits   uint8 // length of the prefix
	Origin uint16
}

func compare(a, b Route) int {
	return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Bits, b.Bits), cmp.Compare(a.Origin, b.Origin))
}

func (r Route) samePrefix(o Route) bool { return r.Addr == o.Addr && r.Bits == o.Bits }

// shortBits is the length of the longest prefixes that hold whole blocks.
const shortBits = 16

// Routes are routes and what they say by longest match (RFC 1812 section 5.2.4.3). They do not change; those that differ a little are made
// from them, and share the rest.
type Routes struct {
	values []uint16
	short  []Route   // those of whole blocks
	long   [][]Route // by block, the others
	covers []uint16  // by block: what the short ones say
	table  *Table
	wins   []int // by origin: how many of its routes are the first of their prefixes
	n      int   // prefixes
}

// NewRoutes are routes in any order, whose addresses have no bits beyond their lengths. values are the numbers of next hops, by origin.
func NewRoutes(values []uint16, list []Route) *Routes {
	if !slices.IsSortedFunc(list, compare) {
		list = sorted(list)
	}
	r := &Routes{values: values, long: make([][]Route, blocks), wins: make([]int, len(values))}
	counts := make([]int32, blocks)
	for _, x := range list {
		if x.Bits > shortBits {
			counts[x.Addr>>16]++
		} else {
			r.short = append(r.short, x)
		}
	}
	long := make([]Route, 0, len(list)-len(r.short))
	for _, x := range list {
		if x.Bits > shortBits {
			long = append(long, x)
		}
	}
	for i, n := range counts {
		r.long[i], long = long[:n:n], long[n:]
	}
	r.covers = coversOf(r.short, values)
	r.table = &Table{blocks: make([]*block, blocks)}
	r.win(r.short, 1)
	alone := map[uint16]*block{}
	for i, list := range r.long {
		if r.win(list, 1); len(list) > 0 {
			r.table.blocks[i] = newBlock(stepsOf(r.covers[i], list, values))
			continue
		}
		b := alone[r.covers[i]]
		if b == nil {
			b = newBlock(stepsOf(r.covers[i], nil, values))
			alone[r.covers[i]] = b
		}
		r.table.blocks[i] = b
	}
	r.table.hashAll()
	return r
}

// sorted sorts routes by a number for each, of address, length and origin.
func sorted(list []Route) []Route {
	keys := make([]uint64, len(list))
	for i, r := range list {
		keys[i] = uint64(r.Addr)<<24 | uint64(r.Bits)<<16 | uint64(r.Origin)
	}
	slices.Sort(keys)
	out := make([]Route, len(list))
	for i, k := range keys {
		out[i] = Route{uint32(k >> 24), uint8(k >> 16), uint16(k)}
	}
	return out
}

// win counts the first routes of each prefix.
func (r *Routes) win(list []Route, times int) {
	for i, x := range list {
		if i == 0 || !x.samePrefix(list[i-1]) {
			r.wins[x.Origin] += times
			r.n += times
		}
	}
}

// coversOf is what prefixes of whole blocks say, by block.
func coversOf(short []Route, values []uint16) []uint16 {
	out := make([]uint16, blocks)
	sweep(short, values, 0, blocks-1, 32-shortBits, func(from, to uint32, value uint16) {
		for i := from; i <= to; i++ {
			out[i] = value
		}
	})
	return out
}

// stepsOf is what routes within a block say, and around them its cover.
func stepsOf(cover uint16, list []Route, values []uint16) []step {
	s := make(steps, 0, 2*len(list)+1)
	sweep(list, values, cover, 0xffff, 0, func(from, _ uint32, value uint16) { s.put(from, value) })
	return slices.Clip(s)
}

// sweep calls put for neighbouring addresses, from 0 to last, with the number of their longest match. Addresses count without shift bits at
// their ends, modulo last+1. The routes are sorted; of those with one prefix the first counts. What none holds has the number around.
func sweep(list []Route, values []uint16, around uint16, last, shift uint32, put func(from, to uint32, value uint16)) {
	type open struct {
		last  uint32
		value uint16
	}
	stack := append(make([]open, 0, 34), open{last, around}) // prefixes that hold at, the shortest first
	at := uint32(0)
	closeTop := func() {
		top := stack[len(stack)-1]
		if stack = stack[:len(stack)-1]; at <= top.last {
			put(at, top.last, top.value)
			at = top.last + 1
		}
	}
	for i, r := range list {
		if i > 0 && r.samePrefix(list[i-1]) {
			continue
		}
		lo := r.Addr >> shift & last
		for stack[len(stack)-1].last < lo {
			closeTop()
		}
		if at < lo {
			put(at, lo-1, stack[len(stack)-1].value)
			at = lo
		}
		stack = append(stack, open{lo + 1<<(32-uint32(r.Bits)-shift) - 1, values[r.Origin]})
	}
	for len(stack) > 0 {
		closeTop()
	}
}

// Number is that of a route's next hop.
func (r *Routes) Number(x Route) uint16 { return r.values[x.Origin] }

// Table is what the routes say.
func (r *Routes) Table() *Table { return r.table }

// Len is how many prefixes have routes.
func (r *Routes) Len() int { return r.n }

// Wins tells whether a route of the origin is the first of its prefix.
func (r *Routes) Wins(origin int) bool { return r.wins[origin] > 0 }

// All are the first routes of each prefix, by address and length.
func (r *Routes) All() iter.Seq[Route] {
	return func(yield func(Route) bool) {
		short := r.short
		for i := range r.long {
			for len(short) > 0 && int(short[0].Addr>>16) == i {
				n := 1
				for n < len(short) && short[n].samePrefix(short[0]) {
					n++
				}
				if !yield(short[0]) {
					return
				}
				short = short[n:]
			}
			for k, x := range r.long[i] {
				if (k == 0 || !x.samePrefix(r.long[i][k-1])) && !yield(x) {
					return
				}
			}
		}
	}
}

// Find is the route of a prefix.
func (r *Routes) Find(addr uint32, length uint8) (Route, bool) {
	list := r.list(addr, length)
	at, _ := slices.BinarySearchFunc(list, Route{Addr: addr, Bits: length}, compare)
	if at == len(list) || list[at].Addr != addr || list[at].Bits != length {
		return Route{}, false
	}
	return list[at], true
}

// Longest is the route of the longest prefix that holds an address.
func (r *Routes) Longest(addr uint32) (Route, bool) {
	for n := 32; n >= 0; n-- {
		if x, ok := r.Find(addr&^uint32(uint64(1)<<(32-n)-1), uint8(n)); ok {
			return x, true
		}
	}
	return Route{}, false
}

func (r *Routes) list(addr uint32, length uint8) []Route {
	if length > shortBits {
		return r.long[addr>>16]
	}
	return r.short
}

// Change is the routes with some taken away and others added. It fails if one that is taken away is not there.
func (r *Routes) Change(removed, added []Route) (*Routes, error) {
	if len(removed) == 0 && len(added) == 0 {
		return r, nil
	}
	gone, fresh := byBlock(removed), byBlock(added)
	out := &Routes{values: r.values, short: r.short, long: slices.Clone(r.long), covers: r.covers, wins: slices.Clone(r.wins), n: r.n}
	touched := map[int]bool{}
	change := func(before []Route, at int) ([]Route, error) {
		now, err := merge(before, gone[at], fresh[at])
		if err == nil {
			out.win(before, -1)
			out.win(now, 1)
		}
		return now, err
	}
	var err error
	for _, at := range slices.AppendSeq(slices.Collect(maps.Keys(gone)), maps.Keys(fresh)) {
		if at == wholeBlocks || touched[at] {
			continue
		}
		touched[at] = true
		if out.long[at], err = change(r.long[at], at); err != nil {
			return nil, err
		}
	}
	if len(gone[wholeBlocks])+len(fresh[wholeBlocks]) > 0 {
		if out.short, err = change(r.short, wholeBlocks); err != nil {
			return nil, err
		}
		out.covers = coversOf(out.short, r.values)
		for i, cover := range out.covers {
			if cover != r.covers[i] {
				touched[i] = true
			}
		}
	}
	blocks := make(map[int]*block, len(touched))
	for at := range touched {
		if b := newBlock(stepsOf(out.covers[at], out.long[at], r.values)); b.hash != r.table.blocks[at].hash {
			blocks[at] = b
		}
	}
	out.table = r.table.with(blocks)
	return out, nil
}

// wholeBlocks stands for the prefixes of whole blocks among the numbers of blocks.
const wholeBlocks = -1

func byBlock(list []Route) map[int][]Route {
	out := map[int][]Route{}
	for _, x := range list {
		at := wholeBlocks
		if x.Bits > shortBits {
			at = int(x.Addr >> 16)
		}
		out[at] = append(out[at], x)
	}
	for _, l := range out {
		slices.SortFunc(l, compare)
	}
	return out
}

// merge is a sorted list without some routes and with others, which are sorted, too.
func merge(list, removed, added []Route) ([]Route, error) {
	out := make([]Route, 0, max(len(list)+len(added)-len(removed), 0))
	for _, x := range list {
		for len(added) > 0 && compare(added[0], x) < 0 {
			out, added = append(out, added[0]), added[1:]
		}
		if len(removed) > 0 && removed[0] == x {
			removed = removed[1:]
			continue
		}
		out = append(out, x)
	}
	if len(removed) > 0 {
		return nil, fmt.Errorf("route %s of origin %d is not there", removed[0], removed[0].Origin)
	}
	return append(out, added...), nil
}

func (r Route) String() string {
	return fmt.Sprintf("%d.%d.%d.%d/%d", r.Addr>>24, r.Addr>>16&0xff, r.Addr>>8&0xff, r.Addr&0xff, r.Bits)
}

// Last is the last address of the prefix.
func (r Route) Last() uint32 { return r.Addr | uint32(uint64(1)<<(32-r.Bits)-1) }
