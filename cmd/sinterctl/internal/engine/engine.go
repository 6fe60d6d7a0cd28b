package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sinter-nfv/sinter/dataplane/control"
)

// Config is how an engine is started.
type Config struct {
	Dir     string    // folder of sinter-engine; empty: see Find
	Socket  string    // control socket
	MTU     int       // largest IP packet that the devices must carry
	Binds   []Bind    // devices of the chain's interfaces, in their order
	Workers int       // worker threads
	NoHuge  bool      // without hugepages
	EAL     []string  // further arguments of DPDK's environment layer
	Log     io.Writer // what the engine says
}

// Bind is the device of a chain interface.
type Bind struct{ Interface, Device string }

// Process is a running engine.
type Process struct {
	*control.Client

	cmd    *exec.Cmd
	exited chan struct{}
	err    error // after exited
}

// Limits of patience.
const (
	startTimeout = 60 * time.Second // large programs, cold machines
	stopTimeout  = 5 * time.Second
)

// Start starts an engine, without a program, and waits until it answers. One that answers on the socket already is left alone: an error.
func Start(ctx context.Context, c Config) (*Process, error) {
	path, err := Find("sinter-engine", c.Dir)
	if err != nil {
		return nil, err
	}
	if pid, err := listener(c.Socket); err == nil {
		return nil, foreign(c.Socket, pid)
	}
	p := &Process{cmd: exec.Command(path, c.args()...), exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = c.Log, c.Log
	// Signals of the terminal are ours to handle; should we be killed, the engine ends, too.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	if p.Client, err = p.dial(ctx, c.Socket); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

func (c Config) args() []string {
	args := []string{"--socket", c.Socket, "--mtu", strconv.Itoa(c.MTU), "--workers", strconv.Itoa(c.Workers)}
	for _, b := range c.Binds {
		args = append(args, "--bind", b.Interface+"="+b.Device)
	}
	if c.NoHuge {
		args = append(args, "--no-huge")
	}
	if len(c.EAL) > 0 {
		args = append(append(args, "--"), c.EAL...)
	}
	return args
}

// dial connects as soon as the engine listens.
func (p *Process) dial(ctx context.Context, socket string) (*control.Client, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("engine does not answer on %s", socket))
	defer cancel()
	for {
		if pid, err := listener(socket); err == nil && pid != p.cmd.Process.Pid { // it was faster
			return nil, foreign(socket, pid)
		}
		client, err := control.Dial(ctx, socket)
		if err == nil || !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
			return client, err
		}
		select {
		case <-p.exited:
			return nil, fmt.Errorf("engine ended at once (%s): its own words are above", p.cmd.ProcessState)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// listener is the process that listens on a socket.
func listener(socket string) (pid int, err error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(err, failed); err != nil {
		return 0, err
	}
	return int(peer.Pid), nil
}

// foreign says that an engine is not to be taken over.
func foreign(socket string, pid int) error {
	return fmt.Errorf("on %s another engine listens (process %d): stop it, or choose another --socket", socket, pid)
}

// Exited is closed when the engine has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err says how the engine ended, if it did so by itself.
func (p *Process) Err() error { return fmt.Errorf("engine ended: %s", p.cmd.ProcessState) }

// Stop ends the engine: by request, then less politely.
func (p *Process) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := p.Shutdown(ctx)
	if err == nil {
		select {
		case <-p.exited:
		case <-ctx.Done():
			err = errors.New("engine does not end")
		}
	}
	_ = p.Close() // the engine is gone
	if err != nil {
		p.kill()
		return fmt.Errorf("stop engine: %w", err)
	}
	if p.err != nil {
		return fmt.Errorf("stop engine: %w", p.err)
	}
	return nil
}

func (p *Process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}
