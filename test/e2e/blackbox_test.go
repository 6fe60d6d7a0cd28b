package e2e

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// withIPS puts a function of somebody else's between the firewall and the router of the sample.
const withIPS = `[
{"op": "add", "path": "/spec/interfaces/-", "value": {"name": "ips-inside", "wire": true, "networkRef": {"name": "ips-inside"}}},
{"op": "add", "path": "/spec/interfaces/-", "value": {"name": "ips-outside", "wire": true, "networkRef": {"name": "ips-outside"}}},
{"op": "add", "path": "/spec/functions/-", "value": {"name": "ips", "blackbox": {"inside": "ips-inside", "outside": "ips-outside", "whenDown": "Open"}}},
{"op": "replace", "path": "/spec/path", "value": ["inside", "fw", "ips", "rt", "nat", "outside"]}]`

// answers waits until the chain says whether its function answers.
func (w *world) answers(status metav1.ConditionStatus, reason string) {
	w.Helper()
	start := time.Now()
	w.eventually("the chain says "+reason, 30*time.Second, func() error { return w.condition(v1alpha1.ConditionFunctionsUp, status, reason) })
	w.Logf("the chain says %s after %.1f s", reason, time.Since(start).Seconds())
}

// TestAPodIsAFunctionOfAChain has a pod of its own forward the chain's frames, and hang at times.
func TestAPodIsAFunctionOfAChain(t *testing.T) {
	w := begin(t)
	w.edge()
	defer w.remove() // the tests to come want the sample's own interfaces
	w.kubectl("apply", "-f", "test/e2e/testdata/ips.yaml")
	defer w.kubectl("delete", "-f", "test/e2e/testdata/ips.yaml", "--wait=false")
	w.kubectl("wait", "--for=condition=Ready", "pod/ips", "--timeout=60s")
	w.change(withIPS)
	w.attached("ips-outside")
	w.waitReady(time.Minute)
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
	w.passes("and a function of somebody else's")
	w.contradicts()

	load := w.send(20 * time.Second)
	w.kill("ips", "traffic", "SIGSTOP")
	w.answers(metav1.ConditionFalse, v1alpha1.ReasonFunctionBypassed)
	if err := w.condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonForwarding); err != nil {
		t.Error(err)
	}
	load.recovers("the function hangs, and packets pass it by", 2*time.Second)
	w.kill("ips", "traffic", "SIGCONT")
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)

	w.change(`[{"op": "replace", "path": "/spec/functions/3/blackbox/whenDown", "value": "Closed"}]`)
	w.waitReady(time.Minute)
	w.kill("ips", "traffic", "SIGSTOP")
	w.answers(metav1.ConditionFalse, v1alpha1.ReasonFunctionDown)
	if err := w.condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonFunctionDown); err != nil {
		t.Error(err)
	}
	if err := w.fetch(80, 1); err == nil {
		t.Error("bytes pass a function that hangs and is closed")
	}
	w.eventually("dropped packets are counted", 30*time.Second, func() error {
		for _, d := range w.instance().Status.Drops {
			if d.Reason == "ips/down" && d.Packets > 0 {
				return nil
			}
		}
		return fmt.Errorf("dropped are %v, wanted some as ips/down", w.instance().Status.Drops)
	})
	w.kill("ips", "traffic", "SIGCONT")
	w.waitReady(30 * time.Second)
	w.passes("and the function, which answers again")
}

