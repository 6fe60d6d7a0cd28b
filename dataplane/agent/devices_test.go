package agent

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/test/agenttest"
)

// startCores starts an engine with two workers and its agent.
func startCores(t *testing.T, c *agenttest.Cluster, ports ...string) *pod {
	t.Helper()
	p := &pod{dir: agenttest.Folder(t)}
	p.engine = agenttest.StartWith(t, filepath.Join(p.dir, "s"), "5", ports, "--workers", "2", "--idle-sleep", "2000",
		"--memory", "128", "--buffers", "4095", "--rx-desc", "64", "--tx-desc", "64")
	p.startAgent(t, c)
	return p
}

// dispatchers waits until the status tells the dispatchers of the interfaces.
func dispatchers(t *testing.T, c *agenttest.Cluster, want ...v1alpha1.InterfaceDispatch) {
	t.Helper()
	agenttest.Eventually(t, func() error {
		if got := c.Instance(t).Status.Dispatch; fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("dispatch: %q, want %q", got, want)
		}
		return nil
	})
}

// A real engine whose devices are DPDK's own: net_null takes hash key and table, rings and captures do not.
func TestTheEnginesFlowsAreCutForWhatItsDevicesCanDo(t *testing.T) {
	program := agenttest.Office(t, "23")
	i := agenttest.Instance("edge-1")
	i.Spec.Cores, i.Spec.Groups[0].Cores = 2, []int32{0, 1}
	i.Spec.Interfaces[0].Name, i.Spec.Interfaces[1].Name = "inside", "outside"
	c := agenttest.NewCluster(t, i, agenttest.ChainProgram(t, "edge-1", program))
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
	cut := func() *controlpb.Partitioning {
		hello, err := agenttest.Observe(t, p.engine.Socket).Hello(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return hello.GetPartitioning()
	}
	if got := cut(); got.GetBy() != controlpb.Partitioning_RSS {
		t.Errorf("flows are cut by %v, want by RSS", got)
	}

	p.engine.Restart()
	agenttest.Eventually(t, func() error { return agenttest.Wants(p.engine.Runs(), program) })
	dispatchers(t, c, want...)
	if got := cut(); got.GetBy() != controlpb.Partitioning_RSS {
		t.Errorf("after a restart flows are cut by %v, want by RSS", got)
	}
}

func TestAnEngineWithOneCoreSaysWhatItsDevicesLack(t *testing.T) {
	program := agenttest.Program(t, "mine", "in", "out")
	c := agenttest.NewCluster(t, agenttest.Instance("edge-1"), agenttest.ChainProgram(t, "edge-1", program))
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
