package servicechain_test

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// The API server takes no reports of an agent whose node has another time. The chain names the clock, be it that the first report is missing or that
// of a further program, until the clock is right.
func TestAWrongClockOfANodeIsTheCauseOfItsAgentsSilence(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: w.namespace + "-a"}}
	w.must(w.client.Create(t.Context(), lease))
	t.Cleanup(func() { w.must(w.client.Delete(context.Background(), lease)) })
	later := func(ahead time.Duration) {
		t.Helper()
		w.clock.SetTime(w.clock.Now().Add(11 * time.Second))
		lease.Spec.RenewTime = new(metav1.NewMicroTime(w.clock.Now().Add(ahead)))
		w.must(w.client.Update(t.Context(), lease))
		w.settle()
	}
	w.apply(edge(443))
	w.settle()
	w.startPods()
	w.settle()
	w.says(v1alpha1.ConditionReady, no, v1alpha1.ReasonNotReported, "edge-0") // it may just not have begun
	later(-2 * time.Hour)
	cause := "edge-0: the agent does not report, and the clock of node " + lease.Name + " differs from the operator's (2h0m0s behind); set it, and keep it right: timedatectl set-ntp true"
	w.says(v1alpha1.ConditionProgrammed, no, v1alpha1.ReasonClockSkew, cause)
	w.says(v1alpha1.ConditionReady, no, v1alpha1.ReasonClockSkew, cause)
	later(0)
	w.says(v1alpha1.ConditionReady, no, v1alpha1.ReasonNotReported, "edge-0")
	w.run()
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")

	w.apply(edge(8443))
	w.settle()
	later(time.Hour)
	w.says(v1alpha1.ConditionReady, no, v1alpha1.ReasonClockSkew, "(1h0m0s ahead)")
}

// A report is as old as the API server says. By the word of a node whose clock is an hour behind, nothing would be known of the new program.
func TestDropsOfAProgramAreSeenThoughTheClockOfItsNodeIsWrong(t *testing.T) {
	const observed = "  rollout: {observeSeconds: 300, deadlineSeconds: 300}\n"
	w := newWorld(t)
	w.node("a")
	w.start(nil)
	until := func(what string, loss int64, done func() bool) { // the agent reports again and again
		t.Helper()
		w.eventually(what, func() bool {
			w.report("edge-0", func(i *v1alpha1.ChainInstance) {
				i.Status.LossRate, i.Status.LastReportTime = loss, metav1.NewTime(time.Now().Add(-time.Hour))
			})
			return done()
		})
	}
	w.apply(edge(443, observed))
	w.eventually("given a pod", func() bool {
		return w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "edge-0"}, &corev1.Pod{}) == nil
	})
	w.startPods()
	until("ready", 0, func() bool { return w.has("edge", v1alpha1.ConditionReady, yes) })
	first := w.instance("edge-0").Spec.Program
	w.apply(edge(8443, observed))
	w.eventually("told the next program", func() bool { return w.instance("edge-0").Spec.Program != first })
	until("taken back", 500_000, func() bool { return w.instance("edge-0").Spec.Program == first })
	w.says(v1alpha1.ConditionProgrammed, no, v1alpha1.ReasonRolledBack, "lost 50.0 % of its packets")
}
