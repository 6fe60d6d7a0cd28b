package packets

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

// verificationKey is the key of Microsoft's "Verifying the RSS Hash Calculation".
var verificationKey = []byte{
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
	0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
}

func TestTheHashIsThatOfThePublishedVectors(t *testing.T) {
	for _, c := range []struct {
		dst, src         string
		ports, addresses uint32
	}{
		{"161.142.100.80:1766", "66.9.149.187:2794", 0x51ccc178, 0x323e8fc2},
		{"65.69.140.83:4739", "199.92.111.2:14230", 0xc626b0ea, 0xd718262a},
		{"12.22.207.184:38024", "24.19.198.95:12898", 0x5c2b394a, 0xd2d0a5de},
		{"209.142.163.6:2217", "38.27.205.30:48228", 0xafc7327f, 0x82989176},
		{"202.188.127.2:1303", "153.39.163.191:44251", 0x10e828a2, 0x5d1809c5},
	} {
		src, dst := netip.MustParseAddrPort(c.src), netip.MustParseAddrPort(c.dst)
		in := FlowInput(Number(src.Addr()), Number(dst.Addr()), src.Port(), dst.Port())
		if got := Toeplitz(verificationKey, in[:]); got != c.ports {
			t.Errorf("%s to %s with ports: got %#x, want %#x", c.src, c.dst, got, c.ports)
		}
		if got := Toeplitz(verificationKey, in[:8]); got != c.addresses {
			t.Errorf("%s to %s: got %#x, want %#x", c.src, c.dst, got, c.addresses)
		}
	}
}

func TestBothDirectionsOfAFlowHashAlikeUnderTheSymmetricKey(t *testing.T) {
	key := SymmetricKey(40)
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Uint32().Draw(t, "a"), rapid.Uint32().Draw(t, "b")
		p, q := rapid.Uint16().Draw(t, "p"), rapid.Uint16().Draw(t, "q")
		forth, back := FlowInput(a, b, p, q), FlowInput(b, a, q, p)
		if x, y := Toeplitz(key, forth[:]), Toeplitz(key, back[:]); x != y {
			t.Fatalf("forth %#x, back %#x", x, y)
		}
	})
}
