package servicechain

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

const (
	// patience is how long an instance may be not ready before its shards go to others.
	patience = 10 * time.Second
	// startTime is the same for one that never was.
	startTime = 2 * time.Minute
	// carry is how long the load of a shard that was handed over is what it was before, if its new owner
	// says less: that one reports every ten seconds at most.
	carry = 15 * time.Second
	// holdRollout is how long a rollout waits for shards that are being handed over.
	holdRollout = 2 * time.Minute
)

// sharing decides about the instances of a chain that share its state. It is kept for as long as the operator runs.
type sharing struct {
	*scaling.Scaler
	cores   map[types.UID][]v1alpha1.CoreStatus // as last reported
	carried map[shard.ID]carried
	untold  []scaling.Note     // changes that are not written yet
	handed  []scaling.Handover // that are written, and not told yet
	moving  time.Time          // since when shards are being handed over
	why     string             // the number of instances has changed last
}

// carried is the load of a shard by the report of who had it before.
type carried struct {
	work  float64
	until time.Time
}

func newSharing() *sharing {
	return &sharing{
		Scaler: scaling.NewScaler(scaling.DefaultPolicy), cores: map[types.UID][]v1alpha1.CoreStatus{}, carried: map[shard.ID]carried{},
	}
}

// share has as many instances as the load wants, and the chain's shards where they are borne. What goes with an
// instance is handed over before; what is new is there before anything is handed to it.
func (r *Reconciler) share(ctx context.Context, s *scope) error {
	for k := range s.instances {
		if s.instances[k].UID == "" {
			return nil // just made; it is seen with the next reconcile
		}
	}
	if s.target == nil || len(s.instances) == 0 {
		return nil
	}
	m := r.scalers.sharing(client.ObjectKeyFromObject(s.chain))
	in, err := m.see(s)
	if err != nil {
		return err
	}
	in.Hold = !s.settled(m)
	d := m.Decide(in)
	if d.Again > 0 {
		s.soon(d.Again)
	}
	m.untold = append(m.untold, d.Changes...)
	defer func() {
		v := scaled(&s.chain.Spec.Scaling, s.instances, d.Findings)
		s.verdicts.scaled = &v
	}()
	s.drains = map[string]bool{}
	for _, plan := range d.Plans {
		s.drains[plan.Pod] = plan.Drain
	}
	if err := r.assignShards(ctx, s, m, assign(in, d), d.Handovers); err != nil {
		return err
	}
	m.carry(in, d.Handovers)
	r.tellShares(s, m)
	if err := r.removeEmpty(ctx, s, m, d.Plans); err != nil {
		return err
	}
	if err := r.addInstances(ctx, s, m, d.Pods); err != nil {
		return err
	}
	m.untold = nil
	return nil
}
