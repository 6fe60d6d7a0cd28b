package transfer

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/shard"
	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
	"github.com/sinter-nfv/sinter/test/wait"
)

// patience is how long tests wait for processes on a busy machine.
const patience = time.Minute

// engine is a sinter-engine on devices that need no privileges. What is asked of it goes by one connection, that is made again when it breaks.
type engine struct {
	t      *testing.T
	socket string
	args   []string
	own    shard.Set // shards that it has when its first packet comes
	key    []byte
	cmd    *exec.Cmd
	exited chan struct{}
	log    bytes.Buffer

	mu     sync.Mutex
	client *control.Client
}

// startEngine starts an engine that has some shards, receives a capture ("": nothing) and runs the tests' chain.
func startEngine(t *testing.T, own shard.Set, key []byte, pcap string, flags ...string) *engine {
	t.Helper()
	path := os.Getenv("SINTER_ENGINE")
	if path == "" {
		path = filepath.Join("..", "..", "engine", "build", "sinter-engine")
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the engine is not built (%v): run make engine, or set SINTER_ENGINE", err)
	}
	dir, err := os.MkdirTemp("", "transfer") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	inside := "inside=net_null1,no-rx=1"
	if pcap != "" {
		inside = "inside=net_pcap0,rx_pcap=" + pcap
	}
	e := &engine{t: t, socket: filepath.Join(dir, "s"), own: own, key: key}
	e.args = append([]string{path, "--socket", e.socket, "--no-huge", "--bind", inside, "--bind", "outside=net_null0,no-rx=1", "--idle-sleep", "50", "--no-shards"}, flags...)
	e.start()
	t.Cleanup(e.kill)
	return e
}

func (e *engine) start() {
	e.t.Helper()
	e.log.Reset()
	e.cmd = exec.Command(e.args[0], e.args[1:]...)
	e.cmd.Stderr = &e.log
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := e.cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	exited := make(chan struct{})
	e.exited = exited
	go func(c *exec.Cmd) { _ = c.Wait(); close(exited) }(e.cmd)
	eventually(e.t, func() error {
		select {
		case <-e.exited:
			e.t.Fatalf("the engine ended at once:\n%s", e.log.String())
		default:
		}
		return e.ask(e.t.Context(), func(c *control.Client) error {
			encoded, err := program.Encode(chain(e.t))
			if err != nil {
				return err
			}
			if err := c.AssignShards(e.t.Context(), &controlpb.AssignShards{Shards: e.own.Numbers(), Key: e.key}); err != nil {
				return err
			}
			_, err = c.Load(e.t.Context(), encoded, program.Hash(encoded))
			return err
		})
	})
}

func (e *engine) kill() {
	_ = e.cmd.Process.Kill()
	<-e.exited
}

func (e *engine) proc() procfs.Proc {
	e.t.Helper()
	p, err := procfs.NewProc(e.cmd.Process.Pid)
	if err != nil {
		e.t.Fatal(err)
	}
	return p
}

func (e *engine) ask(ctx context.Context, what func(*control.Client) error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.client == nil {
		c, err := control.Dial(ctx, e.socket)
		if err != nil {
			return err
		}
		e.client = c
	}
	err := what(e.client)
	if err != nil && !isRefusal(err) {
		_ = e.client.Close()
		e.client = nil
	}
	return err
}

func (e *engine) GiveShards(ctx context.Context, g *controlpb.GiveShards) (given *controlpb.Given, err error) {
	err = e.ask(ctx, func(c *control.Client) (err error) { given, err = c.GiveShards(ctx, g); return err })
	return given, err
}

func (e *engine) TakeShards(ctx context.Context, g *controlpb.TakeShards) (taken *controlpb.Taken, err error) {
	err = e.ask(ctx, func(c *control.Client) (err error) { taken, err = c.TakeShards(ctx, g); return err })
	return taken, err
}

func (e *engine) Places(context.Context) ([]controlpb.ShardPlace, error) {
	return PlacesOf(e.stats()), nil
}

func (e *engine) stats() *controlpb.Stats {
	e.t.Helper()
	var stats *controlpb.Stats
	err := e.ask(e.t.Context(), func(c *control.Client) (err error) { stats, err = c.Stats(e.t.Context()); return err })
	if err != nil {
		e.t.Fatal(err)
	}
	return stats
}

func (e *engine) sessions() uint64 { return e.stats().GetTables()[0].GetSessions() }

func eventually(t *testing.T, try func() error) {
	t.Helper()
	wait.Until(t, patience, 10*time.Millisecond, try)
}

// all are all shards.
func all() shard.Set { return shard.Run(0, shard.Count) }

// chain is a router and a NAPT with 16 addresses.
var chain = func() func(t *testing.T) *programpb.Program {
	var once sync.Once
	var p *programpb.Program
	return func(t *testing.T) *programpb.Program {
		t.Helper()
		once.Do(func() { p = synthesize(t) })
		return p
	}
}()

func synthesize(t *testing.T) *programpb.Program {
	t.Helper()
	return lab.Compile(t, lab.ParseText(t, `
apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: edge}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 198.51.100.2/24, gateway: 198.51.100.1, neighbors: [{address: 198.51.100.1, mac: "02:00:00:00:00:01"}]}
  functions:
  - name: rt
    router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}
  - name: nat
    napt: {pool: [198.51.100.16-198.51.100.31]}
  path: [inside, rt, nat, outside]
`)).Program
}

// capture is a file with the packets of UDP flows of inside hosts, a number of each, in turn.
func capture(t *testing.T, flows, packetsEach int) string {
	t.Helper()
	frames := make([][]byte, 0, flows*packetsEach)
	for range packetsEach {
		for n := range flows {
			src, dst := 0x0a000002+uint32(n/50000), uint32(0xcb007105)
			ip := packets.IPv4{Src: src, Dst: dst, Proto: packets.ProtoUDP, TTL: 64, Payload: packets.UDP(src, dst, uint16(1024+n%50000), 53, nil)}
			// DPDK gives the first of its pcap devices this address.
			frames = append(frames, packets.Ethernet(packets.MAC{2, 'p', 'c', 'a', 'p', 0}, packets.MAC{2, 0, 0, 0, 0, 9}, nil, packets.EtherIPv4, ip.Bytes(), make([]byte, 18)))
		}
	}
	path := filepath.Join(t.TempDir(), "inside.pcap")
	if err := packets.WriteCapture(path, frames); err != nil {
		t.Fatal(err)
	}
	return path
}

// await waits until so many sessions are there.
func (e *engine) await(n uint64) {
	e.t.Helper()
	eventually(e.t, func() error {
		if got := e.sessions(); got != n {
			return fmt.Errorf("%d sessions, want %d", got, n)
		}
		return nil
	})
}
