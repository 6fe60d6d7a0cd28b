package headerspace

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"lukechampine.com/uint128"
	"pgregory.net/rapid"
)

// anyField draws a field.
var anyField = rapid.Custom(func(t *rapid.T) Field { return Field(rapid.IntRange(0, int(NumFields)-1).Draw(t, "field")) })

// valueOf draws a value of the field: near its ends, near a power of two, or small, so
// that intervals touch and nest often.
func valueOf(f Field) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		top := f.Max()
		near := V(rapid.Uint64Range(0, 8).Draw(t, "near"))
		switch rapid.IntRange(0, 3).Draw(t, "where") {
		case 0:
			return minV(near, top)
		case 1:
			return top.Sub(minV(near, top))
		case 2:
			return minV(V(1).Lsh(rapid.UintRange(0, 127).Draw(t, "bit")).AddWrap(near), top)
		}
		if f == Src || f == Dst {
			return Addr(netip.AddrFrom4([4]byte{10, 0, 0, byte(near.Lo)}))
		}
		return minV(V(rapid.Uint64Range(0, 66000).Draw(t, "value")), top)
	})
}

func setOf(f Field) *rapid.Generator[Set] {
	return rapid.Custom(func(t *rapid.T) Set {
		n := rapid.IntRange(0, 5).Draw(t, "intervals")
		var iv []Interval
		for range n {
			iv = append(iv, Interval{valueOf(f).Draw(t, "lo"), valueOf(f).Draw(t, "hi")})
		}
		return NewSet(iv...)
	})
}

var anyFilter = rapid.Custom(func(t *rapid.T) Filter {
	var p Filter
	for range rapid.IntRange(0, 4).Draw(t, "restricted fields") {
		f := anyField.Draw(t, "field")
		p = p.And(f, setOf(f).Draw(t, "set"))
	}
	return p
})

// edges are the values at which membership in one of the sets can change.
func edges(f Field, sets ...Set) []Value {
	out := []Value{V(0), f.Max()}
	for _, s := range sets {
		for _, i := range s.Intervals() {
			out = append(out, i.Lo, i.Hi)
			if !i.Lo.IsZero() {
				out = append(out, i.Lo.Sub64(1))
			}
			if i.Hi.Cmp(f.Max()) < 0 {
				out = append(out, i.Hi.Add64(1))
			}
		}
	}
	return out
}

func canonical(t *rapid.T, name string, s Set) {
	for i, iv := range s.Intervals() {
		if iv.Lo.Cmp(iv.Hi) > 0 {
			t.Fatalf("%s is not canonical: interval %v is reversed", name, iv)
		}
		if i > 0 && s.Intervals()[i-1].Hi.AddWrap64(1).Cmp(iv.Lo) >= 0 {
			t.Fatalf("%s is not canonical: %v touches its predecessor %v", name, iv, s.Intervals()[i-1])
		}
	}
}

func TestSetOperationsAgreeWithMembership(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyField.Draw(t, "field")
		a, b := setOf(f).Draw(t, "a"), setOf(f).Draw(t, "b")
		union, both, rest := a.Union(b), a.Intersect(b), a.Subtract(b)
		canonical(t, "A", a)
		canonical(t, "A∪B", union)
		canonical(t, "A∩B", both)
		canonical(t, "A∖B", rest)
		subset, overlap := true, false
		for _, v := range edges(f, a, b) {
			inA, inB := a.Contains(v), b.Contains(v)
			if got := union.Contains(v); got != (inA || inB) {
				t.Fatalf("%v in A∪B is %v; in A %v, in B %v", v, got, inA, inB)
			}
			if got := both.Contains(v); got != (inA && inB) {
				t.Fatalf("%v in A∩B is %v; in A %v, in B %v", v, got, inA, inB)
			}
			if got := rest.Contains(v); got != (inA && !inB) {
				t.Fatalf("%v in A∖B is %v; in A %v, in B %v", v, got, inA, inB)
			}
			subset = subset && (!inA || inB)
			overlap = overlap || inA && inB
		}
		if a.SubsetOf(b) != subset {
			t.Fatalf("SubsetOf says %v, the members say %v", a.SubsetOf(b), subset)
		}
		if a.Overlaps(b) != overlap {
			t.Fatalf("Overlaps says %v, the members say %v", a.Overlaps(b), overlap)
		}
	})
}

