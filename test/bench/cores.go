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
// memory: what a generator would cost is excluded, and so is hand-over, as a device that dispatches would.
type pair struct {
	binary  string // sinter-engine
	dir     string
	rounds  int
	seconds time.Duration
}

// wantGain is what a second core has to bring.
const wantGain = 1.9

// gain is packets per second of one worker and of two, medians of alternating runs, and the median of the runs' ratios.
type gain struct {
	name            string
	one, two, ratio float64
}

// cutBit: seven bits of the client's address from this one on are the shard. The first worker begins with the lower half of them.
const cutBit = 0

// ofWorker are the frames whose shards a worker of two begins with.
func ofWorker(frames [][]byte, worker uint32) [][]byte {
	var out [][]byte
	for _, f := range frames {
		if binary.BigEndian.Uint32(f[26:])>>(cutBit+6)&1 == worker {
			out = append(out, f)
		}
	}
	return out
}

func (p pair) measure(ctx context.Context, b *bench, s scenario) (*gain, error) {
	path, err := b.compile(merged(s.Name, s.fns))
	if err != nil {
		return nil, err
	}
	var halves []string
	for w := range uint32(2) {
		halves = append(halves, filepath.Join(p.dir, fmt.Sprintf("%s-%d.pcap", s.Name, w)))
		if err := packets.WriteCapture(halves[w], ofWorker(s.frames, w)); err != nil {
			return nil, err
		}
	}
	var one, two, ratios []float64
	for range p.rounds {
		a, err := p.run(ctx, path, halves[:1])
		if err != nil {
			return nil, err
		}
		b, err := p.run(ctx, path, halves)
		if err != nil {
			return nil, err
		}
		one, two, ratios = append(one, a), append(two, b), append(ratios, b/a)
	}
	return &gain{s.Name, median(one), median(two), median(ratios)}, nil
}

// run is the packets per second of an engine with a worker for each file.
func (p pair) run(ctx context.Context, program string, files []string) (rate float64, err error) {
	socket := filepath.Join(p.dir, "engine.sock")
	device := "inside=net_pcap0"
	for _, f := range files {
		device += ",rx_pcap=" + f
	}
	args := []string{
		"--socket", socket, "--program", program, "--bind", device + ",infinite_rx=1", "--bind", "outside=net_null0,no-rx=1",
		"--workers", strconv.Itoa(len(files)), "--shards", fmt.Sprintf("address:%d", cutBit), "--buffers", "65535", "--memory", "512",
	}
	if pages, err := os.ReadFile("/proc/sys/vm/nr_hugepages"); err != nil || strings.TrimSpace(string(pages)) == "0" {
		args = append(args, "--no-huge")
	}
	cmd := exec.CommandContext(ctx, p.binary, args...)
	var log bytes.Buffer
	cmd.Stderr = &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if e := cmd.Wait(); err != nil {
			err = errors.Join(fmt.Errorf("sinter-engine with %d workers: %w: %s", len(files), err, tail(log.String())), e)
		}
	}()
	var c *control.Client
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if c, err = control.Dial(ctx, socket); err == nil {
			break
		}
		if time.Since(began) > 30*time.Second {
			return 0, err
		}
	}
	defer func() { _ = c.Close() }()
	time.Sleep(time.Second) // flows become known
	before, err := c.Stats(ctx)
	if err != nil {
		return 0, err
	}
	time.Sleep(p.seconds)
	now, err := c.Stats(ctx)
	if err != nil {
		return 0, err
	}
	return rateOf(before, now)
}

// rateOf is the packets per second that left, if none were lost or handed over.
func rateOf(before, now *programpb.Stats) (float64, error) {
	for i, w := range now.GetWorkers() {
		if n := w.GetHanded() - before.GetWorkers()[i].GetHanded(); n > 0 {
			return 0, fmt.Errorf("worker %d handed %d packets over: its queue is not of its shards", i, n)
		}
	}
	var dropped, sent uint64
	for _, d := range now.GetDrops() {
		dropped += d.GetPackets()
	}
	for _, d := range before.GetDrops() {
		dropped -= d.GetPackets()
	}
	for i, p := range now.GetPorts() {
		sent += p.GetTxPackets() - before.GetPorts()[i].GetTxPackets()
	}
	if float64(dropped) > 0.001*float64(sent) || sent == 0 {
		return 0, fmt.Errorf("%d packets dropped, %d sent: %v", dropped, sent, now.GetDrops())
	}
	return float64(sent) / (float64(now.GetNowNs()-before.GetNowNs()) / 1e9), nil
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
	fmt.Fprintf(&text, "# Two cores\n\nMade by `hack/bench.sh -workers 2`: the engine with one worker and with two, each with a queue that replays 60-byte frames from memory, of flows of "+
		"its own shards\n(`--shards address:%d`). Packets per second that left, medians of %d alternating runs. Want at least %.1f ×, where the two CPUs are cores.\n\n"+
		"Here: %s.\n\n| chain | one | two | ratio |\n| --- | --: | --: | --: |\n", cutBit, p.rounds, wantGain, how)
	var bad []string
	for _, s := range list {
		if !wanted[s.Name] {
			continue
		}
		g, err := p.measure(ctx, b, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		fmt.Fprintf(os.Stderr, "%-28s one worker %.2f Mpps, two %.2f Mpps, %.2f ×; %s\n", g.name, g.one/1e6, g.two/1e6, g.ratio, how)
		fmt.Fprintf(&text, "| %s | %.2f Mpps | %.2f Mpps | %.2f |\n", g.name, g.one/1e6, g.two/1e6, g.ratio)
		if g.ratio < wantGain && real {
			bad = append(bad, fmt.Sprintf("%s: two cores do %.2f × what one does, want %.1f", g.name, g.ratio, wantGain))
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
