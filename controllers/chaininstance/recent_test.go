package chaininstance

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestRoomIsPromisedUntilTheCacheShowsThePod(t *testing.T) {
	made := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "nfv", Name: "edge-0", UID: "first", CreationTimestamp: metav1.NewTime(made)}}
	successor := pod.DeepCopy()
	successor.UID = "second"
	for name, test := range map[string]struct {
		shown    *corev1.Pod   // to a reconcile of its instance
		cached   client.Object // now
		after    time.Duration
		promised int
	}{
		"the cache is behind":                        {promised: 1, after: time.Second},
		"the cache shows it":                         {cached: pod, after: time.Second},
		"it was shown, and is gone again":            {shown: pod, after: time.Second},
		"only its predecessor was shown":             {shown: successor, after: time.Second, promised: 1},
		"it has never been shown, for too long":      {after: forgetAfter + time.Second},
		"the cache still shows another of this name": {cached: successor, after: time.Second, promised: 1},
	} {
		t.Run(name, func(t *testing.T) {
			cache := fake.NewClientBuilder()
			if test.cached != nil {
				cache.WithObjects(test.cached.DeepCopyObject().(client.Object))
			}
			var r recent
			r.add(pod)
			if test.shown != nil {
				r.shown(test.shown)
			}
			left, err := r.unseen(t.Context(), cache.Build(), made.Add(test.after))
			if err != nil {
				t.Fatal(err)
			}
			if len(left) != test.promised {
				t.Errorf("room is promised to %d pods, wanted %d", len(left), test.promised)
			}
		})
	}
}
