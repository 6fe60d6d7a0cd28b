package agent

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/lifecycle"
	"github.com/sinter-nfv/sinter/dataplane/agent/telemetry"
	"github.com/sinter-nfv/sinter/dataplane/balance"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/test/agenttest"
	"github.com/sinter-nfv/sinter/test/cpu"
)

// pod is an engine and an agent that runs.
type pod struct {
	*Agent
	engine  *agenttest.Engine
	dir     string
	stop    func()         // the agent
	policy  balance.Policy // of its balancer, if it is not the default
	workers []cpu.Worker   // the engine's, where the test favours them
}

func startPod(t *testing.T, c client.WithWatch, ports []string) *pod {
	t.Helper()
	p := &pod{dir: agenttest.Folder(t)}
	p.engine = agenttest.Start(t, filepath.Join(p.dir, "s"), ports)
	p.startAgent(t, c)
	return p
}

// startAgent starts an agent, in place of the one that is stopped.
func (p *pod) startAgent(t *testing.T, c client.WithWatch) {
	t.Helper()
	p.Agent = New(Config{
		Client:   c,
		Instance: client.ObjectKey{Namespace: "default", Name: "edge-0"},
		Node:     "node-1",
		Socket:   p.engine.Socket,
		Programs: filepath.Join(p.dir, "programs"),
		Binding:  filepath.Join(p.dir, "binding.json"),
		Draining: filepath.Join(p.dir, "draining"),
		Balance:  true,
		Clock:    clock.RealClock{},
		Log:      testr.New(t),
	})
	if p.policy != (balance.Policy{}) {
		p.balance.Policy = p.policy
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("agent: %v", err)
		}
	}
	t.Cleanup(stop)
	p.stop = stop
}

// reports waits until the cluster has read a reason of Programmed and a hash.
func reports(t *testing.T, c *agenttest.Cluster, reason, message string, p *delivery.Program) {
	t.Helper()
	agenttest.Eventually(t, func() error {
		i := c.Instance(t)
		got, said := agenttest.Programmed(i)
		if got != reason || !strings.Contains(said, message) {
			return fmt.Errorf("status says %s: %q, want %s: %q", got, said, reason, message)
		}
		return agenttest.Wants(i.Status.AppliedHash, p)
	})
}

func want(t *testing.T, c *agenttest.Cluster, program string) {
	t.Helper()
	agenttest.Change(t, c, func(spec *v1alpha1.ChainInstanceSpec) { spec.Program = program })
}

func TestAProgramGoesFromTheClusterIntoTheEngineAndTheStatusTellsIt(t *testing.T) {
	first, second := agenttest.Program(t, "first", "in", "out"), agenttest.Program(t, "second", "in", "out")
	damaged := agenttest.ChainProgram(t, "edge-3", agenttest.Program(t, "third", "in", "out"))
	damaged.Spec.Program = damaged.Spec.Program[:30]
	c := agenttest.NewCluster(t, agenttest.Instance("edge-1"), agenttest.ChainProgram(t, "edge-1", first), agenttest.ChainProgram(t, "edge-2", second), damaged,
		agenttest.ChainProgram(t, "edge-4", agenttest.Program(t, "fourth", "in", "dmz")))
	p := startPod(t, c, agenttest.Quiet)

	reports(t, c, v1alpha1.ReasonApplied, "edge-1 runs", first)
	if n := c.Reads.Load(); n != 1 {
		t.Errorf("the program was read %d times, want once", n)
	}
	want(t, c, "edge-2")
	reports(t, c, v1alpha1.ReasonApplied, "edge-2 runs", second)
	want(t, c, "edge-3")
	reports(t, c, v1alpha1.ReasonLoadFailed, "ChainProgram edge-3: program: gzip stream", second)
	want(t, c, "edge-4")
	reports(t, c, v1alpha1.ReasonLoadFailed, "edge-4: engine refused load", second)
	if err := agenttest.Wants(p.engine.Runs(), second); err != nil {
		t.Error(err)
	}

	i := c.Instance(t)
	if i.Status.ObservedGeneration != i.Generation || i.Status.EngineVersion == "" || i.Status.Node != "node-1" || len(i.Status.Cores) != 1 {
		t.Errorf("status: %+v", i.Status)
	}
	for _, f := range i.ManagedFields {
		if f.Manager != telemetry.FieldManager && f.Subresource == "status" {
			t.Errorf("status is owned by %s", f.Manager)
		}
	}
}

