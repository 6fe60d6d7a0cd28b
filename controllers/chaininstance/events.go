package chaininstance

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// startsWithin is how long a pod with a node may take until somebody is asked why it does not start.
	startsWithin = 10 * time.Second
	// maxEvents is how many of a pod's events are looked at; a kubelet that tries again counts an event up instead of writing another.
	maxEvents = 100
)

// lastEvent tells why a pod does not start for which no container has a reason: volumes, networks and the sandbox come before containers, and the cluster
// tells of them in events alone. Nothing tells the reconciler of an event, so it looks again while the pod does not start.
func (r *Reconciler) lastEvent(ctx context.Context, s *scope) (string, error) {
	c := podCondition(s.pod, corev1.PodScheduled)
	if c == nil || c.Status != corev1.ConditionTrue {
		return "", nil
	}
	s.requeue = left(c.LastTransitionTime.Add(startsWithin), s.now)
	if s.requeue > 0 {
		return "", nil
	}
	s.requeue = startsWithin
	var events corev1.EventList
	if err := r.Live.List(ctx, &events, client.InNamespace(s.pod.Namespace), client.Limit(maxEvents), client.MatchingFields{
		"involvedObject.uid": string(s.pod.UID), "type": corev1.EventTypeWarning,
	}); err != nil {
		return "", fmt.Errorf("list Events of Pod %s: %w", s.pod.Name, err)
	}
	if e := latest(events.Items, c.LastTransitionTime.Time); e != nil {
		return e.Reason + ": " + e.Message, nil
	}
	return "", nil
}

// latest is the event that was told last, of those since the pod has its node; nil: there is none.
func latest(events []corev1.Event, since time.Time) (last *corev1.Event) {
	for i := range events {
		if e := &events[i]; !toldAt(e).Before(since) && (last == nil || toldAt(e).After(toldAt(last))) {
			last = e
		}
	}
	return last
}

// toldAt is when an event was told last, by either of the two ways to write one.
func toldAt(e *corev1.Event) time.Time {
	told := e.LastTimestamp.Time
	if told.Before(e.EventTime.Time) {
		told = e.EventTime.Time
	}
	if e.Series != nil && told.Before(e.Series.LastObservedTime.Time) {
		told = e.Series.LastObservedTime.Time
	}
	return told.Truncate(time.Second) // as precise as the time of a condition
}
