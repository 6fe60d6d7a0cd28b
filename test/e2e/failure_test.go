package e2e

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// pod is the chain's pod, nil while there is none.
func (w *world) pod() *corev1.Pod {
	w.Helper()
	var p corev1.Pod
	err := w.api.Get(w.Context(), client.ObjectKey{Namespace: space, Name: podName}, &p)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return &p
}

// restarts is how often kubelet has restarted a container.
func (w *world) restarts(container string) int32 {
	w.Helper()
	for _, s := range w.pod().Status.ContainerStatuses {
		if s.Name == container {
			return s.RestartCount
		}
	}
	return 0
}

// recovers tells that the stream was interrupted, and by the end flowed again.
func (s *stream) recovers(what string, within time.Duration) {
	s.w.Helper()
	r := s.end()
	if r.Lost == 0 {
		s.w.Errorf("%s: no datagram was lost: did it happen at all?", what)
	}
	if r.Longest.Lasts > within.Seconds() {
		s.w.Errorf("%s: no packets for %.1f s, wanted at most %s", what, r.Longest.Lasts, within)
	}
}

func TestAKilledPodIsReplacedAndItsSessionsAreCountedAsLost(t *testing.T) {
	w := begin(t)
	w.edge()
	before, lost := w.pod().UID, w.chain().Status.LostSessions
	const flows = 2000
	w.must(task(t.Context(), "exec", "--exec-id", "flows", w.container("client", "traffic"), "/program", "flows", "--to", server+":53", "--count", fmt.Sprint(flows)))
	reported := int64(0)
	w.eventually("sessions are reported", 30*time.Second, func() error {
		if reported = w.instance().Status.Sessions; reported < flows/2 { // not each one is worth a report
			return fmt.Errorf("%d sessions of %d", reported, flows)
		}
		return nil
	})
	load := w.send(25 * time.Second)
	w.kubectl("delete", "pod", podName, "--grace-period=0", "--force")
	w.eventually("there is another pod", 20*time.Second, func() error {
		if p := w.pod(); p == nil || p.UID == before {
			return fmt.Errorf("pod %s is not replaced", podName)
		}
		return nil
	})
	w.waitReady(30 * time.Second)
	load.recovers("the pod was killed", 20*time.Second)
	w.eventually("the lost sessions are counted", 20*time.Second, func() error {
		if n := w.chain().Status.LostSessions - lost; n < reported {
			return fmt.Errorf("%d sessions more are lost, wanted at least the %d that were reported", n, reported)
		}
		return nil
	})
}

func TestPacketsFlowOnWithoutTheAgent(t *testing.T) {
	w := begin(t)
	w.edge()
	before := w.restarts("agent")
	load := w.send(10 * time.Second)
	w.kill(podName, "agent", "SIGKILL")
	w.eventually("the agent is restarted", 30*time.Second, func() error {
		if n := w.restarts("agent"); n == before {
			return fmt.Errorf("%d restarts", n)
		}
		return nil
	})
	w.waitReady(30 * time.Second)
	load.lossless("the agent was killed")
}

// An agent that gets no processor time answers nobody. The kubelet says so of it, and that the engine is well.
func TestTheStatusTellsAnAgentThatIsSilentFromAnEngineThatIs(t *testing.T) {
	w := begin(t)
	w.edge()
	load := w.send(25 * time.Second)
	agent := firstProcess(t, w.container(podName, "agent"))
	if err := syscall.Kill(agent, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	goesOn := func() { _ = syscall.Kill(agent, syscall.SIGCONT) }
	t.Cleanup(goesOn)
	w.eventually("the agent is said to be silent", 20*time.Second, func() error {
		return w.condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonAgentNotReady)
	})
	goesOn()
	w.waitReady(30 * time.Second)
	load.lossless("the agent was stopped")
}

