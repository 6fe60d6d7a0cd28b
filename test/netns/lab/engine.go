package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

// EnginePath is the engine's program: SINTER_ENGINE, else the one in its build folder.
func EnginePath(t testing.TB) string {
	return built(t, "SINTER_ENGINE", "dataplane/engine/build/sinter-engine", "make engine")
}

// Sinterctl is the program of that name: SINTERCTL, else the one in bin.
func Sinterctl(t testing.TB) string {
	return built(t, "SINTERCTL", "bin/sinterctl", "make sinterctl")
}

func built(t testing.TB, env, path, how string) string {
	t.Helper()
	if p := os.Getenv(env); p != "" {
		path = p
	} else {
		path = filepath.Join("..", "..", path)
	}
	abs, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(abs)
	}
	if err != nil {
		t.Fatalf("%v: run %s, or set %s", err, how, env)
	}
	return abs
}

// Engine is a running engine, and a connection to it.
type Engine struct {
	*control.Client
	Process *Process
	Socket  string // for control
}

// socketPath is the path of a control socket; those of t.TempDir are too long for one.
func socketPath(t testing.TB) string {
	dir, err := os.MkdirTemp("", "sinter")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// StartEngine starts an engine with --bind arguments ("inside=veth0") and other flags, and waits until it answers.
func StartEngine(t testing.TB, s *Space, binds []string, flags ...string) *Engine {
	t.Helper()
	return startEngine(t, s, nil, binds, flags)
}

// StartEngineWith starts an engine as root with these capabilities alone ("NET_ADMIN"), as a container has them.
func StartEngineWith(t testing.TB, s *Space, capabilities, binds []string, flags ...string) *Engine {
	t.Helper()
	return startEngine(t, s, Contained(capabilities...), binds, flags)
}

// Contained has the command that follows run as root with these capabilities alone, as a container has them.
func Contained(capabilities ...string) []string {
	bounding := "--bounding-set=-all"
	for _, c := range capabilities {
		bounding += ",+" + strings.ToLower(c)
	}
	return []string{"setpriv", "--no-new-privs", "--inh-caps=-all", bounding}
}

func startEngine(t testing.TB, s *Space, wrapper, binds, flags []string) *Engine {
	t.Helper()
	socket := socketPath(t)
	args := append(wrapper, EnginePath(t), "--socket", socket, "--no-huge")
	for _, b := range binds {
		args = append(args, "--bind", b)
	}
	args = append(args, flags...)
	e := &Engine{Process: s.Spawn(t, args[0], args[1:]...), Socket: socket}
	Until(t, Patience, func() (err error) {
		select {
		case <-e.Process.exited:
			t.Fatalf("the engine ended at once:\n%s", e.Process.Text())
		default:
		}
		e.Client, err = control.Dial(context.Background(), socket)
		return err
	})
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// StartSinterctl has `sinterctl run` run a chain with --bind arguments and other flags ("--", then EAL's), and
// waits until the program is live.
func StartSinterctl(t testing.TB, s *Space, chain string, binds []string, flags ...string) *Engine {
	t.Helper()
	socket := socketPath(t)
	args := []string{"run", chain, "--socket", socket, "--no-huge", "--quiet", "--engine-dir", filepath.Dir(EnginePath(t))}
	for _, b := range binds {
		args = append(args, "--bind", b)
	}
	e := &Engine{Process: s.Spawn(t, Sinterctl(t), append(args, flags...)...), Socket: socket}
	e.Process.Said(t, 0, "running chain")
	var err error
	if e.Client, err = control.Dial(context.Background(), socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// Counters are the engine's statistics.
func (e *Engine) Counters(t testing.TB) *controlpb.Stats {
	t.Helper()
	s, err := e.Stats(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Dropped is how many packets were dropped under a reason.
func (e *Engine) Dropped(t testing.TB, reason string) uint64 {
	t.Helper()
	for _, d := range e.Counters(t).GetDrops() {
		if d.GetReason() == reason {
			return d.GetPackets()
		}
	}
	return 0
}

// Running is the hash of the program that the engine runs.
func (e *Engine) Running(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("%x", e.Counters(t).GetHash())
}
