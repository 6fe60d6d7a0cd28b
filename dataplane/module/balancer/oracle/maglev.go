package oracle

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
)

// maglevSize is the number of entries of a Maglev table: a prime.
const maglevSize = 65537

// noBackend is an entry of the table of a balancer whose backends take no new flows.
const noBackend = -1

// maglev is the table of some backends, as indexes of them (Eisenbud et al., NSDI 2016, section 3.4; docs/elements.md, "balancer").
func maglev(backends []element.Backend) []int {
	table := make([]int, maglevSize)
	for i := range table {
		table[i] = noBackend
	}
	most := 0
	next, skip := make([]uint64, len(backends)), make([]uint64, len(backends))
	for i, b := range backends {
		key := uint64(header.Number(b.Addr))<<16 | uint64(b.Port)
		next[i], skip[i] = element.Mix(key)%maglevSize, element.Mix(key+1<<48)%(maglevSize-1)+1
		most = max(most, b.Weight)
	}
	if most == 0 {
		return table
	}
	for left, turn := maglevSize, 1; ; turn++ {
		for i, b := range backends {
			if turn*b.Weight/most == (turn-1)*b.Weight/most {
				continue
			}
			for table[next[i]] != noBackend {
				next[i] = (next[i] + skip[i]) % maglevSize
			}
			table[next[i]] = i
			if left--; left == 0 {
				return table
			}
		}
	}
}

// entryOf is the entry of the table for a new flow.
func entryOf(f flow.Flow, byClient bool) int {
	if byClient {
		return int(element.Mix(element.Mix(uint64(f.Src)<<32)) % maglevSize)
	}
	h := element.Mix(uint64(f.Src)<<32 | uint64(f.Dst))
	return int(element.Mix(h+(uint64(f.Sport)<<48|uint64(f.Dport)<<32|uint64(f.Proto))) % maglevSize)
}
