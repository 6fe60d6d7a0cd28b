// Package confined compiles chains in processes of their own, whose memory and processor time have bounds: a chain that takes more, and a failure of the
// compiler, end such a process and not the operator. The outcome is that of package compile.
package confined

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
)

// Limits are what a compile may take.
type Limits struct {
	// Memory is the bytes of a process's data (RLIMIT_DATA of setrlimit(2)).
	Memory int64
	// Processor is the processor time, which a busy node does not change. It counts in whole seconds.
	Processor time.Duration
	// Clock is when a process ends that takes neither, but does not come to its end.
	Clock time.Duration
}

// Compiler compiles chains, each in a process. It is for concurrent use. A nil Compiler compiles in this process, without limits.
type Compiler struct {
	command []string
	limits  Limits
	turns   int64

	mu   sync.Mutex
	kept kept
}

// New is a compiler that runs the command, which calls Serve, for each compile. All that run at a time, so many at most, take the limits' memory
// together.
func New(limits Limits, turns int, command ...string) *Compiler {
	return &Compiler{command: command, limits: limits, turns: int64(turns)}
}

// own is the share of a container's memory that the operator takes itself: caches, and the texts of stores that a chain is compiled from.
const own = 3.0 / 16

// most bounds the memory of compiles where nothing bounds that of the container.
const most = 832 << 20

// ShareMemory divides the memory that this process was given (GOMEMLIMIT) between it and the processes of its compiles, and returns what these have.
func ShareMemory() int64 {
	all := debug.SetMemoryLimit(-1)
	if all == math.MaxInt64 {
		return most
	}
	mine := int64(float64(all) * own)
	debug.SetMemoryLimit(mine)
	return all - mine
}

// Job is a chain to compile.
type Job struct {
	Chain  *v1alpha1.ServiceChain
	Inputs compile.Inputs
	// Alone: nothing else is compiled meanwhile, and so it has all memory.
	Alone bool
}

func (j *Job) key() types.NamespacedName {
	return types.NamespacedName{Namespace: j.Chain.Namespace, Name: j.Chain.Name}
}

// Compile compiles a chain. A compile that takes more than it may is an outcome. The error is the context's, or the system's. If the chain has texts from
// stores, its process waits for the next version: a small change of these takes less time, and the controller compiles what the webhook has just seen.
func (c *Compiler) Compile(ctx context.Context, j Job) (compile.Outcome, error) {
	if c == nil {
		return compile.Chain(j.Chain, j.Inputs), nil
	}
	// A process that does not end, though it takes no time, must not keep others waiting for ever.
	ctx, cancel := context.WithTimeoutCause(ctx, c.limits.Clock, fmt.Errorf("the compile has not ended after %s: %w", c.limits.Clock, context.DeadlineExceeded))
	defer cancel()
	r, err := newRequest(j)
	if err != nil {
		return compile.Outcome{}, fmt.Errorf("compile %s: %w", j.key(), err)
	}
	o, again, err := c.once(ctx, j, r)
	if again && ctx.Err() == nil {
		c.Forget()
		o, _, err = c.once(ctx, j, r)
	}
	var over *limitError
	var failed *failedError
	switch {
	case err == nil:
		return o, nil
	case ctx.Err() != nil:
		return compile.Outcome{}, fmt.Errorf("compile %s: %w", j.key(), context.Cause(ctx))
	case errors.As(err, &over):
		return refused(over.Error()), nil
	case errors.As(err, &failed):
		ctrl.LoggerFrom(ctx).Error(err, "the compiler has failed", "chain", j.key(), "said", failed.said)
		return refused(err.Error()), nil
	}
	return compile.Outcome{}, fmt.Errorf("compile %s: %w", j.key(), err)
}

// refused is the outcome of a compile that has not come to its end.
func refused(message string) compile.Outcome {
	return compile.Outcome{
		Reason: v1alpha1.ReasonSynthesisFailed, Message: message,
		Findings: finding.List{{Code: finding.NotCompiled, Message: message}},
	}
}

// once compiles the chain in the process that was kept for it, or in a new one. again says that it may succeed when nothing is kept.
func (c *Compiler) once(ctx context.Context, j Job, r *request) (o compile.Outcome, again bool, err error) {
	r.Limits = c.limits
	if !j.Alone {
		r.Limits.Memory /= c.turns
	}
	p, used := c.room(j.key(), r.Limits.Memory/2)
	r.Limits.Memory -= used
	reused := p != nil
	if !reused {
		if p, err = start(c.command); err != nil {
			return o, false, err
		}
	}
	if o, err = p.compile(ctx, r); err != nil {
		var over *limitError
		return o, reused || used > 0 && errors.As(err, &over) && over.memory, err
	}
	if !r.Keep {
		p.end()
		return o, false, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.put(j.key(), p, j.Inputs.StoredBytes)
	return o, false, nil
}

// room takes out the process that is kept for a chain, nil: none is, and tells how many bytes the others use, at most so many.
func (c *Compiler) room(of types.NamespacedName, most int64) (p *process, used int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, used = c.kept.take(of), c.kept.memory()
	if used > most {
		c.kept.drop(func(keptProcess) bool { return true })
		used = 0
	}
	return p, used
}

// Forget ends the processes that are kept for chains; of none: all.
func (c *Compiler) Forget(chains ...types.NamespacedName) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(chains) == 0 {
		c.kept.drop(func(keptProcess) bool { return true })
		return
	}
	for _, key := range chains {
		c.kept.drop(func(k keptProcess) bool { return k.of == key })
	}
}

// Self is the command of this program, to run Serve by the arguments.
func Self(args ...string) ([]string, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return append([]string{path}, args...), nil
}
