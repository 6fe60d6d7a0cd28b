package words

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestATextIsCutBetweenCharacters(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"a short one stays":           {"seven", "seven"},
		"one that just fits stays":    {"eight by", "eight by"},
		"one that is too long is cut": {"nine byte", "nine …"},
		"no character is cut in two":  {"nineé byte", "nine…"},
	} {
		if got := cut(test.text, 8); got != test.want {
			t.Errorf("%s: %q, wanted %q", name, got, test.want)
		}
	}
	if got := Message(strings.Repeat("é", message)); len(got) > message || !utf8.ValidString(got) {
		t.Errorf("a message has %d bytes, valid: %t", len(got), utf8.ValidString(got))
	}
}
