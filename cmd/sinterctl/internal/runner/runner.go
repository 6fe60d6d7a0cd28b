// Package runner runs a chain: it starts the engine, keeps the program that it
// runs in step with the chain's files, shows what goes on, and stops.
package runner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/engine"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/watch"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/fib"
	"github.com/sinter-nfv/sinter/dataplane/flows"
	"github.com/sinter-nfv/sinter/dataplane/health"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Config is what to run, and how.
type Config struct {
	Input  compile.Input
	Binds  map[string]string // devices by interface; those missing come from the chain
	Watch  bool              // reload when a file changes
	For    time.Duration     // stop after; 0: when told
	Every  time.Duration     // between two views
	Engine engine.Config
	View   View
	// Say is told what happens, a line each.
	Say func(format string, args ...any)
}

// View shows the counters from time to time.
type View interface {
	Show(p *programpb.Program, before, now *controlpb.Stats) error
}

// answerTimeout bounds a question to the engine: a loaded program may take seconds to build.
const answerTimeout = 60 * time.Second

// Run runs the chain until ctx ends, Config.For is over, or the engine ends. A value
// from reload has the files read again.
func Run(ctx context.Context, c Config, reload <-chan os.Signal) (err error) {
	read := watch.Begin()
	session := &compile.Session{}
	chain, err := c.compile(session)
	if err != nil {
		return err
	}
	if c.Engine.Binds, err = Binds(chain, c.Binds); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.Engine.Socket), 0o755); err != nil {
		return err
	}
	for _, n := range chain.Graph.Interfaces {
		c.Engine.MTU = max(c.Engine.MTU, n.MTU)
	}
	process, err := engine.Start(ctx, c.Engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop(process)) }()
	r := &running{Config: c, session: session, read: read, engine: process}
	defer os.Remove(ProgramFile(c.Engine.Socket))
	if _, err := r.load(ctx, chain); err != nil {
		return err
	}
	r.sayLive("running")
	defer r.watchBackends(ctx)()
	exported := r.export(ctx)
	err = r.loop(ctx, reload)
	return errors.Join(err, exported())
}

func stop(p *engine.Process) error {
	select {
	case <-p.Exited():
		return nil // said already
	default:
		return p.Stop()
	}
}

func (c Config) compile(session *compile.Session) (*compile.Chain, error) {
	chain, err := session.Files(c.Input)
	if err != nil {
		return chain, err
	}
	for _, w := range chain.Warnings() {
		c.Say("warning: %s", w)
	}
	return chain, nil
}

// ProgramFile is where the program of the engine that listens on a socket is kept.
func ProgramFile(socket string) string { return socket + ".program" }

// SavedProgram is the program kept beside a socket, if it is the one with the hash; else nil.
func SavedProgram(socket string, hash []byte) *programpb.Program {
	b, err := os.ReadFile(ProgramFile(socket))
	if err != nil || program.Hash(b) != fmt.Sprintf("%x", hash) {
		return nil
	}
	return decoded(b)
}

// LastProgram is the program kept beside a socket, whatever the engine runs by now; nil: there is none.
func LastProgram(socket string) *programpb.Program {
	b, err := os.ReadFile(ProgramFile(socket))
	if err != nil {
		return nil
	}
	return decoded(b)
}

func decoded(b []byte) *programpb.Program {
	p, err := program.Decode(b)
	if err != nil {
		return nil
	}
	return p
}

// running is a chain that runs.
type running struct {
	Config
	session *compile.Session
	chain   *compile.Chain
	read    watch.Reading // of the chain, when it was started
	engine  *engine.Process
	before  *controlpb.Stats
	program atomic.Pointer[programpb.Program] // the chain's, for whoever checks its backends or exports its flows
	flows   flows.Export
}

// watchBackends checks backends as the program says, from the host, until the function that it returns is called.
func (r *running) watchBackends(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	monitor := health.Monitor{
		Program: r.program.Load, Dial: new(net.Dialer).DialContext, Say: r.Say,
		Set: func(ctx context.Context, states []*programpb.BackendState) error {
			ctx, cancel := asking(ctx)
			defer cancel()
			_, err := r.engine.SetBackends(ctx, states)
			return err
		},
	}
	group.Go(func() { monitor.Run(ctx) })
	return func() { cancel(); group.Wait() }
}

