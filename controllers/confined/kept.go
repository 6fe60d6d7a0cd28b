package confined

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// maxTexts bounds the bytes of texts from stores that all processes have together which are kept; one may have as many.
const maxTexts = 64 << 20

// kept are processes that wait for the next versions of their chains, those used last at the end.
type kept []keptProcess

type keptProcess struct {
	of types.NamespacedName
	*process
	bytes int // of texts
}

// take takes the chain's process out; nil: there is none.
func (k *kept) take(of types.NamespacedName) *process {
	at := slices.IndexFunc(*k, func(p keptProcess) bool { return p.of == of })
	if at < 0 {
		return nil
	}
	p := (*k)[at].process
	*k = slices.Delete(*k, at, at+1)
	return p
}

// put keeps a process. For it, those that were used least recently end.
func (k *kept) put(of types.NamespacedName, p *process, bytes int) {
	k.drop(func(other keptProcess) bool { return other.of == of })
	sum := bytes
	for _, other := range *k {
		sum += other.bytes
	}
	for sum > maxTexts && len(*k) > 0 {
		first := (*k)[0]
		sum -= first.bytes
		k.drop(func(other keptProcess) bool { return other.process == first.process })
	}
	*k = append(*k, keptProcess{of, p, bytes})
}

func (k *kept) drop(which func(keptProcess) bool) {
	*k = slices.DeleteFunc(*k, func(p keptProcess) bool {
		goes := which(p)
		if goes {
			p.end()
		}
		return goes
	})
}

// memory is the bytes that all of them take now.
func (k *kept) memory() (sum int64) {
	for _, p := range *k {
		sum += p.memory()
	}
	return sum
}
