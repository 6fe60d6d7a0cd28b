package routes

import (
	"math/rand/v2"
	"net/netip"
)

// Draw is n different prefixes at random, of 12 to 28 bits, between 11.0.0.0 and 190.255.255.255.
func Draw(rng *rand.Rand, n int) []netip.Prefix {
	out, known := make([]netip.Prefix, 0, n), map[netip.Prefix]bool{}
	for len(out) < n {
		a := netip.AddrFrom4([4]byte{byte(11 + rng.IntN(180)), byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32())})
		if p := netip.PrefixFrom(a, 12+rng.IntN(17)).Masked(); !known[p] {
			known[p] = true
			out = append(out, p)
		}
	}
	return out
}
