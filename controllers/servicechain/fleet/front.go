package fleet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/cause"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Front is the instance that answers ARP for the chain's addresses: of those that share its state exactly one, the first that
// takes packets. It stays while it can, as hosts have to be told of another one. Empty: none shares state.
func (f *Fleet) Front() (name string) {
	best := 0
	for k := range f.Instances {
		i := &f.Instances[k]
		if !i.Spec.Shared {
			continue
		}
		rank := 1
		if i.Spec.Front {
			rank++ // none takes packets: then it may as well be who it was
		}
		if takes(i, f.Pods[i.Name]) && !f.Drains[i.Name] {
			rank += 2
		}
		if rank > best {
			name, best = i.Name, rank
		}
	}
	return name
}

// takes tells whether an instance's pod takes packets, be it with the program before the one that it is brought to.
func takes(i *v1alpha1.ChainInstance, pod *corev1.Pod) bool {
	return alive(pod, i) && pod.DeletionTimestamp.IsZero() && (isReady(pod) || forwards(i, pod)) && i.Status.AppliedHash != ""
}

// forwards tells whether the engine of a pod that is not ready goes on, and would answer ARP beside another front. The instance's condition may be from before.
func forwards(i *v1alpha1.ChainInstance, pod *corev1.Pod) bool {
	c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionReady)
	return c != nil && (c.Status == metav1.ConditionTrue || c.Reason == v1alpha1.ReasonAgentNotReady) && cause.IsReady(pod, v1alpha1.ContainerEngine)
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// WhyNotFront is why an instance is the front no longer; empty: there was none.
func (f *Fleet) WhyNotFront(name string) string {
	switch pod := f.Pods[name]; {
	case name == "":
		return "none did"
	case f.Drains[name]:
		return fmt.Sprintf("instance %s is being removed", name)
	case pod == nil:
		return fmt.Sprintf("the pod of instance %s is gone", name)
	case !pod.DeletionTimestamp.IsZero():
		return fmt.Sprintf("the pod of instance %s terminates", name)
	}
	return fmt.Sprintf("instance %s accepts no packets", name)
}
