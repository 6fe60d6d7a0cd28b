// Package agent is the process beside each engine: it brings the wanted program into the engine, keeps it there, and
// tells the cluster and Prometheus what the engine does.
//
// Agent and engine are two containers of a pod, and neither starts the other. Were the engine the agent's child, its death
// or upgrade would take the packets with it, and the process that reads foreign packets would share a container with the one
// that holds an API token. As they are, kubelet restarts each alone and sees how it died: the engine forwards while there
// is no agent, and an agent that comes (back) finds the engine by its socket and adopts what runs there.
//
// Eight loops share nothing but a few small records, and each is a package's. The loader (rollout) speaks only to the engine and the
// disk, so that an API server that hangs never delays the program of an engine that comes back; so do balance, which moves shards
// between the engine's cores, offload, which gives rules to its devices, sharing, which hands shards to other pods, health, which checks
// load balancers' backends, and flows, which exports records. The source (rollout) only reads the cluster, the reporter (telemetry) only writes to it.
package agent

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/balance"
	"github.com/sinter-nfv/sinter/dataplane/agent/doorway"
	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/agent/lifecycle"
	"github.com/sinter-nfv/sinter/dataplane/agent/offload"
	"github.com/sinter-nfv/sinter/dataplane/agent/rollout"
	"github.com/sinter-nfv/sinter/dataplane/agent/sharing"
	"github.com/sinter-nfv/sinter/dataplane/agent/telemetry"
	"github.com/sinter-nfv/sinter/dataplane/agent/transfer"
	"github.com/sinter-nfv/sinter/dataplane/flows"
	"github.com/sinter-nfv/sinter/dataplane/health"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Config is what an agent works with.
type Config struct {
	Client   client.WithWatch   // of the cluster
	Instance client.ObjectKey   // the pod's ChainInstance
	Node     string             // that the pod is on
	Socket   string             // the engine's control socket
	Programs string             // folder of the last good programs
	Binding  string             // file in which exec-engine says what it started the engine with
	Draining string             // file that is there once the pod is being drained
	Balance  bool               // whether shards are moved between the engine's cores
	Identity *transfer.Identity // of the chain's pods; nil: the pod shares its state with none
	Peers    net.Listener       // by which they give shards; nil: they do not
	Clock    clock.WithTicker
	Log      logr.Logger
}

// Agent is one agent.
type Agent struct {
	config   Config
	engine   *engine.Engine
	sampler  *engine.Sampler
	loader   *rollout.Loader
	source   *rollout.Source
	reporter *telemetry.Reporter
	balance  *balance.Balance
	offload  *offload.Dispatch
	sharing  *sharing.Sharing // nil: the pod shares its state with none
	health   *health.Monitor
	flows    flows.Export
}

// New makes an agent; Run starts it.
func New(c Config) *Agent {
	eng, drops := &engine.Engine{Socket: c.Socket}, offload.NewDrops()
	sampler := engine.NewSampler(eng, drops, c.Clock)
	devices := offload.New(eng, drops, sampler.Classes, c.Clock, c.Log.WithName("dispatch"))
	a := &Agent{
		config:   c,
		engine:   eng,
		sampler:  sampler,
		loader:   rollout.NewLoader(eng, sampler, devices, &rollout.Store{Dir: c.Programs}, c.Clock, c.Log.WithName("loader")),
		source:   &rollout.Source{Client: c.Client, Instance: c.Instance, Tables: &rollout.Tables{}, Clock: c.Clock, Log: c.Log.WithName("source")},
		reporter: telemetry.NewReporter(c.Client, c.Instance, c.Clock, c.Log.WithName("reporter")),
		balance:  balance.New(eng, c.Identity != nil, c.Clock, c.Log.WithName("balance")),
		offload:  devices,
	}
	a.loader.Bound = func() []string { return lifecycle.ReadBinding(c.Binding).Interfaces() }
	backends := c.Log.WithName("health")
	a.health = &health.Monitor{
		Program: a.program, Set: eng.SetBackends, Dial: new(net.Dialer).DialContext,
		Say: func(format string, args ...any) { backends.Info(fmt.Sprintf(format, args...)) },
	}
	if c.Identity != nil {
		a.sharing = sharing.New(eng, c.Instance.Name, c.Identity, c.Clock, c.Log.WithName("sharing"))
	}
	return a
}

// Pauses between steps.
const (
	watchEngine  = time.Second
	awaitEngine  = 200 * time.Millisecond
	watchReports = time.Second / 2
)

// Run runs the agent until the context ends.
func (a *Agent) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.keep(ctx) })
	group.Go(func() error { return a.source.Run(ctx, a.loader.Want) })
	group.Go(func() error { return a.report(ctx) })
	group.Go(func() error { return a.steer(ctx) })
	group.Go(func() error { a.health.Run(ctx); return nil })
	group.Go(func() error { return a.export(ctx) })
	if a.config.Balance {
		group.Go(func() error { return a.rebalance(ctx) })
	}
	if a.sharing != nil {
		group.Go(func() error { return a.share(ctx) })
	}
	if a.sharing != nil && a.config.Peers != nil {
		server := &transfer.Server{Engine: a.engine, Identity: a.config.Identity, Log: a.config.Log.WithName("peers"), Peers: a.isPeer}
		group.Go(func() error { return server.Serve(ctx, a.config.Peers) })
	}
	return group.Wait()
}

