package rollout

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/control/flowspb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/test/agenttest"
)

// bench is a loader beside a real engine, in a time of its own.
type bench struct {
	*Loader
	t      *testing.T
	clock  *clocktesting.FakeClock
	dir    string
	engine *agenttest.Engine
}

// noDrops is devices that drop nothing.
type noDrops struct{}

func (noDrops) MergeInto(*controlpb.Stats) {}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)), dir: agenttest.Folder(t)}
	b.engine = agenttest.Start(t, filepath.Join(b.dir, "s"), agenttest.Quiet)
	b.restartAgent()
	return b
}

// restartAgent has another agent take over. It knows what is on disk and what the engine runs.
func (b *bench) restartAgent() {
	if b.Loader != nil {
		b.Loader.engine.Close()
	}
	e := &engine.Engine{Socket: b.engine.Socket}
	b.t.Cleanup(e.Close)
	b.Loader = NewLoader(e, engine.NewSampler(e, noDrops{}, b.clock), nil, &Store{Dir: filepath.Join(b.dir, "programs")}, b.clock, testr.New(b.t))
}

// step lets some time go by and has the loader look.
func (b *bench) step(after time.Duration) {
	b.clock.Step(after)
	b.Step(b.t.Context())
}

func (b *bench) want(p *delivery.Program) {
	b.Want(Wanted{Instance: &v1alpha1.ChainInstance{}, Program: p})
}

// passes has a program put in force, and runs it for long.
func (b *bench) passes(p *delivery.Program) {
	b.want(p)
	b.step(time.Second)
	b.step(time.Minute)
}

func (b *bench) runs(want *delivery.Program) {
	b.t.Helper()
	if err := agenttest.Wants(b.engine.Runs(), want); err != nil {
		b.t.Fatal(err)
	}
	if s := b.State(); s.Engine != nil || s.Hash != want.Hash || s.Program == nil {
		b.t.Fatalf("the loader says: engine %v, hash %s, program known: %t; want %s", s.Engine, s.Hash, s.Program != nil, want.Hash)
	}
}

func TestTheWantedProgramIsLoadedAndSwapped(t *testing.T) {
	b := newBench(t)
	first, second := agenttest.Program(t, "first", "in", "out"), agenttest.Program(t, "second", "in", "out")
	b.want(first)
	b.step(time.Second)
	b.runs(first)
	b.want(second)
	b.step(time.Second)
	b.runs(second)
	b.step(time.Second)
	if n := b.State().Loads; n != 2 {
		t.Errorf("%d programs loaded, want 2", n)
	}
}

// An operator that adds an interface to a chain replaces the pod, whose agent hears of the program before it ends.
func TestAProgramForTheNextPodIsNotTried(t *testing.T) {
	b := newBench(t)
	bound := []string{"in", "out"}
	b.Bound = func() []string { return bound }
	now, next := agenttest.Program(t, "now", "in", "out"), agenttest.Program(t, "next", "in", "dmz")
	b.want(now)
	b.step(time.Second)
	b.want(next)
	for range 3 {
		b.step(time.Second)
		b.runs(now)
	}
	s := b.State()
	if s.Refused != nil || s.Refusals != 0 || s.Waits == nil || !strings.Contains(s.Waits.Error(), "interface dmz") {
		t.Errorf("refused: %v, waits: %v; want that it waits for a pod with interface dmz", s.Refused, s.Waits)
	}
	b.want(now)
	b.step(time.Second)
	if s := b.State(); s.Waits != nil {
		t.Errorf("the program that runs waits: %v", s.Waits)
	}
	bound = nil // not known: the engine is asked
	b.want(next)
	b.step(time.Second)
	if s := b.State(); s.Waits != nil || s.Refused == nil {
		t.Errorf("waits: %v, refused: %v; want that the engine refuses it", s.Waits, s.Refused)
	}
}

func TestAProgramThatTheEngineRefusesLeavesTheOldOneInForce(t *testing.T) {
	b := newBench(t)
	good, bad := agenttest.Program(t, "good", "in", "out"), agenttest.Program(t, "bad", "in", "dmz")
	b.want(good)
	b.step(time.Second)
	b.want(bad)
	for range 5 {
		b.step(time.Second)
		b.runs(good)
	}
	s := b.State()
	if s.Refused == nil || !strings.Contains(s.Refused.Error(), "dmz") {
		t.Errorf("refused: %v, want the engine's words about interface dmz", s.Refused)
	}
	if s.Refusals != 1 {
		t.Errorf("the engine was asked %d times, want once", s.Refusals)
	}
	b.want(good)
	b.step(time.Second)
	if err := b.State().Refused; err != nil {
		t.Errorf("the good program is wanted again, and still: %v", err)
	}
}

func TestAnEngineThatWasKilledGetsItsProgramBackWithoutTheCluster(t *testing.T) {
	b := newBench(t)
	p := agenttest.Program(t, "mine", "in", "out")
	b.passes(p)
	b.engine.Restart()
	b.step(time.Second)
	b.runs(p)

	b.restartAgent() // which hears nothing from a cluster
	b.engine.Restart()
	b.step(time.Second)
	b.runs(p)
}

func TestWhileTheEngineIsDownTheLoaderSaysSo(t *testing.T) {
	b := newBench(t)
	b.want(agenttest.Program(t, "mine", "in", "out"))
	b.step(time.Second)
	b.engine.End(syscall.SIGKILL)
	b.step(time.Second)
	if s := b.State(); s.Engine == nil || s.Hash != "" {
		t.Errorf("engine: %v, hash %q; want an error and none", s.Engine, s.Hash)
	}
}