func TestSetsObeyTheLawsOfAlgebra(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyField.Draw(t, "field")
		a, b, c := setOf(f).Draw(t, "a"), setOf(f).Draw(t, "b"), setOf(f).Draw(t, "c")
		not := func(s Set) Set { return Full(f).Subtract(s) }
		same := func(law string, x, y Set) {
			if !x.Equal(y) {
				t.Fatalf("%s: %v is not %v", law, x.Format(f), y.Format(f))
			}
		}
		same("De Morgan: ¬(A∪B) = ¬A∩¬B", not(a.Union(b)), not(a).Intersect(not(b)))
		same("De Morgan: ¬(A∩B) = ¬A∪¬B", not(a.Intersect(b)), not(a).Union(not(b)))
		same("¬¬A = A", not(not(a)), a)
		same("A∖B ∩ B = ∅", a.Subtract(b).Intersect(b), Set{})
		same("A∖B ∪ A∩B = A", a.Subtract(b).Union(a.Intersect(b)), a)
		same("A∪B = B∪A", a.Union(b), b.Union(a))
		same("A∩B = B∩A", a.Intersect(b), b.Intersect(a))
		same("A∩(B∪C) = A∩B ∪ A∩C", a.Intersect(b.Union(c)), a.Intersect(b).Union(a.Intersect(c)))
		same("A∪A = A", a.Union(a), a)
		same("A∪¬A = everything", a.Union(not(a)), Full(f))
	})
}

func TestASetMadeInPiecesEqualsTheSetMadeAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyField.Draw(t, "field")
		s := setOf(f).Draw(t, "s")
		var pieces []Interval
		for _, i := range s.Intervals() {
			cut := rapid.Custom(func(t *rapid.T) Value { return minV(maxV(valueOf(f).Draw(t, "v"), i.Lo), i.Hi) }).Draw(t, "cut")
			pieces = append(pieces, Interval{cut, i.Hi}, Interval{i.Lo, cut})
		}
		if got := NewSet(pieces...); !got.Equal(s) {
			t.Fatalf("%v in pieces is %v", s.Format(f), got.Format(f))
		}
	})
}

func TestPullBackIsTheConditionBeforeTheAddition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom([]Field{TTL, DSCP, SPort, VLAN, Src}).Draw(t, "field")
		s := setOf(f).Draw(t, "s")
		delta := rapid.OneOf(rapid.Int64Range(-10, 10), rapid.Int64()).Draw(t, "delta")
		before := s.PullBack(f, delta)
		canonical(t, "pulled back set", before)
		for _, v := range append(edges(f, s, before), valueOf(f).Draw(t, "v")) {
			if want := added(v, delta, f, s); before.Contains(v) != want {
				t.Fatalf("%v: %v%+d in %v is %v, but in the pulled back set %v it is %v",
					f, v, delta, s.Format(f), want, before.Format(f), before.Contains(v))
			}
		}
	})
}

// added tells whether v+delta is a value of the field and in s.
func added(v Value, delta int64, f Field, s Set) bool {
	n := V(uint64(delta))
	if delta < 0 {
		n = V(-uint64(delta))
		return v.Cmp(n) >= 0 && s.Contains(v.Sub(n))
	}
	return v.Cmp(f.Max()) <= 0 && f.Max().Sub(v).Cmp(n) >= 0 && s.Contains(v.Add(n))
}

func TestPullBackThroughATTLDecrement(t *testing.T) {
	for _, c := range []struct{ after, before string }{
		{"0", "1"}, {"1-63", "2-64"}, {"254", "255"}, {"255", "{}"}, {"0-255", "1-255"},
	} {
		var lo, hi uint64
		if n, _ := fmt.Sscanf(c.after, "%d-%d", &lo, &hi); n == 1 {
			hi = lo
		}
		if got := Range(lo, hi).PullBack(TTL, -1).Format(TTL); got != c.before {
			t.Errorf("TTL %s after a decrement was %s before, want %s", c.after, got, c.before)
		}
	}
}

func TestMaskedHoldsTheValuesWithTheBitsAndNeverTheAbsentOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom([]Field{TCPFlags, Proto, DSCP, VLAN}).Draw(t, "field")
		value, mask := rapid.Uint64Range(0, 4095).Draw(t, "value"), rapid.Uint64Range(0, 4095).Draw(t, "mask")
		s := Masked(f, value, mask)
		canonical(t, "masked", s)
		absent, has := f.Absent()
		for v := V(0); v.Cmp(f.Max()) <= 0; v = v.Add64(1) {
			want := v.Lo&mask == value&mask && !(has && v.Equals(absent))
			if s.Contains(v) != want {
				t.Fatalf("%v %d with value %#x mask %#x: got %v", f, v.Lo, value, mask, !want)
			}
		}
	})
}

func TestPrefixHoldsItsAddressesAndFormatsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a netip.Addr
		if rapid.Bool().Draw(t, "v6") {
			a = netip.AddrFrom16([16]byte(append([]byte{0x20, 1}, rapid.SliceOfN(rapid.Byte(), 14, 14).Draw(t, "address")...)))
		} else {
			a = netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")))
		}
		p := netip.PrefixFrom(a, rapid.IntRange(0, a.BitLen()).Draw(t, "length"))
		s := Prefix(p)
		if !s.Contains(Addr(a)) {
			t.Fatalf("%v does not hold %v", p, a)
		}
		i := s.Intervals()[0]
		if !i.Lo.Equals(Addr(p.Masked().Addr())) {
			t.Fatalf("%v begins at %v", p, AsAddr(i.Lo))
		}
		if !i.Lo.IsZero() && p.Contains(AsAddr(i.Lo.Sub64(1))) || !i.Hi.Equals(uint128.Max) && p.Contains(AsAddr(i.Hi.Add64(1))) {
			t.Fatalf("%v goes on beyond %v", p, s.Format(Src))
		}
		want := p.Masked().String()
		switch {
		case p.IsSingleIP():
			want = a.String()
		case s.IsFull(Src):
			want = "any"
		}
		if got := s.Format(Src); got != want {
			t.Fatalf("%v is written %s, want %s", p, got, want)
		}
	})
}

func TestSetsAreWrittenAsTheirFieldsUsuallyAre(t *testing.T) {
	addr := netip.MustParseAddr
	for _, c := range []struct {
		field Field
		set   Set
		want  string
	}{
		{SPort, Full(SPort), "any"},
		{SPort, Set{}, "{}"},
		{SPort, Range(0, 65535), "0-65535"},
		{SPort, Single(V(65536)), "none"},
		{SPort, Range(65535, 65536), "65535,none"},
		{SPort, Range(1024, 65536), "1024-65535,none"},
		{DPort, Of(80, 443), "80,443"},
		{VLAN, Range(1, 2).Union(Of(7)), "1-2,7"},
		{VLAN, Single(V(4096)), "none"},
		{TTL, Range(0, 1), "0-1"},
		{Dst, Prefix(netip.MustParsePrefix("0.0.0.0/0")), "0.0.0.0/0"},
		{Dst, AddrRange(addr("10.0.0.1"), addr("10.0.0.6")), "10.0.0.1-10.0.0.6"},
		{Dst, AddrRange(addr("10.0.0.1"), addr("10.0.0.2")), "10.0.0.1-10.0.0.2"},
		{Dst, AddrRange(addr("10.0.0.0"), addr("10.0.1.255")), "10.0.0.0/23"},
		{Src, Prefix(netip.MustParsePrefix("2001:db8::/32")), "2001:db8::/32"},
	} {
		if got := c.set.Format(c.field); got != c.want {
			t.Errorf("%v: got %q, want %q", c.field, got, c.want)
		}
	}
}

// packetNear draws a packet whose fields lie on the filters' edges.
func packetNear(t *rapid.T, filters ...Filter) Packet {
	var pkt Packet
	for f := range NumFields {
		var sets []Set
		for _, p := range filters {
			sets = append(sets, p.Get(f))
		}
		pkt[f] = rapid.SampledFrom(edges(f, sets...)).Draw(t, f.String())
	}
	return pkt
}

func TestFilterOperationsAgreeWithMembership(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := anyFilter.Draw(t, "p"), anyFilter.Draw(t, "q")
		pkt := packetNear(t, p, q)
		inP, inQ := p.Contains(&pkt), q.Contains(&pkt)
		both := p.Intersect(q)
		if both.Contains(&pkt) != (inP && inQ) {
			t.Fatalf("P∩Q of %v and %v is %v", p, q, both)
		}
		if p.SubsetOf(q) && inP && !inQ {
			t.Fatalf("%v is no subset of %v: %v", p, q, pkt)
		}
		if both.IsEmpty() == p.Overlaps(q) {
			t.Fatalf("P∩Q is %v, but Overlaps says %v", both, p.Overlaps(q))
		}
		if p.Equal(q) && inP != inQ {
			t.Fatalf("%v and %v are said to be equal", p, q)
		}
		if !p.Intersect(p).Equal(p) || !both.SubsetOf(p) || !both.SubsetOf(q) {
			t.Fatalf("P∩P is not P, or P∩Q not within P and Q: %v, %v", p, q)
		}
	})
}

