package servicechain_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// mute has an agent be silent, as one without processor time is. The kubelet, which asks engine and agent, says so.
func (a *agents) mute(name string) {
	a.Helper()
	a.silent = name
	pod := a.pod(name)
	for k := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[k]; c.Type == corev1.PodReady {
			c.Status, c.Message = corev1.ConditionFalse, "containers with unready status: [agent]"
		}
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: v1alpha1.ContainerEngine, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		{Name: v1alpha1.ContainerAgent, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
	}
	a.must(a.client.Status().Update(a.Context(), pod))
}

// bears checks how many shards an instance is told to have.
func (a *agents) bears(name string, want int) {
	a.Helper()
	if got := len(a.shardsOf(a.instance(name).Spec.Groups)); got != want {
		a.Fatalf("%s is told to have %d shards, want %d; events:\n%v", name, got, want, a.events)
	}
}

func TestAnInstanceKeepsItsShardsWhileItsEngineForwardsWithoutItsAgent(t *testing.T) {
	a := sharing(t, edge(443, two))
	a.work = 8
	a.pass(10*time.Second, 2)
	a.holds(64, 64)
	a.faces("edge-0")
	a.mute("edge-0")
	a.pass(5*time.Second, 24)
	a.bears("edge-0", 64)
	a.faces("edge-0")
	a.says(v1alpha1.ConditionReady, no, v1alpha1.ReasonAgentNotReady,
		"edge-0: containers with unready status: [agent]; the engine forwards with program "+a.instance("edge-0").Status.Program+", and takes no changes")

	pod := a.pod("edge-0") // the kubelet starts the agent again and again
	pod.Status.ContainerStatuses[1].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	pod.Status.ContainerStatuses[1].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 2, Message: "no memory"}
	a.must(a.client.Status().Update(t.Context(), pod))
	a.pass(5*time.Second, 6)
	a.bears("edge-0", 64)
	a.says(v1alpha1.ConditionReady, no, v1alpha1.ReasonAgentNotReady, "container agent ended with exit code 2")

	node := &corev1.Node{} // the kubelet is silent, too: its word of the engine is from before
	a.must(a.client.Get(t.Context(), client.ObjectKey{Name: pod.Spec.NodeName}, node))
	node.Status.Conditions[0].Status = corev1.ConditionUnknown
	a.must(a.client.Status().Update(t.Context(), node))
	a.pass(5*time.Second, 3)
	a.bears("edge-0", 0)
	a.bears("edge-1", 128)
	a.faces("edge-1")
	a.told("Normal ShardsHandedOver: shards 0-63 from edge-0 move to instance edge-1: it accepts no packets")
}

func TestAnInstanceWhoseEngineIsDownLosesItsShards(t *testing.T) {
	a := sharing(t, edge(443, two))
	a.pass(10*time.Second, 2)
	a.mute("edge-0")
	pod := a.pod("edge-0")
	pod.Status.ContainerStatuses[0].Ready = false
	a.must(a.client.Status().Update(t.Context(), pod))
	a.pass(5*time.Second, 1)
	a.bears("edge-0", 64)
	a.pass(5*time.Second, 2)
	a.bears("edge-0", 0)
}
