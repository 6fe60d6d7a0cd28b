package tag

import (
	"testing"

	"pgregory.net/rapid"
)

func TestAContinuationIsAMACAddressOfThisLayout(t *testing.T) {
	c := Continuation{Nonce: 0x1234, Shard: 5, Number: 0x1abcd}
	if got, want := c.MAC(), [6]byte{0x02, 0x12, 0x34, 0x0b, 0xab, 0xcd}; got != want {
		t.Errorf("it is % x, want % x", got, want)
	}
}

func TestAContinuationIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Continuation{
			Nonce:  rapid.Uint16().Draw(t, "nonce"),
			Shard:  uint8(rapid.IntRange(0, Shards-1).Draw(t, "shard")),
			Number: rapid.Uint32Range(0, Continuations-1).Draw(t, "number"),
		}
		if got, ok := FromMAC(c.MAC()); !ok || got != c {
			t.Errorf("%+v is read as %+v, %t", c, got, ok)
		}
	})
}

func TestOtherAddressesAreNoContinuations(t *testing.T) {
	for _, first := range []byte{0x00, 0x01, 0x03, 0x06, 0x12, 0xff} {
		if c, ok := FromMAC([6]byte{first, 1, 2, 3, 4, 5}); ok {
			t.Errorf("an address that begins with %#02x is read as %+v", first, c)
		}
		if is, want := IsMark([6]byte{first, 1, 2, 3, 4, 5}), first == 0x06; is != want {
			t.Errorf("an address that begins with %#02x marks a frame: %t, want %t", first, is, want)
		}
	}
}
