package servicechain

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// written remembers what this controller wrote of chains and programs until the cache shows it. How far a
// rollout is stands in the chain's status alone, and that a program is refused in the program's: read as they
// were before, they would have an instance that was just brought to a program pass for one that was watched.
type written struct {
	mu       sync.Mutex
	versions map[types.NamespacedName]map[types.UID]string // by chain, and object of it
}

func (w *written) put(chain types.NamespacedName, o client.Object) {
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
func (w *written) version(chain types.NamespacedName, o client.Object) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.versions[chain][o.GetUID()]
}

func (w *written) shown(chain types.NamespacedName, o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions[chain], o.GetUID())
}

func (w *written) forget(chain types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions, chain)
}

// latest is an object that the cache shows, read past the cache if that may not show yet what was written of it.
// Versions are compared for being the same only: which of two is newer is the API server's own business.
func latest[T any, O interface {
	*T
	client.Object
}](ctx context.Context, r *Reconciler, chain types.NamespacedName, cached O,
) (O, error) {
	version := r.written.version(chain, cached)
	if version == "" {
		return cached, nil
	}
	live := cached
	if version != cached.GetResourceVersion() {
		live = new(T)
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(cached), live); err != nil {
			return nil, fmt.Errorf("get %s: %w", cached.GetName(), err)
		}
	}
	if live.GetResourceVersion() == cached.GetResourceVersion() || live.GetUID() != cached.GetUID() {
		r.written.shown(chain, cached)
	}
	return live, nil
}
