package agent

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/balance"
	"github.com/sinter-nfv/sinter/test/agenttest"
	"github.com/sinter-nfv/sinter/test/cpu"
)

// SINTER_STEP_LOAD is the frames per second and queue of a step load for the policy as it is, on a machine that nobody else uses: as
// many as load one core by a half, 120000 or so. The log has the times.
var stepLoad = os.Getenv("SINTER_STEP_LOAD")

// The agent's own loop, a real engine and traffic; the policy acts on smaller differences, as a load that differs more could not be
// borne by a machine that others use. It may stop everybody for a while: what is demanded in a second, and without loss, may be
// tried some times, and is not demanded where packets are lost without moves, or workers waited for their CPUs; that load spreads
// and bindings stay, always.
func TestAnAgentSpreadsTheLoadOfOneCoreOverTwoWithinASecondAndNoSessionChanges(t *testing.T) {
	if n := runtime.NumCPU(); n < 2 {
		t.Skipf("two workers need two CPUs, this process may use %d", n)
	}
	policy := balance.DefaultPolicy
	if stepLoad == "" {
		policy.Start, policy.Stop = 0.04, 0.02
	}
	d, c, o := startLoaded(t, cmp.Or(stepLoad, "30000"), policy, 0, 1)
	agenttest.Eventually(t, func() error {
		if n := len(o.Bindings()); n != 2*agenttest.FlowsPerHost {
			return fmt.Errorf("%d sessions, want %d", n, 2*agenttest.FlowsPerHost)
		}
		return nil
	})
	bindings := o.Bindings()

	if s, err := o.Loads(t.Context()); err != nil || len(s.GetShards()) != 128 || len(s.GetWorkers()) != 2 || len(s.GetClasses())+len(s.GetTables()) != 0 {
		t.Fatalf("loads: %v, %v; want those of 128 shards and 2 workers, and no classes or tables", s, err)
	}

	d.spreads(t, o, bindings)
	agenttest.Eventually(t, func() error {
		s := c.Instance(t).Status
		if len(s.Groups) != 1 || len(s.Groups[0].Owners) != 2 || len(s.Groups[0].Owners[0].Shards) == 0 || len(s.Groups[0].Owners[1].Shards) == 0 {
			return fmt.Errorf("groups: %+v, want shards on both cores", s.Groups)
		}
		return nil
	})
}

// startLoaded starts an engine with two workers that has a paced load of flows of two hosts, and its agent with a policy of the balancer; so many
// cores of the instance are to work.
func startLoaded(t *testing.T, pace string, policy balance.Policy, cores ...int32) (*pod, *agenttest.Cluster, *agenttest.Observer) {
	t.Helper()
	p := agenttest.Heavy(t)
	i := agenttest.Instance("edge-1")
	i.Spec.Cores, i.Spec.Groups[0].Cores = 2, cores
	c := agenttest.NewCluster(t, i, agenttest.ChainProgram(t, "edge-1", p))
	d := &pod{dir: agenttest.Folder(t), policy: policy}
	d.engine = agenttest.StartWith(t, filepath.Join(d.dir, "s"), "0", []string{
		fmt.Sprintf("inside=net_pcap0,rx_pcap=%s,rx_pcap=%s,infinite_rx=1", agenttest.Capture(t, d.dir, 2), agenttest.Capture(t, d.dir, 3)),
		"outside=net_null0,no-rx=1", "probe=net_null1,no-rx=1",
	}, "--pace", "inside="+pace, "--workers", "2", "--idle-sleep", "50", "--memory", "256", "--buffers", "32767", "--rx-desc", "4096", "--tx-desc", "1024")
	cpu.Prefer(t)
	d.workers = cpu.FavourWorkers(t, d.engine.PID())
	d.startAgent(t, c)
	reports(t, c, v1alpha1.ReasonApplied, "edge-1 runs", p)
	return d, c, agenttest.Observe(t, d.engine.Socket)
}

// spreads skews the load to one core some times, and waits until it lies on both.
func (p *pod) spreads(t *testing.T, o *agenttest.Observer, bindings map[[2]uint32][2]uint32) {
	t.Helper()
	var failed error
	const noWait = 100 * time.Millisecond // of a worker and an attempt, which takes four seconds
	busy, spreads := false, false
	for attempt := range 5 {
		time.Sleep(2 * time.Second) // shards that were moved rest a second
		before, waited := o.Counters(), p.waited(t)
		time.Sleep(time.Second)
		quiet := o.Counters()
		o.Skew(len(quiet.GetShards()))
		began := o.Counters()
		took, err := o.Spread(began)
		now := o.Counters()
		if got := o.Bindings(); !maps.Equal(got, bindings) {
			t.Fatalf("bindings changed: they are %v, were %v", got, bindings)
		}
		if n := now.GetTables()[0].GetCreated(); n != uint64(len(bindings)) {
			t.Fatalf("%d sessions were made for %d flows", n, len(bindings))
		}
		lost, usual := agenttest.Refused(quiet, now), agenttest.Refused(before, quiet)
		for reason := range lost {
			if reason != engine.HandoverFull {
				t.Fatalf("packets dropped: %v; want none, or %s for want of CPUs", lost, engine.HandoverFull)
			}
		}
		if failed = err; failed == nil && took > time.Second {
			failed = fmt.Errorf("spread after %s, want within a second", took)
		}
		waited = p.waited(t) - waited
		busy, spreads = busy || len(usual) > 0 || waited > noWait, spreads || err == nil
		if len(lost) > 0 {
			failed = errors.Join(failed, fmt.Errorf("lost %v; in the second before, without a move, %v", lost, usual))
		}
		t.Logf("attempt %d: spread after %s; workers waited %s for their CPUs; %d moves so far; %d packets; %v", attempt, took.Round(time.Millisecond),
			waited.Round(time.Millisecond), p.balance.Moves.Done.Load(), now.GetPorts()[0].GetRxPackets(), failed)
		if failed == nil {
			break
		}
	}
	if !spreads {
		t.Fatal(failed)
	}
	if failed != nil && busy {
		t.Skipf("this machine is too busy to tell: packets are lost without any move, or workers wait for their CPUs (%v)", failed)
	}
	if failed != nil {
		t.Error(failed)
	}
}

// waited is how long workers of the engine wanted a CPU and had none.
func (p *pod) waited(t *testing.T) (sum time.Duration) {
	t.Helper()
	for _, w := range p.workers {
		sum += w.Waited(t)
	}
	return sum
}
