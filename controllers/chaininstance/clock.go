package chaininstance

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/clocks"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Which node has a wrong clock is told in its lease.
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get

// judgeClock compares the clock of the node with the operator's, should the agent not report: with a wrong clock an agent takes the API
// server's certificate for one that is not valid yet, or keeps a token for too long. Nothing tells the reconciler of a lease, so it looks
// again while the agent is silent.
func (r *Reconciler) judgeClock(ctx context.Context, s *scope) error {
	if s.readyOf().reason != v1alpha1.ReasonNotReported {
		return nil
	}
	since := s.now
	if c := meta.FindStatusCondition(s.instance.Status.Conditions, v1alpha1.ConditionReady); c != nil && (c.Reason == v1alpha1.ReasonNotReported || c.Reason == v1alpha1.ReasonClockSkew) {
		since = c.LastTransitionTime.Time
	}
	s.requeue = left(since.Add(startsWithin), s.now)
	if s.requeue > 0 {
		return nil
	}
	s.requeue = startsWithin
	var lease coordinationv1.Lease
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceNodeLease, Name: s.pod.Spec.NodeName}, &lease)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err): // what an agent's silence comes from stays unknown
		return nil
	case err != nil:
		return fmt.Errorf("get Lease of node %s: %w", s.pod.Spec.NodeName, err)
	}
	s.clock = clocks.Node(&lease, s.now)
	return nil
}
