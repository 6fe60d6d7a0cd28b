package agent

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// patience is how long tests wait for processes on a busy machine.
const patience = 20 * time.Second

// folder is a folder for sockets, whose paths must be short.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// testEngine is a sinter-engine on devices that need no privileges.
type testEngine struct {
	t      *testing.T
	socket string
	ports  []string
	flags  []string
	nice   string
	cmd    *exec.Cmd
	exited chan struct{}
	log    bytes.Buffer
}

// quietPorts receive nothing; noise receives empty frames as fast as it is asked.
var (
	quietPorts = []string{"in=net_null0,no-rx=1", "out=net_null1,no-rx=1"}
	noise      = []string{"in=net_null0", "out=net_null1,no-rx=1"}
)

// startEngine starts an engine and waits until it answers.
func startEngine(t *testing.T, socket string, ports []string) *testEngine {
	t.Helper()
	return startEngineWith(t, socket, "5", ports, "--memory", "96", "--buffers", "2047", "--rx-desc", "64", "--tx-desc", "64", "--idle-sleep", "2000")
}

// startEngineWith is startEngine with another niceness and other flags.
func startEngineWith(t *testing.T, socket, nice string, ports []string, flags ...string) *testEngine {
	t.Helper()
	e := &testEngine{t: t, socket: socket, nice: nice, ports: ports, flags: flags}
	e.start()
	t.Cleanup(func() { e.end(syscall.SIGKILL) })
	return e
}

// enginePath is the engine's program: SINTER_ENGINE, else the one in its build folder. Tests that have none are skipped.
func enginePath(t *testing.T) string {
	t.Helper()
	path := os.Getenv("SINTER_ENGINE")
	if path == "" {
		path = filepath.Join(root(t), "dataplane", "engine", "build", "sinter-engine")
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the engine is not built (%v): run make engine, or set SINTER_ENGINE", err)
	}
	return path
}

// root is the folder that has the module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatalf("no folder above has a go.mod: %v", err)
	return ""
}

func (e *testEngine) start() {
	e.t.Helper()
	path := enginePath(e.t)
	args := []string{"-n", e.nice, path, "--socket", e.socket, "--no-huge"}
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
	eventually(e.t, func() error {
		select {
		case <-e.exited:
			e.t.Fatalf("the engine ended at once:\n%s", e.log.String())
		default:
		}
		client, err := control.Dial(context.Background(), e.socket)
		if err == nil {
			_ = client.Close()
		}
		return err
	})
}

// end ends the engine by a signal.
func (e *testEngine) end(s syscall.Signal) {
	_ = e.cmd.Process.Signal(s)
	<-e.exited
}

// restart kills the engine as a bug would, and starts another one.
func (e *testEngine) restart() {
	e.t.Helper()
	e.end(syscall.SIGSEGV)
	e.start()
}

// asker is a connection of an agent, by which an answer is waited for longer than tests take.
type asker interface {
	Devices(ctx context.Context, tryRules uint32) (devices []*programpb.Device, life uint64, err error)
}

// busy does something while the engine is at a request of an agent, and waits for its answer.
func (e *testEngine) busy(of asker, what func()) {
	e.t.Helper()
	signal := func(s syscall.Signal) {
		if err := e.cmd.Process.Signal(s); err != nil {
			e.t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	asked, done := make(chan struct{}), make(chan error, 1)
	go func() {
		close(asked)
		_, _, err := of.Devices(e.t.Context(), 1)
		done <- err
	}()
	<-asked
	time.Sleep(100 * time.Millisecond) // until it has gone out
	what()
	signal(syscall.SIGCONT)
	if err := <-done; err != nil {
		e.t.Errorf("what the engine was busy with: %v", err)
	}
}

// runs is the hash of the program that the engine runs.
func (e *testEngine) runs() string {
	e.t.Helper()
	client, err := control.Dial(e.t.Context(), e.socket)
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

// load loads a program as someone else.
func (e *testEngine) load(p *delivery.Program) {
	e.t.Helper()
	client, err := control.Dial(e.t.Context(), e.socket)
	if err != nil {
		e.t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Load(e.t.Context(), p.Program, p.Hash); err != nil {
		e.t.Fatal(err)
	}
}

func eventually(t *testing.T, try func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s: %v", patience, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// testProgram is a program of interfaces that drops all packets for a reason of its own.
func testProgram(t *testing.T, reason string, interfaces ...string) *delivery.Program {
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
	encoded, err := program.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	checked, err := delivery.Check(encoded, program.Hash(encoded))
	if err != nil {
		t.Fatal(err)
	}
	return checked
}

// wants tells a program in domain words where hashes are compared.
func wants(got string, want *delivery.Program) error {
	if got != want.Hash {
		return fmt.Errorf("program in force is %q, want %s (%s)", got, want.Hash, want.GetReasons()[0])
	}
	return nil
}