// contradicts has the function of a chain change what it does not declare, and then declares it.
func (w *world) contradicts() {
	w.Helper()
	load := w.send(30 * time.Second)
	w.eventually("the chain says that the function does what it declares", 20*time.Second, func() error {
		f := w.chain().Status.Functions
		if len(f) != 1 || f[0].Name != "ips" || !f[0].Ready || f[0].SentRate == 0 || f[0].ReturnedRate == 0 || f[0].LatencyMedianMicroseconds == 0 {
			return fmt.Errorf("functions are %+v, want one that has packets", f)
		}
		return w.condition(v1alpha1.ConditionFunctionsAsDeclared, metav1.ConditionTrue, v1alpha1.ReasonAsDeclared)
	})
	w.kill("ips", "traffic", "SIGUSR1")
	start := time.Now()
	w.eventually("the chain names what it changes", 10*time.Second, func() error {
		return w.condition(v1alpha1.ConditionFunctionsAsDeclared, metav1.ConditionFalse, v1alpha1.ReasonContradicted)
	})
	w.Logf("a contradiction is named after %.1f s", time.Since(start).Seconds())
	if f := w.chain().Status.Functions; len(f) != 1 || f[0].Ready || !slices.Equal(f[0].Contradictions, []string{"DSCP"}) {
		w.Errorf("functions are %+v, want one that changes DSCP", f)
	}
	if err := w.condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonForwarding); err != nil {
		w.Error(err)
	}
	w.change(`[
{"op": "add", "path": "/spec/functions/3/blackbox/behavior", "value": {"writes": ["DSCP"]}},
{"op": "replace", "path": "/spec/functions/3/blackbox/whenDown", "value": "Closed"}]`)
	w.waitReady(time.Minute)
	w.eventually("it is declared", 20*time.Second, func() error {
		return w.condition(v1alpha1.ConditionFunctionsAsDeclared, metav1.ConditionTrue, v1alpha1.ReasonAsDeclared)
	})
	load.lossless("the function writes DSCP")
	w.change(`[
{"op": "remove", "path": "/spec/functions/3/blackbox/behavior"},
{"op": "replace", "path": "/spec/functions/3/blackbox/whenDown", "value": "Open"}]`)
	w.waitReady(time.Minute)
}

// withContainer is withIPS with a function that Sinter runs beside the engine.
const withContainer = `[
{"op": "add", "path": "/spec/interfaces/-", "value": {"name": "ips-inside", "wire": true}},
{"op": "add", "path": "/spec/interfaces/-", "value": {"name": "ips-outside", "wire": true}},
{"op": "add", "path": "/spec/functions/-", "value": {"name": "ips", "blackbox": {"inside": "ips-inside", "outside": "ips-outside", "whenDown": "Open",
  "image": "sinter.test/traffic:1", "args": ["bridge", "ips-inside", "ips-outside"], "resources": {"cpu": "200m", "memory": "64Mi"}}}},
{"op": "replace", "path": "/spec/path", "value": ["inside", "fw", "ips", "rt", "nat", "outside"]}]`

// runs waits until the chain says whether its function's container runs.
func (w *world) runs(status metav1.ConditionStatus, reason string) {
	w.Helper()
	w.eventually("the chain says of the container "+reason, 30*time.Second, func() error {
		return w.condition(v1alpha1.ConditionFunctionsRunning, status, reason)
	})
}

// withFunction waits for the pod whose function has an image.
func (w *world) withFunction(image string) {
	w.Helper()
	w.eventually("the pod is replaced by one with "+image, time.Minute, func() error {
		p := w.pod()
		if p == nil || p.DeletionTimestamp != nil || !slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == "ips" && c.Image == image }) {
			return fmt.Errorf("pod %s is not there yet", podName)
		}
		if p.Status.QOSClass != corev1.PodQOSGuaranteed {
			w.Errorf("QoS class %s, wanted Guaranteed", p.Status.QOSClass)
		}
		return nil
	})
}

// startedAgain waits until the kubelet has started a container once more, for the first time.
func (w *world) startedAgain(container string) {
	w.Helper()
	w.eventually("the kubelet starts "+container+" again", time.Minute, func() error {
		if n := w.restarts(container); n != 1 {
			return fmt.Errorf("it was started again %d times", n)
		}
		return nil
	})
}

// TestAContainerIsAFunctionOfAChain has the operator run a function beside the engine, which ends, and is nowhere to be found.
func TestAContainerIsAFunctionOfAChain(t *testing.T) {
	w := begin(t)
	w.edge()
	defer w.remove() // the tests to come want the sample's own interfaces
	w.change(withContainer)
	image := func(name string) string {
		return `[{"op": "replace", "path": "/spec/functions/3/blackbox/image", "value": "` + name + `"}]`
	}
	w.withFunction("sinter.test/traffic:1")
	w.waitReady(time.Minute)
	w.runs(metav1.ConditionTrue, v1alpha1.ReasonContainersRunning)
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
	w.passes("and a container of somebody else's")
	w.isFull()

	load := w.send(20 * time.Second)
	w.kill(podName, "ips", "SIGSTOP")
	w.answers(metav1.ConditionFalse, v1alpha1.ReasonFunctionBypassed)
	w.kill(podName, "ips", "SIGCONT")
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
	w.kill(podName, "ips", "SIGKILL")
	w.startedAgain("ips")
	load.recovers("the container hangs, and is killed, and packets pass it by", 2*time.Second)
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
	w.runs(metav1.ConditionTrue, v1alpha1.ReasonContainersRunning)
	if n := w.restarts("engine"); n != 0 {
		t.Errorf("the engine was started again %d times", n)
	}

	if _, err := w.try("patch", "servicechain", chainName, "--type=json", "-p", image("elsewhere.example/ips:1")); err == nil ||
		!strings.Contains(err.Error(), "chains of this cluster may not run this image. Those that they may: sinter.test/, localhost:1/") {
		t.Errorf("an image that is not allowed: %v", err)
	}
	w.change(image("localhost:1/nowhere:1"))
	w.withFunction("localhost:1/nowhere:1")
	w.runs(metav1.ConditionFalse, v1alpha1.ReasonContainerFailed)
	w.waitReady(time.Minute)
	w.answers(metav1.ConditionFalse, v1alpha1.ReasonFunctionBypassed)
	w.passes("past a container whose image is nowhere")
}

