// Package fib holds forwarding information bases: which next hop each IPv4 destination has. A table is known by what it says, not by how its
// routes are written: two tables with one hash send every address the same way. Tables do not change; one is made from another by what differs,
// and shares the rest with it.
package fib

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
)

const (
	// blocks are how many parts of the address space are kept by themselves, each the addresses of a /16.
	blocks = 1 << 16
	// fanOut is how many hashes one of the tree covers.
	fanOut = 256
	// MaxRanges is the most ranges that a change, or a whole table, may have: each address could be one, but routes to hosts are few.
	MaxRanges = 1 << 24
)

// Hash is the identity of a table: the root of a Merkle tree with SHA-256, whose leaves are blocks. Leaves and nodes are told apart by a byte in front,
// as in RFC 6962 section 2.1: 0 for a leaf, 1 for a node. A leaf is hashed over its steps in ascending order, each with the last 16 bits of
// the address and the number from there on (two bytes, most significant first, both), a node over the hashes of 256 neighbours.
type Hash [sha256.Size]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// step says that addresses of a block have a number from an address on.
type step struct {
	start uint16 // the last 16 bits
	value uint16
}

// block is the addresses of a /16: ascending steps from 0 on, of which neighbours differ.
type block struct {
	steps []step
	hash  Hash
}

func newBlock(steps []step) *block {
	buf := make([]byte, 1, 1+4*len(steps))
	for _, s := range steps {
		buf = binary.BigEndian.AppendUint16(buf, s.start)
		buf = binary.BigEndian.AppendUint16(buf, s.value)
	}
	return &block{steps, sha256.Sum256(buf)}
}

// Table says of each address the number of its next hop; 0: there is no route.
type Table struct {
	blocks []*block
	nodes  []Hash // of 256 blocks each
	root   Hash
	steps  []int // by number: how many steps have it
}

// Empty is the table without routes.
func Empty() *Table {
	none := newBlock([]step{{}})
	t := &Table{blocks: slices.Repeat([]*block{none}, blocks)}
	t.hashAll()
	return t
}

// hashAll hashes a table whose blocks are there, and counts its steps.
func (t *Table) hashAll() {
	t.nodes, t.steps = make([]Hash, blocks/fanOut), nil
	for _, b := range t.blocks {
		t.count(b, 1)
	}
	alike := map[*block]Hash{} // nodes of one block again and again: much of the address space has one number
	for n := range t.nodes {
		list := t.blocks[n*fanOut : (n+1)*fanOut]
		if !slices.ContainsFunc(list, func(b *block) bool { return b != list[0] }) {
			h, ok := alike[list[0]]
			if !ok {
				t.hashNode(n)
				alike[list[0]] = t.nodes[n]
			} else {
				t.nodes[n] = h
			}
			continue
		}
		t.hashNode(n)
	}
	t.hashRoot()
}

func (t *Table) count(b *block, times int) {
	for _, s := range b.steps {
		if int(s.value) >= len(t.steps) {
			t.steps = append(t.steps, make([]int, int(s.value)+1-len(t.steps))...)
		}
		t.steps[s.value] += times
	}
}

func (t *Table) hashNode(n int) {
	buf := make([]byte, 1, 1+fanOut*sha256.Size)
	buf[0] = 1
	for _, b := range t.blocks[n*fanOut : (n+1)*fanOut] {
		buf = append(buf, b.hash[:]...)
	}
	t.nodes[n] = sha256.Sum256(buf)
}

func (t *Table) hashRoot() {
	buf := make([]byte, 1, 1+fanOut*sha256.Size)
	buf[0] = 1
	for _, h := range t.nodes {
		buf = append(buf, h[:]...)
	}
	t.root = sha256.Sum256(buf)
}

// with is the table with some blocks replaced.
func (t *Table) with(fresh map[int]*block) *Table {
	if len(fresh) == 0 {
		return t
	}
	out := &Table{blocks: slices.Clone(t.blocks), nodes: slices.Clone(t.nodes), steps: slices.Clone(t.steps)}
	touched := map[int]bool{}
	for i, b := range fresh {
		out.count(out.blocks[i], -1)
		out.count(b, 1)
		out.blocks[i] = b
		touched[i/fanOut] = true
	}
	for n := range touched {
		out.hashNode(n)
	}
	out.hashRoot()
	return out
}

// Hash is the table's identity.
func (t *Table) Hash() Hash { return t.root }

// At is the number of an address.
func (t *Table) At(addr uint32) uint16 {
	b := t.blocks[addr>>16]
	return b.steps[b.index(uint16(addr))].value
}

// index is the step that has the last 16 bits of an address.
func (b *block) index(low uint16) int {
	at, found := slices.BinarySearchFunc(b.steps, low, func(s step, a uint16) int { return int(s.start) - int(a) })
	if !found {
		at--
	}
	return at
}

// Uses tells whether some address has a number.
func (t *Table) Uses(value uint16) bool { return int(value) < len(t.steps) && t.steps[value] > 0 }

