package boxes

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// many is from how many boxes on Unite joins them.
const many = 64

// Unite joins boxes of one class that follow each other and differ in destinations alone, where there are many: these are then as few ranges
// as have the same destinations. Nothing lies between them, so every packet finds the class that it found. The last box, which holds
// every packet, stays.
func Unite(t *programpb.Table) {
	dst := slices.Index(t.GetDims(), programpb.Field_DST)
	if dst < 0 {
		return
	}
	u := uniter{t: t, dst: dst, dims: 2 * len(t.GetDims()), words: (len(t.GetBits()) + 63) / 64}
	n, kept := len(t.GetClasses()), 0
	for first := 0; first < n; {
		end := first + 1
		for end < n-1 && u.alike(first, end) {
			end++
		}
		if end-first > many {
			kept = u.join(first, end, kept)
		} else {
			for i := first; i < end; i++ {
				u.move(i, kept)
				kept++
			}
		}
		first = end
	}
	if kept < n { // the rest is not kept in memory
		t.Classes = slices.Clone(t.GetClasses()[:kept])
		t.Bounds = slices.Clone(t.GetBounds()[:kept*u.dims])
		t.Required = slices.Clone(t.GetRequired()[:kept*u.words])
	}
}

type uniter struct {
	t                *programpb.Table
	dst, dims, words int
}

// alike tells whether two boxes differ in destinations alone.
func (u *uniter) alike(a, b int) bool {
	if u.t.GetClasses()[a] != u.t.GetClasses()[b] {
		return false
	}
	x, y := u.t.GetBounds()[a*u.dims:(a+1)*u.dims], u.t.GetBounds()[b*u.dims:(b+1)*u.dims]
	return slices.Equal(x[:2*u.dst], y[:2*u.dst]) && slices.Equal(x[2*u.dst+2:], y[2*u.dst+2:]) &&
		slices.Equal(u.t.GetRequired()[a*u.words:(a+1)*u.words], u.t.GetRequired()[b*u.words:(b+1)*u.words])
}

func (u *uniter) move(from, to int) {
	u.t.Classes[to] = u.t.Classes[from]
	copy(u.t.Bounds[to*u.dims:(to+1)*u.dims], u.t.Bounds[from*u.dims:(from+1)*u.dims])
	copy(u.t.Required[to*u.words:(to+1)*u.words], u.t.Required[from*u.words:(from+1)*u.words])
}

// join writes the boxes first..end-1 from place to on, and gives the place behind them.
func (u *uniter) join(first, end, to int) int {
	ranges := make([]uint64, 0, end-first) // both ends of each
	for i := first; i < end; i++ {
		at := i*u.dims + 2*u.dst
		ranges = append(ranges, uint64(u.t.GetBounds()[at])<<32|uint64(u.t.GetBounds()[at+1]))
	}
	slices.Sort(ranges)
	u.move(first, to)
	at := to*u.dims + 2*u.dst
	put := func(r uint64) { u.t.Bounds[at], u.t.Bounds[at+1] = uint32(r>>32), uint32(r) }
	put(ranges[0])
	for _, r := range ranges[1:] {
		last := &u.t.Bounds[at+1]
		if r>>32 <= uint64(*last)+1 {
			*last = max(*last, uint32(r))
			continue
		}
		u.move(to, to+1)
		to, at = to+1, at+u.dims
		put(r)
	}
	return to + 1
}