// isFull has the chain say how little its function can do, while that is given more. Nothing is replaced for that.
func (w *world) isFull() {
	w.Helper()
	capacity := func(rate string) string {
		return `[{"op": "add", "path": "/spec/functions/3/blackbox/scaling", "value": {"capacity": "` + rate + `"}}]`
	}
	if _, err := w.try("patch", "servicechain", chainName, "--type=json", "-p", capacity("0 pps")); err == nil || !strings.Contains(err.Error(), "must be from 1pps to 1000Mpps") {
		w.Errorf("a capacity of nothing: %v", err)
	}
	pod := w.pod().UID
	load := w.send(30 * time.Second)
	w.change(capacity("100 pps"))
	w.eventually("the chain says that the function is given too much", 25*time.Second, func() error {
		f := w.chain().Status.Functions
		if len(f) != 1 || f[0].UtilizationPercent < 100 {
			return fmt.Errorf("functions are %+v, want one that is given more than 100 packets per second", f)
		}
		return w.condition(v1alpha1.ConditionScaled, metav1.ConditionFalse, v1alpha1.ReasonAtMaximum)
	})
	load.lossless("a capacity is changed")
	w.change(capacity("1 Mpps"))
	w.eventually("the chain says that the function can do more", 25*time.Second, func() error {
		return w.condition(v1alpha1.ConditionScaled, metav1.ConditionTrue, v1alpha1.ReasonFixed)
	})
	if now := w.pod().UID; now != pod {
		w.Errorf("pod %s became %s when its function's capacity changed", pod, now)
	}
}

// withMemory is withContainer with a program that has DPDK, and shares memory with the engine.
const withMemory = `[
{"op": "add", "path": "/spec/interfaces/-", "value": {"name": "ips-inside", "wire": true}},
{"op": "add", "path": "/spec/interfaces/-", "value": {"name": "ips-outside", "wire": true}},
{"op": "add", "path": "/spec/functions/-", "value": {"name": "ips", "blackbox": {"inside": "ips-inside", "outside": "ips-outside", "whenDown": "Open",
  "image": "sinter.test/testpmd:1", "transport": "Memif", "resources": {"cpu": "300m", "memory": "512Mi"},
  "args": ["--no-huge", "-m", "128", "--no-pci", "--no-telemetry", "--no-shconf", "--lcores", "0@0-1,1@0-1",
    "-d", "librte_mempool_ring.so.23", "-d", "librte_net_memif.so.23",
    "--vdev", "net_memif_in,role=client,socket=/run/memif/ips-inside.sock,socket-abstract=no",
    "--vdev", "net_memif_out,role=client,socket=/run/memif/ips-outside.sock,socket-abstract=no",
    "--", "--forward-mode=io", "--auto-start", "--total-num-mbufs=8192", "--stats-period=60"]}}},
{"op": "replace", "path": "/spec/path", "value": ["inside", "fw", "ips", "rt", "nat", "outside"]}]`

// TestAContainerThatSharesMemoryIsAFunctionOfAChain kills it, and has the next one go on.
func TestAContainerThatSharesMemoryIsAFunctionOfAChain(t *testing.T) {
	w := begin(t)
	defer w.remove() // the tests to come want the sample's own interfaces
	w.beside(withMemory, "sinter.test/testpmd:1")
	w.passes("and a container that shares memory")
	load := w.send(20 * time.Second)
	w.kill(podName, "ips", "SIGKILL")
	w.startedAgain("ips")
	load.recovers("the container is killed, and packets pass it by", 2*time.Second)
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
	w.passes("and the next container")
	if n := w.restarts("engine"); n != 0 {
		t.Errorf("the engine was started again %d times", n)
	}
	w.takesNoMore()
}

