// Package fleet tells of a chain's instances and their pods who takes packets, who is the front, and who has or may get shards.
package fleet

import (
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// Fleet is a chain's instances and their pods.
type Fleet struct {
	Instances []v1alpha1.ChainInstance // by index
	Pods      map[string]*corev1.Pod   // of instances that share the chain's state, by name
	Drains    map[string]bool          // instances that are to go, by name
}

const (
	// patience is how long an instance may be not ready before its shards go to others.
	patience = 10 * time.Second
	// startTime is the same for one that never was.
	startTime = 2 * time.Minute
)

// Moves tells whether a running instance still has shards that are to be another's.
func (f *Fleet) Moves() bool {
	for k := range f.Instances {
		i := &f.Instances[k]
		if !i.Spec.Shared || !alive(f.Pods[i.Name], i) {
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

// Missing are the lowest names that are free, as many as lack.
func (f *Fleet) Missing(chain string, wanted int) (names []string) {
	taken := map[string]bool{}
	for k := range f.Instances {
		taken[f.Instances[k].Name] = true
	}
	for k := 0; len(f.Instances)+len(names) < wanted; k++ {
		if name := desired.InstanceName(chain, k); !taken[name] {
			names = append(names, name)
		}
	}
	return names
}

// Peers are an instance's peers: all others.
func (f *Fleet) Peers(of *v1alpha1.ChainInstance, groups map[string][]v1alpha1.InstanceGroup) []v1alpha1.InstancePeer {
	var list []v1alpha1.InstancePeer
	for k := range f.Instances {
		i := &f.Instances[k]
		if i.Name == of.Name || !i.Spec.Shared {
			continue
		}
		p := v1alpha1.InstancePeer{Name: i.Name, Interfaces: i.Status.Interfaces}
		if pod := f.Pods[i.Name]; alive(pod, i) && pod.Status.PodIP != "" {
			p.Address = net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(v1alpha1.PeersPort))
		}
		for _, g := range groups[i.Name] {
			p.Shards = append(p.Shards, g.Shards...)
		}
		list = append(list, p)
	}
	return list
}

// WhyFrom is why shards leave an instance.
func (f *Fleet) WhyFrom(name string, now time.Time) string {
	for k := range f.Instances {
		i := &f.Instances[k]
		if i.Name != name {
			continue
		}
		switch ok, _ := Bears(i, f.Pods[name], now); {
		case !ok && !alive(f.Pods[name], i):
			return "its pod is gone, the sessions are lost"
		case !ok:
			return "it accepts no packets"
		case f.Drains[name]:
			return "it is being removed"
		}
		return "the load is balanced"
	}
	return "no instance has them"
}

// Empty tells whether an instance has no shards, and none on their way to it.
func Empty(i *v1alpha1.ChainInstance, pod *corev1.Pod) bool {
	if len(i.Spec.Groups) > 0 {
		return false
	}
	return !i.Spec.Shared || !alive(pod, i) || i.Status.LastReportTime.IsZero() ||
		i.Status.ObservedGeneration >= i.Generation && len(i.Status.Shards) == 0
}

// alive tells whether an instance's pod may have an engine.
func alive(pod *corev1.Pod, i *v1alpha1.ChainInstance) bool {
	return pod != nil && metav1.IsControlledBy(pod, i) && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

// Bears tells whether an instance takes packets, or will before it is worth to have others take its shards; and
// after what time that is to be asked again.
func Bears(i *v1alpha1.ChainInstance, pod *corev1.Pod, now time.Time) (bool, time.Duration) {
	c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionReady)
	stays := alive(pod, i) && pod.DeletionTimestamp.IsZero()
	var left time.Duration
	switch {
	case !i.Spec.Shared:
		return false, 0
	case stays && c != nil && c.Status == metav1.ConditionTrue:
		return true, 0
	case len(i.Spec.Groups) == 0:
		return false, 0
	case i.Status.LastReportTime.IsZero():
		left = i.CreationTimestamp.Add(startTime).Sub(now)
	case stays && c != nil && c.Reason == v1alpha1.ReasonAgentNotReady:
		return true, 0 // its sessions would be lost for nothing
	case stays && c != nil && awaits(c) && !meta.IsStatusConditionFalse(i.Status.Conditions, v1alpha1.ConditionProgrammed):
		return true, 0 // a program is brought to it, with a deadline of its own; the one before goes on
	case stays && c != nil:
		left = c.LastTransitionTime.Add(patience).Sub(now)
	}
	return left > 0, max(left, 0)
}

// awaits tells whether all that is known of an instance that is not ready is that it has not reported the program that it is to run.
func awaits(ready *metav1.Condition) bool {
	return ready.Reason == v1alpha1.ReasonNotReported || ready.Reason == v1alpha1.ReasonClockSkew
}

// shardsOf are the shards of groups.
func shardsOf(groups []v1alpha1.InstanceGroup) (shard.Set, error) {
	var all shard.Set
	for _, g := range groups {
		set, err := scaling.Shards(g.Name, g.Shards)
		if err != nil {
			return shard.Set{}, err
		}
		all = all.Or(set)
	}
	return all, nil
}
