package capacity

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/controllers/servicechain/fleet"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

const (
	// carry is how long the load of a shard that was handed over is what it was before, if its new owner
	// says less: that one reports every ten seconds at most.
	carry = 15 * time.Second
	// holdRollout is how long a rollout waits for shards that are being handed over.
	holdRollout = 2 * time.Minute
)

// Shared decides about the instances of a chain that share its state. It is kept for as long as the operator runs.
type Shared struct {
	*scaling.Scaler
	cores   map[types.UID][]v1alpha1.CoreStatus // as last reported
	carried map[shard.ID]carried
	given   functions
	Untold  []scaling.Note     // changes that are not written yet
	Handed  []scaling.Handover // that are written, and not told yet
	moving  time.Time          // since when shards are being handed over
	Why     string             // the number of instances has changed last
}

// carried is the load of a shard by the report of who had it before.
type carried struct {
	work  float64
	until time.Time
}

// newShared remembers nothing yet.
func newShared() *Shared {
	return &Shared{
		Scaler: scaling.NewScaler(scaling.DefaultPolicy), cores: map[types.UID][]v1alpha1.CoreStatus{}, carried: map[shard.ID]carried{},
	}
}

// See is what is to be decided. Packets count once, when they are reported.
func (m *Shared) See(now time.Time, bounds scaling.Bounds, known []scaling.Capacity, f *fleet.Fleet) (in scaling.Input, again time.Duration, err error) {
	in = scaling.Input{Now: now, Bounds: bounds}
	if divisible(f.Instances) { // else more instances would have nothing of their packets
		in.Functions, again = m.given.see(now, known, f.Instances)
	}
	for n := range shard.Count {
		in.Shards = append(in.Shards, shard.ID{Group: shard.GroupAll, Number: n})
	}
	cores := map[types.UID][]v1alpha1.CoreStatus{}
	for k := range f.Instances {
		i := &f.Instances[k]
		report, err := scaling.ReportOf(i)
		if err != nil {
			return in, 0, fmt.Errorf("ChainInstance %s: %w", i.Name, err)
		}
		report.Cores, cores[i.UID] = scaling.CoresSince(m.cores[i.UID], i.Status.Cores), i.Status.Cores
		if !i.Spec.Shared {
			report.Shards = nil // its state is its own, and ends with its pod
		}
		for k := range report.Shards {
			l := &report.Shards[k]
			if c, ok := m.carried[l.ID]; ok && now.Before(c.until) {
				l.Work = max(l.Work, c.work)
			}
		}
		ready, left := fleet.Bears(i, f.Pods[i.Name], now)
		if left > 0 && (again == 0 || left < again) {
			again = left
		}
		if len(i.Spec.Groups) == 0 && len(i.Status.Interfaces) == 0 {
			ready = false // peers could not pass on packets for its shards
		}
		in.Pods = append(in.Pods, scaling.Pod{Name: i.Name, Node: i.Status.Node, Ready: ready, Cores: i.WorkingCores(), Report: report})
	}
	m.cores = cores
	return in, again, nil
}

// Carry has shards weigh as much with their new owner as they did before, until it reports.
func (m *Shared) Carry(in scaling.Input, handed []scaling.Handover) {
	for shard, c := range m.carried {
		if !in.Now.Before(c.until) {
			delete(m.carried, shard)
		}
	}
	works := map[shard.ID]float64{}
	for _, p := range in.Pods {
		for _, l := range p.Report.Shards {
			works[l.ID] = l.Work
		}
	}
	if len(handed) > 0 {
		m.given.move(in.Now)
	}
	for _, h := range handed {
		m.carried[h.Shard] = carried{works[h.Shard], in.Now.Add(carry)}
	}
}

// Hands notes whether shards are being handed over.
func (m *Shared) Hands(now time.Time, moves bool) {
	if !moves {
		m.moving = time.Time{}
		return
	}
	m.given.move(now)
	if m.moving.IsZero() {
		m.moving = now
	}
}

// Holds is how long a rollout still has to wait for shards that are being handed over.
func (m *Shared) Holds(now time.Time) time.Duration { return m.moving.Add(holdRollout).Sub(now) }

// Take gives the notes about a pod (empty: about the chain) that are not written yet, and leaves the others.
func (m *Shared) Take(pod string) (taken []scaling.Note) {
	m.Untold = slices.DeleteFunc(m.Untold, func(n scaling.Note) bool {
		if n.Pod == pod {
			taken = append(taken, n)
		}
		return n.Pod == pod
	})
	return taken
}
