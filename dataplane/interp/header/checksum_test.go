package header

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"
)

// words are 16-bit values, the two zeros of one's complement often among them.
var words = rapid.OneOf(rapid.SampledFrom([]uint16{0, 1, 0x7fff, 0xfffe, 0xffff}), rapid.Uint16())

func pack(ws []uint16) []byte {
	var b []byte
	for _, w := range ws {
		b = binary.BigEndian.AppendUint16(b, w)
	}
	return b
}

func TestAMovedChecksumEqualsTheOneComputedAfresh(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was := append(rapid.SliceOfN(words, 1, 10).Draw(t, "was"), 0x4500) // no header is all zeros
		is := append(rapid.SliceOfN(words, len(was)-1, len(was)-1).Draw(t, "is"), 0x4500)
		got := moved(Checksum(pack(was)), Delta(pack(was), pack(is)))
		if want := Checksum(pack(is)); got != want {
			t.Fatalf("moved %#04x, afresh %#04x", got, want)
		}
	})
}

func TestABadChecksumStaysBadByAsMuch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was := append(rapid.SliceOfN(words, 1, 10).Draw(t, "was"), 0x4500)
		is := append(rapid.SliceOfN(words, len(was)-1, len(was)-1).Draw(t, "is"), 0x4500)
		c := words.Draw(t, "checksum")
		before := fold(Sum(pack(was)) + uint32(c))
		after := fold(Sum(pack(is)) + uint32(moved(c, Delta(pack(was), pack(is)))))
		if before%0xffff != after%0xffff {
			t.Fatalf("the sum over everything was %#04x and is %#04x", before, after)
		}
	})
}

func TestWordsThatDidNotChangeAndTheOrderOfChangesMoveNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was := rapid.SliceOfN(words, 6, 6).Draw(t, "was")
		is := rapid.SliceOfN(words, 6, 6).Draw(t, "is")
		c := words.Draw(t, "checksum")
		want := moved(c, Delta(pack(was), pack(is)))
		// The other way that an engine may take: only what changed, in pieces, backwards.
		var d uint32
		for i := len(was) - 1; i >= 0; i-- {
			if was[i] != is[i] {
				d += uint32(^was[i]) + uint32(is[i])
			}
		}
		if got := moved(c, d); got != want {
			t.Fatalf("by changed words only %#04x, by all %#04x", got, want)
		}
		if want == 0xffff && c != 0xffff {
			t.Fatalf("%#04x became 0xffff", c)
		}
	})
}

func TestChecksumOfRFC1071sExample(t *testing.T) {
	if got := Sum([]byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}); got != 0xddf2 {
		t.Errorf("sum is %#x, RFC 1071 section 3 says 0xddf2", got)
	}
}
