package servicechain

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/controllers/servicechain/capacity"
	"github.com/sinter-nfv/sinter/controllers/servicechain/report"
	"github.com/sinter-nfv/sinter/controllers/servicechain/rollout"
)

// share has as many instances as the load wants, and the chain's shards where they are borne. What goes with an
// instance is handed over before; what is new is there before anything is handed to it.
func (r *Reconciler) share(ctx context.Context, s *scope) error {
	for k := range s.Instances {
		if s.Instances[k].UID == "" {
			return nil // just made; it is seen with the next reconcile
		}
	}
	if s.Target == nil || len(s.Instances) == 0 {
		return nil
	}
	m := r.scalers.Shared(client.ObjectKeyFromObject(s.Chain))
	in, again, err := m.See(s.Now, scaling.BoundsOf(&s.Chain.Spec.Scaling), s.Capacities, &s.Fleet)
	if err != nil {
		return err
	}
	if again > 0 {
		s.soon(again)
	}
	in.Hold = !s.settled(m)
	d := m.Decide(in)
	if d.Again > 0 {
		s.soon(d.Again)
	}
	m.Untold = append(m.Untold, d.Changes...)
	defer func() {
		v := report.Scaled(&s.Chain.Spec.Scaling, s.Instances, d.Findings)
		s.Found.Scaled = &v
	}()
	s.Drains = map[string]bool{}
	for _, plan := range d.Plans {
		s.Drains[plan.Pod] = plan.Drain
	}
	if err := r.assignShards(ctx, s, m, assign(in, d), d.Handovers); err != nil {
		return err
	}
	m.Carry(in, d.Handovers)
	r.tellShares(s, m)
	if err := r.removeEmpty(ctx, s, m, d.Plans); err != nil {
		return err
	}
	if err := r.addInstances(ctx, s, m, d.Pods); err != nil {
		return err
	}
	m.Untold = nil
	return nil
}

// settled tells whether shards may be handed over for the sake of load: neither are others on their way, nor is
// a program being brought to instances, for shards go between engines that run the same.
func (s *scope) settled(m *capacity.Shared) bool {
	moves := s.Moves()
	m.Hands(s.Now, moves)
	return !moves && s.Status.Rollout == nil && len(rollout.Others(s.Instances, s.Target.Name)) == 0
}

// handingOver tells whether a rollout is to wait, as shards are being handed over.
func (r *Reconciler) handingOver(s *scope) bool {
	if !s.Chain.Spec.Scaling.Shared() || !s.Moves() {
		return false
	}
	m := r.scalers.Shared(client.ObjectKeyFromObject(s.Chain))
	m.Hands(s.Now, true)
	left := m.Holds(s.Now)
	if left > 0 {
		s.soon(left)
	}
	return left > 0
}
