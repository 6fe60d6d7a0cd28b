package headerspace

import (
	"net/netip"
	"slices"
	"sort"
	"strings"

	"lukechampine.com/uint128"
)

// Interval is the values Lo..Hi, both included.
type Interval struct{ Lo, Hi Value }

// Set is a field filter: a union of disjoint intervals (SNF, F_f). It is
// canonical (sorted, disjoint, not adjacent), so equal sets are equal slices,
// and immutable. The zero Set is empty.
type Set struct{ iv []Interval }

// NewSet makes the union of the intervals; those with Lo > Hi are empty.
func NewSet(iv ...Interval) Set {
	s := make([]Interval, 0, len(iv))
	for _, i := range iv {
		if i.Lo.Cmp(i.Hi) <= 0 {
			s = append(s, i)
		}
	}
	slices.SortFunc(s, func(a, b Interval) int { return a.Lo.Cmp(b.Lo) })
	return Set{merge(s)}
}

// Range is the set of the values lo..hi.
func Range(lo, hi uint64) Set { return NewSet(Interval{V(lo), V(hi)}) }

// Single is the set of one value.
func Single(v Value) Set { return Set{[]Interval{{v, v}}} }

// Of is the set of the given small values.
func Of(vs ...uint64) Set {
	iv := make([]Interval, len(vs))
	for i, v := range vs {
		iv[i] = Interval{V(v), V(v)}
	}
	return NewSet(iv...)
}

// Prefix is the set of the addresses of a prefix; host bits are ignored.
func Prefix(p netip.Prefix) Set {
	lo := Addr(p.Masked().Addr())
	host := p.Addr().BitLen() - p.Bits()
	return Set{[]Interval{{lo, lo.Or(lowMask(uint(host)))}}}
}

// AddrRange is the set of the addresses first..last.
func AddrRange(first, last netip.Addr) Set {
	return NewSet(Interval{Addr(first), Addr(last)})
}

// Full is every value of the field, Absent included.
func Full(f Field) Set { return Set{[]Interval{{V(0), f.Max()}}} }

// Masked is the values v of an up to 16-bit field, not Absent, with v&mask == value&mask.
func Masked(f Field, value, mask uint64) Set {
	var iv []Interval
	limit := f.Max().Lo
	if _, ok := f.Absent(); ok {
		limit--
	}
	for v := uint64(0); v <= limit; v++ {
		if v&mask == value&mask {
			iv = append(iv, Interval{V(v), V(v)})
		}
	}
	return Set{merge(iv)}
}

func lowMask(bits uint) Value {
	if bits >= 128 {
		return uint128.Max
	}
	return V(1).Lsh(bits).Sub64(1)
}

