package chaininstance

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/cause"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// lookAgainAfter is when a node is looked at again whose agent is silent. Nothing tells the reconciler that a node is lost.
const lookAgainAfter = 10 * time.Second

// judgeEngine finds out whether the engine of a pod that is not ready forwards packets: it last ran its program, and the kubelet, which asks the
// engine itself, says that its container is ready. A kubelet that is silent says nothing.
func (r *Reconciler) judgeEngine(ctx context.Context, s *scope) error {
	programmed := meta.IsStatusConditionTrue(s.instance.Status.Conditions, v1alpha1.ConditionProgrammed) && s.instance.Status.AppliedHash != ""
	if s.placed.status != metav1.ConditionTrue || podIsReady(s.pod) || !programmed || !cause.IsReady(s.pod, containerEngine) {
		return nil
	}
	node := &corev1.Node{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: s.pod.Spec.NodeName}, node); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("get Node %s: %w", s.pod.Spec.NodeName, err)
	}
	if s.forwards = nodeReady(node); s.forwards {
		s.requeue = lookAgainAfter
	}
	return nil
}
