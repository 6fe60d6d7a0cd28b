package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/program"
)

const (
	// memifFlows is a power of two, as the device tells flows by bits of the frames' numbers.
	memifFlows = 8192
	// memifSeconds is how long packets come at a part of the highest rate.
	memifSeconds = 60
	// memifLost is the part of packets that may be lost at the highest rate in a pass that counts: if more are, the function did not run all the time.
	memifLost = 0.05
)

// memifFlood is about the highest rate, packets per second: so many make a pass of some seconds.
const memifFlood = 6e6

// memifLoads are these parts.
var memifLoads = []float64{0.5, 0.8}

// sharing is the engine with one worker, and beside it, on the other core, a function that shares memory with it by the wires of a chain: DPDK's forwarder, which gives
// each frame of one wire to the other. Frames come by one device, with numbers, and leave by another, which knows by these what was lost or overtaken.
type sharing struct {
	engine, scratch string
	core, control   int
}

func (f *flags) sharing(dir string) sharing {
	return sharing{engine: filepath.Join(f.build, "sinter-engine"), scratch: dir, core: f.core, control: f.control}
}

// run is what the devices measure of a program with wires, or without any.
func (s sharing) run(ctx context.Context, r replay, path string, wires []string) (*deviceReport, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in, out := filepath.Join(s.scratch, "in.json"), filepath.Join(s.scratch, "out.json")
	_ = os.Remove(out)
	begun := make(chan struct{})
	go func() {
		defer close(begun)
		if err := s.begin(ctx, path, wires); err != nil {
			cancel(err)
		}
	}()
	received, err := untilReport(ctx, in, nil, s.engine, s.arguments(r, in, out, wires)...)
	if cause := context.Cause(ctx); cause != nil {
		err = errors.Join(cause, err)
	}
	cancel(nil)
	<-begun
	if err != nil {
		return nil, err
	}
	sent, err := readReport(out)
	if err != nil {
		return nil, err
	}
	received.Seen, received.Lost, received.Late = sent.Seen, sent.Lost, sent.Late
	return received, nil
}

func (s sharing) socket(wire string) string { return filepath.Join(s.scratch, wire+".sock") }

func (s sharing) controlSocket() string { return filepath.Join(s.scratch, "engine.sock") }

// arguments are the engine's.
func (s sharing) arguments(r replay, in, out string, wires []string) []string {
	args := []string{
		"--socket", s.controlSocket(), "--buffers", "65535", "--bind", "inside=" + r.device(in) + ",number=1",
		"--bind", fmt.Sprintf("outside=net_replay1,order=%d,warmup=%d,count=%d,report=%s", memifFlows, r.warmup, r.measured, out),
	}
	for i, w := range wires {
		args = append(args, "--bind", fmt.Sprintf("%s=net_memif%d,role=server,socket=%s,socket-abstract=no", w, i, s.socket(w)))
	}
	return append(args, "--eal", fmt.Sprintf("--lcores=0@%d,1@%d --no-pci --in-memory --no-telemetry --force-max-simd-bitwidth=512 -d %s", s.control, s.core, r.plugin))
}

// begin has the function connect, gives the engine its program, so that it polls from then on, and runs the function until the context ends.
func (s sharing) begin(ctx context.Context, path string, wires []string) error {
	client, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	encoded, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(wires) > 0 {
		end, err := s.connect(ctx, wires)
		if err != nil {
			return err
		}
		defer end()
	}
	if _, err := client.Load(ctx, encoded, program.Hash(encoded)); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// dial waits for the engine.
func (s sharing) dial(ctx context.Context) (c *control.Client, err error) {
	var refused error
	if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, startPatience, true, func(ctx context.Context) (bool, error) {
		c, refused = control.Dial(ctx, s.controlSocket())
		return refused == nil, nil
	}); err != nil {
		return nil, errors.Join(refused, err)
	}
	return c, nil
}

// connect starts the function, and returns when it forwards. end ends it.
func (s sharing) connect(ctx context.Context, wires []string) (end func(), err error) {
	args := []string{"-oL", "dpdk-testpmd", "--lcores", fmt.Sprintf("0@%d,1@%d", s.control, s.control), "--no-pci", "--in-memory", "--no-telemetry"}
	for i, w := range wires {
		args = append(args, "--vdev", fmt.Sprintf("net_memif%d,role=client,socket=%s,socket-abstract=no", i, s.socket(w)))
	}
	cmd := exec.CommandContext(ctx, "stdbuf", append(args, "--", "--forward-mode=io", "--auto-start", "--total-num-mbufs=16384", "--no-flush-rx")...)
	stdin, err := cmd.StdinPipe() // it ends when somebody presses return
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := start(cmd); err != nil {
		return nil, err
	}
	end = func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	lines, said := bufio.NewScanner(stdout), ""
	for lines.Scan() {
		said += lines.Text() + "\n"
		if strings.HasPrefix(lines.Text(), "Press enter") {
			go func() { _, _ = io.Copy(io.Discard, stdout) }()
			return end, nil
		}
	}
	end()
	return nil, fmt.Errorf("the function did not start: %s", tail(said))
}

