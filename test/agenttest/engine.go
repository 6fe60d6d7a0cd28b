package agenttest

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/flowspb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/repository"
	"github.com/sinter-nfv/sinter/test/wait"
)

// Patience is how long tests wait for processes on a busy machine.
const Patience = time.Minute

// Folder is a folder for sockets, whose paths must be short.
func Folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Engine is a sinter-engine on devices that need no privileges.
type Engine struct {
	t      *testing.T
	Socket string // the control socket's path
	ports  []string
	flags  []string
	nice   string
	cmd    *exec.Cmd
	exited chan struct{}
	log    bytes.Buffer
}

// Quiet receive nothing; noise receives empty frames as fast as it is asked.
var (
	Quiet = []string{"in=net_null0,no-rx=1", "out=net_null1,no-rx=1"}
	Noise = []string{"in=net_null0", "out=net_null1,no-rx=1"}
)

// Start starts an engine and waits until it answers.
func Start(t *testing.T, socket string, ports []string) *Engine {
	t.Helper()
	return StartWith(t, socket, "5", ports, "--memory", "96", "--buffers", "2047", "--rx-desc", "64", "--tx-desc", "64", "--idle-sleep", "2000")
}

// StartWith is startEngine with another niceness and other flags.
func StartWith(t *testing.T, socket, nice string, ports []string, flags ...string) *Engine {
	t.Helper()
	e := &Engine{t: t, Socket: socket, nice: nice, ports: ports, flags: flags}
	e.Start()
	t.Cleanup(func() { e.End(syscall.SIGKILL) })
	return e
}

// enginePath is the engine's program: SINTER_ENGINE, else the one in its build folder. Tests that have none are skipped.
func enginePath(t *testing.T) string {
	t.Helper()
	path := os.Getenv("SINTER_ENGINE")
	if path == "" {
		path = file(t, "dataplane", "engine", "build", "sinter-engine")
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the engine is not built (%v): run make engine, or set SINTER_ENGINE", err)
	}
	return path
}

// file is the path of a file or folder of the repository.
func file(t *testing.T, names ...string) string {
	t.Helper()
	path, err := repository.Path(names...)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Start starts the engine again after end.
func (e *Engine) Start() {
	e.t.Helper()
	path := enginePath(e.t)
	args := []string{"-n", e.nice, path, "--socket", e.Socket, "--no-huge"}
	for _, p := range e.ports {
		args = append(args, "--bind", p)
	}
	args = append(args, e.flags...)
	e.log.Reset()
	e.cmd = exec.Command("nice", args...)
	e.cmd.Stderr = &e.log
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := e.cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.exited = make(chan struct{})
	go func() { _ = e.cmd.Wait(); close(e.exited) }()
	Eventually(e.t, func() error {
		select {
		case <-e.exited:
			e.t.Fatalf("the engine ended at once:\n%s", e.log.String())
		default:
		}
		client, err := control.Dial(context.Background(), e.Socket)
		if err == nil {
			_ = client.Close()
		}
		return err
	})
}

// PID is the engine's process.
func (e *Engine) PID() int { return e.cmd.Process.Pid }

// Signal sends the engine a signal.
func (e *Engine) Signal(s syscall.Signal) {
	e.t.Helper()
	if err := e.cmd.Process.Signal(s); err != nil {
		e.t.Fatal(err)
	}
}

// End ends the engine by a signal.
func (e *Engine) End(s syscall.Signal) {
	_ = e.cmd.Process.Signal(s)
	<-e.exited
}

// Restart kills the engine as a bug would, and starts another one.
func (e *Engine) Restart() {
	e.t.Helper()
	e.End(syscall.SIGSEGV)
	e.Start()
}

// asker is a connection of an agent, by which an answer is waited for longer than tests take.
type asker interface {
	Devices(ctx context.Context, tryRules uint32) (devices []*flowspb.Device, life uint64, err error)
}

// Busy does something while the engine is at a request of an agent, and waits for its answer.
func (e *Engine) Busy(of asker, what func()) {
	e.t.Helper()
	e.Signal(syscall.SIGSTOP)
	asked, done := make(chan struct{}), make(chan error, 1)
	go func() {
		close(asked)
		_, _, err := of.Devices(e.t.Context(), 1)
		done <- err
	}()
	<-asked
	time.Sleep(100 * time.Millisecond) // until it has gone out
	what()
	e.Signal(syscall.SIGCONT)
	if err := <-done; err != nil {
		e.t.Errorf("what the engine was busy with: %v", err)
	}
}

// Runs is the hash of the program that the engine runs.
func (e *Engine) Runs() string {
	e.t.Helper()
	client, err := control.Dial(e.t.Context(), e.Socket)
	if err != nil {
		e.t.Fatal(err)
	}
	defer client.Close()
	stats, err := client.Stats(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	return hex.EncodeToString(stats.GetHash())
}

// Load loads a program as someone else.
func (e *Engine) Load(p *delivery.Program) {
	e.t.Helper()
	client, err := control.Dial(e.t.Context(), e.Socket)
	if err != nil {
		e.t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Load(e.t.Context(), p.Encoded, p.Hash); err != nil {
		e.t.Fatal(err)
	}
}

// Eventually tries until there is no error.
func Eventually(t *testing.T, try func() error) {
	t.Helper()
	wait.Until(t, Patience, 20*time.Millisecond, try)
}

// Program is a program of interfaces that drops all packets for a reason of its own.
func Program(t *testing.T, reason string, interfaces ...string) *delivery.Program {
	t.Helper()
	p := &programpb.Program{
		Schema: program.SchemaVersion, LongestWay: 4,
		Chain:    "edge",
		Reasons:  []string{reason},
		Counters: []string{"fw/seen"},
		Segments: []*programpb.Segment{{
			Name:  "all",
			Table: &programpb.Table{Classes: []uint32{0}},
			Classes: []*programpb.Class{{Legs: []*programpb.Leg{{
				Outcome:  &programpb.Leg_Drop{Drop: &programpb.Drop{Reason: &programpb.Drop_Chain{}}},
				Counters: []uint32{0},
			}}}},
		}},
	}
	for i, name := range interfaces {
		p.Interfaces = append(p.Interfaces, &programpb.Interface{Name: name, Address: uint32(0x0a000001 + i<<8), PrefixLen: 24, Mtu: 1500})
	}
	return Encoded(t, p)
}

// Wants tells a program in domain words where hashes are compared.
func Wants(got string, want *delivery.Program) error {
	if got != want.Hash {
		return fmt.Errorf("program in force is %q, want %s (%v)", got, want.Hash, want.GetReasons())
	}
	return nil
}
