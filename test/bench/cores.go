package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// pair measures the engine itself with one worker and with two, each of which has a queue that replays flows of its own shards from
// memory, so that none is handed over, as with a device that dispatches. The replaying device is a generator, whose cost is left out: the time for
// which workers wait for it is measured and taken off, because the queues of net_pcap share lines, which is no matter of Sinter's. What is sent,
// another net_pcap drops (the queues of net_null count in one line).
type pair struct {
	binary  string // sinter-engine
	dir     string
	rounds  int
	seconds time.Duration
}

// wantGain is what a second core has to bring.
const wantGain = 1.9

// rate is packets per second, of all time and of that in which the generator was not at work.
type rate struct{ all, own float64 }

// gain is the rate of one worker (the mean of both cores', each with its half, as no two cores are alike) and of two: medians of
// alternating runs, and the medians of the runs' ratios.
type gain struct{ one, two, ratio rate }

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

func (p pair) measure(ctx context.Context, b *bench, s scenario) (*gain, error) {
	program, err := b.compile(merged(s.Name, s.fns))
	if err != nil {
		return nil, err
	}
	var halves [2]string
	for w := range halves {
		halves[w] = filepath.Join(p.dir, fmt.Sprintf("%s-%d.pcap", s.Name, w))
		if err := packets.WriteCapture(halves[w], ofWorker(s.frames, uint32(w))); err != nil {
			return nil, err
		}
	}
	var one, two, ratio []rate
	for range p.rounds {
		var r [3]rate // each core alone with its half, then both
		for i, cpus := range [][]int{{0}, {1}, {0, 1}} {
			if r[i], err = p.run(ctx, program, halves, cpus); err != nil {
				return nil, err
			}
		}
		mean := rate{(r[0].all + r[1].all) / 2, (r[0].own + r[1].own) / 2}
		one, two, ratio = append(one, mean), append(two, r[2]), append(ratio, rate{r[2].all / mean.all, r[2].own / mean.own})
	}
	return &gain{medians(one), medians(two), medians(ratio)}, nil
}

func medians(list []rate) rate {
	var all, own []float64
	for _, r := range list {
		all, own = append(all, r.all), append(own, r.own)
	}
	return rate{median(all), median(own)}
}

// run is the rate of an engine with a worker on each of some CPUs, which has that CPU's half.
func (p pair) run(ctx context.Context, program string, halves [2]string, cpus []int) (_ rate, err error) {
	socket := filepath.Join(p.dir, "engine.sock")
	empty := filepath.Join(p.dir, "empty.pcap")
	if err := packets.WriteCapture(empty, nil); err != nil {
		return rate{}, err
	}
	inside, outside := "inside=net_pcap0", "outside=net_pcap1"
	lcores := "--lcores=0@(0,1)"
	if len(cpus) == 1 {
		lcores = fmt.Sprintf("--lcores=0@%d", 1-cpus[0])
	}
	for i, cpu := range cpus {
		inside += ",rx_pcap=" + halves[cpu]
		outside += ",rx_pcap=" + empty
		lcores += fmt.Sprintf(",%d@%d", i+1, cpu)
	}
	args := []string{
		"--socket", socket, "--program", program, "--bind", inside + ",infinite_rx=1", "--bind", outside,
		"--workers", strconv.Itoa(len(cpus)), "--shards", fmt.Sprintf("address:%d", partitionBit), "--buffers", "65535", "--memory", "512",
		"--eal", lcores,
	}
	if pages, err := os.ReadFile("/proc/sys/vm/nr_hugepages"); err != nil || strings.TrimSpace(string(pages)) == "0" {
		args = append(args, "--no-huge")
	}
	cmd := exec.CommandContext(ctx, p.binary, args...)
	var log bytes.Buffer
	cmd.Stderr = &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return rate{}, err
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if e := cmd.Wait(); err != nil {
			err = errors.Join(fmt.Errorf("sinter-engine with %d workers: %w: %s", len(cpus), err, tail(log.String())), e)
		}
	}()
	var c *control.Client
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if c, err = control.Dial(ctx, socket); err == nil {
			break
		}
		if time.Since(began) > 30*time.Second {
			return rate{}, err
		}
	}
	defer func() { _ = c.Close() }()
	time.Sleep(time.Second) // flows become known
	before, err := c.Stats(ctx)
	if err != nil {
		return rate{}, err
	}
	time.Sleep(p.seconds)
	now, err := c.Stats(ctx)
	if err != nil {
		return rate{}, err
	}
	return rateOf(before, now)
}

// rateOf is the rate from one reading to the next, if no packets were lost or handed over.
func rateOf(before, now *programpb.Stats) (rate, error) {
	seconds := float64(now.GetNowNs()-before.GetNowNs()) / 1e9
	var dropped, passed, own float64
	for i, w := range now.GetWorkers() {
		b := before.GetWorkers()[i]
		if n := w.GetHanded() - b.GetHanded(); n > 0 {
			return rate{}, fmt.Errorf("worker %d handed %d packets over: its queue is not of its shards", i, n)
		}
		packets := float64(w.GetPackets() - b.GetPackets())
		receiving := float64(w.GetStageCycles()[0]-b.GetStageCycles()[0]) / float64(w.GetTscHz())
		passed += packets
		own += packets / (seconds - receiving)
	}
	for _, d := range now.GetDrops() {
		dropped += float64(d.GetPackets())
	}
	for _, d := range before.GetDrops() {
		dropped -= float64(d.GetPackets())
	}
	if dropped > 0.001*passed || passed == 0 {
		return rate{}, fmt.Errorf("%.0f of %.0f packets dropped: %v", dropped, passed, now.GetDrops())
	}
	return rate{passed / seconds, own}, nil
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

// twoCores measures each scenario and writes cores.md.
func twoCores(ctx context.Context, p pair, b *bench, list []scenario, out string) error {
	wanted := map[string]bool{"routers-1": true, "napts-1": true, "isp-acl1-251": true}
	real, how := realCores()
	var text strings.Builder
	fmt.Fprintf(&text, "# Two cores\n\nMade by `hack/bench.sh -workers 2`: the engine with a worker on the one core, on the other (*one* is their mean), and on both; each has a queue that replays 60-byte\n"+
		"frames from memory, of flows of its own shards (`--shards address:%d`). Packets per second, medians of %d alternating runs. The time in which net_pcap replays is left out, as that of a generator;\n"+
		"the last column has it, too. Want at least %.1f ×, where the two CPUs are cores.\n\n"+
		"Here: %s.\n\n| chain | one | two | ratio | with the replay |\n| --- | --: | --: | --: | --: |\n", partitionBit, p.rounds, wantGain, how)
	var bad []string
	for _, s := range list {
		if !wanted[s.Name] {
			continue
		}
		g, err := p.measure(ctx, b, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		fmt.Fprintf(os.Stderr, "%-28s one worker %.2f Mpps, two %.2f Mpps, %.2f × (with the replay %.2f ×); %s\n", s.Name, g.one.own/1e6, g.two.own/1e6, g.ratio.own, g.ratio.all, how)
		fmt.Fprintf(&text, "| %s | %.2f Mpps | %.2f Mpps | %.2f | %.2f |\n", s.Name, g.one.own/1e6, g.two.own/1e6, g.ratio.own, g.ratio.all)
		if g.ratio.own < wantGain && real {
			bad = append(bad, fmt.Sprintf("%s: two cores do %.2f × what one does, want %.1f", s.Name, g.ratio.own, wantGain))
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
