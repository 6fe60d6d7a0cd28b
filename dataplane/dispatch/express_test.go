package dispatch

import (
	"testing"

	"pgregory.net/rapid"

	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func meets(c Cond, v uint32) bool {
	if c.Mask == 0 && c.Last != 0 {
		return c.Value <= v && v <= c.Last
	}
	return v&c.Mask == c.Value
}

func TestPrefixesOfARangeHoldItAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Uint16().Draw(t, "a"), rapid.Uint16().Draw(t, "b")
		s := span{uint32(min(a, b)), uint32(max(a, b))}
		list := prefixes(s, 16)
		if len(list) > 30 {
			t.Fatalf("%v takes %d prefixes, at most 30 are needed", s, len(list))
		}
		for v := uint32(0); v < 65536; v += 1 + v%7 {
			n := 0
			for _, c := range list {
				if meets(c, v) {
					n++
				}
			}
			if want := s.lo <= v && v <= s.hi; n > 1 || (n == 1) != want {
				t.Fatalf("%d of %v is in %d prefixes", v, s, n)
			}
		}
	})
}

func TestMasksOfASetHoldItAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSet()
		for range rapid.IntRange(1, 6).Draw(t, "pieces") {
			v, mask := rapid.Uint32Range(0, 63).Draw(t, "value"), rapid.Uint32Range(0, 63).Draw(t, "mask")
			for x := range uint32(64) {
				if x&mask == v&mask {
					s.add(x, x)
				}
			}
		}
		list := ternary(s, 6)
		for v := range uint32(64) {
			n := 0
			for _, c := range list {
				if meets(c, v) {
					n++
				}
			}
			if n > 1 || (n == 1) != s.has(v) {
				t.Fatalf("%d is in %d masks of %v, in the set %v", v, n, list, s.has(v))
			}
		}
	})
}

func TestSYNWithoutACKIsOneMask(t *testing.T) {
	s := newSet()
	for v := range uint32(256) {
		if v&0x12 == 0x02 {
			s.add(v, v)
		}
	}
	if got := ternary(s, 8); len(got) != 1 || got[0] != (Cond{Value: 0x02, Mask: 0x12}) {
		t.Errorf("got %v", got)
	}
}

// smallBox draws boxes that often touch.
var smallBox = rapid.Custom(func(t *rapid.T) box {
	b := anything()
	for i := range b.spans {
		if rapid.Bool().Draw(t, "restricted") {
			x, y := rapid.Uint32Range(0, 3).Draw(t, "x"), rapid.Uint32Range(0, 3).Draw(t, "y")
			b.spans[i] = span{min(x, y), max(x, y)}
		}
	}
	if rapid.Bool().Draw(t, "protocols") {
		b.sets[proto] = newSet()
		b.sets[proto].add(6, 6)
		if rapid.Bool().Draw(t, "UDP too") {
			b.sets[proto].add(17, 17)
		}
	}
	return b
})

func holds(b *box, p [len(spanFields)]uint32, proto0 uint32) bool {
	for i := range p {
		if !(span{p[i], p[i]}).within(b.spans[i]) {
			return false
		}
	}
	return b.sets[proto].has(proto0)
}

func TestABoxWithoutAnotherIsDisjointPiecesOfIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := smallBox.Draw(t, "a"), smallBox.Draw(t, "b")
		pieces := a.subtract(&b)
		for range 200 {
			var p [len(spanFields)]uint32
			for i := range p {
				p[i] = rapid.Uint32Range(0, 4).Draw(t, "value")
			}
			pr := rapid.SampledFrom([]uint32{1, 6, 17}).Draw(t, "protocol")
			n := 0
			for i := range pieces {
				if holds(&pieces[i], p, pr) {
					n++
				}
			}
			if want := holds(&a, p, pr) && !holds(&b, p, pr); n > 1 || (n == 1) != want {
				t.Fatalf("%v of protocol %d is in %d pieces, want %v", p, pr, n, want)
			}
		}
	})
}

func TestConditionsOverlapIfAValueMeetsBoth(t *testing.T) {
	cond := rapid.Custom(func(t *rapid.T) Cond {
		if rapid.Bool().Draw(t, "range") {
			x := rapid.Uint32Range(0, 62).Draw(t, "from")
			return Cond{Value: x, Last: rapid.Uint32Range(x+1, 63).Draw(t, "to")}
		}
		m := rapid.Uint32Range(0, 63).Draw(t, "mask")
		return Cond{Value: rapid.Uint32Range(0, 63).Draw(t, "value") & m, Mask: m}
	})
	rapid.Check(t, func(t *rapid.T) {
		c, d := cond.Draw(t, "c"), cond.Draw(t, "d")
		some := false
		for v := range uint32(64) {
			some = some || meets(c, v) && meets(d, v)
		}
		if got := c.overlaps(d); some && !got || got && !some && c.Mask != 0 && d.Mask != 0 {
			t.Fatalf("overlaps says %v, the values say %v", got, some)
		}
	})
}

func TestMatchesSayWhatTheyAsk(t *testing.T) {
	var m Match
	m.Conds[hs.Src] = Cond{Value: 0x0a000000, Mask: 0xff000000}
	m.Conds[hs.VLAN] = Cond{Value: Untagged, Mask: widthMask(hs.VLAN)}
	m.Conds[hs.DPort] = Cond{Value: 77, Mask: 127}
	m.Conds[hs.SPort] = Cond{Value: 1024, Last: 2047}
	if got, want := m.String(), "vlan=untagged src=10.0.0.0/8 sport=1024-2047 dport=0x4d/0x7f"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
