// Package capacity remembers what instances want, and puts what they report into what scaling decides by.
package capacity

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
)

// Scalers remember what instances wanted, for as long as the operator runs.
type Scalers struct {
	mu     sync.Mutex
	chains map[types.NamespacedName]map[types.UID]*Scaler
	shared map[types.NamespacedName]*Shared // chains whose instances share state
}

// Scaler decides how many cores of an instance work. There is one per instance that has
// state of its own, which no other can take over.
type Scaler struct {
	*scaling.Scaler
	cores  []v1alpha1.CoreStatus // as last reported
	given  functions
	Untold []scaling.Note // changes that are not written yet
}

// Of are the scalers of a chain's instances; those of others are forgotten. A chain is
// reconciled by one worker at a time.
func (s *Scalers) Of(key types.NamespacedName, instances []v1alpha1.ChainInstance) map[types.UID]*Scaler {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chains == nil {
		s.chains = map[types.NamespacedName]map[types.UID]*Scaler{}
	}
	known := map[types.UID]*Scaler{}
	for i := range instances {
		uid := instances[i].UID
		if known[uid] = s.chains[key][uid]; known[uid] == nil {
			known[uid] = &Scaler{Scaler: scaling.NewScaler(scaling.DefaultPolicy)}
		}
	}
	s.chains[key] = known
	return known
}

// Forget is called when the chain is gone.
func (s *Scalers) Forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.chains, key)
	delete(s.shared, key)
}

// Shared decides about a chain whose instances share its state.
func (s *Scalers) Shared(key types.NamespacedName) *Shared {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared == nil {
		s.shared = map[types.NamespacedName]*Shared{}
	}
	if s.shared[key] == nil {
		s.shared[key] = newShared()
	}
	return s.shared[key]
}

// See is what is to be decided about an instance. Packets count once, when they are reported.
func (m *Scaler) See(now time.Time, bounds scaling.Bounds, known []scaling.Capacity, i *v1alpha1.ChainInstance, ready bool) (scaling.Input, error) {
	in := scaling.Input{Now: now, Bounds: bounds}
	report, err := scaling.ReportOf(i)
	if err != nil {
		return in, fmt.Errorf("ChainInstance %s: %w", i.Name, err)
	}
	report.Cores = scaling.CoresSince(m.cores, i.Status.Cores)
	m.cores = i.Status.Cores
	in.Functions, _ = m.given.see(now, known, []v1alpha1.ChainInstance{*i})
	for _, l := range report.Shards {
		in.Shards = append(in.Shards, l.ID)
	}
	in.Pods = []scaling.Pod{{Name: i.Name, Node: i.Status.Node, Ready: ready, Cores: i.WorkingCores(), Report: report}}
	return in, nil
}

// BoundsOf are those of a chain for one of its instances, which may own fewer cores yet than
// the chain says now.
func BoundsOf(c *v1alpha1.ServiceChain, i *v1alpha1.ChainInstance) scaling.Bounds {
	b := scaling.BoundsOf(&c.Spec.Scaling)
	b.MinPods, b.MaxPods, b.LoseNodes = 1, 1, 0
	b.MaxCores = min(b.MaxCores, int(i.Spec.Cores))
	b.MinCores = min(b.MinCores, b.MaxCores)
	return b
}
