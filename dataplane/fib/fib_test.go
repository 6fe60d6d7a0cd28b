package fib

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawRoutes are routes of a few neighbourhoods, so that prefixes hold each other and cross blocks.
func drawRoutes(t *rapid.T, values []uint16) []Route {
	var out []Route
	for range rapid.IntRange(0, 60).Draw(t, "routes") {
		out = append(out, drawRoute(t, values))
	}
	return out
}

func drawRoute(t *rapid.T, values []uint16) Route {
	length := rapid.SampledFrom([]uint8{0, 1, 7, 8, 9, 15, 16, 17, 18, 23, 24, 25, 30, 31, 32}).Draw(t, "length")
	addr := rapid.SampledFrom([]uint32{0, 10 << 24, 10<<24 | 1<<16, 10<<24 | 1<<16 | 255<<8, 198 << 24, 0xffff0000, 0xffffff00}).Draw(t, "near")
	addr |= rapid.Uint32Range(0, 1<<17).Draw(t, "addr")
	return Route{addr &^ uint32(uint64(1)<<(32-length)-1), length, uint16(rapid.IntRange(0, len(values)-1).Draw(t, "origin"))}
}

// longest is the number of an address by all routes, one by one.
func longest(values []uint16, list []Route, addr uint32) uint16 {
	best, value := -1, uint16(0)
	origin := uint16(0)
	for _, r := range list {
		if r.Addr > addr || r.Last() < addr {
			continue
		}
		if int(r.Bits) > best || int(r.Bits) == best && r.Origin < origin {
			best, origin, value = int(r.Bits), r.Origin, values[r.Origin]
		}
	}
	return value
}

// points are addresses where something may change.
func points(list []Route) []uint32 {
	out := []uint32{0, ^uint32(0)}
	for _, r := range list {
		out = append(out, r.Addr, r.Last(), r.Addr-1, r.Last()+1)
	}
	return out
}

var someValues = []uint16{3, 1, 2, 1, 65535}

func TestATableSaysWhatTheLongestPrefixSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawRoutes(t, someValues)
		r := NewRoutes(someValues, list)
		for _, a := range points(list) {
			want := longest(someValues, list, a)
			if got := r.Table().At(a); got != want {
				t.Fatalf("%#x has number %d, want %d", a, got, want)
			}
			x, ok := r.Longest(a)
			if ok != (want != 0) || ok && someValues[x.Origin] != want {
				t.Fatalf("%#x goes by %v (%v), want number %d", a, x, ok, want)
			}
		}
		for v := range uint16(5) {
			used := v == 0 && len(list) == 0
			for _, a := range points(list) {
				used = used || r.Table().At(a) == v
			}
			if got := r.Table().Uses(v); got != used {
				t.Fatalf("number %d is used: %v, want %v", v, got, used)
			}
		}
	})
}

// Whatever is changed, the routes and their table are those that are made from nothing.
func TestChangedRoutesAreThoseMadeFromNothing(t *testing.T) {
	empty := Empty()
	rapid.Check(t, func(t *rapid.T) {
		list := drawRoutes(t, someValues)
		r := NewRoutes(someValues, list)
		for left := rapid.IntRange(0, 4).Draw(t, "changes"); left >= 0; left-- {
			var removed, added []Route
			for range rapid.IntRange(0, 3).Draw(t, "fewer") {
				if len(list) > 0 {
					i := rapid.IntRange(0, len(list)-1).Draw(t, "which")
					removed, list = append(removed, list[i]), slices.Delete(slices.Clone(list), i, i+1)
				}
			}
			for range rapid.IntRange(0, 3).Draw(t, "more") {
				added = append(added, drawRoute(t, someValues))
			}
			list = append(list, added...)
			before := r
			var err error
			if r, err = r.Change(removed, added); err != nil {
				t.Fatal(err)
			}
			if left > 0 {
				continue // what is made from nothing takes its time
			}
			want := NewRoutes(someValues, list)
			if r.Table().Hash() != want.Table().Hash() || r.Len() != want.Len() || !slices.Equal(slices.Collect(r.All()), slices.Collect(want.All())) {
				t.Fatalf("the changed table is %s with %d routes, want %s with %d", r.Table().Hash(), r.Len(), want.Table().Hash(), want.Len())
			}
			for o := range someValues {
				if r.Wins(o) != want.Wins(o) {
					t.Fatalf("origin %d wins: %v, want %v", o, r.Wins(o), want.Wins(o))
				}
			}
			sameUses(t, r.Table(), want.Table())
			change := Change(before.Table(), r.Table())
			applied, err := before.Table().Apply(change)
			if err != nil {
				t.Fatal(err)
			}
			if applied.Hash() != want.Table().Hash() {
				t.Fatalf("%v makes table %s, want %s", change, applied.Hash(), want.Table().Hash())
			}
			sameUses(t, applied, want.Table())
			if whole, err := empty.Apply(r.Table().Ranges()); err != nil || whole.Hash() != want.Table().Hash() {
				t.Fatalf("the whole table's ranges make %v (%v), want %s", whole, err, want.Table().Hash())
			}
		}
	})
}

