package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// withReplicas has two containers share the flows between the firewall and the router of the sample.
const withReplicas = `[
{"op": "add", "path": "/spec/interfaces/-", "value": {"name": "a-inside", "wire": true}},
{"op": "add", "path": "/spec/interfaces/-", "value": {"name": "a-outside", "wire": true}},
{"op": "add", "path": "/spec/interfaces/-", "value": {"name": "b-inside", "wire": true}},
{"op": "add", "path": "/spec/interfaces/-", "value": {"name": "b-outside", "wire": true}},
{"op": "add", "path": "/spec/functions/-", "value": {"name": "ips", "blackbox": {"whenDown": "Closed",
  "replicas": [{"inside": "a-inside", "outside": "a-outside"}, {"inside": "b-inside", "outside": "b-outside"}],
  "image": "sinter.test/traffic:1", "args": ["bridge", "$(SINTER_INSIDE)", "$(SINTER_OUTSIDE)"], "resources": {"cpu": "150m", "memory": "64Mi"}}}},
{"op": "replace", "path": "/spec/path", "value": ["inside", "fw", "ips", "rt", "nat", "outside"]}]`

// replicas waits until the status has two, of which some are ready.
func (w *world) replicas(a, b bool) []v1alpha1.ReplicaStatus {
	w.Helper()
	var all []v1alpha1.ReplicaStatus
	w.eventually(fmt.Sprintf("the status has replicas that are ready: %t, %t", a, b), 30*time.Second, func() error {
		f := w.chain().Status.Functions
		if len(f) != 1 || !f[0].Ready || len(f[0].Replicas) != 2 || f[0].Replicas[0].Ready != a || f[0].Replicas[1].Ready != b {
			return fmt.Errorf("functions are %+v", f)
		}
		all = f[0].Replicas
		return nil
	})
	return all
}

// TestContainersShareTheFlowsOfAFunction has one of two hang, end, and drain.
func TestContainersShareTheFlowsOfAFunction(t *testing.T) {
	w := begin(t)
	w.edge()
	defer w.remove() // the tests to come want the sample's own interfaces
	w.change(withReplicas)
	w.eventually("the pod is replaced by one with both containers", time.Minute, func() error {
		p := w.pod()
		for _, name := range []string{"a-inside", "b-inside"} {
			if p == nil || p.DeletionTimestamp != nil || !slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == name }) {
				return fmt.Errorf("pod %s is not there yet", podName)
			}
		}
		return nil
	})
	w.waitReady(time.Minute)
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
	w.passes("and one of two containers")
	all := w.replicas(true, true)
	busy := "a-inside" // client and server are two hosts, so all their flows have one replica
	if all[1].Flows > all[0].Flows {
		busy = "b-inside"
	}
	hung := func(name string) (a, b bool) { return name != "a-inside", name != "b-inside" }

	load := w.send(20 * time.Second)
	w.kill(podName, busy, "SIGSTOP")
	w.answers(metav1.ConditionFalse, v1alpha1.ReasonReplicaDown)
	w.replicas(hung(busy))
	if err := w.condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonForwarding); err != nil {
		t.Error(err)
	}
	load.recovers("a replica hangs, and its flows go to the other one", 2*time.Second)
	w.passes("and the replica that is left")
	w.kill(podName, busy, "SIGKILL")
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)

	uid, at := w.pod().UID, map[string]int{"a-inside": 0, "b-inside": 1}
	load = w.send(20 * time.Second)
	w.change(fmt.Sprintf(`[{"op": "add", "path": "/spec/functions/3/blackbox/replicas/%d/draining", "value": true}]`, at[busy]))
	w.waitReady(time.Minute)
	before := w.replicas(true, true)[at[busy]].Flows
	load.lossless("a replica is said to be draining")
	w.passes("and a replica beside one that drains")
	if now := w.replicas(true, true)[at[busy]].Flows; now > before {
		t.Errorf("the draining replica has %d flows, and had %d: want no more", now, before)
	}
	if w.pod().UID != uid {
		t.Error("the pod was replaced to drain a replica, want it to go on")
	}
}