// takesNoMore has the function write more beside its sockets than there is room for. From a disk the kubelet would evict the pod for that.
func (w *world) takesNoMore() {
	w.Helper()
	path := fmt.Sprintf("/proc/%d/root%s/more", firstProcess(w.T, w.container(podName, "ips")), v1alpha1.MemifFolder)
	if err := os.WriteFile(path, make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		w.Errorf("2 MiB in the folder of sockets: %v, want no space left", err)
	}
	if err := os.Remove(path); err != nil {
		w.Error(err)
	}
}

// beside changes the chain, and waits until the container of its function runs and answers.
func (w *world) beside(change, image string) {
	w.Helper()
	w.edge()
	w.change(change)
	w.withFunction(image)
	w.waitReady(time.Minute)
	w.runs(metav1.ConditionTrue, v1alpha1.ReasonContainersRunning)
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
}

// TestAContainerGoesOnWithTheNextEngineAndTheNextAgent kills what is beside a function, which has its devices still.
func TestAContainerGoesOnWithTheNextEngineAndTheNextAgent(t *testing.T) {
	w := begin(t)
	defer w.remove() // the tests to come want the sample's own interfaces
	w.beside(withContainer, "sinter.test/traffic:1")
	load := w.send(15 * time.Second)
	w.kill(podName, "agent", "SIGKILL")
	w.startedAgain("agent")
	w.waitReady(30 * time.Second)
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
	load.lossless("the agent beside a function was killed")

	load = w.send(20 * time.Second)
	fault(t, w.container(podName, "engine"))
	w.startedAgain("engine")
	w.waitReady(30 * time.Second)
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
	load.recovers("the engine beside a function crashed", 10*time.Second)
	w.passes("and the function, with the next engine")
	if n := w.restarts("ips"); n != 0 {
		t.Errorf("the function was started again %d times", n)
	}
}

// TestAContainerThatSharesMemoryConnectsToTheNextEngine has a program with DPDK do so when it is started again: its driver connects only then. The program
// mostly crashes as the engine goes, and is killed here if it does not.
func TestAContainerThatSharesMemoryConnectsToTheNextEngine(t *testing.T) {
	w := begin(t)
	defer w.remove() // the tests to come want the sample's own interfaces
	w.beside(withMemory, "sinter.test/testpmd:1")
	load := w.send(20 * time.Second)
	fault(t, w.container(podName, "engine"))
	w.startedAgain("engine")
	w.waitReady(30 * time.Second)
	if w.restarts("ips") == 0 {
		w.kill(podName, "ips", "SIGKILL")
	}
	w.startedAgain("ips")
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
	load.recovers("the engine crashed that a function shared memory with", 10*time.Second)
	w.passes("and the function, which has connected to the next engine")
}

// TestAFunctionWhoseSocketIsGoneIsPassedByUntilTheNextPod takes the socket away that it has connected to: it goes on until it ends, and does not find
// the socket then.
func TestAFunctionWhoseSocketIsGoneIsPassedByUntilTheNextPod(t *testing.T) {
	w := begin(t)
	defer w.remove() // the tests to come want the sample's own interfaces
	w.beside(withMemory, "sinter.test/testpmd:1")
	load := w.send(5 * time.Second)
	engine := firstProcess(t, w.container(podName, "engine"))
	if err := os.Remove(fmt.Sprintf("/proc/%d/root%s", engine, v1alpha1.MemifSocket("ips-inside"))); err != nil {
		t.Fatal(err)
	}
	load.lossless("the socket is gone, and the memory is there")
	load = w.send(20 * time.Second)
	w.kill(podName, "ips", "SIGKILL")
	w.startedAgain("ips")
	w.answers(metav1.ConditionFalse, v1alpha1.ReasonFunctionBypassed)
	load.recovers("the function does not find the socket", 2*time.Second)
	before := w.pod().UID
	w.kubectl("delete", "pod", podName, "--wait=false")
	w.eventually("there is another pod", time.Minute, func() error {
		if p := w.pod(); p == nil || p.UID == before {
			return fmt.Errorf("pod %s is not replaced", podName)
		}
		return nil
	})
	w.waitReady(time.Minute)
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
	w.passes("and the function, which has found the next socket")
}
