package servicechain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/controllers/servicechain/capacity"
	"github.com/sinter-nfv/sinter/controllers/servicechain/fleet"
	"github.com/sinter-nfv/sinter/controllers/words"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// tellShares tells what changed hands.
func (r *Reconciler) tellShares(s *scope, m *capacity.Shared) {
	type pair struct{ from, to string }
	byPair := map[pair]shard.Set{}
	for _, h := range m.Handed {
		p := pair{h.From, h.To}
		set := byPair[p]
		set.Add(h.Shard.Number)
		byPair[p] = set
	}
	var says []string
	for p, set := range byPair {
		from := "from " + p.from
		if p.from == "" {
			from = "that no instance had"
		}
		says = append(says, fmt.Sprintf("shards %s %s move to instance %s: %s", strings.Join(shard.Text[string](set), ","), from, p.to, s.WhyFrom(p.from, s.Now)))
	}
	slices.Sort(says)
	for _, text := range says {
		r.event(s, nil, normal, "ShardsHandedOver", "Scale", "%s", text)
	}
	m.Handed = nil
}

// removeEmpty deletes the instances that are to go and have nothing more.
func (r *Reconciler) removeEmpty(ctx context.Context, s *scope, m *capacity.Shared, plans []scaling.PodPlan) error {
	for _, n := range m.Untold {
		if n.Pod == "" {
			m.Why = n.Message // the last time that their number changed
		}
	}
	kept := s.Instances[:0:0]
	for k := range s.Instances {
		i := &s.Instances[k]
		if !plans[k].Drain || !fleet.Empty(i, s.Pods[i.Name]) {
			kept = append(kept, *i)
			continue
		}
		if err := r.delete(ctx, i); err != nil {
			return err
		}
		r.event(s, i, normal, "InstanceRemoved", "Scale", "instance %s has no shards left and is removed: %s", i.Name, cmp.Or(m.Why, "fewer instances are needed"))
	}
	s.Instances = kept
	return nil
}

// addInstances makes those that are missing. They have no shards until they are ready.
func (r *Reconciler) addInstances(ctx context.Context, s *scope, m *capacity.Shared, wanted int) error {
	if len(s.Instances) >= wanted || s.bindings == nil {
		return nil
	}
	for _, name := range s.Missing(s.Chain.Name, wanted) {
		spec := r.instance(s, 0)
		i := v1alpha1.ChainInstance{ObjectMeta: metav1.ObjectMeta{Namespace: s.Chain.Namespace, Name: name}}
		if err := r.writeInstance(ctx, s, &i, spec); err != nil {
			return err
		}
		s.Instances = append(s.Instances, i)
		r.event(s, &i, normal, "InstanceAdded", "Scale", "instance %s with program %s on %s: %s", name, spec.Program, words.Count(int(spec.Cores), "core"), cmp.Or(m.Why, "more instances are needed"))
	}
	return nil
}
