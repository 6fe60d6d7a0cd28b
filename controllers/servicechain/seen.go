package servicechain

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// settled tells whether shards may be handed over for the sake of load: neither are others on their way, nor is
// a program being brought to instances, for shards go between engines that run the same.
func (s *scope) settled(m *sharing) bool {
	moves := s.moves()
	if !moves {
		m.moving = time.Time{}
	} else if m.moving.IsZero() {
		m.moving = s.now
	}
	return !moves && s.status.Rollout == nil && len(others(s.instances, s.target.Name)) == 0
}

// moves tells whether a running instance still has shards that are to be another's.
func (s *scope) moves() bool {
	for k := range s.instances {
		i := &s.instances[k]
		if !i.Spec.Shared || !alive(s.pods[i.Name], i) {
			continue // what it said that it had is lost
		}
		own, err := shardsOf(i.Spec.Groups)
		if err != nil {
			continue
		}
		has, err := shard.Parse(i.Status.Shards)
		if err == nil && has.Without(own).Len() > 0 {
			return true
		}
	}
	return false
}

// handingOver tells whether a rollout is to wait, as shards are being handed over.
func (r *Reconciler) handingOver(s *scope) bool {
	if !s.chain.Spec.Scaling.Shared() || !s.moves() {
		return false
	}
	m := r.scalers.sharing(client.ObjectKeyFromObject(s.chain))
	if m.moving.IsZero() {
		m.moving = s.now
	}
	left := m.moving.Add(holdRollout).Sub(s.now)
	if left > 0 {
		s.soon(left)
	}
	return left > 0
}

// see is what is to be decided. Packets count once, when they are reported.
func (m *sharing) see(s *scope) (scaling.Input, error) {
	in := scaling.Input{Now: s.now, Bounds: scaling.BoundsOf(&s.chain.Spec.Scaling)}
	for n := range shard.Count {
		in.Shards = append(in.Shards, shard.ID{Group: shard.GroupAll, Number: n})
	}
	cores := map[types.UID][]v1alpha1.CoreStatus{}
	for k := range s.instances {
		i := &s.instances[k]
		report, err := scaling.ReportOf(i)
		if err != nil {
			return in, fmt.Errorf("ChainInstance %s: %w", i.Name, err)
		}
		report.Cores, cores[i.UID] = scaling.CoresSince(m.cores[i.UID], i.Status.Cores), i.Status.Cores
		if !i.Spec.Shared {
			report.Shards = nil // its state is its own, and ends with its pod
		}
		for k := range report.Shards {
			l := &report.Shards[k]
			if c, ok := m.carried[l.ID]; ok && s.now.Before(c.until) {
				l.Work = max(l.Work, c.work)
			}
		}
		ready, left := bears(i, s.pods[i.Name], s.now)
		if left > 0 {
			s.soon(left)
		}
		if len(i.Spec.Groups) == 0 && len(i.Status.Interfaces) == 0 {
			ready = false // peers could not pass on packets for its shards
		}
		in.Pods = append(in.Pods, scaling.Pod{Name: i.Name, Node: i.Status.Node, Ready: ready, Cores: i.WorkingCores(), Report: report})
	}
	m.cores = cores
	return in, nil
}

// carry has shards weigh as much with their new owner as they did before, until it reports.
func (m *sharing) carry(in scaling.Input, handed []scaling.Handover) {
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
	for _, h := range handed {
		m.carried[h.Shard] = carried{works[h.Shard], in.Now.Add(carry)}
	}
}

// alive tells whether an instance's pod may have an engine.
func alive(pod *corev1.Pod, i *v1alpha1.ChainInstance) bool {
	return pod != nil && metav1.IsControlledBy(pod, i) && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

// bears tells whether an instance takes packets, or will before it is worth to have others take its shards; and
// after what time that is to be asked again.
func bears(i *v1alpha1.ChainInstance, pod *corev1.Pod, now time.Time) (bool, time.Duration) {
	c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionReady)
	stays := alive(pod, i) && pod.DeletionTimestamp.IsZero()
	var left time.Duration
	switch {
	case !i.Spec.Shared:
		return false, 0
	case stays && c != nil && c.Status == isTrue:
		return true, 0
	case len(i.Spec.Groups) == 0:
		return false, 0
	case i.Status.LastReportTime.IsZero():
		left = i.CreationTimestamp.Add(startTime).Sub(now)
	case stays && c != nil && c.Reason == v1alpha1.ReasonNotReported && !meta.IsStatusConditionFalse(i.Status.Conditions, v1alpha1.ConditionProgrammed):
		return true, 0 // a program is brought to it, with a deadline of its own; the one before goes on
	case stays && c != nil:
		left = c.LastTransitionTime.Add(patience).Sub(now)
	}
	return left > 0, max(left, 0)
}
