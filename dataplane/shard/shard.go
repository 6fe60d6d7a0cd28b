// Package shard names the shards of a chain's state: what is dispatched, owned and
// moved as one. A Set has the shards of one group in memory; Ranges are its text in
// the API.
package shard

import (
	"cmp"
	"fmt"
	"iter"
	"math/bits"
	"strconv"
	"strings"
)

// Count is how many shards a group has: SN_SHARDS of the engine. A chain whose pools are too small for so many has fewer.
const (
	Bits  = 7
	Count = 1 << Bits
)

// GroupAll is the group of all traffic, the only one so far. The engine counts by shard, not by group.
const GroupAll = "all"

// ID is a shard of a group of traffic classes.
type ID struct {
	Group  string
	Number int
}

// String is "group/number".
func (i ID) String() string { return fmt.Sprintf("%s/%d", i.Group, i.Number) }

// Compare orders by group, then by number.
func (i ID) Compare(o ID) int {
	return cmp.Or(cmp.Compare(i.Group, o.Group), cmp.Compare(i.Number, o.Number))
}

// Set is a set of shards of one group. The zero Set is empty; sets are compared with ==.
type Set struct{ words [Count / 64]uint64 }

// Of is the set of some numbers, from 0 to Count-1.
func Of[N ~int | ~uint32](numbers ...N) Set {
	var s Set
	for _, n := range numbers {
		s.Add(int(n))
	}
	return s
}

// Run is the set of a run of n shards.
func Run(first, n int) Set {
	var s Set
	for i := range n {
		s.Add(first + i)
	}
	return s
}

// Add adds a shard. Numbers that no shard has are ignored.
func (s *Set) Add(n int) {
	if n >= 0 && n < Count {
		s.words[n/64] |= 1 << (n % 64)
	}
}

// Has tells whether a shard is in the set.
func (s Set) Has(n int) bool { return n >= 0 && n < Count && s.words[n/64]>>(n%64)&1 != 0 }

// Len is how many shards the set has.
func (s Set) Len() int {
	n := 0
	for _, w := range s.words {
		n += bits.OnesCount64(w)
	}
	return n
}

// And are the shards that both sets have.
func (s Set) And(o Set) Set {
	for i := range s.words {
		s.words[i] &= o.words[i]
	}
	return s
}

// Or are the shards that one of the sets has.
func (s Set) Or(o Set) Set {
	for i := range s.words {
		s.words[i] |= o.words[i]
	}
	return s
}

// Without are the shards that the other set does not have.
func (s Set) Without(o Set) Set {
	for i := range s.words {
		s.words[i] &^= o.words[i]
	}
	return s
}

// All are the shards, in order.
func (s Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for n := range Count {
			if s.Has(n) && !yield(n) {
				return
			}
		}
	}
}

// Numbers are the shards as the control socket has them, in order; nil if there are none.
func (s Set) Numbers() []uint32 {
	var list []uint32
	for n := range s.All() {
		list = append(list, uint32(n))
	}
	return list
}

// Range is an unbroken run of shards.
type Range struct{ First, Last int }

// String is "7", or "0-127".
func (r Range) String() string {
	if r.First == r.Last {
		return strconv.Itoa(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// ParseRange reads what String writes.
func ParseRange(text string) (Range, error) {
	first, last, isRun := strings.Cut(text, "-")
	if !isRun {
		last = first
	}
	from, err := strconv.ParseUint(first, 10, 16)
	to, err2 := strconv.ParseUint(last, 10, 16)
	if err != nil || err2 != nil || from > to || to >= Count {
		return Range{}, fmt.Errorf(`%q: not a shard ("7") nor a run of shards ("0-%d"), up to %d`, text, Count-1, Count-1)
	}
	return Range{int(from), int(to)}, nil
}

// Ranges are the longest runs of the set, in order; nil if it is empty.
func (s Set) Ranges() []Range {
	var list []Range
	for n := range s.All() {
		if k := len(list) - 1; k >= 0 && list[k].Last == n-1 {
			list[k].Last = n
		} else {
			list = append(list, Range{n, n})
		}
	}
	return list
}

// Text is the set as the API has it: T is v1alpha1.ShardRange.
func Text[T ~string](s Set) []T {
	var list []T
	for _, r := range s.Ranges() {
		list = append(list, T(r.String()))
	}
	return list
}

// Parse reads what Text writes, with ranges in any order.
func Parse[T ~string](ranges []T) (Set, error) {
	var s Set
	for _, text := range ranges {
		r, err := ParseRange(string(text))
		if err != nil {
			return Set{}, err
		}
		s = s.Or(Run(r.First, r.Last-r.First+1))
	}
	return s, nil
}

// String is the ranges ("0-2, 9").
func (s Set) String() string { return strings.Join(Text[string](s), ", ") }
