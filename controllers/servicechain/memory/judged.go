package memory

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Judged remembers which generation of each NetworkFunction the status of a chain is about.
type Judged struct {
	mu     sync.Mutex
	chains map[types.NamespacedName]map[types.UID]int64
}

// Put is called when a chain's status is about these functions as they are here.
func (j *Judged) Put(chain types.NamespacedName, functions []*v1alpha1.NetworkFunction) {
	generations := make(map[types.UID]int64, len(functions))
	for _, f := range functions {
		generations[f.UID] = f.Generation
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.chains == nil {
		j.chains = map[types.NamespacedName]map[types.UID]int64{}
	}
	j.chains[chain] = generations
}

// Is tells whether a chain's status is about a function as it is here. known is false if nothing has been said of the chain yet.
func (j *Judged) Is(chain types.NamespacedName, f *v1alpha1.NetworkFunction) (is, known bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	functions, known := j.chains[chain]
	generation, ok := functions[f.UID]
	return ok && generation == f.Generation, known
}

// Forget is called when the chain is gone.
func (j *Judged) Forget(chain types.NamespacedName) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.chains, chain)
}
