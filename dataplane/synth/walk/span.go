package walk

import (
	"encoding/binary"
	"net/netip"
	"sort"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// span is the IPv4 addresses lo..hi, both included.
type span struct{ lo, hi uint32 }

// spans are disjoint, in ascending order.
type spans []span

// everyAddress is the spans of all addresses.
var everyAddress = spans{{0, ^uint32(0)}}

func (s spans) isEvery() bool { return len(s) == 1 && s[0] == everyAddress[0] }

// intersect is the addresses of both. The result may share memory with s or o.
func (s spans) intersect(o spans) spans {
	switch {
	case len(s) == 0 || o.isEvery():
		return s
	case len(o) == 0 || s.isEvery():
		return o
	case len(s) > len(o):
		s, o = o, s
	}
	var out spans
	for _, a := range s {
		for i := o.from(a.lo); i < len(o) && o[i].lo <= a.hi; i++ {
			out = append(out, span{max(a.lo, o[i].lo), min(a.hi, o[i].hi)})
		}
	}
	return out
}

// from is the index of the first span that ends at addr or behind it.
func (s spans) from(addr uint32) int {
	return sort.Search(len(s), func(i int) bool { return s[i].hi >= addr })
}

// subtract is the addresses of s that o has not.
func (s spans) subtract(o spans) spans {
	var out spans
	for _, a := range s {
		live := true
		for i := o.from(a.lo); live && i < len(o) && o[i].lo <= a.hi; i++ {
			if o[i].lo > a.lo {
				out = append(out, span{a.lo, o[i].lo - 1})
			}
			if live = o[i].hi < a.hi; live {
				a.lo = o[i].hi + 1
			}
		}
		if live {
			out = append(out, a)
		}
	}
	return out
}

// union is the addresses of either.
func (s spans) union(o spans) spans {
	if len(s) == 0 {
		return o
	}
	if len(o) == 0 {
		return s
	}
	all := make(spans, 0, len(s)+len(o))
	for len(s) > 0 && len(o) > 0 {
		if s[0].lo > o[0].lo {
			s, o = o, s
		}
		all, s = append(all, s[0]), s[1:]
	}
	return append(append(all, s...), o...).merged()
}

// merged joins sorted spans that overlap or touch, in place.
func (s spans) merged() spans {
	if len(s) == 0 {
		return nil
	}
	out := s[:1]
	for _, a := range s[1:] {
		last := &out[len(out)-1]
		if last.hi != ^uint32(0) && a.lo > last.hi+1 {
			out = append(out, a)
		} else {
			last.hi = max(last.hi, a.hi)
		}
	}
	return out
}

func compareUint32(a, b uint32) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// spansOf is the IPv4 addresses of a set.
func spansOf(s headerspace.Set) spans {
	var out spans
	for _, iv := range s.Intersect(ipv4).Intervals() {
		out = append(out, span{uint32(iv.Lo.Lo), uint32(iv.Hi.Lo)})
	}
	return out
}

// set is the inverse of spansOf.
func (s spans) set() headerspace.Set {
	iv := make([]headerspace.Interval, len(s))
	for i, a := range s {
		iv[i] = headerspace.Interval{Lo: address(a.lo), Hi: address(a.hi)}
	}
	return headerspace.NewSet(iv...)
}

func address(a uint32) headerspace.Value {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], a)
	return headerspace.Addr(netip.AddrFrom4(b))
}