func (r *running) loop(ctx context.Context, reload <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var files *watch.Files
	var changed <-chan watch.Reading
	if r.Watch {
		var err error
		if files, err = watch.New(ctx); err != nil {
			return err
		}
		if _, err := files.Set(ctx, r.chain.Files, r.read); err != nil {
			return err
		}
		changed = files.Changed
	}
	var over <-chan time.Time
	if r.For > 0 {
		over = time.After(r.For)
	}
	tick := time.NewTicker(r.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return r.show(ctx)
		case <-over:
			return r.show(ctx)
		case <-r.engine.Exited():
			return r.engine.Err()
		case <-tick.C:
			if err := r.show(ctx); err != nil {
				return err
			}
		case <-reload:
			r.reload(ctx, files, watch.Begin(r.chain.Files...))
		case read := <-changed:
			r.reload(ctx, files, read)
		}
	}
}

func (r *running) show(ctx context.Context) error {
	ctx, cancel := asking(ctx)
	defer cancel()
	now, err := r.engine.Stats(ctx)
	if err != nil {
		select {
		case <-r.engine.Exited():
			return r.engine.Err()
		default:
			return err
		}
	}
	err = r.View.Show(r.chain.Result.Program, r.before, now)
	r.before = now
	return err
}

// asking bounds a question to the engine. It is not cut short by a signal to stop: a question
// without its answer ends the connection, by which the engine is to be stopped.
func asking(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
}

// reload reads the chain again. Whatever is wrong with it, the running program stays.
func (r *running) reload(ctx context.Context, files *watch.Files, read watch.Reading) {
	began := time.Now()
	chain, err := r.compile(r.session)
	torn, again := read.Torn(chain.Files), "send SIGHUP when it is complete"
	if files != nil {
		watched := chain.Files
		if err != nil { // not all may have been read
			watched = slices.Concat(watched, r.chain.Files)
		}
		var failed error
		torn, failed = files.Set(ctx, watched, read)
		err, again = errors.Join(err, failed), "it is read again"
	}
	if len(torn) > 0 {
		r.Say("%s changed while it was read, the running program is untouched; %s", strings.Join(torn, ", "), again)
		return
	}
	if err != nil {
		r.Say("reload refused, the running program is untouched:\n%v", err)
		return
	}
	if chain.Hash == r.chain.Hash {
		r.Say("reload: the program is the same")
		return
	}
	compiled := time.Since(began)
	loaded, err := r.load(ctx, chain)
	var refused *control.EngineError
	switch {
	case errors.As(err, &refused):
		r.Say("reload refused, the running program is untouched: %v", err)
		return
	case err != nil:
		r.Say("reload failed: %v", err) // the loop finds out whether the engine lives
		return
	}
	r.sayLive(fmt.Sprintf("reloaded: compiled in %s, built in %s, swapped in %s, %d sessions kept, %d dropped;",
		round(compiled), round(time.Duration(loaded.GetBuildNs())), round(time.Duration(loaded.GetSwapNs())),
		loaded.GetSessionsKept(), loaded.GetSessionsDropped()))
}

// load puts the chain's program into force, and beside the socket for whoever reads statistics.
func (r *running) load(ctx context.Context, chain *compile.Chain) (*controlpb.Loaded, error) {
	ctx, cancel := asking(ctx)
	defer cancel()
	var has []*fib.Table
	if r.chain != nil {
		has = r.chain.Result.Tables
	}
	loaded, err := r.engine.LoadTables(ctx, chain.Encoded, chain.Hash, control.TableChanges(has, chain.Result.Tables))
	if err != nil {
		return nil, err
	}
	r.chain = chain
	r.program.Store(chain.Result.Program)
	if err := os.WriteFile(ProgramFile(r.Engine.Socket), chain.Encoded, 0o644); err != nil {
		r.Say("warning: statistics will lack names: %v", err)
	}
	return loaded, nil
}

func (r *running) sayLive(what string) {
	r.Say("%s chain %s, program %.12s", what, r.chain.Graph.Chain, r.chain.Hash)
}

func round(d time.Duration) time.Duration { return d.Round(max(d/1000, time.Microsecond) * 10) }
