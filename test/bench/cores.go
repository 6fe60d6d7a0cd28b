package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/control"
)

// pair measures the engine itself with one worker and with two, each of which has a queue that replays flows of its own shards from
// memory, so that none is handed over, as with a device that dispatches. What is sent, another replay device counts and frees.
type pair struct {
	binary string // sinter-engine
	dir    string
	rounds int
}

// wantGain is what a second core has to bring.
const wantGain = 1.9

// gain is packets per second of one worker (the mean of both cores', each with its half, as no two cores are alike) and of two: medians of
// alternating runs, and the quotients of the runs.
type gain struct {
	one, two float64
	ratios   samples
}

// partitionBit: seven bits of the client's address from this one on are the shard. The first worker begins with the lower half of them.
const partitionBit = 0

// ofWorker are the frames whose shards a worker of two begins with.
func ofWorker(frames [][]byte, worker uint32) [][]byte {
	var out [][]byte
	for _, f := range frames {
		if binary.BigEndian.Uint32(f[26:])>>(partitionBit+6)&1 == worker {
			out = append(out, f)
		}
	}
	return out
}

func (p pair) measure(ctx context.Context, b *bench, r row) (*gain, error) {
	plan, err := b.plan(r)
	if err != nil {
		return nil, err
	}
	frames, err := r.traffic.packets()
	if err != nil {
		return nil, err
	}
	var halves [2]string
	for w := range halves {
		halves[w] = filepath.Join(p.dir, fmt.Sprintf("%s-%d.pcap", r.Name, w))
		if err := writeCapture(halves[w], ofWorker(frames, uint32(w))); err != nil {
			return nil, err
		}
	}
	var one, two samples
	for range p.rounds {
		var v [3]float64 // each core alone with its half, then both
		for i, cpus := range [][]int{{0}, {1}, {0, 1}} {
			if v[i], err = p.run(ctx, plan.replay, plan.program, halves, cpus); err != nil {
				return nil, err
			}
		}
		one, two = append(one, (v[0]+v[1])/2), append(two, v[2])
	}
	return &gain{one.median(), two.median(), two.over(one)}, nil
}

// arguments are those of an engine with a worker on each of some CPUs, which has that CPU's half.
func (p pair) arguments(r replay, socket, report, program string, halves [2]string, cpus []int) []string {
	inside, lcores := fmt.Sprintf("inside=net_replay0,warmup=%d,count=%d,report=%s", r.warmup, r.measured, report), "--lcores=0@(0,1)"
	if len(cpus) == 1 {
		lcores = fmt.Sprintf("--lcores=0@%d", 1-cpus[0])
	}
	for i, cpu := range cpus {
		inside += ",pcap=" + halves[cpu]
		lcores += fmt.Sprintf(",%d@%d", i+1, cpu)
	}
	return []string{
		"--socket", socket, "--program", program, "--bind", inside, "--bind", "outside=net_replay1",
		"--workers", strconv.Itoa(len(cpus)), "--shards", fmt.Sprintf("address:%d", partitionBit), "--buffers", "65535",
		"--eal", lcores + " --no-pci --in-memory --no-telemetry --force-max-simd-bitwidth=512 -d " + r.plugin,
	}
}

// run is the packets per second of an engine, by the median burst of its workers: what takes a core away from it for a while does not count.
func (p pair) run(ctx context.Context, r replay, program string, halves [2]string, cpus []int) (float64, error) {
	socket, report := filepath.Join(p.dir, "engine.sock"), filepath.Join(p.dir, "report.json")
	d, err := untilReport(ctx, report, func() error { return nothingLost(ctx, socket) }, p.binary, p.arguments(r, socket, report, program, halves, cpus)...)
	if err != nil {
		return 0, fmt.Errorf("%d workers: %w", len(cpus), err)
	}
	return float64(len(cpus)) * d.pps(), nil
}

// nothingLost tells why an engine's figures do not count, if it dropped packets or handed them from worker to worker.
func nothingLost(ctx context.Context, socket string) error {
	c, err := control.Dial(ctx, socket)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	stats, err := c.Stats(ctx)
	if err != nil {
		return err
	}
	var dropped, passed uint64
	for i, w := range stats.GetWorkers() {
		if n := w.GetHanded(); n > 0 {
			return fmt.Errorf("worker %d handed %d packets over: its queue is not of its shards", i, n)
		}
		passed += w.GetPackets()
	}
	for _, d := range stats.GetDrops() {
		dropped += d.GetPackets()
	}
	if float64(dropped) > 0.001*float64(passed) {
		return fmt.Errorf("%d of %d packets dropped: %v", dropped, passed, stats.GetDrops())
	}
	return nil
}

// realCores tells whether the first two CPUs are cores of their own, and how that is known.
func realCores() (real bool, how string) {
	const file = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"
	list, err := os.ReadFile(file)
	if err != nil {
		return false, err.Error()
	}
	siblings := strings.TrimSpace(string(list))
	if siblings == "0" {
		return true, "CPU 0 is a core of its own, by " + file
	}
	return false, fmt.Sprintf("CPUs %s are one core, by %s", siblings, file)
}

// twoCores measures rows and writes cores.md.
func twoCores(ctx context.Context, p pair, b *bench, list []row, out string) error {
	real, how := realCores()
	var text strings.Builder
	fmt.Fprintf(&text, "# Two cores\n\nMade by `hack/bench.sh -workers 2`: the engine with a worker on the one core, on the other (*one* is their mean), and on both. Each has a queue of the replay\n"+
		"device with flows of its own shards (`--shards address:%d`). Packets per second by the median burst, of %d alternating runs; the interval has the median ratio with\n"+
		"a confidence of %.0f %%. Want at least %.1f ×, where the two CPUs are cores.\n\n"+
		"Here: %s.\n\n| chain | one | two | ratio | interval |\n| --- | --: | --: | --: | --: |\n", partitionBit, p.rounds, 100*make(samples, p.rounds).interval().Coverage, wantGain, how)
	var bad []string
	for _, s := range list {
		if s.traffic.once || s.baseline != "" {
			continue // new flows end with the file; sizes tell of copies
		}
		g, err := p.measure(ctx, b, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		ratio := g.ratios.median()
		fmt.Fprintf(os.Stderr, "%-26s one worker %.2f Mpps, two %.2f Mpps, %.2f × (%v); %s\n", s.Name, g.one/1e6, g.two/1e6, ratio, g.ratios.interval(), how)
		fmt.Fprintf(&text, "| %s | %.2f Mpps | %.2f Mpps | %.2f | %v |\n", s.Name, g.one/1e6, g.two/1e6, ratio, g.ratios.interval())
		if ratio < wantGain && real {
			bad = append(bad, fmt.Sprintf("%s: two cores do %.2f × what one does, want %.1f", s.Name, ratio, wantGain))
		}
	}
	if err := os.WriteFile(filepath.Join(out, "cores.md"), []byte(text.String()), 0o644); err != nil {
		return err
	}
	if len(bad) > 0 {
		return errors.New(strings.Join(bad, "; "))
	}
	return nil
}