// Top is the largest number that some address has.
func (t *Table) Top() uint16 {
	for v := len(t.steps) - 1; v > 0; v-- {
		if t.steps[v] > 0 {
			return uint16(v)
		}
	}
	return 0
}

// Range is neighbouring addresses with one number; both ends are included.
type Range struct {
	First, Last uint32
	Value       uint16
}

// Ranges are the addresses with a route, in ascending order; neighbours that touch differ.
func (t *Table) Ranges() []Range {
	var out []Range
	for i, b := range t.blocks {
		out = b.ranges(i, nil, out)
	}
	return out
}

// EngineBytes is how much memory an engine needs for a table: its root and hashes, and a chunk of 256 slots for each /16 and each /24 whose addresses
// differ (dataplane/engine/classify/sn_fib.c).
func (t *Table) EngineBytes() int {
	const root, hashes, chunk = 4 * blocks, (sha256.Size + 2) * blocks, 4 * 256
	n := root + hashes
	for _, b := range t.blocks {
		if len(b.steps) > 1 {
			n += chunk
		}
		last := -1
		for _, s := range b.steps {
			if at := int(s.start >> 8); s.start&0xff != 0 && at != last {
				n, last = n+chunk, at
			}
		}
	}
	return n
}

// Change is what makes another table of one: the addresses whose numbers differ, with those that they get, in ascending order.
func Change(from, to *Table) []Range {
	var out []Range
	for i, b := range to.blocks {
		if before := from.blocks[i]; before != b && before.hash != b.hash {
			out = b.ranges(i, before, out)
		}
	}
	return out
}

// ranges appends those of the block's addresses that differ from before; nil: from no route.
func (b *block) ranges(at int, before *block, out []Range) []Range {
	was := []step{{}}
	if before != nil {
		was = before.steps
	}
	high := uint32(at) << 16
	for i, k := 0, 0; i < len(b.steps); {
		first := max(b.steps[i].start, was[k].start)
		last, value, old := uint32(0xffff), b.steps[i].value, was[k].value
		if i+1 < len(b.steps) {
			last = uint32(b.steps[i+1].start) - 1
		}
		if k+1 < len(was) && uint32(was[k+1].start)-1 < last {
			last = uint32(was[k+1].start) - 1
			k++
		} else {
			if k+1 < len(was) && uint32(was[k+1].start)-1 == last {
				k++
			}
			i++
		}
		if value == old {
			continue
		}
		lo, hi := high|uint32(first), high|last
		if n := len(out); n > 0 && out[n-1].Value == value && out[n-1].Last+1 == lo && lo != 0 {
			out[n-1].Last = hi
		} else {
			out = append(out, Range{lo, hi, value})
		}
	}
	return out
}

// Apply is the table with the numbers of some addresses changed. It fails if the ranges are not ascending and disjoint, or too many.
func (t *Table) Apply(change []Range) (*Table, error) {
	if len(change) > MaxRanges {
		return nil, fmt.Errorf("%d ranges, want at most %d", len(change), MaxRanges)
	}
	for i, r := range change {
		if r.First > r.Last || i > 0 && r.First <= change[i-1].Last {
			return nil, fmt.Errorf("range %d is %#x-%#x, want ascending, disjoint ranges", i, r.First, r.Last)
		}
	}
	fresh := map[int]*block{}
	for i := 0; i < len(change); {
		at := int(change[i].First >> 16)
		end := i + 1
		for end < len(change) && int(change[end].First>>16) == at {
			end++
		}
		list := change[i:end]
		last := int(list[len(list)-1].Last >> 16)
		t.overwrite(fresh, at, list)
		for k := at + 1; k <= last; k++ { // the last range goes on
			t.overwrite(fresh, k, list[len(list)-1:])
		}
		i = end
	}
	return t.with(fresh), nil
}

// overwrite gives addresses of a block other numbers.
func (t *Table) overwrite(fresh map[int]*block, at int, list []Range) {
	b := fresh[at]
	if b == nil {
		b = t.blocks[at]
	}
	low := uint32(at) << 16
	high := low | 0xffff
	var s steps
	next := uint64(low)
	for _, r := range list {
		first, last := max(r.First, low), min(r.Last, high)
		if uint64(first) > next {
			s.keep(b, uint16(next), uint16(first-1))
		}
		s.put(first, r.Value)
		next = uint64(last) + 1
	}
	if next <= uint64(high) {
		s.keep(b, uint16(next), uint16(high))
	}
	fresh[at] = newBlock(slices.Clip(s))
}

// steps are those of a block at work.
type steps []step

// put says that addresses have a number from one on.
func (s *steps) put(from uint32, value uint16) {
	if n := len(*s); n == 0 || (*s)[n-1].value != value {
		*s = append(*s, step{uint16(from), value})
	}
}

// keep says of some addresses what a block says of them.
func (s *steps) keep(b *block, first, last uint16) {
	i := b.index(first)
	s.put(uint32(first), b.steps[i].value)
	for i++; i < len(b.steps) && b.steps[i].start <= last; i++ {
		s.put(uint32(b.steps[i].start), b.steps[i].value)
	}
}
