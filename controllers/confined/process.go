package confined

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/sinter-nfv/sinter/controllers/compile"
)

// process compiles requests, one after the other.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	head *gob.Encoder
	out  *gob.Decoder
	said *beginning
}

func start(command []string) (*process, error) {
	p := &process{cmd: exec.Command(command[0], command[1:]...), said: &beginning{}}
	p.cmd.Stderr = p.said
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a process to compile in: %w", err)
	}
	p.in, p.head, p.out = in, gob.NewEncoder(in), gob.NewDecoder(bufio.NewReader(out))
	return p, nil
}

// compile has the process compile a request. With an error it has ended.
func (p *process) compile(ctx context.Context, r *request) (o compile.Outcome, err error) {
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	written := make(chan error, 1)
	go func() { written <- r.write(p.in, p.head) }()
	err = p.out.Decode(&o)
	if err == nil && stop() {
		return o, <-written
	}
	_ = p.in.Close()
	ended := p.cmd.Wait()
	stop()
	return compile.Outcome{}, p.cause(r.Limits, errors.Join(err, ended, <-written))
}

// end ends the process.
func (p *process) end() {
	_ = p.in.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// memory is the bytes of the system's memory that the process takes.
func (p *process) memory() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	var size, resident int64
	if _, scan := fmt.Sscan(string(text), &size, &resident); err != nil || scan != nil {
		return 0 // it has ended
	}
	return resident * int64(os.Getpagesize())
}

// cause is why a process has ended.
func (p *process) cause(limits Limits, err error) error {
	said := p.said.String()
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case status.Exited() && status.ExitStatus() == exitTime:
		return &limitError{limits: limits}
	case slices.ContainsFunc(outOfMemory, func(words string) bool { return strings.Contains(said, words) }):
		return &limitError{limits: limits, memory: true}
	case status.Signaled() && status.Signal() == syscall.SIGKILL: // by the kernel, which had none for the container
		return &limitError{memory: true}
	}
	return &failedError{said: said, err: err}
}

// outOfMemory is how Go's runtime says that it got no memory: for the heap, for itself, for a thread's stack. For its collector's queue of spans it does not
// look whether it got some (spanQueue.put of Go 1.26), and reads at 0. A fault of the runtime itself has these words, one of the compiler is a panic.
var outOfMemory = []string{"out of memory", "cannot allocate memory", "pthread_create failed", "SIGSEGV: segmentation violation\nPC="}

// limitError is that a compile took more than it may.
type limitError struct {
	limits Limits // zero: the system ended it
	memory bool   // rather than time
}

func (e *limitError) Error() string {
	const less = "use fewer rules, or divide the chain, or have the administrator raise "
	switch {
	case !e.memory:
		return fmt.Sprintf("to compile the chain takes more than %s of processor time: ", e.limits.Processor) + less + "--compile-time (operator.extraArgs of the chart)"
	case e.limits.Memory == 0:
		return "to compile the chain takes more memory than the operator has: " + less + memoryValue
	}
	return fmt.Sprintf("to compile the chain takes more than %d MiB of memory: ", e.limits.Memory>>20) + less + memoryValue
}

// memoryValue is the chart's.
const memoryValue = "operator.resources.limits.memory of the chart"

// failedError is that a process has ended as nobody meant it to.
type failedError struct {
	said string // on its standard error
	err  error
}

func (*failedError) Error() string {
	return "the compiler has failed, which is a defect of Sinter: please report it with the chain and what the operator has logged of it; the last good program goes on"
}

func (e *failedError) Unwrap() error { return e.err }

// beginning keeps the beginning of what is written: the cause, before all that follows from it.
type beginning struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// maxSaid bounds the bytes that are kept.
const maxSaid = 8 << 10

// Write keeps what there is room for.
func (b *beginning) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Write(text[:min(len(text), maxSaid-b.text.Len())])
	return len(text), nil
}

func (b *beginning) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
