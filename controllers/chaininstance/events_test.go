package chaininstance

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheLatestEventSinceThePodHasItsNodeIsTold(t *testing.T) {
	since := time.Date(2026, 11, 27, 15, 0, 0, 0, time.UTC)
	at := func(seconds float64) metav1.Time {
		return metav1.NewTime(since.Add(time.Duration(seconds * float64(time.Second))))
	}
	events := []corev1.Event{
		{Reason: "FailedScheduling", LastTimestamp: at(-3)},
		{Reason: "FailedMount", LastTimestamp: at(2)},
		{Reason: "FailedCreatePodSandBox", EventTime: metav1.NewMicroTime(at(1).Time), Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(at(9.5).Time)}},
		{Reason: "NoNetworkFound", EventTime: metav1.NewMicroTime(at(8).Time)},
	}
	if got := latest(events, since); got == nil || got.Reason != "FailedCreatePodSandBox" {
		t.Errorf("got %v, want FailedCreatePodSandBox", got)
	}
	if got := latest(events[:1], since); got != nil {
		t.Errorf("got %v, want none: it is about another time", got)
	}
	if got := latest([]corev1.Event{{Reason: "FailedMount", LastTimestamp: metav1.NewTime(since), EventTime: metav1.NewMicroTime(since.Add(time.Millisecond))}}, since); got == nil {
		t.Error("an event of the same second counts as one of before")
	}
}
