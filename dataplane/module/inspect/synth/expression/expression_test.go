package expression

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// latin1 has a character for each byte.
func latin1(b []byte) string {
	out := make([]rune, len(b))
	for i, c := range b {
		out[i] = rune(c)
	}
	return string(out)
}

var regexes = []string{
	`GET /[a-z]+\.php`, `(?i)GET`, `(?i)[k-m]\xe4`, `a.b`, `(?s)a.b`, `^ab|^ac`, `(a|bc|)d`, `[^\x00-\x7f]{2}`, `a{2,}b{1,3}c{2}`, `\d\D\w\W\s\S`,
	`[[:punct:]]+`, `(?i)k`, `(?i)\xe5`, `x*y+z?q`, `(?:[ab]c){2}`, `[^a]`, `\x00\n\r\t`, `(?i)stra\xdfe`, `[\x41\x{20ac}]`,
}

// TestExpressionsMatchWhatTheyWereWrittenFor compares what is written with what it was written for, on bytes of which many are in both.
func TestExpressionsMatchWhatTheyWereWrittenFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		regex := rapid.SampledFrom(regexes).Draw(t, "regex")
		letters := []byte("abcdkKGETgetphp/.x yzq\x00\n\r\t019_\xe4\xc4\xe5\xc5\xdf\xff\x80!stra")
		text := latin1(rapid.SliceOfN(rapid.SampledFrom(letters), 0, 24).Draw(t, "text"))
		if rapid.Bool().Draw(t, "has a witness") {
			text += rapid.StringMatching(regex).Filter(func(s string) bool {
				for _, r := range s {
					if r > 0xff {
						return false
					}
				}
				return true
			}).Draw(t, "witness")
		}
		written := OfRegex(regex)
		if want, got := regexp.MustCompile(regex).MatchString(text), regexp.MustCompile(written).MatchString(text); want != got {
			t.Errorf("%s matches %q: %t; written as %s: %t", regex, text, want, written, got)
		}
	})
}

func TestTextsAreWrittenByteByByte(t *testing.T) {
	for _, test := range []struct {
		text   string
		noCase bool
		want   string
	}{
		{"a.\x00\xff", false, `\x61\x2e\x00\xff`},
		{"aZ[@`{1", true, `[\x41\x61][\x5a\x7a]\x5b\x40\x60\x7b\x31`},
	} {
		if got := OfText([]byte(test.text), test.noCase); got != test.want {
			t.Errorf("%q is written %s, want %s", test.text, got, test.want)
		}
	}
}
