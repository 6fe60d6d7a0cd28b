package agent

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// startCores starts an engine with two workers and its agent.
func startCores(t *testing.T, c *cluster, ports ...string) *pod {
	t.Helper()
	p := &pod{dir: folder(t)}
	p.engine = startEngineWith(t, filepath.Join(p.dir, "s"), "5", ports, "--workers", "2", "--idle-sleep", "2000",
		"--memory", "128", "--buffers", "4095", "--rx-desc", "64", "--tx-desc", "64")
	p.startAgent(t, c)
	return p
}

// dispatchers waits until the status tells the dispatchers of the interfaces.
func dispatchers(t *testing.T, c *cluster, want ...v1alpha1.InterfaceDispatch) {
	t.Helper()
	eventually(t, func() error {
		if got := c.instance(t).Status.Dispatch; fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("dispatch: %q, want %q", got, want)
		}
		return nil
	})
}

// A real engine whose devices are DPDK's own: net_null takes hash key and table, rings and captures do not.
func TestTheEnginesFlowsAreCutForWhatItsDevicesCanDo(t *testing.T) {
	program := office(t, "23")
	i := testInstance("edge-1")
	i.Spec.Cores, i.Spec.Groups[0].Cores = 2, []int32{0, 1}
	i.Spec.Interfaces[0].Name, i.Spec.Interfaces[1].Name = "inside", "outside"
	c := newCluster(t, i, chainProgram(t, "edge-1", program))
	p := startCores(t, c, "inside=net_null0,no-rx=1", "outside=net_ring0")
	reports(t, c, v1alpha1.ReasonApplied, "edge-1 runs", program)
	want := []v1alpha1.InterfaceDispatch{
		{
			Interface: "inside", Dispatcher: v1alpha1.DispatcherRSS,
			Reason: "net_null hashes flows to their cores (no flow: the device takes no flow rules: Function not implemented)",
		},
		{
			Interface: "outside", Dispatcher: v1alpha1.DispatcherSoftware,
			Reason: "net_ring: no flow: the device takes no flow rules: Function not implemented; no rss: the device has no RSS",
		},
	}
	dispatchers(t, c, want...)
	cut := func() *programpb.Cut {
		hello, err := observe(t, p.engine.socket).Hello(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return hello.GetCut()
	}
	if got := cut(); got.GetBy() != programpb.Cut_RSS {
		t.Errorf("flows are cut by %v, want by RSS", got)
	}

	p.engine.restart()
	eventually(t, func() error { return wants(p.engine.runs(), program) })
	dispatchers(t, c, want...)
	if got := cut(); got.GetBy() != programpb.Cut_RSS {
		t.Errorf("after a restart flows are cut by %v, want by RSS", got)
	}
}

func TestAnEngineWithOneCoreSaysWhatItsDevicesLack(t *testing.T) {
	program := testProgram(t, "mine", "in", "out")
	c := newCluster(t, testInstance("edge-1"), chainProgram(t, "edge-1", program))
	startPod(t, c, []string{"in=net_ring0", "out=net_null0,no-rx=1"})
	dispatchers(
		t, c,
		v1alpha1.InterfaceDispatch{
			Interface: "in", Dispatcher: v1alpha1.DispatcherSoftware,
			Reason: `one core takes all packets; net_ring offers neither flow rules ("Function not implemented") nor RSS`,
		},
		v1alpha1.InterfaceDispatch{
			Interface: "out", Dispatcher: v1alpha1.DispatcherSoftware,
			Reason: `one core takes all packets; net_null offers no flow rules ("Function not implemented")`,
		},
	)
}
