package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sinter-nfv/sinter/dataplane/control"
)

// pair measures the engine itself with one worker and with two, each of which has a queue that replays flows of its own shards from
// memory, so that none is handed over, as with a device that dispatches. What is sent, another replay device counts and frees.
type pair struct {
	binary string // sinter-engine
	dir    string
	rounds int
	want   float64 // gain
}

const (
	// wantGain is what a second core has to bring, …
	wantGain = 1.9
	// wantOfMachine … or that part of what it brings to programs that share nothing.
	wantOfMachine = 0.97
)

// gain is packets per second, a value for each round: of one worker on the one core and on the other, each with its half, and of two. Apart are two engines, a
// core each, that know nothing of each other: more than they the machine does not do.
type gain struct {
	alone      [2]samples
	two, apart samples
	busy       int // rounds in which a run had too few quiet moments, so that all count
}

// one is what a core does, on average, as no two cores are alike. The best rounds count: other work on the machine only takes away, here as for two.
func (g *gain) one() float64 { return (slices.Max(g.alone[0]) + slices.Max(g.alone[1])) / 2 }

func (g *gain) ratio() float64 { return slices.Max(g.two) / g.one() }

// machine is the ratio of two engines that share nothing; 0: not measured.
func (g *gain) machine() float64 {
	if len(g.apart) == 0 {
		return 0
	}
	return slices.Max(g.apart) / g.one()
}

// wanted is the ratio that is enough.
func (g *gain) wanted(want float64) float64 {
	if m := g.machine(); m > 0 {
		return min(want, wantOfMachine*m)
	}
	return want
}

