package oracle

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
)

// BackendsOf have addresses from 198.51.100.11 on.
func BackendsOf(weights ...int) (list []element.Backend) {
	for i, w := range weights {
		list = append(list, element.Backend{Addr: netip.AddrFrom4([4]byte{198, 51, 100, byte(11 + i)}), Weight: w})
	}
	return list
}

func sharesOf(table []int, n int) []int {
	out := make([]int, n)
	for _, b := range table {
		if b >= 0 {
			out[b]++
		}
	}
	return out
}

// TestMaglevTables has the vectors of the engine's test, too (test_balancer.c): the FNV-1a sum of the entries as big-endian numbers.
func TestMaglevTables(t *testing.T) {
	tcp := flow.Flow{Proto: header.TCP, Src: 0xcb007107, Dst: 0xc6336401, Sport: 40000, Dport: 443}
	for _, k := range []struct {
		backends []element.Backend
		shares   string
		sum      uint32
	}{
		{BackendsOf(1, 1, 1), "[21846 21846 21845]", 0x1dfd1577},
		{BackendsOf(2, 1, 0), "[43692 21845 0]", 0xd9d53a82},
		{BackendsOf(256, 1), "[65282 255]", 0x6c84411a},
		{BackendsOf(0, 0), "[0 0]", 0x3b08bca3},
		{BackendsOf(5, 3, 7, 1, 1, 100, 2), "[2753 1652 3855 550 550 55076 1101]", 0xd4fe5791},
	} {
		table := maglev(k.backends)
		h := fnv.New32a()
		for _, b := range table {
			_, _ = h.Write([]byte{byte(b >> 8), byte(b)}) // never fails
		}
		if got := fmt.Sprint(sharesOf(table, len(k.backends))); got != k.shares || h.Sum32() != k.sum {
			t.Errorf("%v: shares %s, sum %#x, want %s, %#x", k.backends, got, h.Sum32(), k.shares, k.sum)
		}
	}
	if a, b := entryOf(tcp, false), entryOf(tcp, true); a != 13474 || b != 22229 {
		t.Errorf("entries %d and %d", a, b)
	}
}

func TestOnlyAFewEntriesOfOtherBackendsChangeWhenOneGoes(t *testing.T) {
	before, after := maglev(BackendsOf(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)), maglev(BackendsOf(1, 1, 1, 1, 0, 1, 1, 1, 1, 1))
	moved := 0
	for i := range before {
		if before[i] != 4 && before[i] != after[i] {
			moved++
		}
	}
	if moved > maglevSize/50 {
		t.Errorf("%d of %d entries moved, want 2 %% at most", moved, maglevSize)
	}
}
