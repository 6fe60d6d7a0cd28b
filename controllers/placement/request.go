package placement

import (
	"iter"
	"slices"
)

// Request is what one instance of a chain needs.
type Request struct {
	Node     string            // the chain's explicit choice; empty: none
	Selector map[string]string // labels that the node must have

	Cores     int
	Memory    int64 // bytes
	Hugepages Hugepages
	// Interfaces that need a device of the node.
	Interfaces []Interface
	// Aligned wants cores, hugepages and devices of one NUMA node.
	Aligned bool

	// Used are the nodes that hold an instance of the chain already. They come
	// last, or with MustSpread not at all.
	Used       []string
	MustSpread bool

	// Candidates is how long the short list should be at least. At 0 and 1 the
	// search ends as Algorithm 3 does, at the first pair with one that fits.
	Candidates int
}

// Hugepages is an amount of huge pages.
type Hugepages struct {
	PageSize, Bytes int64
}

// Interface is a chain's interface that takes one device.
type Interface struct {
	Name     string
	Resource string // extended resource; empty: no device
}

// devices yields each resource once, with the number of interfaces that need it.
func (r Request) devices() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for i, first := range r.Interfaces {
			same := func(o Interface) bool { return o.Resource == first.Resource }
			if first.Resource == "" || slices.ContainsFunc(r.Interfaces[:i], same) {
				continue
			}
			var n int64
			for _, o := range r.Interfaces[i:] {
				if same(o) {
					n++
				}
			}
			if !yield(first.Resource, n) {
				return
			}
		}
	}
}