// memifResult is what a wire by shared memory costs, and what becomes of packets at parts of the highest rate.
type memifResult struct {
	wireResult
	loads []memifLoad
}

// memifLoad is what became of packets that came at a rate.
type memifLoad struct {
	part                     float64
	rate                     int // packets per second
	missed, seen, lost, late uint64
}

// memifRow is a chain with state before the function and behind it.
func memifRow() wireRow {
	return wireRow{"firewall-memif-napt-8k", functions{statefulFirewall("fw"), blackbox("ips"), napts(1, memifFlows)[0]}, mixed(memifFlows, frameSize)}
}

// measureMemif measures a chain with the function and without it, by turns, and then with it at parts of its highest rate.
func (b *bench) measureMemif(ctx context.Context, s sharing) (*memifResult, error) {
	r := memifRow()
	p, err := b.bare().plan(row{Name: r.name, N: len(r.fns), chain: fixed(r.fns), traffic: r.traffic})
	if err != nil {
		return nil, err
	}
	without, err := b.compile(merged(r.name+"-without", r.without()))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, w := range wires(r.fns) {
		names = append(names, string(w.Name))
	}
	m := &memifResult{wireResult: wireResult{name: r.name, stops: 1, flows: memifFlows}}
	hz, err := s.highest(ctx, p, without, names, b.passes, &m.wireResult)
	if err != nil {
		return nil, err
	}
	for _, part := range memifLoads {
		paced := p.replay
		paced.rate = int(part * hz / m.cycles)
		paced.warmup, paced.measured = paced.rate, memifSeconds*paced.rate
		d, err := s.run(ctx, paced, p.program, names)
		if err != nil {
			return nil, err
		}
		m.loads = append(m.loads, memifLoad{part, paced.rate, d.Missed, d.Seen, d.Lost, d.Late})
	}
	return m, nil
}

// highest measures what packets cost that come as fast as they can. It tells the cycles of a second.
func (s sharing) highest(ctx context.Context, p *plan, without string, names []string, passes int, m *wireResult) (hz float64, err error) {
	flood := p.replay.forSeconds(memifFlood)
	var with, bare, each samples
	for left := busyTries * passes; len(each) < passes; {
		d, err := s.run(ctx, flood, p.program, names)
		if err != nil {
			return 0, err
		}
		if lost := float64(d.Lost) / float64(d.Seen+d.Lost); lost > memifLost {
			if left--; left < 0 {
				return 0, fmt.Errorf("%.1f %% of the packets were lost at the highest rate, and in %d passes before it: the function limits it", 100*lost, busyTries*passes)
			}
			continue
		}
		o, err := s.run(ctx, flood, without, nil)
		if err != nil {
			return 0, err
		}
		hz = d.Hz
		with, bare, each = append(with, d.Cycles.P50), append(bare, o.Cycles.P50), append(each, d.Cycles.P50-o.Cycles.P50)
	}
	m.cycles, m.without, m.wire, m.interval = with.median(), bare.median(), each.median(), each.interval()
	return hz, nil
}

const memifPreamble = `
## By shared memory

The function is another process on the other core, DPDK's own forwarder, and shares memory with the engine (memif). So *each wire* has the device, too: its driver copies each frame twice,
and the lines of each frame go from core to core and back. Runs differ: in most of them it is about 230 cycles on the machine that was looked at, in others 400 to 700, from the first second of a run to its last. A line goes
from core to core in 70 cycles in both, and with a sixteenth of the packet buffers it was the same; what decides is not known. In
such a run the engine does not keep up with the rates below, and packets are missed.

| chain | flows | cycles | without | each wire | interval | |
| --- | --: | --: | --: | --: | --: | --- |
`

// report is the section of wires.md.
func (m *memifResult) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s| %s | %d | %.1f | %.1f | %.1f | %.1f–%.1f | %s |\n", memifPreamble, m.name, m.flows, m.cycles, m.without, m.wire, m.interval.Low, m.interval.High, m.verdict())
	fmt.Fprintf(&b, "\nWhat becomes of packets that come at a part of the highest rate, for %d seconds. *Missed* are those that found the ring of 4,096 frames before the engine full, with those of the second before. *Lost* are those that find the function's ring of 1,024 frames full, as it shares its core with all else on "+
		"the machine; the engine counts each as `ips/full`. *Late* are those that a later packet of their flow has overtaken.\n\n| load | Mpps | missed | packets | lost | late |\n| --: | --: | --: | --: | --: | --: |\n", memifSeconds)
	for _, l := range m.loads {
		fmt.Fprintf(&b, "| %.0f %% | %.2f | %d | %d | %d (%.2f %%) | %d |\n", 100*l.part, float64(l.rate)/1e6, l.missed, l.seen+l.lost, l.lost, 100*float64(l.lost)/float64(l.seen+l.lost), l.late)
	}
	return b.String()
}
