package memory

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Losses remember what instances have reported of lost sessions, for as long as the operator runs: the chain's count
// goes on from what it was by what theirs have grown, and is not less when an instance goes.
type Losses struct {
	mu     sync.Mutex
	chains map[types.NamespacedName]map[types.UID]int64
}

// LostSessions is what instances report.
func LostSessions(instances []v1alpha1.ChainInstance) map[types.UID]int64 {
	reported := map[types.UID]int64{}
	for k := range instances {
		reported[instances[k].UID] = instances[k].Status.LostSessions
	}
	return reported
}

// Total is a chain's count, which was so much when it was said last.
func (l *Losses) Total(chain types.NamespacedName, said int64, reported map[types.UID]int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, begun := l.chains[chain]
	grown, sum := int64(0), int64(0)
	for uid, n := range reported {
		sum += n
		grown += max(n-known[uid], 0)
	}
	if !begun { // the operator before has counted these
		return max(said, sum)
	}
	return said + grown
}

// Said takes over what instances have reported, now that the chain's count is said.
func (l *Losses) Said(chain types.NamespacedName, reported map[types.UID]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.chains == nil {
		l.chains = map[types.NamespacedName]map[types.UID]int64{}
	}
	l.chains[chain] = reported
}

// Forget is called when the chain is gone.
func (l *Losses) Forget(chain types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.chains, chain)
}
