package chaininstance

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/apply"
	configuration "github.com/sinter-nfv/sinter/api/applyconfiguration/api/v1alpha1"
	"github.com/sinter-nfv/sinter/api/cause"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/words"
)

// verdict is a condition's status and reason.
type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
}

func no(reason, format string, args ...any) verdict {
	return verdict{metav1.ConditionFalse, reason, fmt.Sprintf(format, args...)}
}

// judge says how the pod fares.
func (r *Reconciler) judge(ctx context.Context, s *scope) error {
	if s.placed.reason != "" {
		return nil
	}
	s.placed = placedOf(s.pod, s.instance)
	if s.placed != starting {
		return nil
	}
	why, err := r.lastEvent(ctx, s)
	if why != "" {
		s.placed.message += "; its last event is " + why
	}
	return err
}

var starting = no(v1alpha1.ReasonWaitingForPods, "the pod is starting")

// failing says why a container of the pod that the chain needs does not do its work; empty: all do. Each is nothing without those before it. Functions
// that someone else made are not among them: what becomes of packets while one is down, the chain says.
func failing(pod *corev1.Pod) string {
	return cause.Of(pod, v1alpha1.ContainerWires, containerEngine, containerAgent)
}

func placedOf(pod *corev1.Pod, i *v1alpha1.ChainInstance) verdict {
	switch {
	case pod == nil:
		return no(v1alpha1.ReasonWaitingForPods, "the pod is being created")
	case !metav1.IsControlledBy(pod, i):
		return no(v1alpha1.ReasonWaitingForPods, "another owner has a pod of this name; delete that pod first")
	case !pod.DeletionTimestamp.IsZero():
		return no(v1alpha1.ReasonWaitingForPods, "the previous pod is terminating; if its node is lost, delete the node, or force-delete the pod")
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		return no(v1alpha1.ReasonAdmissionFailed, "%s; the pod is replaced", refusal(pod))
	}
	if c := podCondition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return no(v1alpha1.ReasonUnschedulable, "%s", c.Message)
	}
	// A pod is not Running before each of its containers was once, also those of functions.
	if pod.Status.Phase != corev1.PodRunning && !cause.IsReady(pod, containerEngine) {
		if why := failing(pod); why != "" {
			return no(v1alpha1.ReasonContainerFailed, "%s", why)
		}
		return starting
	}
	return verdict{metav1.ConditionTrue, v1alpha1.ReasonPlaced, "on node " + pod.Spec.NodeName}
}

func podCondition(pod *corev1.Pod, name corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == name {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// readyOf: placed, programmed as wanted now, and the pod passes its probes. A report of before
// counts if it is about the wanted program: what else changes needs another pod, or is no
// more than which cores work. Why a container failed comes before what its silence leads to.
func (s *scope) readyOf() verdict {
	if s.placed.status != metav1.ConditionTrue {
		return s.placed
	}
	c := meta.FindStatusCondition(s.instance.Status.Conditions, v1alpha1.ConditionProgrammed)
	if why := failing(s.pod); why != "" && (c == nil || c.Reason != v1alpha1.ReasonLoadFailed) {
		if s.forwards {
			return s.withoutAgent(why)
		}
		return no(v1alpha1.ReasonContainerFailed, "%s", why)
	}
	switch {
	case c == nil || c.ObservedGeneration < s.instance.Generation && s.instance.Status.Program != s.instance.Spec.Program:
		if s.clock != "" {
			return no(v1alpha1.ReasonClockSkew, "the agent does not report, and the clock of node %s differs from the operator's (%s); set it, and keep it right: timedatectl set-ntp true",
				s.pod.Spec.NodeName, s.clock)
		}
		return no(v1alpha1.ReasonNotReported, "the agent has not reported yet")
	case c.Status != metav1.ConditionTrue:
		return no(c.Reason, "%s", c.Message)
	}
	if !podIsReady(s.pod) {
		message := "the pod is not ready"
		if ready := podCondition(s.pod, corev1.PodReady); ready != nil && ready.Message != "" {
			message = ready.Message
		}
		if s.forwards {
			return s.withoutAgent(message)
		}
		return no(v1alpha1.ReasonPodNotReady, "%s", message)
	}
	return verdict{metav1.ConditionTrue, v1alpha1.ReasonForwarding, "program " + s.instance.Spec.Program + " on node " + s.pod.Spec.NodeName}
}

// withoutAgent is the verdict on an engine that forwards while its agent does not answer.
func (s *scope) withoutAgent(why string) verdict {
	return no(v1alpha1.ReasonAgentNotReady, "%s; the engine forwards with program %s, and takes no changes", why, s.instance.Status.Program)
}

// containersNotReady is the kubelet's reason for a pod that is not ready by a container alone.
const containersNotReady = "ContainersNotReady"

// podIsReady tells whether engine and agent pass their probes. A function's container that does not run is no reason to give the instance up.
func podIsReady(pod *corev1.Pod) bool {
	c := podCondition(pod, corev1.PodReady)
	if c == nil || c.Status == corev1.ConditionTrue {
		return c != nil
	}
	return c.Reason == containersNotReady && cause.IsReady(pod, containerEngine) && cause.IsReady(pod, containerAgent)
}

// updateStatus writes the two conditions that are this controller's, if they have changed.
func (r *Reconciler) updateStatus(ctx context.Context, s *scope) error {
	if s.placed.reason == "" {
		return nil // it came to nothing; the error is told elsewhere
	}
	var next []metav1.Condition
	functions := functionsOf(s.pod, s.instance)
	changed := functions.reason == "" && meta.FindStatusCondition(s.instance.Status.Conditions, v1alpha1.ConditionFunctionsRunning) != nil
	for _, c := range []struct {
		name string
		verdict
	}{{v1alpha1.ConditionPlaced, s.placed}, {v1alpha1.ConditionFunctionsRunning, functions}, {v1alpha1.ConditionReady, s.readyOf()}} {
		if c.reason == "" {
			continue
		}
		before := meta.FindStatusCondition(s.instance.Status.Conditions, c.name)
		if before != nil {
			next = append(next, *before)
		}
		meta.SetStatusCondition(&next, metav1.Condition{
			Type: c.name, Status: c.status, Reason: c.reason, Message: words.Message(c.message),
			ObservedGeneration: s.instance.Generation, LastTransitionTime: metav1.NewTime(s.now),
		})
		after := meta.FindStatusCondition(next, c.name)
		changed = changed || before == nil || !equality.Semantic.DeepEqual(before, after)
		if c.name == v1alpha1.ConditionPlaced && (before == nil || before.Reason != c.reason) && c.reason != v1alpha1.ReasonWaitingForPods {
			kind := corev1.EventTypeWarning
			if c.status == metav1.ConditionTrue {
				kind = corev1.EventTypeNormal
			}
			r.event(s, kind, c.reason, "Place", "%s", c.message)
		}
	}
	if !changed {
		return nil
	}
	return apply.Status(ctx, r.Client, fieldManager, configuration.ChainInstance(s.instance.Name, s.instance.Namespace).WithUID(s.instance.UID).
		WithStatus(configuration.ChainInstanceStatus().WithConditions(apply.Conditions(next)...)))
}

func (r *Reconciler) event(s *scope, kind, reason, action, format string, args ...any) {
	words.Event(r.Recorder, s.instance, s.related(), kind, reason, action, format, args...)
}
