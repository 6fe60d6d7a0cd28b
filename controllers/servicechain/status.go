package servicechain

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/apply"
	configuration "github.com/sinter-nfv/sinter/api/applyconfiguration/api/v1alpha1"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/controllers/words"
)

const (
	normal  = corev1.EventTypeNormal
	warning = corev1.EventTypeWarning
)

// harmless are the reasons for which a condition is not true, and nothing is wrong.
var harmless = []string{v1alpha1.ReasonRollingOut, v1alpha1.ReasonWaitingForPods, v1alpha1.ReasonNotChecked}

// updateStatus says what was seen, if it is not what was said before. All conditions
// are always there. Each change of one is an event.
func (r *Reconciler) updateStatus(ctx context.Context, s *scope) error {
	if !s.read || s.unsettled() {
		return nil // nothing was seen; what was said before may still be true
	}
	s.Summarize()
	key := client.ObjectKeyFromObject(s.Chain)
	s.Status.LostSessions = r.losses.Total(key, s.Chain.Status.LostSessions, s.lost)
	if equality.Semantic.DeepEqual(&s.Chain.Status, s.Status) {
		r.said(key, s)
		return nil
	}
	fields, err := apply.From[configuration.ServiceChainStatusApplyConfiguration](s.Status)
	if err != nil {
		return err
	}
	o := configuration.ServiceChain(s.Chain.Name, s.Chain.Namespace).WithUID(s.Chain.UID).WithStatus(fields)
	if err := apply.Status(ctx, r.Client, fieldManager, o); err != nil {
		return err
	}
	next := s.Chain.DeepCopy()
	next.Status, next.ResourceVersion = *s.Status, *o.ResourceVersion
	r.written.Put(key, next)
	r.said(key, s)
	for _, c := range s.Status.Conditions {
		before := meta.FindStatusCondition(s.Chain.Status.Conditions, c.Type)
		if before != nil && before.Status == c.Status && before.Reason == c.Reason && (c.Type != v1alpha1.ConditionSynthesized || before.Message == c.Message) {
			continue
		}
		if before == nil && c.Status == metav1.ConditionUnknown {
			continue // nothing is known, as before
		}
		kind := warning
		if c.Status == metav1.ConditionTrue || slices.Contains(harmless, c.Reason) {
			kind = normal
		}
		r.event(s, nil, kind, c.Reason, c.Type, "%s is %s: %s", c.Type, c.Status, c.Message)
	}
	if n := s.Status.LostSessions - s.Chain.Status.LostSessions; n > 0 {
		r.event(s, nil, warning, "SessionsLost", "Report", "%d sessions were lost because an engine died or a pod was replaced", n)
	}
	return nil
}

// said remembers what the status says now.
func (r *Reconciler) said(key types.NamespacedName, s *scope) {
	r.losses.Said(key, s.lost)
	if s.judged {
		r.judged.Put(key, compile.Used(s.Chain, s.sources.Functions))
	}
}

// event tells a decision about the chain.
func (r *Reconciler) event(s *scope, related runtime.Object, kind, reason, action, format string, args ...any) {
	words.Event(r.Recorder, s.Chain, related, kind, reason, action, format, args...)
}
