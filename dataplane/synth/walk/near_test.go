package walk

import (
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// drawFilter is a filter as rules have them: of each field anything, one value, or a range; now and then two.
func drawFilter(t *rapid.T) headerspace.Filter {
	var p headerspace.Filter
	for _, f := range []headerspace.Field{headerspace.Src, headerspace.Dst, headerspace.SPort, headerspace.DPort, headerspace.Proto, headerspace.TTL} {
		top := min(f.Max().Lo, 40)
		base := headerspace.V(0)
		if f == headerspace.Src || f == headerspace.Dst {
			base = ipv4.Intervals()[0].Lo
		}
		some := func() headerspace.Set {
			lo := rapid.Uint64Range(0, top).Draw(t, "low")
			hi := rapid.Uint64Range(lo, min(top, lo+rapid.Uint64Range(0, 9).Draw(t, "length"))).Draw(t, "high")
			return headerspace.NewSet(headerspace.Interval{Lo: base.Add64(lo), Hi: base.Add64(hi)})
		}
		switch rapid.IntRange(0, 5).Draw(t, f.String()) {
		case 0, 1:
			p = p.With(f, some())
		case 2:
			p = p.With(f, some().Union(some()))
		}
	}
	return p
}

// A unit is followed by the rules near it alone. So each rule that passes some of its packets is near, in lists with an index and without.
func TestAllRulesThatPassPacketsOfAUnitAreNearIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := ruleList{rules: make([]element.Rule, rapid.SampledFrom([]int{1, large, large + 1, 130, 400}).Draw(t, "rules"))}
		for i := range l.rules {
			for range rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(t, "filters") {
				l.rules[i].Filters = append(l.rules[i].Filters, drawFilter(t))
			}
		}
		u := Unit{filter: drawFilter(t).And(headerspace.Src, ipv4).And(headerspace.Dst, ipv4)}
		if rapid.Bool().Draw(t, "written") {
			u.val[headerspace.Dst] = expr{kind: add, delta: 3}
			u.val[headerspace.Proto] = constant(headerspace.V(17))
		}
		near := l.appendNear(nil, &u)
		for i, r := range l.rules {
			passes := slices.ContainsFunc(r.Filters, func(f headerspace.Filter) bool {
				ways, decided := u.Match(f)
				return !decided || ways.N > 0
			})
			if _, is := slices.BinarySearch(near, int32(i)); passes && !is {
				t.Fatalf("%v passes packets of %v, but is not near", r.Filters, u.filter)
			}
		}
		if (l.index != nil) != (len(l.rules) > large) {
			t.Fatalf("a list of %d rules has the index %v", len(l.rules), l.index)
		}
	})
}

func TestMostRulesOfALongListAreNotNearAUnit(t *testing.T) {
	var l ruleList
	for i := range 10_000 {
		p := headerspace.Filter{}.With(headerspace.Dst, headerspace.NewSet(headerspace.Interval{
			Lo: ipv4.Intervals()[0].Lo.Add64(uint64(i) << 8), Hi: ipv4.Intervals()[0].Lo.Add64(uint64(i)<<8 + 255),
		}))
		l.rules = append(l.rules, element.Rule{Filters: []headerspace.Filter{p}})
	}
	u := Unit{filter: Everything.Intersect(l.rules[4321].Filters[0])}
	if near := l.appendNear(nil, &u); !slices.Equal(near, []int32{4321}) {
		t.Errorf("near are %v, want rule 4321 alone", near)
	}
	some, unit := 0, u.outline()
	for _, word := range l.index.around(&unit.extents) {
		some += bits.OnesCount64(word)
	}
	if some > 2*10_000/64+2 {
		t.Errorf("the index leaves %d rules to look at, of 10,000", some)
	}
}