// isPeer tells whether a source is a pod that the chain has beside this one.
func (a *Agent) isPeer(source netip.Addr) bool {
	i := a.loader.State().Wanted.Instance
	return i != nil && slices.ContainsFunc(i.Spec.Peers, func(p v1alpha1.InstancePeer) bool {
		at, err := netip.ParseAddrPort(p.Address)
		return err == nil && doorway.Source(at.Addr()) == source
	})
}

func (a *Agent) keep(ctx context.Context) error {
	defer a.engine.Close()
	for {
		a.loader.Step(ctx)
		pause := watchEngine
		if a.loader.State().Engine != nil {
			pause = awaitEngine
		}
		select {
		case <-ctx.Done():
			return nil
		case <-a.loader.Wanted():
		case <-a.config.Clock.After(pause):
		}
	}
}

func (a *Agent) report(ctx context.Context) error {
	for {
		a.Report(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-a.loader.Changed():
		case <-a.balance.Hurry():
		case <-a.config.Clock.After(watchReports):
		}
	}
}

// steer has the engine's devices do what they can.
func (a *Agent) steer(ctx context.Context) error {
	for {
		state := a.loader.State()
		pause := a.offload.Step(ctx, state.Program, workingCores(state.Wanted.Instance))
		select {
		case <-ctx.Done():
			return nil
		case <-a.offload.Wake():
		case <-a.config.Clock.After(pause):
		}
	}
}

// program is the one in force, if it is known; else nil.
func (a *Agent) program() *programpb.Program {
	if p := a.loader.State().Program; p != nil {
		return p.Program
	}
	return nil
}

// export sends records of flows to the collector that the program names.
func (a *Agent) export(ctx context.Context) error {
	log := a.config.Log.WithName("flows")
	said := ""
	for {
		if _, now := a.sampler.Window(); now != nil {
			a.flows.Lost(now.Stats.GetObservation())
		}
		pause, err := a.flows.Step(ctx, a.program(), a.engine.FlowRecords, a.config.Clock.Now())
		switch {
		case err == nil:
			said = ""
		case ctx.Err() == nil && !engine.Unasked(err) && err.Error() != said: // not again each time it is tried
			said = err.Error()
			log.Error(err, "flows are not exported")
		}
		select {
		case <-ctx.Done():
			return a.flows.Close()
		case <-a.config.Clock.After(pause):
		}
	}
}

// share has shards be in the pods where they are wanted.
func (a *Agent) share(ctx context.Context) error {
	for {
		pause := a.sharing.Step(ctx, a.loader.State().Wanted.Instance)
		select {
		case <-ctx.Done():
			return nil
		case <-a.config.Clock.After(pause):
		}
	}
}

// rebalance keeps the load of the cores even.
func (a *Agent) rebalance(ctx context.Context) error {
	for {
		pause := a.balance.Step(ctx, workingCores(a.loader.State().Wanted.Instance))
		select {
		case <-ctx.Done():
			return nil
		case <-a.config.Clock.After(pause):
		}
	}
}

// workingCores is how many cores, the first ones, an instance's groups may be worked on by; 0: nobody has said.
func workingCores(i *v1alpha1.ChainInstance) int {
	if i == nil {
		return 0
	}
	return i.WorkingCores()
}

// Metrics are the agent's and the engine's, for Prometheus.
func (a *Agent) Metrics() prometheus.Collector {
	c := &telemetry.Collector{
		Read:   func(ctx context.Context) error { _, err := a.sampler.Read(ctx); return err },
		See:    a.see,
		Writes: &a.reporter.Writes, Moves: &a.balance.Moves, Blocked: a.balance.Blocked, Backends: a.health.Conditions, Flows: a.flows.Counts,
	}
	if a.sharing != nil {
		c.Given = &a.sharing.Moved
	}
	return c
}

// MetricsReaders are the pins of certificates with which metrics may be read; none before the cluster has been heard.
func (a *Agent) MetricsReaders() []string {
	if i := a.loader.State().Wanted.Instance; i != nil {
		return i.Spec.MetricsReaders
	}
	return nil
}

// Report writes the status if it is worth a write.
func (a *Agent) Report(ctx context.Context) {
	seen := a.see()
	if seen.State.Wanted.Instance != nil { // else the cluster has not been heard yet
		a.reporter.Step(ctx, seen)
	}
}

// see is all that the agent knows at this moment.
func (a *Agent) see() *telemetry.Seen {
	before, now := a.sampler.Window()
	var sharing *sharing.State
	if a.sharing != nil {
		state := a.sharing.State()
		sharing = &state
	}
	return &telemetry.Seen{
		Sharing:  sharing,
		At:       a.config.Clock.Now(),
		Node:     a.config.Node,
		State:    a.loader.State(),
		Before:   before,
		Now:      now,
		Binding:  lifecycle.ReadBinding(a.config.Binding),
		Draining: lifecycle.Draining(a.config.Draining),
		Moving:   a.config.Balance,
		Balance:  a.balance.State(),
		Dispatch: a.offload.State(),
	}
}
