package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

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

// wantGain is what a second core has to bring.
const wantGain = 1.9

// gain is packets per second of one worker (the mean of both cores', each with its half, as no two cores are alike) and of two: medians of
// alternating runs, and the quotients of the runs. Apart is the quotient of two engines, a core each, that know nothing of each other: more than that the
// machine does not give.
type gain struct {
	one, two      float64
	ratios, apart samples
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

// best measures a row until it gains what is wanted, at most so many times, and keeps the best: other work on the machine only takes away.
func (p pair) best(ctx context.Context, b *bench, r row, times int) (*gain, error) {
	var best *gain
	for range times {
		g, err := p.measure(ctx, b, r)
		if err != nil {
			return nil, err
		}
		if best == nil || g.ratios.median() > best.ratios.median() {
			best = g
		}
		if best.ratios.median() >= p.want {
			break
		}
	}
	return best, nil
}

func (p pair) measure(ctx context.Context, b *bench, r row) (*gain, error) {
	plan, err := b.plan(r)
	if err != nil {
		return nil, err
	}
	halves, packets, err := p.halves(r)
	if err != nil {
		return nil, err
	}
	plan.replay.warmup, plan.replay.measured = r.traffic.schedule(packets)
	if !r.traffic.once {
		first, err := p.run(ctx, plan.replay, plan.program, halves, []int{0})
		if err != nil {
			return nil, err
		}
		plan.replay = plan.replay.forSeconds(first)
	}
	var one, two, apart samples
	for range p.rounds {
		var v [3]float64 // each core alone with its half, then both
		for i, cpus := range [][]int{{0}, {1}, {0, 1}} {
			if v[i], err = p.run(ctx, plan.replay, plan.program, halves, cpus); err != nil {
				return nil, err
			}
		}
		one, two = append(one, (v[0]+v[1])/2), append(two, v[2])
		if r.traffic.once {
			continue // the captures would begin again while both run
		}
		sum, err := p.runApart(ctx, plan.replay, plan.program, halves)
		if err != nil {
			return nil, err
		}
		apart = append(apart, sum)
	}
	g := &gain{one: one.median(), two: two.median(), ratios: two.over(one)}
	if len(apart) > 0 {
		g.apart = apart.over(one)
	}
	return g, nil
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

// runApart is the packets per second of two engines at once, a worker each.
func (p pair) runApart(ctx context.Context, r replay, program string, halves [2]string) (float64, error) {
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
		return 0, fmt.Errorf("two engines: %w", err)
	}
	return d[0].pps() + d[1].pps(), nil
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
