package confined

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/sinter-nfv/sinter/controllers/compile"
)

// exitTime is how a process ends that has taken all its processor time.
const exitTime = 3

// Serve is a Compiler's process: it compiles what it reads, within the limits that it reads, until nobody writes any more.
func Serve(in io.Reader, out io.Writer) error {
	// Where the container's memory ends before a limit does, this process goes and not the operator.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	over := make(chan os.Signal, 1)
	signal.Notify(over, syscall.SIGXCPU)
	go func() {
		<-over
		os.Exit(exitTime)
	}()
	requests := make(chan *request)
	ended := make(chan error, 1)
	go func() {
		from := bufio.NewReader(in)
		for head := gob.NewDecoder(from); ; {
			r, err := readRequest(from, head)
			if errors.Is(err, io.EOF) {
				os.Exit(0) // the operator has ended, or waits no more: nor does what is compiled matter
			}
			if err != nil {
				ended <- fmt.Errorf("read what to compile: %w", err)
				return
			}
			requests <- r
		}
	}()
	answers, session := gob.NewEncoder(out), &compile.Session{}
	for {
		select {
		case err := <-ended:
			return err
		case r := <-requests:
			if err := confine(r.Limits); err != nil {
				return err
			}
			o, err := r.compile(session)
			if err != nil {
				return err
			}
			if err := answers.Encode(&o); err != nil {
				return fmt.Errorf("write the outcome: %w", err)
			}
			if r.Keep { // what is not needed any more is for others
				r = nil
				debug.FreeOSMemory()
			}
		}
	}
}

func (r *request) compile(session *compile.Session) (compile.Outcome, error) {
	chain, in, err := r.job()
	if err != nil {
		return compile.Outcome{}, fmt.Errorf("read what to compile: %w", err)
	}
	if r.Keep {
		in.Session = session
	}
	return compile.Chain(chain, in), nil
}

// confine sets the limits of what this process takes from now on.
func confine(l Limits) error {
	// The collector works hard before the limit, and it takes memory in pieces of 64 MiB.
	debug.SetMemoryLimit(l.Memory * 3 / 4)
	if err := setLimit(syscall.RLIMIT_DATA, uint64(l.Memory)); err != nil {
		return fmt.Errorf("bound the memory to %d bytes: %w", l.Memory, err)
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return fmt.Errorf("read the processor time: %w", err)
	}
	spent := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	seconds := uint64((spent + l.Processor + time.Second - 1) / time.Second)
	if err := setLimit(syscall.RLIMIT_CPU, seconds); err != nil {
		return fmt.Errorf("bound the processor time to %d s: %w", seconds, err)
	}
	return nil
}

// setLimit sets the soft limit, which may be raised again for the next version of a chain.
func setLimit(resource int, to uint64) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(resource, &l); err != nil {
		return err
	}
	l.Cur = min(to, l.Max)
	return syscall.Setrlimit(resource, &l)
}
