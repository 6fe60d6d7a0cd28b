package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/test/repository"
)

// harnessPath is the engine's harness, an error if it is not built.
func harnessPath() (string, error) {
	path := os.Getenv("SINTER_HARNESS")
	if path == "" {
		var err error
		if path, err = repository.Path("dataplane", "engine", "build", "sinter-harness"); err != nil {
			return "", err
		}
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("the engine's harness is not built (%w): run make engine, or set SINTER_HARNESS", err)
	}
	return path, nil
}

// Harness is one running engine without ports, spoken to over its standard input and output.
type Harness struct {
	*control.Client
	cmd    *exec.Cmd
	stderr bytes.Buffer
}

// pipes is the engine's standard output and input as one stream.
type pipes struct {
	io.Reader
	io.WriteCloser
}

// workers of a chain's engine: every other chain has several, which receive by turns and share its state by shards.
func workers(chain string) int { return 3 - 2*lot(chain, 0) }

// decisions that a worker of a chain's engine keeps whole: every other chain has few, so that most are kept short, or not at all, and its
// engine has few tags, so that flows share them.
func decisions(chain string) int { return []int{ManyDecisions, FewDecisions}[lot(chain, 1)] }

// joined is from how many routes on those with one output are followed together: in every other chain from two on, otherwise as always.
func joined(chain string) int { return lot(chain, 2) }

// lot is 0 for one half of all chains, and 1 for the other; there are many lots.
func lot(chain string, number int) int {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(chain)) // never fails
	return int(sum.Sum32() >> number & 1)
}

const (
	// FewDecisions are far fewer than a chain's traffic wants.
	FewDecisions = 16
	// ManyDecisions are enough for all flows of a chain's traffic.
	ManyDecisions = 1 << 16
)

// How the harness's engine cuts flows into shards (docs/sharding.md).
const (
	// PartitionByHost cuts them by the host inside.
	PartitionByHost = "host"
	// PartitionByHash cuts them by a hash, by which the harness receives as a device would, too.
	PartitionByHash = "rss"
)

// StartHarness starts an engine of so many workers, which keep so many decisions; cut tells the shard of a flow.
func StartHarness(ctx context.Context, workers int, cut string, decisions int) (*Harness, error) {
	path, err := harnessPath()
	if err != nil {
		return nil, err
	}
	if decisions == FewDecisions {
		path += "-narrow"
	}
	h := &Harness{cmd: exec.Command(path, "--workers", strconv.Itoa(workers), "--shards", cut, "--cache", strconv.Itoa(decisions))}
	h.cmd.Stderr = &h.stderr
	in, err := h.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	h.Client = control.NewClient(pipes{out, in})
	if _, err := h.Hello(ctx); err != nil {
		return nil, h.Died(err)
	}
	return h, nil
}

// Died adds what the engine said last to an error.
func (h *Harness) Died(err error) error {
	if err == nil {
		return nil
	}
	var refused *control.EngineError
	if errors.As(err, &refused) {
		return err
	}
	_ = h.cmd.Process.Kill()
	if exit := h.cmd.Wait(); exit != nil {
		err = errors.Join(err, fmt.Errorf("engine: %w", exit))
	}
	return fmt.Errorf("%w\n%s", err, h.stderr.Bytes())
}

// Stop ends the engine; one that crashes on its way out is an error.
func (h *Harness) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := h.Shutdown(ctx); err != nil {
		return h.Died(err)
	}
	_ = h.Close()
	if err := h.cmd.Wait(); err != nil {
		return fmt.Errorf("engine did not end well: %w\n%s", err, h.stderr.Bytes())
	}
	return nil
}

// Kill ends the engine at once; after stop it does nothing.
func (h *Harness) Kill() {
	if h.cmd.ProcessState == nil {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
	}
}