func sameUses(t *rapid.T, got, want *Table) {
	for v := range uint16(5) {
		if got.Uses(v) != want.Uses(v) {
			t.Fatalf("number %d is used: %v, want %v", v, got.Uses(v), want.Uses(v))
		}
	}
	if got.Top() != want.Top() {
		t.Fatalf("the largest number is %d, want %d", got.Top(), want.Top())
	}
}

func TestTablesThatDifferHaveOtherHashes(t *testing.T) {
	r, seen := rand.New(rand.NewPCG(1, 2)), map[Hash]Range{}
	empty := Empty()
	for range 50 {
		first := r.Uint32()
		x := Range{first, first | 1<<r.IntN(20), uint16(1 + r.IntN(3))}
		table, err := empty.Apply([]Range{x})
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[table.Hash()]; ok && other != x {
			t.Errorf("%v and %v have one hash", other, x)
		}
		seen[table.Hash()] = x
	}
}

func TestAWrongChangeOfATableIsRefused(t *testing.T) {
	for name, c := range map[string][]Range{
		"range 0 is 0x5-0x4, want ascending, disjoint ranges": {{5, 4, 1}},
		"range 1 is 0x4-0x9, want ascending, disjoint ranges": {{1, 4, 1}, {4, 9, 2}},
		"range 1 is 0x1-0x1, want ascending, disjoint ranges": {{2, 4, 1}, {1, 1, 2}},
	} {
		if _, err := Empty().Apply(c); err == nil || err.Error() != name {
			t.Errorf("got %v, want %s", err, name)
		}
	}
	r := NewRoutes(someValues, []Route{{10 << 24, 8, 0}})
	if _, err := r.Change([]Route{{10 << 24, 8, 1}}, nil); err == nil || err.Error() != "route 10.0.0.0/8 of origin 1 is not there" {
		t.Errorf("got %v, want that the route is not there", err)
	}
}

// test_fib.c has the same; both were worked out by a third program.
func TestHashesAreThoseThatTheEngineSays(t *testing.T) {
	some := []Range{{0, 0x0affffff, 1}, {0x0b000000, 0x0b0000ff, 2}, {0x0b000100, 0x0b000100, 65535}, {0xc6120900, 0xc61209ff, 3}, {0xfffffff0, ^uint32(0), 4}}
	table, err := Empty().Apply(some)
	if err != nil {
		t.Fatal(err)
	}
	for want, got := range map[string]*Table{
		"169d5487278f80f3e90d84d505f51758de0aad57cb08948daf3338b922d04c99": Empty(),
		"455fe63d17f3578e75c0e4f502abd493195a584fbc2feec153397ac0047387d9": table,
	} {
		if got.Hash().String() != want {
			t.Errorf("the hash of %v is %s, want %s", got.Ranges(), got.Hash(), want)
		}
	}
	if got := table.Ranges(); !slices.Equal(got, some) {
		t.Errorf("the ranges are %v, want %v", got, some)
	}
}

func TestAnEngineNeedsAChunkForEachNetworkThatIsDivided(t *testing.T) {
	values := []uint16{1}
	route := func(addr uint32, bits uint8) Route { return Route{Addr: addr, Bits: bits} }
	none := Empty().EngineBytes()
	for name, c := range map[string]struct {
		routes []Route
		chunks int
	}{
		"whole /16s":                   {[]Route{route(10<<24, 8), route(11<<24, 16)}, 0},
		"a /24":                        {[]Route{route(10<<24|7<<8, 24)}, 1},
		"a host":                       {[]Route{route(10<<24|7<<8|9, 32)}, 2},
		"two hosts of a /24":           {[]Route{route(10<<24|7<<8|9, 32), route(10<<24|7<<8|200, 32)}, 2},
		"the last half of a /24":       {[]Route{route(10<<24|7<<8|128, 25)}, 2},
		"hosts of two /24s of a /16":   {[]Route{route(10<<24|7<<8|9, 32), route(10<<24|8<<8|9, 32)}, 3},
		"a /24 in two /16s of one hop": {[]Route{route(10<<24|7<<8, 24), route(11<<24|7<<8, 24)}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := NewRoutes(values, c.routes).Table().EngineBytes() - none; got != c.chunks*1024 {
				t.Errorf("it takes %d bytes, want %d chunks of 1024", got, c.chunks)
			}
		})
	}
}
