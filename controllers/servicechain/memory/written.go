// Package memory is what is remembered of chains from one reconcile to the next: nothing that an operator that restarts could not do without.
package memory

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Written remembers what this controller wrote of chains and programs until the cache shows it. How far a
// rollout is, only the chain's status says, and that a program is refused in the program's: read as they
// were before, they would have an instance that was just brought to a program pass for one that was watched.
type Written struct {
	mu       sync.Mutex
	versions map[types.NamespacedName]map[types.UID]string // by chain, and object of it
}

// Put remembers what was written of an object of a chain.
func (w *Written) Put(chain types.NamespacedName, o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.versions == nil {
		w.versions = map[types.NamespacedName]map[types.UID]string{}
	}
	if w.versions[chain] == nil {
		w.versions[chain] = map[types.UID]string{}
	}
	w.versions[chain][o.GetUID()] = o.GetResourceVersion()
}

// version is that which was written of an object last; empty: the cache has shown it.
func (w *Written) version(chain types.NamespacedName, o client.Object) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.versions[chain][o.GetUID()]
}

func (w *Written) shown(chain types.NamespacedName, o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions[chain], o.GetUID())
}

// Forget is called when the chain is gone.
func (w *Written) Forget(chain types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions, chain)
}

// Latest is an object that the cache shows, read past the cache if that may not show yet what was written of it.
// Versions are compared for being the same only: which of two is newer is the API server's own business.
func Latest[T any, O interface {
	*T
	client.Object
}](ctx context.Context, live client.Reader, w *Written, chain types.NamespacedName, cached O,
) (O, error) {
	version := w.version(chain, cached)
	if version == "" {
		return cached, nil
	}
	found := cached
	if version != cached.GetResourceVersion() {
		found = new(T)
		if err := live.Get(ctx, client.ObjectKeyFromObject(cached), found); err != nil {
			return nil, fmt.Errorf("get %s: %w", cached.GetName(), err)
		}
	}
	if found.GetResourceVersion() == cached.GetResourceVersion() || found.GetUID() != cached.GetUID() {
		w.shown(chain, cached)
	}
	return found, nil
}