func TestReadersOfMetricsAreThoseThatTheInstanceNamesNow(t *testing.T) {
	program := agenttest.Program(t, "only", "in", "out")
	c := agenttest.NewCluster(t, agenttest.Instance("edge-1"), agenttest.ChainProgram(t, "edge-1", program))
	p := startPod(t, c, agenttest.Quiet)
	reports(t, c, v1alpha1.ReasonApplied, "edge-1 runs", program)
	for _, pins := range [][]string{{"one"}, {"two", "three"}, nil} {
		agenttest.Change(t, c, func(spec *v1alpha1.ChainInstanceSpec) { spec.MetricsReaders = pins })
		agenttest.Eventually(t, func() error {
			if got := p.MetricsReaders(); !slices.Equal(got, pins) {
				return fmt.Errorf("readers are %q, want %q", got, pins)
			}
			return nil
		})
	}
	if n := c.Reads.Load(); n != 1 {
		t.Errorf("the program was read %d times, want once", n)
	}
}

func TestAProgramThatComesLateIsWaitedFor(t *testing.T) {
	p := agenttest.Program(t, "late", "in", "out")
	c := agenttest.NewCluster(t, agenttest.Instance("edge-1"))
	startPod(t, c, agenttest.Quiet)
	agenttest.Eventually(t, func() error {
		if reason, message := agenttest.Programmed(c.Instance(t)); reason != v1alpha1.ReasonNoProgram {
			return fmt.Errorf("status says %s: %q, want NoProgram", reason, message)
		}
		return nil
	})
	if err := c.Create(t.Context(), agenttest.ChainProgram(t, "edge-1", p)); err != nil {
		t.Fatal(err)
	}
	reports(t, c, v1alpha1.ReasonApplied, "edge-1 runs", p)
}

func TestWithoutAnAPIServerEngineAndAgentComeBackWithTheirProgram(t *testing.T) {
	program := agenttest.Program(t, "mine", "in", "out")
	c := agenttest.NewCluster(t, agenttest.Instance("edge-1"), agenttest.ChainProgram(t, "edge-1", program))
	p := startPod(t, c, agenttest.Quiet)
	reports(t, c, v1alpha1.ReasonApplied, "edge-1 runs", program)

	c.Down.Store(true)
	p.engine.Restart()
	agenttest.Eventually(t, func() error { return agenttest.Wants(p.engine.Runs(), program) })

	p.stop()
	p.startAgent(t, agenttest.NewCluster(t)) // a cluster that says nothing: the program is on disk
	p.engine.Restart()
	agenttest.Eventually(t, func() error { return agenttest.Wants(p.engine.Runs(), program) })
	p.stop()
	if err := agenttest.Wants(p.engine.Runs(), program); err != nil {
		t.Errorf("after the agent's end: %v", err)
	}
}

func TestAnAgentThatIsStartedAnewAsksTheEngineForNothing(t *testing.T) {
	program := agenttest.Program(t, "mine", "in", "out")
	c := agenttest.NewCluster(t, agenttest.Instance("edge-1"), agenttest.ChainProgram(t, "edge-1", program))
	p := startPod(t, c, agenttest.Quiet)
	reports(t, c, v1alpha1.ReasonApplied, "edge-1 runs", program)
	p.stop()
	p.startAgent(t, c)
	agenttest.Eventually(t, func() error {
		if s := p.loader.State(); s.Wanted.Program == nil || s.Hash != program.Hash {
			return fmt.Errorf("the agent knows of hash %q", s.Hash)
		}
		return nil
	})
	if n := p.loader.State().Loads; n != 0 {
		t.Errorf("%d programs loaded into an engine that had its own", n)
	}
}

