package agent

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/balance"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/test/agenttest"
)

// operator plays the operator's loop for the instance: by what its agent reports, and a target that the test sets.
type operator struct {
	*scaling.Scaler
	cluster *agenttest.Cluster
	target  float64
	told    []string // changes
}

// step decides once, and returns how many cores are to work, and how much work was reported.
func (o *operator) step(t *testing.T) (working int, work float64) {
	t.Helper()
	i := o.cluster.Instance(t)
	report, err := scaling.ReportOf(i)
	if err != nil {
		t.Fatal(err)
	}
	in := scaling.Input{
		Now:    time.Now(),
		Bounds: scaling.Bounds{MinPods: 1, MaxPods: 1, MinCores: 1, MaxCores: int(i.Spec.Cores), Target: o.target},
		Pods:   []scaling.Pod{{Name: i.Name, Ready: true, Cores: i.WorkingCores(), Report: report}},
	}
	for _, l := range report.Shards {
		in.Shards = append(in.Shards, l.ID)
		work += l.Work
	}
	d := o.Decide(in)
	for _, c := range d.Changes {
		o.told = append(o.told, string(c.Reason))
	}
	working = d.Plans[0].Cores
	if working != i.WorkingCores() {
		agenttest.Change(t, o.cluster, func(spec *v1alpha1.ChainInstanceSpec) { spec.Groups[0].Cores = []int32{0, 1}[:working] })
	}
	return working, work
}

// firstShare is the part of the shards with sessions, one flow each, that the first worker has.
func firstShare(s *controlpb.Stats) float64 {
	own, all := 0.0, 0.0
	for _, shard := range s.GetShards() {
		if shard.GetPackets() > 0 {
			if all++; shard.GetWorker() == 0 {
				own++
			}
		}
	}
	return own / max(all, 1)
}

// The operator's policy, the agent's own loops, a real engine and traffic. What is lost on a machine that others use too is told, and
// only demanded to be nothing where nothing is lost without a change.
func TestAnInstanceGoesToTwoCoresAndBackByItsLoadAndNoSessionChanges(t *testing.T) {
	if n := runtime.NumCPU(); n < 2 {
		t.Skipf("two workers need two CPUs, this process may use %d", n)
	}
	policy := balance.DefaultPolicy
	policy.Start, policy.Stop = 0.02, 0.01 // the load is small, that a busy machine can bear it
	d, c, o := startLoaded(t, "5000", policy, 0)
	on := func(what string, fits func(share float64) bool) {
		t.Helper()
		agenttest.Eventually(t, func() error {
			if part := firstShare(o.Counters()); !fits(part) {
				return fmt.Errorf("the first core has %.0f %% of the flows, want %s", 100*part, what)
			}
			return nil
		})
	}
	quick := scaling.DefaultPolicy
	quick.Cores.Window = 3 * time.Second
	loop := &operator{Scaler: scaling.NewScaler(quick), cluster: c, target: 0.95}
	follow := func(cores int) {
		t.Helper()
		agenttest.Eventually(t, func() error {
			if n, work := loop.step(t); n != cores {
				return fmt.Errorf("%d cores work at a target of %.2f with %.2f cores wanted, want %d", n, loop.target, work, cores)
			}
			return nil
		})
	}

	on("all", func(share float64) bool { return share == 1 })
	var work float64
	agenttest.Eventually(t, func() error {
		if _, work = loop.step(t); work < 0.02 || len(o.Bindings()) != 2*agenttest.FlowsPerHost {
			return fmt.Errorf("%.3f cores of work are reported, %d sessions; want some, and %d", work, len(o.Bindings()), 2*agenttest.FlowsPerHost)
		}
		return nil
	})
	bindings, before := o.Bindings(), o.Counters()
	time.Sleep(time.Second)
	quiet := o.Counters()
	usual := agenttest.Refused(before, quiet)

	loop.target = work / 1.5
	follow(2)
	on("a third to two thirds", func(share float64) bool { return share > 0.3 && share < 0.7 })
	agenttest.Eventually(t, func() error {
		if owners := c.Instance(t).Status.Groups[0].Owners; len(owners) != 2 {
			return fmt.Errorf("owners: %+v, want two cores", owners)
		}
		return nil
	})
	loop.target = 4 * work
	follow(1)
	on("all", func(share float64) bool { return share == 1 })

	loop.check(t, o, bindings)
	d.keeps(t, o, quiet, usual)
}

// check tells whether cores changed for the right reasons, and sessions did not.
func (o *operator) check(t *testing.T, seen *agenttest.Observer, bindings map[[2]uint32][2]uint32) {
	t.Helper()
	if !slices.Equal(o.told, []string{string(scaling.LoadRose), string(scaling.LoadFell)}) {
		t.Errorf("changes because of %v, want %s, then %s", o.told, scaling.LoadRose, scaling.LoadFell)
	}
	if got := seen.Bindings(); !maps.Equal(got, bindings) {
		t.Errorf("bindings changed: they are %v, were %v", got, bindings)
	}
	if n := seen.Counters().GetTables()[0].GetCreated(); n != uint64(len(bindings)) {
		t.Errorf("%d sessions were made for %d flows", n, len(bindings))
	}
}

// keeps tells whether no packet was lost since counters were read; usual: what is lost without any move.
func (p *pod) keeps(t *testing.T, o *agenttest.Observer, since *controlpb.Stats, usual map[string]uint64) {
	t.Helper()
	now := o.Counters()
	var lost error
	for reason, n := range agenttest.Refused(since, now) {
		if reason != engine.HandoverFull {
			t.Errorf("%d packets dropped as %s", n, reason)
		}
		lost = errors.Join(lost, fmt.Errorf("%d packets dropped as %s", n, reason))
	}
	t.Logf("%d packets, %d moves; %v", now.GetPorts()[0].GetRxPackets()-since.GetPorts()[0].GetRxPackets(), p.balance.Moves.Done.Load(), lost)
	if lost != nil && len(usual) > 0 {
		t.Skipf("this machine is too busy to tell: packets are lost without any move (%v)", usual)
	}
	if lost != nil {
		t.Error(lost)
	}
}