// ratios are those of the rounds.
func (g *gain) ratios() samples {
	one := make(samples, len(g.two))
	for i := range one {
		one[i] = (g.alone[0][i] + g.alone[1][i]) / 2
	}
	return g.two.over(one)
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

// measure is a row's gain, of some rounds. If that is less than wanted, it makes as many again, so often at most.
func (p pair) measure(ctx context.Context, b *bench, r row, times int) (*gain, error) {
	plan, err := b.plan(r)
	if err != nil {
		return nil, err
	}
	halves, packets, err := p.halves(r)
	if err != nil {
		return nil, err
	}
	plan.replay.warmup, plan.replay.measured = r.traffic.schedule(packets)
	if plan.replay.measured <= 0 {
		return nil, &unfitError{fmt.Sprintf("a half has %d packets, and %d come before those that count", packets, plan.replay.warmup)}
	}
	if !r.traffic.once {
		first, err := p.run(ctx, b.quiet.beside(plan.replay), plan.program, halves, []int{0})
		if err != nil {
			return nil, err
		}
		b.quiet.learn(first)
		plan.replay = plan.replay.forSeconds(first.pps())
	}
	var g gain
	for i := range times * p.rounds {
		restarts, err := p.round(ctx, b, plan, halves, &g)
		if err != nil {
			return nil, err
		}
		if restarts {
			g = gain{}
		} else if (i+1)%p.rounds == 0 && g.ratio() >= g.wanted(p.want) {
			break
		}
	}
	if len(g.two) == 0 {
		return nil, errors.New("the machine was quieter in each round than before, so that none counts")
	}
	return &g, nil
}

// round measures each core alone with its half, then both, then both with an engine each. Whether the machine was so much quieter than before that no
// round counts, not even this.
func (p pair) round(ctx context.Context, b *bench, plan *plan, halves [2]string, g *gain) (restarts bool, err error) {
	var reports []*deviceReport
	r := b.quiet.beside(plan.replay)
	for i, to := range []*samples{&g.alone[0], &g.alone[1], &g.two} {
		cpus := [][]int{{0}, {1}, {0, 1}}[i]
		d, err := p.run(ctx, r, plan.program, halves, cpus)
		if err != nil {
			return false, err
		}
		reports = append(reports, d)
		*to = append(*to, float64(len(cpus))*d.pps())
	}
	if !plan.row.traffic.once { // or the captures would begin again while both run
		d, err := p.runApart(ctx, r, plan.program, halves)
		if err != nil {
			return false, err
		}
		reports = append(reports, d[:]...)
		g.apart = append(g.apart, d[0].pps()+d[1].pps())
	}
	busy := false
	for _, d := range reports {
		busy = busy || d.busy
		restarts = b.quiet.learn(d) || restarts
	}
	if busy {
		g.busy++
	}
	return restarts, nil
}

// halves writes a capture for each worker, and tells how many packets the smaller one has.
func (p pair) halves(r row) (paths [2]string, packets int, err error) {
	frames, err := r.traffic.packets()
	if err != nil {
		return paths, 0, err
	}
	packets = len(frames)
	for w := range paths {
		half := ofWorker(frames, uint32(w))
		packets = min(packets, len(half))
		paths[w] = filepath.Join(p.dir, fmt.Sprintf("half-%d.pcap", w))
		if err := writeCapture(paths[w], half); err != nil {
			return paths, 0, err
		}
	}
	return paths, packets, nil
}

// arguments are those of an engine with a worker on each of some CPUs, which has that CPU's half.
func (p pair) arguments(r replay, socket, report, program string, halves [2]string, cpus []int) []string {
	lcores := "--lcores=0@(0,1)"
	if len(cpus) == 1 {
		lcores = fmt.Sprintf("--lcores=0@%d", 1-cpus[0])
	}
	var captures []string
	for i, cpu := range cpus {
		captures = append(captures, halves[cpu])
		lcores += fmt.Sprintf(",%d@%d", i+1, cpu)
	}
	return []string{
		"--socket", socket, "--program", program, "--bind", "inside=net_replay0," + r.arguments(report, captures...), "--bind", "outside=net_replay1",
		"--workers", strconv.Itoa(len(cpus)), "--shards", fmt.Sprintf("address:%d", partitionBit), "--buffers", "65535",
		"--eal", lcores + " --no-pci --in-memory --no-telemetry --force-max-simd-bitwidth=512 -d " + r.plugin,
	}
}

// run is what the device measures of an engine, all its workers together.
func (p pair) run(ctx context.Context, r replay, program string, halves [2]string, cpus []int) (*deviceReport, error) {
	socket, report := filepath.Join(p.dir, "engine.sock"), filepath.Join(p.dir, "report.json")
	d, err := untilReport(ctx, report, func() error { return nothingLost(ctx, socket) }, p.binary, p.arguments(r, socket, report, program, halves, cpus)...)
	if err != nil {
		return nil, fmt.Errorf("%d workers: %w", len(cpus), err)
	}
	return d, nil
}

// runApart is what devices measure of two engines at once, a worker each.
func (p pair) runApart(ctx context.Context, r replay, program string, halves [2]string) ([2]*deviceReport, error) {
	var runs [2]forwarderUntil
	for i := range runs {
		runs[i] = func(ctx context.Context, then func() error) (*deviceReport, error) {
			socket, report := filepath.Join(p.dir, fmt.Sprintf("engine-%d.sock", i)), filepath.Join(p.dir, fmt.Sprintf("report-%d.json", i))
			last := func() error { return errors.Join(nothingLost(ctx, socket), then()) }
			return untilReport(ctx, report, last, p.binary, p.arguments(r, socket, report, program, halves, []int{i})...)
		}
	}
	d, err := together(ctx, runs)
	if err != nil {
		return d, fmt.Errorf("two engines: %w", err)
	}
	return d, nil
}

// unfitError says why a row's packets cannot be halved for two cores, which is no fault of the chain.
type unfitError struct{ why string }

func (e *unfitError) Error() string { return "not measured: " + e.why }

// startPatience is for an engine that measures before it answers: a short capture takes less time than the rest of its start.
const startPatience = 10 * time.Second

// nothingLost tells why an engine's figures do not count, if it dropped packets or handed them from worker to worker.
func nothingLost(ctx context.Context, socket string) error {
	var c *control.Client
	var refused error
	if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, startPatience, true, func(ctx context.Context) (bool, error) {
		c, refused = control.Dial(ctx, socket)
		return refused == nil, nil
	}); err != nil {
		return errors.Join(refused, err)
	}
	defer func() { _ = c.Close() }()
	stats, err := c.Stats(ctx)
	if err != nil {
		return err
	}
	var dropped, passed uint64
	for _, w := range stats.GetWorkers() {
		if w.GetHanded() > 0 {
			return &unfitError{"the client's address does not tell the shard"}
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
