package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/api/rules"
)

// edit changes a text at random: lines go, come, change, or lose their end.
func edit(t *rapid.T, lines []string, line func() string) []string {
	lines = slices.Clone(lines)
	for range rapid.IntRange(0, 3).Draw(t, "edits") {
		at := rapid.IntRange(0, len(lines)).Draw(t, "at")
		n := rapid.IntRange(0, min(3, len(lines)-at)).Draw(t, "fewer")
		var more []string
		for range rapid.SampledFrom([]int{0, 1, 1, 1, 2, 200}).Draw(t, "more") {
			more = append(more, line())
		}
		lines = slices.Replace(lines, at, at+n, more...)
	}
	return lines
}

// readTwice compares what a memory reads with what is read without one.
func readTwice(t *rapid.T, m *rules.Memory, text string) {
	with, without := rules.Files{Memory: m}, rules.Files{}
	source := rules.Source{File: "acl"}
	got, want := with.AddRules(source, []byte(text)), without.AddRules(source, []byte(text))
	if !slices.Equal(got, want) {
		t.Fatalf("of the rules it says %v, want %v", got, want)
	}
	a, b := with.Rules[source], without.Rules[source]
	if len(a) != len(b) {
		t.Fatalf("%d rules are read, want %d", len(a), len(b))
	}
	for i := range a {
		if a[i].Line != b[i].Line || a[i].Filter.String() != b[i].Filter.String() {
			t.Fatalf("rule %d is %v in line %d, want %v in line %d", i, a[i].Filter, a[i].Line, b[i].Filter, b[i].Line)
		}
	}
	got, want = with.AddPrefixes("table", []byte(text)), without.AddPrefixes("table", []byte(text))
	if !slices.Equal(got, want) || !slices.Equal(with.Prefixes["table"], without.Prefixes["table"]) {
		t.Fatalf("%d prefixes are read with %v, want %d with %v", len(with.Prefixes["table"]), got, len(without.Prefixes["table"]), want)
	}
	m.Forget()
}

// One text is read as both kinds: as one of them it is wrong, and memories must say the same then, too.
func TestATextIsReadAgainAsOneThatIsNew(t *testing.T) {
	for name, kinds := range map[string][]string{
		"rules":    {"@10.%d.%d.0/24 0.0.0.0/0 0 : 65535 80 : %d 0x06/0xFF 0x0000/0x0200"},
		"prefixes": {"10.%d.%d.0/24", "2001:db8:%d:%d::/64"},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				odd := append(kinds, "# %d %d", "", " ", "10.%d.1.%d/24", "oh %d %d")
				line := func() string {
					form := rapid.SampledFrom(kinds).Draw(t, "form")
					if rapid.IntRange(0, 300).Draw(t, "is odd") == 0 {
						form = rapid.SampledFrom(odd).Draw(t, "odd form")
					}
					n := rapid.IntRange(0, 255)
					args := []any{n.Draw(t, "a"), n.Draw(t, "b"), 80 + n.Draw(t, "c")}
					return fmt.Sprintf(form, args[:strings.Count(form, "%")]...)
				}
				var m rules.Memory
				var lines []string
				for range rapid.SampledFrom([]int{0, 1, 150, 600}).Draw(t, "lines") {
					lines = append(lines, line())
				}
				for range 4 {
					readTwice(t, &m, strings.Join(lines, "\n")+rapid.SampledFrom([]string{"", "\n", "\n\n"}).Draw(t, "end"))
					lines = edit(t, lines, line)
				}
			})
		})
	}
}
