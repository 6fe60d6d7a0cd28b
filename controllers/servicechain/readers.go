package servicechain

import (
	"context"
	"slices"
)

// readers are the pins of those who may read metrics now.
func (r *Reconciler) readers() []string {
	if r.MetricsReaders == nil {
		return nil
	}
	return r.MetricsReaders()
}

// ensureReaders tells all instances at once who may read their metrics. That is no part of a rollout: packets do not notice, so nobody watches,
// and a reader whose key is another one is not kept out until the last instance has been watched.
func (r *Reconciler) ensureReaders(ctx context.Context, s *scope) error {
	for k := range s.Instances {
		i := &s.Instances[k]
		if slices.Equal(i.Spec.MetricsReaders, r.readers()) || !i.DeletionTimestamp.IsZero() {
			continue
		}
		spec := *i.Spec.DeepCopy()
		spec.MetricsReaders = r.readers()
		if err := r.writeInstance(ctx, s, i, spec); err != nil {
			return err
		}
	}
	return nil
}
