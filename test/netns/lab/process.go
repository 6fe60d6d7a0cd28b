package lab

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a program that runs in a namespace until the test ends.
type Process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	killed bool // by the test

	mu    sync.Mutex
	lines []string // of its standard error
	more  chan struct{}
}

// Spawn starts a program in the namespace. When the test ends it is told to end, which must succeed.
func (s *Space) Spawn(t testing.TB, name string, args ...string) *Process {
	t.Helper()
	p := &Process{cmd: s.Command(name, args...), exited: make(chan struct{}), more: make(chan struct{})}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = w
	err = s.Start(p.cmd)
	_ = w.Close()
	if err != nil {
		t.Fatalf("%s: start %s: %v", s.Name, name, err)
	}
	go p.read(r)
	go func() { _ = p.cmd.Wait(); close(p.exited) }()
	t.Cleanup(func() { p.Stop(t) })
	return p
}

func (p *Process) read(r io.ReadCloser) {
	defer r.Close()
	for s := bufio.NewScanner(r); s.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, s.Text())
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
	}
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Mark is a place in what the process says: its end so far.
func (p *Process) Mark() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines)
}

// Said waits until the process has said, since the mark, a line with one of the words, and returns it.
func (p *Process) Said(t testing.TB, mark int, words ...string) string {
	t.Helper()
	patience := time.After(Patience)
	for {
		p.mu.Lock()
		news, more := p.lines[mark:], p.more
		p.mu.Unlock()
		for _, line := range news {
			for _, w := range words {
				if strings.Contains(line, w) {
					return line
				}
			}
		}
		mark += len(news)
		select {
		case <-more:
		case <-p.exited:
			t.Fatalf("the process ended (%s) before it said %q:\n%s", p.cmd.ProcessState, words, p.Text())
		case <-patience:
			t.Fatalf("the process did not say %q:\n%s", words, p.Text())
		}
	}
}

// Text is all that the process said.
func (p *Process) Text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// Kill ends the process by SIGKILL, and leaves it no time to clean up.
func (p *Process) Kill() {
	p.killed = true
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// Stop ends the process by SIGTERM, and the test fails if it does not end well.
func (p *Process) Stop(t testing.TB) {
	if p.killed {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
		if !p.cmd.ProcessState.Success() {
			t.Errorf("%s did not end well (%s):\n%s", p.cmd.Path, p.cmd.ProcessState, p.Text())
		}
	case <-time.After(Patience):
		_ = p.cmd.Process.Kill()
		<-p.exited
		t.Errorf("%s did not end when told to:\n%s", p.cmd.Path, p.Text())
	}
}
