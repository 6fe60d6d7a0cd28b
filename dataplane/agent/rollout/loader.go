// Package rollout brings the program that the cluster wants into the engine, and keeps it or the last good one there.
package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/agent/loop"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/control/flowspb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
)

// An engine that dies this often this soon after it got a program died of the program.
const (
	probation  = 10 * time.Second
	maxStrikes = 2
)

// Wanted is what the cluster wants.
type Wanted struct {
	Instance *v1alpha1.ChainInstance // nil: not heard of yet
	Program  *delivery.Program       // nil: not there (yet)
	Err      error                   // why it is not
	Again    bool                    // it is asked for again
}

// Hash is that of the program, empty if there is none.
func (w Wanted) Hash() string {
	if w.Program == nil {
		return ""
	}
	return w.Program.Hash
}

// State is what the loader has come to.
type State struct {
	Wanted   Wanted
	Engine   error             // why there is no engine; nil: it answers
	Version  string            // the engine's
	Hash     string            // of the program in force; empty: none
	Program  *delivery.Program // in force; nil if it is not known what the hash stands for
	Since    time.Time         // when the agent loaded it; zero: it ran before the agent did
	Refused  error             // why the wanted program is not in force
	Waits    error             // why it is not tried: it is for the pod that comes after this one
	Loaded   *controlpb.Loaded // what the engine said of the last load
	Loads    uint64            // programs loaded
	Refusals uint64            // programs refused
	Empty    uint64            // engines met that had no program: a new life
	Lost     int64             // sessions that ended with the engines between
}

// Loader keeps the wanted program in force, or the last good one. It needs no cluster.
type Loader struct {
	// Bound are the interfaces that the pod has devices for, empty if that is not known. May be nil.
	Bound   func() []string
	engine  *engine.Engine
	sampler *engine.Sampler
	devices swapper // nil: they have no part in it
	store   *Store
	clock   clock.PassiveClock
	log     logr.Logger

	mu    sync.Mutex
	state State

	// Used by Step alone.
	refused map[string]error  // programs that are not tried again, and why
	strikes map[string]int    // engines that died soon after they got a program
	trial   *delivery.Program // the program that was loaded last
	tried   time.Time         // when
	live    int64             // sessions of the engine when it answered last
	fresh   bool              // it has not been seen yet by this connection

	wanted  chan struct{}
	changed chan struct{}
}

// swapper prepares the engine's devices for another program, and has them follow it.
type swapper interface {
	Before(ctx context.Context, next *delivery.Program, first bool) (*flowspb.Marks, error)
	After(loaded *delivery.Program)
}

// NewLoader makes a loader; devices nil: they have no part in it.
func NewLoader(e *engine.Engine, sampler *engine.Sampler, devices swapper, store *Store, c clock.PassiveClock, log logr.Logger) *Loader {
	return &Loader{
		engine: e, sampler: sampler, devices: devices, store: store, clock: c, log: log,
		state:   State{Engine: engine.ErrNone},
		refused: map[string]error{},
		strikes: map[string]int{},
		wanted:  make(chan struct{}, 1),
		changed: make(chan struct{}, 1),
	}
}

// Want says what the cluster wants now.
func (k *Loader) Want(w Wanted) {
	k.update(func(s *State) { s.Wanted = w })
	loop.Signal(k.wanted)
}

// Wanted has something after Want.
func (k *Loader) Wanted() <-chan struct{} { return k.wanted }

// Changed has something after the state has changed.
func (k *Loader) Changed() <-chan struct{} { return k.changed }

// State is what the loader has come to.
func (k *Loader) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}

func (k *Loader) update(f func(*State)) {
	k.mu.Lock()
	f(&k.state)
	k.mu.Unlock()
	loop.Signal(k.changed)
}

// Step looks after the engine once. One that was lost may be there again already.
func (k *Loader) Step(ctx context.Context) {
	was := k.State().Engine
	if !k.step(ctx) && was == nil {
		k.step(ctx)
	}
}