func TestSubtractingFiltersLeavesDisjointFiltersThatHoldExactlyTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := anyFilter.Draw(t, "p"), anyFilter.Draw(t, "q")
		rest := p.Subtract(q)
		for i := range rest {
			for j := range i {
				if rest[i].Overlaps(rest[j]) {
					t.Fatalf("%v∖%v: %v and %v overlap", p, q, rest[i], rest[j])
				}
			}
		}
		pkt := packetNear(t, append(slices.Clone(rest), p, q)...)
		got := slices.ContainsFunc(rest, func(r Filter) bool { return r.Contains(&pkt) })
		if want := p.Contains(&pkt) && !q.Contains(&pkt); got != want {
			t.Fatalf("%v∖%v holds the packet: %v, want %v", p, q, got, want)
		}
	})
}

// realPacket draws a packet that can exist: it has exactly the fields that its
// protocol and fragment state give it.
var realPacket = rapid.Custom(func(t *rapid.T) Packet {
	var pkt Packet
	for f := range NumFields {
		pkt[f], _ = f.Absent()
	}
	draw := func(f Field) {
		absent, has := f.Absent()
		if pkt[f] = valueOf(f).Draw(t, f.String()); has && pkt[f].Equals(absent) {
			pkt[f] = V(0)
		}
	}
	for _, f := range []Field{Src, Dst, DSCP, TTL, Frag} {
		draw(f)
	}
	pkt[VLAN] = valueOf(VLAN).Draw(t, "vlan")
	pkt[Proto] = V(rapid.SampledFrom([]uint64{1, 6, 17, 47, 132}).Draw(t, "proto"))
	if pkt[Frag].Equals(V(FragLater)) {
		return pkt
	}
	switch pkt[Proto].Lo {
	case 6:
		draw(TCPFlags)
		fallthrough
	case 17:
		draw(SPort)
		draw(DPort)
	case 1:
		draw(ICMPType)
		draw(ICMPCode)
	}
	return pkt
})

func TestFeasibleKeepsEveryPacketThatCanExist(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pkt := realPacket.Draw(t, "packet")
		// A filter around the packet, as narrow as it likes.
		var p Filter
		for f := range NumFields {
			if rapid.Bool().Draw(t, "restrict "+f.String()) {
				p = p.And(f, setOf(f).Draw(t, "set").Union(Single(pkt[f])))
			}
		}
		q, ok := p.Feasible()
		if !ok || !q.Contains(&pkt) {
			t.Fatalf("%v can exist and passes %v, but not %v", pkt, p, q)
		}
		if !q.SubsetOf(p) {
			t.Fatalf("Feasible widened %v to %v", p, q)
		}
	})
}

func TestFeasibleRefusesWhatCannotExist(t *testing.T) {
	absent := func(f Field) Set { v, _ := f.Absent(); return Single(v) }
	for name, p := range map[string]Filter{
		"a port on a protocol without ports":     Filter{}.And(DPort, Of(80)).And(Proto, Of(47)),
		"a port on a later fragment":             Filter{}.And(DPort, Of(80)).And(Frag, Of(FragLater)),
		"TCP flags on UDP":                       Filter{}.And(TCPFlags, Of(2)).And(Proto, Of(17)),
		"an ICMP type and a port":                Filter{}.And(ICMPType, Of(8)).And(SPort, Of(1)),
		"a whole TCP packet without ports":       Filter{}.And(Proto, Of(6)).And(Frag, Of(FragWhole)).And(SPort, absent(SPort)),
		"a first ICMP fragment without its type": Filter{}.And(Proto, Of(1)).And(Frag, Of(FragFirst)).And(ICMPType, absent(ICMPType)),
	} {
		if q, ok := p.Feasible(); ok {
			t.Errorf("%s: %v is left", name, q)
		}
	}
}

func TestAddressesSurviveTheWayToValuesAndBack(t *testing.T) {
	for _, s := range []string{"0.0.0.0", "255.255.255.255", "10.1.2.3", "::1", "2001:db8::1"} {
		if got := AsAddr(Addr(netip.MustParseAddr(s))); got.String() != s {
			t.Errorf("%s came back as %v", s, got)
		}
	}
}
