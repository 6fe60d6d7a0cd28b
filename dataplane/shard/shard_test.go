package shard

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func draw(t *rapid.T, name string) (Set, map[int]bool) {
	numbers := rapid.SliceOfDistinct(rapid.IntRange(0, Count-1), rapid.ID[int]).Draw(t, name)
	want := map[int]bool{}
	for _, n := range numbers {
		want[n] = true
	}
	return Of(numbers...), want
}

func TestASetIsReadBackAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, want := draw(t, "set")
		got, err := Parse(Text[string](s))
		if err != nil || got != s {
			t.Fatalf("%v came back as %v, %v", s, got, err)
		}
		if s.Len() != len(want) || !slices.Equal(slices.Collect(s.All()), slices.Sorted(maps.Keys(want))) {
			t.Fatalf("%v, want %v", s, want)
		}
		if Of(s.Numbers()...) != s {
			t.Fatalf("numbers of %v are %v", s, s.Numbers())
		}
	})
}

func TestSetsAreCombinedAsSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, inA := draw(t, "a")
		b, inB := draw(t, "b")
		and, or, without := a.And(b), a.Or(b), a.Without(b)
		for n := -1; n <= Count; n++ {
			if and.Has(n) != (inA[n] && inB[n]) || or.Has(n) != (inA[n] || inB[n]) || without.Has(n) != (inA[n] && !inB[n]) {
				t.Fatalf("shard %d of %v and %v", n, a, b)
			}
		}
	})
}

func TestASetIsWrittenInRuns(t *testing.T) {
	for want, s := range map[string]Set{
		"":         {},
		"0-127":    Run(0, Count),
		"0-2, 9":   Of(9, 1, 0, 2),
		"63-64":    Of(64, 63),
		"5, 7-127": Run(7, Count).Or(Of(5)),
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestARangeThatIsNoneIsRefused(t *testing.T) {
	for _, text := range []string{"", "a", "3-", "-3", "5-2", "0-128", "128", "0-70000", "1-2-3", "+1", "1 "} {
		if got, err := Parse([]string{"1", text}); err == nil || !strings.Contains(err.Error(), strconv.Quote(text)+": not a shard") {
			t.Errorf("%q: %v, %v, want an error that names it", text, got, err)
		}
	}
}

// One number: the engine's arrays, and what the API's schema has room for.
func TestEngineAndSchemaHaveAsManyShards(t *testing.T) {
	for path, pattern := range map[string]string{
		"../engine/state/sn_state.h":                          `(?m)^#define SN_SHARDS\s+(\d+)$`,
		"../../config/crd/nfv.sinter.dev_chaininstances.yaml": `(?s)\bwork:\n.*?maxItems: (\d+)\n`,
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(pattern).FindSubmatch(text)
		if m == nil || string(m[1]) != strconv.Itoa(Count) {
			t.Errorf("%s: %q, want %d shards", path, m, Count)
		}
	}
}