func TestAnEngineThatIsBusyForLongIsNotDead(t *testing.T) {
	b := newBench(t)
	p := agenttest.Program(t, "mine", "in", "out")
	b.want(p)
	b.step(time.Second)
	b.engine.Busy(b.Loader.engine, func() { b.step(time.Second) })
	if s := b.State(); s.Engine != nil || s.Hash != p.Hash {
		t.Errorf("engine: %v, hash %q; want no error, and %s", s.Engine, s.Hash, p.Hash)
	}
	if n := b.strikes[p.Hash]; n != 0 || b.trial != p {
		t.Errorf("the program is charged with %d deaths, and on trial: %t; want none, and that it still is", n, b.trial == p)
	}
	b.step(time.Second)
	b.runs(p)
}

func TestAnAgentThatComesBackAdoptsTheRunningProgram(t *testing.T) {
	b := newBench(t)
	p := agenttest.Program(t, "mine", "in", "out")
	b.want(p)
	b.step(time.Second)
	b.restartAgent()
	b.step(time.Second)
	b.runs(p) // known from disk
	b.want(p)
	b.step(time.Second)
	b.runs(p)
	if n := b.State().Loads; n != 0 {
		t.Errorf("the running program was loaded %d times more", n)
	}
}

func TestAnAgentLeavesARunningProgramAloneUntilTheClusterSpeaks(t *testing.T) {
	b := newBench(t)
	foreign, wanted := agenttest.Program(t, "foreign", "in", "out"), agenttest.Program(t, "wanted", "in", "out")
	b.engine.Load(foreign)
	b.step(time.Second)
	if s := b.State(); s.Hash != foreign.Hash || s.Loads != 0 {
		t.Fatalf("hash %s after %d loads, want the running %s untouched", s.Hash, s.Loads, foreign.Hash)
	}
	b.want(wanted)
	b.step(time.Second)
	b.runs(wanted)
}

func TestAProgramThatKillsTheEngineTwiceIsTakenBack(t *testing.T) {
	b := newBench(t)
	good, deadly := agenttest.Program(t, "good", "in", "out"), agenttest.Program(t, "deadly", "in", "out")
	b.want(good)
	b.step(time.Second)
	b.step(time.Minute) // it has proved good
	b.want(deadly)
	b.step(time.Second)
	b.engine.Restart()
	b.step(time.Second)
	b.runs(deadly) // once may be an accident
	b.engine.Restart()
	b.step(time.Second)
	b.step(time.Second)
	b.runs(good)
	if err := b.State().Refused; err == nil || !strings.Contains(err.Error(), "exited 2 times within 10s") {
		t.Errorf("refused: %v", err)
	}
	b.engine.Restart()
	b.step(time.Second)
	b.runs(good)
}

// deadlyDevices take the engine with them when they are tried.
type deadlyDevices struct {
	engine *agenttest.Engine
	times  int
}

func (d *deadlyDevices) Before(context.Context, *delivery.Program, bool) (*flowspb.Marks, error) {
	if d.times == 0 {
		return nil, nil
	}
	d.times--
	d.engine.Restart()
	return nil, io.EOF
}

func (d *deadlyDevices) After(*delivery.Program) {}

func TestAProgramIsNotChargedForWhatHappenedBeforeTheEngineGotIt(t *testing.T) {
	b := newBench(t)
	good, next := agenttest.Program(t, "good", "in", "out"), agenttest.Program(t, "next", "in", "out")
	b.passes(good)
	b.devices = &deadlyDevices{b.engine, maxStrikes}
	b.want(next)
	for range 3 * maxStrikes {
		b.step(time.Second)
	}
	b.runs(next)
	if n := b.strikes[next.Hash]; n != 0 {
		t.Errorf("it is charged with %d deaths", n)
	}
}

func TestAProgramStaysOnTrialThoughAnotherIsRefused(t *testing.T) {
	b := newBench(t)
	good, deadly := agenttest.Program(t, "good", "in", "out"), agenttest.Program(t, "deadly", "in", "out")
	b.passes(good)
	b.want(deadly)
	b.step(time.Second)
	b.want(agenttest.Program(t, "bad", "in", "dmz"))
	b.step(time.Second)
	b.engine.Restart()
	b.step(time.Second)
	if n := b.strikes[deadly.Hash]; n != 1 {
		t.Errorf("the program in force is charged with %d deaths, want the one", n)
	}
}

func TestAnEngineThatDiesLongAfterALoadDidNotDieOfIt(t *testing.T) {
	b := newBench(t)
	first, second := agenttest.Program(t, "first", "in", "out"), agenttest.Program(t, "second", "in", "out")
	b.passes(first)
	b.want(second)
	for range 3 {
		b.step(time.Second)
		b.step(time.Minute)
		b.engine.Restart()
	}
	b.step(time.Second)
	b.runs(second)
}

func TestAnEngineWithoutAProgramIsANewLife(t *testing.T) {
	b := newBench(t)
	b.want(agenttest.Program(t, "mine", "in", "out"))
	b.step(time.Second)
	b.engine.Restart()
	b.step(time.Second)
	if n := b.State().Empty; n != 2 {
		t.Errorf("%d engines began without a program, wanted 2", n)
	}
	b.restartAgent()
	b.step(time.Second)
	if n := b.State().Empty; n != 0 {
		t.Errorf("the agent counts %d engines that began without a program, but found one at work", n)
	}
}