// step tells whether the engine answered.
func (k *Loader) step(ctx context.Context) bool {
	fresh, err := k.engine.Connect(ctx)
	if fresh {
		k.met()
	}
	var sample *engine.Sample
	if err == nil {
		sample, err = k.sampler.Read(ctx)
	}
	if errors.Is(err, control.ErrNotAsked) {
		return true // it is at another request for long; whoever asked that hears if it is gone
	}
	if err != nil {
		k.lost(err)
		return false
	}
	if k.fresh && sample.Hash() == "" {
		k.update(func(s *State) { s.Empty, s.Lost = s.Empty+1, s.Lost+k.live })
	}
	k.fresh = false
	k.live = sample.Sessions()
	wanted := k.State().Wanted
	k.found(sample.Hash(), wanted)
	waits := k.waits(sample.Hash(), wanted.Program)
	if errorText(k.State().Waits) != errorText(waits) {
		k.update(func(s *State) { s.Waits = waits })
	}
	if waits != nil {
		wanted.Program = nil
	}
	if next := k.choose(sample.Hash(), wanted); next != nil {
		return k.load(ctx, next, sample.Hash() == "")
	}
	return true
}

// met is called for each new connection. What an engine refused may have been for want of memory; another one is asked again.
func (k *Loader) met() {
	k.fresh = true
	k.sampler.Reset()
	for hash := range k.refused {
		if k.strikes[hash] < maxStrikes {
			delete(k.refused, hash)
		}
	}
	k.log.Info("engine answers", "version", k.engine.Version())
}

// lost is called while there is no engine.
func (k *Loader) lost(err error) {
	if k.trial != nil && k.clock.Since(k.tried) < probation {
		k.strike(k.trial.Hash, err)
	}
	k.trial = nil
	if k.State().Engine == nil {
		k.log.Error(err, "engine has ended")
	}
	k.sampler.Reset()
	if state := k.State(); errorText(state.Engine) != errorText(err) || state.Hash != "" {
		k.update(func(s *State) { s.Engine, s.Hash, s.Program = err, "", nil })
	}
}

// strike notes that an engine died soon after it got a program. Twice is no accident, if there is another program to go
// back to.
func (k *Loader) strike(hash string, err error) {
	k.strikes[hash]++
	if k.strikes[hash] < maxStrikes {
		return
	}
	other, _ := k.store.Current() // one that cannot be read is none
	if other == nil || other.Hash == hash {
		if other, _ = k.store.Previous(); other == nil || other.Hash == hash {
			return
		}
		if err := k.store.Revert(); err != nil {
			k.log.Error(err, "program stays")
			return
		}
	}
	k.refuse(hash, fmt.Errorf("the engine exited %d times within %s of loading it (%w); it is not loaded again", k.strikes[hash], probation, err))
}

func (k *Loader) refuse(hash string, err error) {
	k.log.Error(err, "program refused", "hash", hash)
	k.refused[hash] = err
	k.update(func(s *State) { s.Refusals++ })
}

// found notes what the engine runs.
func (k *Loader) found(hash string, wanted Wanted) {
	for refused := range k.refused {
		if wanted.Program != nil && refused != wanted.Hash() { // wanted again, it gets another chance
			delete(k.refused, refused)
			delete(k.strikes, refused)
		}
	}
	state := k.State()
	known := state.Program
	if known == nil || known.Hash != hash {
		known = nil
		if wanted.Hash() == hash {
			known = wanted.Program
		} else if stored, err := k.store.Current(); err == nil && stored != nil && stored.Hash == hash {
			known = stored
		}
	}
	refused := k.refused[wanted.Hash()]
	if state.Engine == nil && state.Hash == hash && state.Program == known && errorText(state.Refused) == errorText(refused) {
		return
	}
	if known != nil && state.Hash != hash {
		if k.trial == nil {
			k.log.Info("program runs already", "hash", hash)
		}
		k.save(known)
	}
	k.update(func(s *State) {
		if s.Hash != hash {
			s.Since = time.Time{}
		}
		s.Engine, s.Version, s.Hash, s.Program, s.Refused = nil, k.engine.Version(), hash, known, refused
	})
}

