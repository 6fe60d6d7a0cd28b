package walk

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

// drawSpans draws spans near each other and at both ends of the address space.
func drawSpans(t *rapid.T, what string) spans {
	var out spans
	for range rapid.IntRange(0, 5).Draw(t, what) {
		lo := drawAddress(t)
		hi := lo + rapid.Uint32Range(0, 9).Draw(t, "more")
		out = out.union(spans{{lo, max(lo, hi)}})
	}
	return out
}

func drawAddress(t *rapid.T) uint32 {
	base := rapid.SampledFrom([]uint32{0, 0x0a000000, 0xfffffff0}).Draw(t, "base")
	return base + rapid.Uint32Range(0, 15).Draw(t, "offset")
}

func (s spans) has(a uint32) bool {
	i := s.from(a)
	return i < len(s) && s[i].lo <= a
}

func TestSpansAreSetsOfAddresses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, at := drawSpans(t, "a"), drawSpans(t, "b"), drawAddress(t)
		for name, got := range map[string]struct {
			s    spans
			want bool
		}{
			"a ∩ b": {a.intersect(b), a.has(at) && b.has(at)},
			"a ∖ b": {a.subtract(b), a.has(at) && !b.has(at)},
			"a ∪ b": {a.union(b), a.has(at) || b.has(at)},
			"a":     {spansOf(a.set()), a.has(at)},
		} {
			if got.s.has(at) != got.want {
				t.Fatalf("%s = %v: has %d is %v, want %v (a = %v, b = %v)", name, got.s, at, got.s.has(at), got.want, []span(a), []span(b))
			}
			for i := 1; i < len(got.s); i++ {
				if got.s[i].lo <= got.s[i-1].hi {
					t.Fatalf("%s = %v: not in order", name, []span(got.s))
				}
			}
		}
	})
}

// The table is compared with the definition: of the routes that hold an address, the first of the longest.
func TestAFIBIsTheLongestMatchOfEveryAddress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l element.Lookup
		for range rapid.IntRange(0, 12).Draw(t, "routes") {
			bits := rapid.SampledFrom([]int{0, 1, 8, 27, 28, 29, 30, 31, 32}).Draw(t, "bits")
			a := uint32(0)
			if bits > 0 {
				a = drawAddress(t) >> (32 - bits) << (32 - bits)
			}
			l.Routes = append(l.Routes, element.Route{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)}), bits)})
		}
		f, at := newFIB(l.Routes), drawAddress(t)
		want := noRoute
		for i, r := range l.Routes {
			s := spans{prefixSpan(r.Prefix)}
			if s.has(at) && (want == noRoute || r.Prefix.Bits() > l.Routes[want].Prefix.Bits()) {
				want = i
			}
		}
		if got := f.find(at); got != want {
			t.Fatalf("%d goes by route %d, want %d (routes %v)", at, got, want, l.Routes)
		}
		for _, live := range []spans{everyAddress, drawSpans(t, "live").union(spans{{at, at}})} {
			seen := 0
			for _, w := range f.ways(live) {
				if w.live.has(at) {
					seen++
					if w.route != want {
						t.Fatalf("of %v, %d goes by route %d, want %d", []span(live), at, w.route, want)
					}
				}
			}
			if seen != 1 {
				t.Fatalf("of %v, %d goes %d ways", []span(live), at, seen)
			}
		}
	})
}

// The fresh part is compared with taking away one after the other.
func TestWhatIsFreshIsWhatNoRuleOnDestinationsAloneHasTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var to targets
		for range rapid.IntRange(0, 8).Draw(t, "rules") {
			var list []target
			for range rapid.IntRange(0, 2).Draw(t, "filters") {
				d := target{spans: drawSpans(t, "destinations"), only: rapid.Bool().Draw(t, "only"), owner: -1}
				if rapid.IntRange(0, 9).Draw(t, "every") == 0 {
					d.spans = everyAddress
				}
				list = append(list, d)
			}
			to.of = append(to.of, list)
		}
		to.paint()
		entry, at := drawSpans(t, "live").union(spans{{7, 9}}), drawAddress(t)
		live, left := entry, dwindling{live: entry}
		for i, list := range to.of {
			for k, d := range list {
				if got, want := entry.intersect(d.fresh), live.intersect(d.spans); !d.spans.isEvery() && got.has(at) != want.has(at) {
					t.Fatalf("rule %d, filter %d: %d is fresh is %v, want %v", i, k, at, got.has(at), want.has(at))
				}
				if d.owner > i {
					t.Fatalf("rule %d is held by rule %d behind it", i, d.owner)
				}
				if d.only {
					live = live.subtract(d.spans)
					left.without(d.spans)
				}
				if rapid.Bool().Draw(t, "ask") && left.now().has(at) != live.has(at) {
					t.Fatalf("behind rule %d, %d is left is %v, want %v", i, at, left.now().has(at), live.has(at))
				}
			}
		}
		if left.now().has(at) != live.has(at) {
			t.Fatalf("%d is left is %v, want %v", at, left.now().has(at), live.has(at))
		}
	})
}
