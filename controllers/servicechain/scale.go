package servicechain

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/controllers/servicechain/capacity"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
	"github.com/sinter-nfv/sinter/controllers/servicechain/report"
)

// scale has as many cores of each instance work as its load wants, and where instances share state, as many instances.
func (r *Reconciler) scale(ctx context.Context, s *scope) error {
	if s.Chain.Spec.Scaling.Shared() {
		return r.share(ctx, s)
	}
	known := r.scalers.Of(client.ObjectKeyFromObject(s.Chain), s.Instances)
	var findings []scaling.Note
	var errs []error
	for k := range s.Instances {
		i := &s.Instances[k]
		if i.UID == "" {
			continue // just made
		}
		found, err := r.scaleInstance(ctx, s, i, known[i.UID])
		findings, errs = append(findings, found...), append(errs, err)
	}
	v := report.Scaled(&s.Chain.Spec.Scaling, s.Instances, findings)
	s.Found.Scaled = &v
	return errors.Join(errs...)
}

func (r *Reconciler) scaleInstance(ctx context.Context, s *scope, i *v1alpha1.ChainInstance, m *capacity.Scaler) ([]scaling.Note, error) {
	had := i.WorkingCores()
	in, err := m.See(s.Now, capacity.BoundsOf(s.Chain, i), s.Capacities, i, s.IsReady(i))
	if err != nil || had == 0 {
		return nil, err
	}
	d := m.Decide(in)
	if d.Again > 0 {
		s.soon(d.Again)
	}
	m.Untold = append(m.Untold, d.Changes...)
	if wanted := d.Plans[0].Cores; wanted != had {
		spec := *i.Spec.DeepCopy()
		for g := range spec.Groups {
			spec.Groups[g].Cores = desired.Cores(wanted)
		}
		if err := r.writeInstance(ctx, s, i, spec); err != nil {
			return d.Findings, err
		}
		r.tell(s, i, m.Untold, wanted > had)
	}
	m.Untold = nil
	return d.Findings, nil
}

// tell says why other cores work now.
func (r *Reconciler) tell(s *scope, i *v1alpha1.ChainInstance, why []scaling.Note, more bool) {
	reason := "CoresRemoved"
	if more {
		reason = "CoresAdded"
	}
	for _, n := range why {
		kind := normal
		if n.Reason == scaling.PacketsLost {
			kind = warning
		}
		r.event(s, i, kind, reason, "Scale", "%s", n.Message)
	}
}
