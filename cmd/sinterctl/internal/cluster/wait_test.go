package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// outcome is how a wait ended.
type outcome struct {
	said []string
	took time.Duration
	err  error
}

// waited waits for ten seconds at most for a chain. Each second, on the half, a change is applied.
func waited(t *testing.T, w *world, name string, changes ...func()) (o outcome) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	start := time.Now()
	go func() {
		for i, change := range changes {
			time.Sleep(time.Until(start.Add(time.Duration(i)*time.Second + time.Second/2)))
			change()
		}
	}()
	o.err = w.Wait(ctx, ticker.C, name, func(line string) { o.said = append(o.said, line) })
	o.took = time.Since(start)
	return o
}

// sets gives the chain a spec and a status that the operator has written for older ones, and another condition Ready.
func (w *world) sets(t *testing.T, generation, observed int64, ready ...metav1.Condition) {
	t.Helper()
	w.chain.Generation, w.chain.Status.ObservedGeneration, w.chain.Status.Conditions = generation, observed, ready
	if err := w.Client.Update(t.Context(), w.chain); err != nil {
		t.Error(err)
	}
}

func isReady(status metav1.ConditionStatus, generation int64, reason, message string) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionReady, Status: status, ObservedGeneration: generation, Reason: reason, Message: message}
}

func TestWaitEndsOnceTheChainIsReadyForItsNewestSpec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.sets(t, 5, 4, isReady(metav1.ConditionTrue, 4, "Forwarding", "all instances forward"))
		o := waited(t, w, "office",
			func() { w.sets(t, 5, 5) },
			func() { w.sets(t, 5, 5, isReady(metav1.ConditionFalse, 5, "WaitingForPods", "office-0:\nno image")) },
			func() { w.sets(t, 5, 5, isReady(metav1.ConditionFalse, 5, "WaitingForPods", "office-0:\nno image")) },
			func() {
				w.sets(t, 5, 5, isReady(metav1.ConditionUnknown, 5, "NotReported", "office-0 has not reported"))
			},
			func() { w.sets(t, 6, 6, isReady(metav1.ConditionTrue, 5, "Forwarding", "all instances forward")) },
			func() { w.sets(t, 6, 6, isReady(metav1.ConditionTrue, 6, "Forwarding", "all instances forward")) },
		)
		want := []string{
			"waiting for chain lab/office: the operator has not looked at the newest spec yet (generation 5, seen 4)",
			"waiting for chain lab/office: it has no condition Ready yet",
			"waiting for chain lab/office: Ready is False: WaitingForPods: office-0: no image",
			"waiting for chain lab/office: Ready is Unknown: NotReported: office-0 has not reported",
			"waiting for chain lab/office: the operator has not looked at the newest spec yet (generation 6, seen 5)",
		}
		if o.err != nil || o.took != 6*time.Second || !slices.Equal(o.said, want) {
			t.Errorf("it took %s, error %v, and said\n%s", o.took, o.err, strings.Join(o.said, "\n"))
		}
	})
}

func TestWaitForAReadyChainSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{"office", ""} {
			if o := waited(t, newWorld(t), name); o.err != nil || o.took != 0 || len(o.said) > 0 {
				t.Errorf("%q: it took %s, error %v, and said %q", name, o.took, o.err, o.said)
			}
		}
	})
}

func TestWaitTimesOutWithChainReasonAndMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := &v1alpha1.ServiceChain{}
		other.Namespace, other.Name, other.Generation = "lab", "z", 1
		w := newWorld(t, other)
		w.sets(t, 4, 4, isReady(metav1.ConditionFalse, 4, "Unschedulable", "0/3 nodes are available"))
		for name, want := range map[string]string{
			"office": "timed out: chain lab/office is not ready: Ready is False: Unschedulable: 0/3 nodes are available",
			"": "timed out: chain lab/z is not ready: the operator has not looked at the newest spec yet (generation 1, seen 0)\n" +
				"timed out: chain lab/office is not ready: Ready is False: Unschedulable: 0/3 nodes are available",
		} {
			if o := waited(t, w, name); o.err == nil || o.err.Error() != want || o.took != 10*time.Second || len(o.said) != strings.Count(want, "\n")+1 {
				t.Errorf("%q: after %s the error is\n%v\nwant\n%s\nand it said %q", name, o.took, o.err, want, o.said)
			}
		}
	})
}

func TestWaitForAChainThatThereIsNotFailsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		o := waited(t, w, "ofice")
		if o.err == nil || !strings.Contains(o.err.Error(), `there is no chain "ofice" in namespace lab; did you mean "office"?`) || o.took != 0 {
			t.Errorf("after %s the error is %v", o.took, o.err)
		}
		w.sets(t, 5, 4)
		o = waited(t, w, "office", func() {
			if err := w.Client.Delete(t.Context(), w.chain); err != nil {
				t.Error(err)
			}
		})
		if o.err == nil || !strings.Contains(o.err.Error(), `there is no chain "office" in namespace lab`) || o.took != time.Second {
			t.Errorf("of a chain that was deleted, after %s the error is %v", o.took, o.err)
		}
		o = waited(t, w, "")
		if o.err == nil || o.err.Error() != "there are no chains in namespace lab" || o.took != 0 {
			t.Errorf("without chains, after %s the error is %v", o.took, o.err)
		}
	})
}

func TestWaitGoesOnWhenTheServerDoesNotReplyAfterTheFirstTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.sets(t, 5, 4)
		var down atomic.Bool
		w.Client = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if down.Load() {
					return errors.New("connection refused")
				}
				return c.Get(ctx, key, o, opts...)
			},
		})
		o := waited(t, w, "office",
			func() { down.Store(true) },
			func() { down.Store(false); w.sets(t, 5, 5, isReady(metav1.ConditionTrue, 0, "Forwarding", "")) },
		)
		if o.err != nil || len(o.said) != 2 || o.said[1] != "waiting for the API server: get ServiceChain lab/office: connection refused" {
			t.Errorf("after %s the error is %v, and it said %q", o.took, o.err, o.said)
		}
		down.Store(true)
		if o = waited(t, w, "office"); o.err == nil || !strings.Contains(o.err.Error(), "connection refused") || o.took != 0 {
			t.Errorf("of a server that is down from the first, after %s the error is %v", o.took, o.err)
		}
	})
}

func TestAnInterruptedWaitNamesTheChain(t *testing.T) {
	w := newWorld(t)
	w.sets(t, 5, 5, isReady(metav1.ConditionFalse, 5, "RollingOut", "1 of 2"))
	ctx, cancel := context.WithCancel(t.Context())
	err := w.Wait(ctx, nil, "office", func(string) { cancel() })
	if err == nil || err.Error() != "interrupted: chain lab/office is not ready: Ready is False: RollingOut: 1 of 2" {
		t.Errorf("the error is %v", err)
	}
}
