package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

func TestTheSampleRunsByAFXDP(t *testing.T) {
	w := begin(t)
	w.edge()
	defer w.remove() // the tests to come want the sample's own drivers
	w.change(`[{"op": "add", "path": "/spec/interfaces/0/driver", "value": "AFXDP"}, {"op": "add", "path": "/spec/interfaces/1/driver", "value": "AFXDP"}]`)
	w.eventually("the pod is replaced by one with AF_XDP", time.Minute, func() error {
		p := w.pod()
		if p == nil || p.DeletionTimestamp != nil || !strings.Contains(strings.Join(p.Spec.Containers[0].Args, " "), "driver="+string(v1alpha1.DriverAFXDP)) {
			return fmt.Errorf("pod %s is not there yet", podName)
		}
		return nil
	})
	w.waitReady(time.Minute)
	if n := strings.Count(w.kubectl("logs", podName, "-c", "engine"), "driver=net_af_xdp"); n != 2 {
		t.Errorf("the engine has opened %d interfaces by AF_XDP, wanted 2", n)
	}
	w.has("CapBnd", "0000008000807000") // IPC_LOCK, SYS_NICE, NET_ADMIN, NET_RAW, BPF: capabilities(7)
	w.has("Seccomp", "2")               // a filter: the runtime's
	w.passes("by AF_XDP")

	// The remains of a killed engine at the interfaces do not keep the next one from them.
	before, uid := w.restarts("engine"), w.pod().UID
	w.kill(podName, "engine", "SIGKILL")
	w.eventually("the engine is restarted", 30*time.Second, func() error {
		if n := w.restarts("engine"); n == before {
			return fmt.Errorf("%d restarts", n)
		}
		return nil
	})
	w.waitReady(30 * time.Second)
	w.passes("by the AF_XDP of the next engine")
	if w.pod().UID != uid {
		t.Errorf("the pod was replaced, wanted its container restarted")
	}
}

// has checks a line of the status of the engine's process.
func (w *world) has(name, want string) {
	w.Helper()
	out := w.kubectl("exec", podName, "-c", "engine", "--", "grep", name+":", "/proc/1/status")
	if got := strings.TrimSpace(strings.TrimPrefix(out, name+":")); got != want {
		w.Errorf("the engine's %s is %s, wanted %s", name, got, want)
	}
}

// passes has datagrams and TCP pass the chain.
func (w *world) passes(how string) {
	w.Helper()
	w.send(5 * time.Second).lossless("datagrams through firewall, router and NAPT " + how)
	if err := w.fetch(80, 20_000_000); err != nil {
		w.Errorf("20 MB by TCP %s: %v", how, err)
	}
}