func TestACrashedEngineGetsItsProgramAgain(t *testing.T) {
	w := begin(t)
	w.remove() // kubelet waits longer with each crash of a container
	w.edge()
	uid, before := w.pod().UID, w.restarts("engine")
	load := w.send(20 * time.Second)
	fault(t, w.container(podName, "engine"))
	w.eventually("the engine is restarted", 30*time.Second, func() error {
		if n := w.restarts("engine"); n == before {
			return fmt.Errorf("%d restarts", n)
		}
		return nil
	})
	w.waitReady(30 * time.Second)
	load.recovers("the engine crashed", 10*time.Second)
	for _, s := range w.pod().Status.ContainerStatuses {
		if end := s.LastTerminationState.Terminated; s.Name == "engine" && (end == nil || end.ExitCode != 128+11) {
			t.Errorf("the engine's last end is %+v, wanted exit code %d: SIGSEGV", end, 128+11)
		}
	}
	if now := w.pod().UID; now != uid {
		t.Errorf("the pod was replaced, wanted its container restarted")
	}
}

func TestAnotherOperatorEndsTheRollout(t *testing.T) {
	w := begin(t)
	w.edge()
	before := w.chain().Status.Program
	load := w.send(30 * time.Second)
	w.kubectl("patch", "servicechain", chainName, "--type=merge", "-p", `{"spec": {"rollout": {"observeSeconds": 10}}}`)
	w.change(`[{"op": "add", "path": "` + rules + `/0", "value": {"name": "alt", "from": "Inside", "protocol": "tcp", "destinationPorts": [8443], "action": "Accept"}}]`)
	w.eventually("a rollout is under way", 20*time.Second, func() error {
		if w.chain().Status.Rollout == nil {
			return fmt.Errorf("no rollout")
		}
		return nil
	})
	w.kubectl("delete", "pod", "--namespace", system, "-l", "app.kubernetes.io/component=operator", "--grace-period=0", "--force")
	w.waitReady(90 * time.Second)
	if now := w.chain().Status.Program; now == before {
		t.Errorf("program %s is still in force", now)
	}
	load.lossless("the operator was killed during a rollout")
}

// For two minutes there is no API server; within the second one the engine crashes.
func TestPacketsFlowOnWithoutTheAPIServer(t *testing.T) {
	w := begin(t)
	w.remove() // kubelet waits longer with each crash of a container
	w.edge()
	engine := w.container(podName, "engine")
	outage := 2 * time.Minute
	if testing.Short() {
		outage = 30 * time.Second
	}
	first := w.send(outage / 2)
	w.service("stop", "kube-apiserver")
	restored := false
	defer func() {
		if !restored {
			w.service("start", "kube-apiserver")
		}
	}()
	began := time.Now()
	if _, err := w.try("get", "nodes"); err == nil {
		t.Fatal("the API server still answers")
	}
	first.lossless("no API server")

	second := w.sendFrom(first.from, packetsPerSecond, outage/2-5*time.Second)
	fault(t, engine)
	second.recovers("the engine crashed without an API server", 15*time.Second)
	time.Sleep(time.Until(began.Add(outage)))
	w.service("start", "kube-apiserver")
	restored = true
	back := time.Now()
	w.eventually("chains can be changed again", 2*time.Minute, func() error {
		_, err := w.try("apply", "--dry-run=server", "-f", sample)
		return err
	})
	t.Logf("%.1f s after the API server, the operator answers again", time.Since(back).Seconds())
	w.waitReady(time.Minute)
}

func TestPacketsFlowOnWhileEtcdStartsAnew(t *testing.T) {
	w := begin(t)
	w.edge()
	before := w.chain().Status.Program
	load := w.send(20 * time.Second)
	w.service("stop", "etcd")
	w.service("start", "etcd")
	w.eventually("the API server answers again", 30*time.Second, func() error {
		_, err := w.try("get", "servicechain", chainName)
		return err
	})
	w.eventually("chains can be changed again", 2*time.Minute, func() error {
		_, err := w.try("apply", "--dry-run=server", "-f", sample)
		return err
	})
	w.change(`[{"op": "add", "path": "` + rules + `/0", "value": {"name": "alt", "from": "Inside", "protocol": "tcp", "destinationPorts": [8443], "action": "Accept"}}]`)
	w.waitReady(2 * time.Minute) // clients ask again after up to a minute, so that an API server that comes back is spared
	if now := w.chain().Status.Program; now == before {
		t.Errorf("program %s is still in force", now)
	}
	load.lossless("etcd was restarted")
}