// waits says why a program is not for this pod: it has interfaces for which the pod got no device. The operator replaces the pod when it changes the
// instance, and until the pod has gone the program before is the right one.
func (k *Loader) waits(inForce string, p *delivery.Program) error {
	if k.Bound == nil || p == nil || p.Hash == inForce {
		return nil
	}
	bound := k.Bound()
	for _, i := range p.GetInterfaces() {
		if len(bound) > 0 && !slices.Contains(bound, i.GetName()) {
			return fmt.Errorf("this pod has no device for interface %s: the next pod has", i.GetName())
		}
	}
	return nil
}

// choose is the program to load, nil if there is nothing to do. An engine without a program gets one
// at once, if need be an old one.
func (k *Loader) choose(inForce string, wanted Wanted) *delivery.Program {
	if wanted.Program != nil && k.refused[wanted.Hash()] == nil {
		if wanted.Hash() == inForce {
			return nil
		}
		return wanted.Program
	}
	if inForce != "" {
		return nil
	}
	stored, err := k.store.Current()
	if err != nil {
		k.log.Error(err, "program on disk cannot be used")
	}
	if stored == nil || k.refused[stored.Hash] != nil {
		return nil
	}
	return stored
}

// exchange puts a program into force, with what the engine's devices have to do with it. The program is on trial from when the engine gets it.
func (k *Loader) exchange(ctx context.Context, p *delivery.Program, first bool) (loaded *controlpb.Loaded, err error) {
	var marks *flowspb.Marks
	if k.devices != nil {
		marks, err = k.devices.Before(ctx, p, first)
	}
	if err == nil {
		k.trial, k.tried = p, k.clock.Now()
		loaded, err = k.engine.Load(ctx, p, k.State().Program, marks)
	}
	switch {
	case k.devices == nil:
	case err != nil:
		k.devices.After(nil)
	default:
		k.devices.After(p)
	}
	return loaded, err
}

// load tells whether the engine lived through it. first: it has no program yet.
func (k *Loader) load(ctx context.Context, p *delivery.Program, first bool) bool {
	before, since := k.trial, k.tried
	loaded, err := k.exchange(ctx, p, first)
	var refused *control.EngineError
	if engine.Unasked(err) || errors.As(err, &refused) {
		k.trial, k.tried = before, since
	}
	switch {
	case errors.Is(err, control.ErrNotAsked): // it is at another request for long: again in the next step
	case refused != nil:
		k.refuse(p.Hash, err)
		k.update(func(s *State) { s.Refused = k.refused[s.Wanted.Hash()] })
	case err != nil:
		k.lost(err)
		return false
	default:
		k.tried = k.clock.Now()
		k.log.Info("program loaded", "chain", p.GetChain(), "hash", p.Hash, "build", time.Duration(loaded.GetBuildNs()),
			"swap", time.Duration(loaded.GetSwapNs()), "sessionsKept", loaded.GetSessionsKept(), "sessionsDropped", loaded.GetSessionsDropped())
		good := before == nil || k.clock.Since(since) >= probation
		if err := k.store.Save(p, good); err != nil {
			k.log.Error(err, "program runs, but could not be saved for a restart")
		}
		k.sampler.Reset()
		k.update(func(s *State) {
			s.Hash, s.Program, s.Since, s.Loaded, s.Loads = p.Hash, p, k.tried, loaded, s.Loads+1
			s.Refused = k.refused[s.Wanted.Hash()]
		})
	}
	return true
}

// save keeps a program that runs without having been loaded by this agent.
func (k *Loader) save(p *delivery.Program) {
	if err := k.store.Save(p, true); err != nil {
		k.log.Error(err, "program runs, but could not be saved for a restart")
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
