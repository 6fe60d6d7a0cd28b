package servicechain

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/controllers/servicechain/capacity"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
)

// assign says which groups each instance has from now on, by its name.
func assign(in scaling.Input, d scaling.Decision) map[string][]v1alpha1.InstanceGroup {
	groups := map[string][]v1alpha1.InstanceGroup{}
	for _, plan := range d.Plans {
		plan.Cores = max(plan.Cores, in.Bounds.MinCores)
		groups[plan.Pod] = plan.Groups()
	}
	return groups
}

// assignShards writes who has which shards, where the others are, and who is the front. An instance that gets some is told first: it asks for
// them, while the giver would take back what it gave if the other was not told yet. So is the front: better two answer than none.
func (r *Reconciler) assignShards(ctx context.Context, s *scope, m *capacity.Shared, groups map[string][]v1alpha1.InstanceGroup, handed []scaling.Handover) error {
	front, before, moved := s.Front(), s.Chain.Status.Front, false
	if before == front {
		before = "" // what was the front under this name is gone
	}
	var order []*v1alpha1.ChainInstance
	for k := range s.Instances {
		order = append(order, &s.Instances[k])
	}
	gets := func(i *v1alpha1.ChainInstance) int {
		if i.Name == front || slices.ContainsFunc(handed, func(h scaling.Handover) bool { return h.To == i.Name }) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b *v1alpha1.ChainInstance) int { return cmp.Compare(gets(a), gets(b)) })
	first := true
	for _, i := range order {
		if !i.Spec.Shared {
			continue // its pod is to be another one first
		}
		had := i.WorkingCores()
		spec := *i.Spec.DeepCopy()
		spec.Groups = desired.Owned(groups[i.Name], int(spec.Cores))
		spec.Peers = s.Peers(i, groups)
		spec.Front = i.Name == front
		if moved = moved || spec.Front != i.Spec.Front; i.Spec.Front && !spec.Front {
			before = i.Name
		}
		if equality.Semantic.DeepEqual(spec, i.Spec) {
			continue
		}
		if err := r.writeInstance(ctx, s, i, spec); err != nil {
			return err
		}
		if first {
			m.Handed, first = append(m.Handed, handed...), false
		}
		if has := i.WorkingCores(); had > 0 && has > 0 && has != had {
			r.tell(s, i, m.Take(i.Name), has > had)
		}
	}
	if moved {
		r.event(s, nil, normal, "FrontMoved", "Scale", "instance %s is the front now and replies to ARP requests for the chain's addresses: %s", front, s.WhyNotFront(before))
	}
	return nil
}
