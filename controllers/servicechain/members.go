package servicechain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// tellShares tells what changed hands.
func (r *Reconciler) tellShares(s *scope, m *sharing) {
	type pair struct{ from, to string }
	byPair := map[pair]shard.Set{}
	for _, h := range m.handed {
		p := pair{h.From, h.To}
		set := byPair[p]
		set.Add(h.Shard.Number)
		byPair[p] = set
	}
	var says []string
	for p, set := range byPair {
		from := "from " + p.from
		if p.from == "" {
			from = "that nobody had"
		}
		says = append(says, fmt.Sprintf("shards %s %s go to instance %s: %s", strings.Join(shard.Text[string](set), ","), from, p.to, s.whyFrom(p.from)))
	}
	slices.Sort(says)
	for _, text := range says {
		r.event(s, nil, normal, "ShardsHandedOver", "Scale", "%s", text)
	}
	m.handed = nil
}

// whyFrom is why shards leave an instance.
func (s *scope) whyFrom(name string) string {
	for k := range s.instances {
		i := &s.instances[k]
		if i.Name != name {
			continue
		}
		switch ok, _ := bears(i, s.pods[name], s.now); {
		case !ok && !alive(s.pods[name], i):
			return "its pod is gone, and their sessions with it"
		case !ok:
			return "it does not take packets"
		case s.drains[name]:
			return "it is to go"
		}
		return "the load is divided"
	}
	return "they are to be somewhere"
}

// removeEmpty deletes the instances that are to go and have nothing more.
func (r *Reconciler) removeEmpty(ctx context.Context, s *scope, m *sharing, plans []scaling.PodPlan) error {
	for _, n := range m.untold {
		if n.Pod == "" {
			m.why = n.Message // the last time that their number changed
		}
	}
	kept := s.instances[:0:0]
	for k := range s.instances {
		i := &s.instances[k]
		if !plans[k].Drain || !empty(i, s.pods[i.Name]) {
			kept = append(kept, *i)
			continue
		}
		if err := r.delete(ctx, i); err != nil {
			return err
		}
		r.event(s, i, normal, "InstanceRemoved", "Scale", "instance %s has no shards any more and goes: %s", i.Name, cmp.Or(m.why, "so many are not needed"))
	}
	s.instances = kept
	return nil
}

// empty tells whether an instance has no shards, and none on their way to it.
func empty(i *v1alpha1.ChainInstance, pod *corev1.Pod) bool {
	if len(i.Spec.Groups) > 0 {
		return false
	}
	return !i.Spec.Shared || !alive(pod, i) || i.Status.LastReportTime.IsZero() ||
		i.Status.ObservedGeneration >= i.Generation && len(i.Status.Shards) == 0
}

// addInstances makes those that are missing. They have no shards until they are ready.
func (r *Reconciler) addInstances(ctx context.Context, s *scope, m *sharing, wanted int) error {
	if len(s.instances) >= wanted || s.bindings == nil {
		return nil
	}
	for _, name := range s.missing(wanted) {
		spec := specOf(s.chain, s.target, s.bindings, 0)
		i := v1alpha1.ChainInstance{ObjectMeta: metav1.ObjectMeta{Namespace: s.chain.Namespace, Name: name}}
		if err := r.writeInstance(ctx, s, &i, spec); err != nil {
			return err
		}
		s.instances = append(s.instances, i)
		r.event(s, &i, normal, "InstanceAdded", "Scale", "instance %s with program %s on %s: %s", name, spec.Program, count(int(spec.Cores), "core"), cmp.Or(m.why, "so many are wanted"))
	}
	return nil
}

// missing are the lowest names that are free, as many as lack.
func (s *scope) missing(wanted int) (names []string) {
	taken := map[string]bool{}
	for k := range s.instances {
		taken[s.instances[k].Name] = true
	}
	for k := 0; len(s.instances)+len(names) < wanted; k++ {
		if name := instanceName(s.chain.Name, k); !taken[name] {
			names = append(names, name)
		}
	}
	return names
}
