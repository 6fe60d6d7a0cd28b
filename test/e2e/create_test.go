package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

func TestTheSampleIsReadySoonAndPassesTraffic(t *testing.T) {
	w := begin(t)
	w.remove()
	w.kubectl("apply", "-f", "config/samples/networks")
	start := time.Now()
	w.kubectl("apply", "-f", sample)
	w.kubectl("wait", "--for=condition=Ready", "servicechain/"+chainName, "--timeout=60s")
	t.Logf("from apply to Ready: %.1f s", time.Since(start).Seconds())
	w.edge()

	w.send(5 * time.Second).lossless("datagrams through firewall, router and NAPT")
	if err := w.fetch(80, 20_000_000); err != nil {
		t.Errorf("20 MB by TCP: %v", err)
	}
	if err := w.fetch(22, 1); err == nil {
		t.Error("port 22 is open, although no rule says so")
	}
	w.eventually("the chain reports its packets", 30*time.Second, func() error {
		if i := w.instance(); i.Status.Sessions == 0 {
			return fmt.Errorf("instance %s has no sessions", i.Name)
		}
		return nil
	})
}

// remove deletes the chain and waits until its pod is gone.
func (w *world) remove() {
	w.Helper()
	w.kubectl("delete", "servicechain", chainName, "--ignore-not-found", "--cascade=foreground", "--timeout=90s")
	w.kubectl("wait", "--for=delete", "pod/"+podName, "--timeout=90s")
}

func TestTheEngineHasACPUOfItsOwn(t *testing.T) {
	w := begin(t)
	w.edge()
	var pod corev1.Pod
	if err := w.api.Get(t.Context(), client.ObjectKey{Namespace: space, Name: podName}, &pod); err != nil {
		t.Fatal(err)
	}
	if pod.Status.QOSClass != corev1.PodQOSGuaranteed {
		t.Errorf("QoS class %s, wanted Guaranteed", pod.Status.QOSClass)
	}
	cpus := func(pod, container string) string {
		out := w.kubectl("exec", pod, "-c", container, "--", "grep", "Cpus_allowed_list", "/proc/self/status")
		return strings.TrimSpace(strings.TrimPrefix(out, "Cpus_allowed_list:"))
	}
	engine, agent := cpus(podName, "engine"), cpus(podName, "agent")
	if strings.ContainsAny(engine, ",-") || engine == agent {
		t.Errorf("the engine runs on CPUs %s, its agent on %s, wanted one of its own", engine, agent)
	}
	if cores := w.instance().Status.Cores; len(cores) != 1 || fmt.Sprint(cores[0].LCore) != engine {
		t.Errorf("the instance reports cores %+v, wanted CPU %s", cores, engine)
	}
}

func TestADeletedChainLeavesNothing(t *testing.T) {
	w := begin(t)
	w.edge()
	w.remove()
	for _, kind := range []string{"chaininstances", "chainprograms", "pods", "poddisruptionbudgets", "networkpolicies", "serviceaccounts", "rolebindings"} {
		w.eventually("no "+kind+" are left", 30*time.Second, func() error {
			if out := w.kubectl("get", kind, "-l", v1alpha1.LabelChain+"="+chainName, "-o", "name"); strings.TrimSpace(out) != "" {
				return fmt.Errorf("left: %s", out)
			}
			return nil
		})
	}
}
