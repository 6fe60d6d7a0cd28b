// Package kernel measures the Linux kernel's forwarding path on one core. It has a network namespace of its own. Frames come in by a TAP device: a write
// of a frame returns when the kernel has received, filtered, routed and sent it, all on the writing thread. So the time of the writes is the cost of
// the packets: the system call and the copy of the frame, which a driver's DMA would save, are in it, and Refuse tells how much they are.
// A driver's own work, which is as much again, is not in it.
package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Config is a kernel's path.
type Config struct {
	Core            int
	InsideMAC       string // frames are sent to it
	Inside, Outside string // addresses with their prefix lengths
	Neighbors       []Neighbor
	Routes          []Route
	Rules           string // of nftables
	Sessions        int    // connections that it has to track
}

// Neighbor is a next hop.
type Neighbor struct{ Address, MAC string }

// Request is frames to replay, without end, from a pcap file.
type Request struct {
	Capture          string
	Warmup, Measured int
	Limit            time.Duration // after so long, warming up ends, and so does measuring
	WarmUpAll        bool          // but warming up does not: each flow has to come
}

// Report is what was measured. Median (of bursts of 32) and Mean are nanoseconds per packet.
type Report struct {
	Packets, Forwarded uint64
	Connections        int // that are tracked at the end
	Median, Mean       float64
	Error              string
}

// Argument is the only one of the command line by which the program has to call Serve.
const Argument = "serve-kernel"

// Path is a running one.
type Path struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	requests *json.Encoder
	answers  *json.Decoder
	restore  func()
}

// Open starts this program again, in a namespace, by a function that starts commands. It fails if the kernel lacks something.
func Open(ctx context.Context, c Config, start func(*exec.Cmd) error) (*Path, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Path{cmd: exec.CommandContext(ctx, self, Argument)}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.requests, p.answers = json.NewEncoder(p.in), json.NewDecoder(out)
	if p.restore, err = trackUpTo(c.Sessions); err != nil {
		return nil, err
	}
	if err := start(p.cmd); err != nil {
		p.restore()
		return nil, err
	}
	if _, err := p.ask(c); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Replay measures.
func (p *Path) Replay(r Request) (*Report, error) { return p.ask(r) }

func (p *Path) ask(what any) (*Report, error) {
	var r Report
	if err := p.requests.Encode(what); err != nil {
		return nil, fmt.Errorf("kernel: %w", err)
	}
	if err := p.answers.Decode(&r); err != nil {
		return nil, fmt.Errorf("kernel: %w", err)
	}
	if r.Error != "" {
		return nil, errors.New("kernel: " + r.Error)
	}
	return &r, nil
}

// Close ends the program; its namespace goes with it.
func (p *Path) Close() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
	p.restore()
}

// trackUpTo gives the kernel's connection tracking room for so many connections, and a hash bucket for each.
func trackUpTo(sessions int) (restore func(), err error) {
	restore = func() {}
	for name, want := range map[string]int{"nf_conntrack_max": 2 * sessions, "nf_conntrack_buckets": sessions} {
		path := "/proc/sys/net/netfilter/" + name
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) && sessions == 0 {
			continue
		}
		if err != nil {
			return restore, err
		}
		before, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			return restore, fmt.Errorf("%s: %w", path, err)
		}
		if before >= want {
			continue
		}
		if err := os.WriteFile(path, []byte(strconv.Itoa(want)), 0o644); err != nil {
			return restore, err
		}
		others := restore
		restore = func() {
			_ = os.WriteFile(path, text, 0o644)
			others()
		}
	}
	return restore, nil
}