func TestProbesTellEngineAndProgram(t *testing.T) {
	program := agenttest.Program(t, "mine", "in", "out")
	c := agenttest.NewCluster(t, agenttest.Instance("edge-1"))
	p := startPod(t, c, agenttest.Quiet)
	server := httptest.NewServer(p.Handler())
	t.Cleanup(server.Close)

	answers := func(path string, status int, words string) {
		t.Helper()
		agenttest.Eventually(t, func() error {
			r, err := http.Get(server.URL + path)
			if err != nil {
				return err
			}
			defer r.Body.Close()
			body, err := io.ReadAll(r.Body)
			if err == nil && (r.StatusCode != status || !strings.Contains(string(body), words)) {
				err = fmt.Errorf("%s: %d %s, want %d and %q", path, r.StatusCode, body, status, words)
			}
			return err
		})
	}
	answers("/livez", http.StatusOK, "ok")
	answers("/healthz", http.StatusOK, "ok")
	answers("/readyz", http.StatusServiceUnavailable, "no program runs")
	if err := c.Create(t.Context(), agenttest.ChainProgram(t, "edge-1", program)); err != nil {
		t.Fatal(err)
	}
	answers("/readyz", http.StatusOK, "ok")
	agenttest.Eventually(t, func() error { return lifecycle.Probe(t.Context(), p.engine.Socket) })

	p.engine.Signal(syscall.SIGSTOP)
	answers("/healthz", http.StatusServiceUnavailable, "engine")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := lifecycle.Probe(ctx, p.engine.Socket); err == nil {
		t.Error("an engine that stands still passes the probe")
	}
	p.engine.Signal(syscall.SIGCONT)
	answers("/healthz", http.StatusOK, "ok")

	if err := os.WriteFile(p.config.Draining, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	answers("/readyz", http.StatusServiceUnavailable, "drained")
	answers("/healthz", http.StatusOK, "ok")
}

func TestWhoAsksAndGoesAwayLeavesTheEngineConnected(t *testing.T) {
	dir := agenttest.Folder(t)
	engine := agenttest.Start(t, filepath.Join(dir, "s"), agenttest.Quiet)
	a := New(Config{Socket: engine.Socket, Clock: clock.RealClock{}, Log: testr.New(t)})
	t.Cleanup(a.engine.Close)
	if _, err := a.engine.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	engine.Signal(syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	context.AfterFunc(ctx, func() { engine.Signal(syscall.SIGCONT) })
	a.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/healthz", nil))
	if fresh, err := a.engine.Connect(t.Context()); fresh || err != nil {
		t.Errorf("connected again: %t, %v; want the connection of before", fresh, err)
	}
}

func TestWhileTheEngineIsAtAnotherRequestItIsHealthy(t *testing.T) {
	engine := agenttest.Start(t, filepath.Join(agenttest.Folder(t), "s"), agenttest.Quiet)
	a := New(Config{Socket: engine.Socket, Clock: clock.RealClock{}, Log: testr.New(t)})
	t.Cleanup(a.engine.Close)
	if _, err := a.engine.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	engine.Busy(a.engine, func() {
		if err := a.healthy(t.Context()); err != nil {
			t.Errorf("healthz: %v", err)
		}
	})
}

func TestTheStatusFollowsTheTraffic(t *testing.T) {
	program := agenttest.Program(t, "mine", "in", "out")
	c := agenttest.NewCluster(t, agenttest.Instance("edge-1"), agenttest.ChainProgram(t, "edge-1", program))
	startPod(t, c, agenttest.Noise)
	agenttest.Eventually(t, func() error {
		s := c.Instance(t).Status
		if s.PacketRate == 0 || s.DropRate == 0 || s.LoadPercent == 0 || len(s.Drops) == 0 || len(s.Cores) != 1 || s.Cores[0].CyclesPerPacket == 0 {
			return fmt.Errorf("status: %+v", s)
		}
		return nil
	})
}

func TestTheFirstCoresThatGroupsNameWork(t *testing.T) {
	i := agenttest.Instance("edge-1")
	i.Spec.Groups = append(i.Spec.Groups, v1alpha1.InstanceGroup{Name: "web", Cores: []int32{0, 2}})
	if got := workingCores(i); got != 3 {
		t.Errorf("%d cores work, want 3", got)
	}
	if got := workingCores(nil); got != 0 {
		t.Errorf("%d cores work of an instance that nobody has heard of, want 0: all", got)
	}
}