// merge joins sorted intervals that overlap or touch, in place.
func merge(s []Interval) []Interval {
	out := s[:0]
	for _, i := range s {
		if n := len(out); n > 0 && (out[n-1].Hi.Equals(uint128.Max) || i.Lo.Cmp(out[n-1].Hi.Add64(1)) <= 0) {
			if i.Hi.Cmp(out[n-1].Hi) > 0 {
				out[n-1].Hi = i.Hi
			}
			continue
		}
		out = append(out, i)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Intervals are the set's intervals in ascending order; not to be changed.
func (s Set) Intervals() []Interval { return s.iv }

// IsEmpty tells whether the set has no value.
func (s Set) IsEmpty() bool { return len(s.iv) == 0 }

// IsFull tells whether the set has every value of the field.
func (s Set) IsFull(f Field) bool {
	return len(s.iv) == 1 && s.iv[0].Lo.IsZero() && s.iv[0].Hi.Cmp(f.Max()) >= 0
}

// Only is the set's value if it has exactly one.
func (s Set) Only() (Value, bool) {
	if len(s.iv) == 1 && s.iv[0].Lo.Equals(s.iv[0].Hi) {
		return s.iv[0].Lo, true
	}
	return Value{}, false
}

// Contains tells whether v is in the set.
func (s Set) Contains(v Value) bool {
	_, ok := slices.BinarySearchFunc(s.iv, v, func(i Interval, v Value) int {
		if i.Hi.Cmp(v) < 0 {
			return -1
		}
		if i.Lo.Cmp(v) > 0 {
			return 1
		}
		return 0
	})
	return ok
}

// Equal tells whether both sets have the same values.
func (s Set) Equal(o Set) bool { return slices.Equal(s.iv, o.iv) }

// Union is the values of either set.
func (s Set) Union(o Set) Set {
	if s.IsEmpty() {
		return o
	}
	if o.IsEmpty() {
		return s
	}
	return NewSet(slices.Concat(s.iv, o.iv)...)
}

// Intersect is the values of both sets.
func (s Set) Intersect(o Set) Set {
	if len(s.iv) == 1 && len(o.iv) == 1 { // the common case, without a loop
		lo, hi := maxV(s.iv[0].Lo, o.iv[0].Lo), minV(s.iv[0].Hi, o.iv[0].Hi)
		switch {
		case lo.Cmp(hi) > 0:
			return Set{}
		case lo == s.iv[0].Lo && hi == s.iv[0].Hi:
			return s
		case lo == o.iv[0].Lo && hi == o.iv[0].Hi:
			return o
		}
		return Set{[]Interval{{lo, hi}}}
	}
	if s.IsEmpty() || o.IsEmpty() {
		return Set{}
	}
	var out []Interval
	for i, j := s.from(o.iv[0].Lo), o.from(s.iv[0].Lo); i < len(s.iv) && j < len(o.iv); {
		lo, hi := maxV(s.iv[i].Lo, o.iv[j].Lo), minV(s.iv[i].Hi, o.iv[j].Hi)
		if lo.Cmp(hi) <= 0 {
			out = append(out, Interval{lo, hi})
		}
		if s.iv[i].Hi.Cmp(o.iv[j].Hi) < 0 {
			i++
		} else {
			j++
		}
	}
	return Set{out}
}

// from is the index of the first interval that ends at v or behind it: a few intervals are compared with few of a long list.
func (s Set) from(v Value) int {
	return sort.Search(len(s.iv), func(i int) bool { return s.iv[i].Hi.Cmp(v) >= 0 })
}

// Subtract is the values of s that o has not.
func (s Set) Subtract(o Set) Set {
	var out []Interval
	j := 0
	for _, i := range s.iv {
		lo, live := i.Lo, true
		for ; j < len(o.iv) && o.iv[j].Hi.Cmp(lo) < 0; j++ { // o's intervals wholly below
		}
		for k := j; live && k < len(o.iv) && o.iv[k].Lo.Cmp(i.Hi) <= 0; k++ {
			if o.iv[k].Lo.Cmp(lo) > 0 {
				out = append(out, Interval{lo, o.iv[k].Lo.Sub64(1)})
			}
			if live = o.iv[k].Hi.Cmp(i.Hi) < 0; live {
				lo = o.iv[k].Hi.Add64(1)
			}
		}
		if live {
			out = append(out, Interval{lo, i.Hi})
		}
	}
	return Set{out}
}

// SubsetOf tells whether every value of s is in o.
func (s Set) SubsetOf(o Set) bool {
	if s.IsEmpty() {
		return true
	}
	j := o.from(s.iv[0].Lo)
	for _, i := range s.iv {
		for j < len(o.iv) && o.iv[j].Hi.Cmp(i.Lo) < 0 {
			j++
		}
		if j == len(o.iv) || o.iv[j].Lo.Cmp(i.Lo) > 0 || o.iv[j].Hi.Cmp(i.Hi) < 0 {
			return false
		}
	}
	return true
}

// Overlaps tells whether the sets share a value.
func (s Set) Overlaps(o Set) bool {
	if s.IsEmpty() || o.IsEmpty() {
		return false
	}
	for i, j := s.from(o.iv[0].Lo), o.from(s.iv[0].Lo); i < len(s.iv) && j < len(o.iv); {
		if maxV(s.iv[i].Lo, o.iv[j].Lo).Cmp(minV(s.iv[i].Hi, o.iv[j].Hi)) <= 0 {
			return true
		}
		if s.iv[i].Hi.Cmp(o.iv[j].Hi) < 0 {
			i++
		} else {
			j++
		}
	}
	return false
}

// PullBack is the values v of a field with v+delta in s and 0 <= v+delta <= max:
// the condition before an addition that s is after it.
func (s Set) PullBack(f Field, delta int64) Set {
	var out []Interval
	for _, i := range s.iv {
		lo, hi, ok := unshift(i, delta, f.Max())
		if ok {
			out = append(out, Interval{lo, hi})
		}
	}
	return Set{merge(out)}
}

// unshift is the values v of 0..top with v+delta in i; ok is false if there are none.
func unshift(i Interval, delta int64, top Value) (lo, hi Value, ok bool) {
	if delta < 0 {
		n := V(-uint64(delta))
		if n.Cmp(top) > 0 || i.Lo.Cmp(top.Sub(n)) > 0 {
			return lo, hi, false
		}
		return i.Lo.Add(n), minV(i.Hi, top.Sub(n)).Add(n), true
	}
	n := V(uint64(delta))
	if i.Hi.Cmp(n) < 0 {
		return lo, hi, false
	}
	return maxV(i.Lo, n).Sub(n), i.Hi.Sub(n), true
}

func minV(a, b Value) Value {
	if a.Cmp(b) <= 0 {
		return a
	}
	return b
}

func maxV(a, b Value) Value {
	if a.Cmp(b) >= 0 {
		return a
	}
	return b
}

// Format writes the set as the field's values are usually written: addresses as
// prefixes or ranges, the rest as numbers; "any" for all, "none" for the
// field's absence.
func (s Set) Format(f Field) string {
	if s.IsFull(f) {
		return "any"
	}
	if s.IsEmpty() {
		return "{}"
	}
	parts := make([]string, 0, len(s.iv))
	for _, i := range s.iv {
		parts = append(parts, formatInterval(f, i))
	}
	return strings.Join(parts, ",")
}

func formatInterval(f Field, i Interval) string {
	if f == Src || f == Dst {
		return formatAddrs(i)
	}
	absent, has := f.Absent()
	switch {
	case has && i.Lo.Equals(absent):
		return "none"
	case i.Lo.Equals(i.Hi):
		return i.Lo.String()
	case has && i.Hi.Equals(absent):
		if i.Lo.Equals(absent.Sub64(1)) {
			return i.Lo.String() + ",none"
		}
		return i.Lo.String() + "-" + absent.Sub64(1).String() + ",none"
	}
	return i.Lo.String() + "-" + i.Hi.String()
}

func formatAddrs(i Interval) string {
	a, b := AsAddr(i.Lo), AsAddr(i.Hi)
	host := 128 - i.Hi.Sub(i.Lo).LeadingZeros()
	if bits := a.BitLen() - host; bits >= 0 && a.BitLen() == b.BitLen() &&
		i.Lo.And(lowMask(uint(host))).IsZero() && i.Hi.Sub(i.Lo).Equals(lowMask(uint(host))) {
		if host == 0 {
			return a.String()
		}
		return netip.PrefixFrom(a, bits).String()
	}
	return a.String() + "-" + b.String()
}
