package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// replay is what the replay device is told: frames, and how many of them are measured.
type replay struct {
	plugin           string // libsinter-replay.so
	capture          string
	warmup, measured int
	rate             int           // frames per second; 0: as many as are asked for
	hz               float64       // of the TSC, once a device has told it
	quiet            int           // cycles of a quick probe at most; 0: no probes are made
	patience         time.Duration // to wait for quick probes
	bursts           int           // that are told one by one
}

// device is EAL's name and arguments of the device, which writes a report.
func (r replay) device(report string) string { return "net_replay0," + r.arguments(report, r.capture) }

// arguments are the device's, with a queue for each capture.
func (r replay) arguments(report string, captures ...string) string {
	d := fmt.Sprintf("warmup=%d,count=%d,report=%s", r.warmup, r.measured, report)
	for _, path := range captures {
		d += ",pcap=" + path
	}
	if r.rate > 0 {
		d += fmt.Sprintf(",rate=%d", r.rate)
	}
	if r.quiet > 0 {
		d += fmt.Sprintf(",quiet=%d,patience=%d", r.quiet, r.patience.Milliseconds())
	}
	if r.bursts > 0 {
		d += fmt.Sprintf(",bursts=%d", r.bursts)
	}
	return d
}

// eal is EAL's arguments for the device.
func (r replay) eal(report string) []string {
	return []string{
		"--no-pci", "--in-memory", "--no-telemetry", "--force-max-simd-bitwidth=512", "-d", r.plugin,
		"--vdev", r.device(report),
	}
}

// deviceReport is what the replay device writes.
type deviceReport struct {
	Received uint64    `json:"received"`
	Sent     uint64    `json:"sent"`
	Missed   uint64    `json:"missed"`
	Seen     uint64    `json:"seen"` // of numbered frames; lost, and overtaken by a later one of their flow
	Lost     uint64    `json:"lost"`
	Late     uint64    `json:"late"`
	Hz       float64   `json:"tsc_hz"`
	Cycles   quantiles `json:"cycles_per_packet"`       // of quiet moments, if there were enough
	Quiet    quantiles `json:"quiet_cycles_per_packet"` // of bursts between two quick probes
	Probes   quantiles `json:"probe_cycles"`
	Latency  quantiles `json:"latency_ns"`
	Bursts   []float64 `json:"bursts"` // cycles per packet of the first ones, if they were asked for
	busy     bool      // there were probes, and too few quiet moments
}

// pps is packets per second of a core that does nothing else, by the median burst.
func (d *deviceReport) pps() float64 { return d.Hz / max(d.Cycles.P50, 1) }

type quantiles struct {
	Values uint64  `json:"values"`
	P1     float64 `json:"p1"`
	P10    float64 `json:"p10"`
	P50    float64 `json:"p50"`
	P90    float64 `json:"p90"`
	P99    float64 `json:"p99"`
	P999   float64 `json:"p99.9"`
	P9999  float64 `json:"p99.99"`
	Max    float64 `json:"max"`
	Mean   float64 `json:"mean"`
}

func readReport(path string) (*deviceReport, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r deviceReport
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.keepQuiet()
	return &r, nil
}

// measurement is what sinter-bench prints.
type measurement struct {
	Stages map[string]float64 `json:"stages"`
	Drops  []struct {
		Program int    `json:"program"`
		Reason  string `json:"reason"`
		Packets uint64 `json:"packets"`
	} `json:"drops"`
	Sessions struct {
		Live    uint64 `json:"live"`
		Created uint64 `json:"created"`
	} `json:"sessions"`
	Cache struct {
		Hits   uint64 `json:"hits"`
		Misses uint64 `json:"misses"`
	} `json:"cache"`
	Classifiers []struct {
		Program int    `json:"program"`
		Segment string `json:"segment"`
		Kind    string `json:"kind"`
	} `json:"classifiers"`
	Packets uint64 `json:"packets"`
	Sent    uint64 `json:"sent"`
}

// dropped is the share of packets that were dropped, all programs together.
func (m *measurement) dropped() float64 {
	var n uint64
	for _, d := range m.Drops {
		n += d.Packets
	}
	return float64(n) / float64(max(m.Packets, 1))
}

const (
	burst          = 32
	profiledBursts = 2000
)

// engine runs sinter-bench on one core.
type engine struct {
	binary  string
	core    int
	scratch string
}

// run is what the device and sinter-bench measure of programs, one after the other. An error if packets are lost.
func (e engine) run(ctx context.Context, r replay, programs []string) (*deviceReport, *measurement, error) {
	report := filepath.Join(e.scratch, "report.json")
	_ = os.Remove(report)
	args := append([]string{
		"--warmup", strconv.Itoa(r.warmup / burst), "--rounds", strconv.Itoa(r.measured/burst + 1), "--profile", strconv.Itoa(profiledBursts),
		"--quiet", strconv.Itoa(r.quiet),
	}, programs...)
	args = append(append(args, "--", "-l", strconv.Itoa(e.core)), r.eal(report)...)
	out, err := output(ctx, e.binary, args...)
	if err != nil {
		return nil, nil, err
	}
	var m measurement
	if err := json.Unmarshal(out, &m); err != nil {
		return nil, nil, fmt.Errorf("%s printed no measurement: %w", filepath.Base(e.binary), err)
	}
	if m.dropped() > 0.001 {
		return nil, nil, fmt.Errorf("%.1f%% of the packets were dropped: %v", 100*m.dropped(), m.Drops)
	}
	d, err := readReport(report)
	return d, &m, err
}

// testpmd is DPDK's own forwarder: the baseline.
type testpmd struct {
	core, control int
	scratch       string
}

// run forwards in a mode until the device has measured: io does nothing with packets, macswap swaps MAC addresses, and 5tswap also IP addresses
// and ports.
func (t testpmd) run(ctx context.Context, r replay, mode string) (*deviceReport, error) {
	return t.runUntil(ctx, r, mode, nil)
}

// runUntil has a function called before it ends.
func (t testpmd) runUntil(ctx context.Context, r replay, mode string, then func() error) (*deviceReport, error) {
	report := filepath.Join(t.scratch, "report.json")
	args := []string{"-l", fmt.Sprintf("%d,%d", t.control, t.core), "--main-lcore", strconv.Itoa(t.control)}
	args = append(append(args, r.eal(report)...), "--", "--forward-mode="+mode, "--total-num-mbufs=65535", "--no-flush-rx")
	return untilReport(ctx, report, then, "dpdk-testpmd", args...)
}

// untilReport runs a program that forwards for ever until the device has written its report, and ends it; then, if not nil, is called before.
func untilReport(ctx context.Context, report string, then func() error, name string, args ...string) (_ *deviceReport, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	_ = os.Remove(report)
	cmd := exec.CommandContext(ctx, name, args...)
	stdin, err := cmd.StdinPipe() // testpmd ends when somebody presses return
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := start(cmd); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	var fate error
	go func() {
		fate = cmd.Wait()
		close(ended)
	}()
	for {
		select {
		case <-ended:
			return nil, fmt.Errorf("%s ended before the device had measured: %w: %s", filepath.Base(name), errors.Join(fate, ctx.Err()), tail(out.String()))
		case <-time.After(100 * time.Millisecond):
		}
		r, err := readReport(report)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if then != nil {
			err = errors.Join(err, then())
		}
		_, _ = io.WriteString(stdin, "\n")
		_ = cmd.Process.Signal(syscall.SIGINT)
		<-ended // it may complain on its way out; the report is whole
		return r, err
	}
}

// start starts a command in a session of its own, which the scheduler prefers to other sessions (where it tells them apart): the rest of the machine
// takes less of the core away. It is no real-time process, as two of them on two cores would leave nothing to the rest.
func start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig, cmd.SysProcAttr.Setsid = syscall.SIGKILL, true
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", cmd.Process.Pid), []byte("-20"), 0)
	return nil
}

func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, tail(stderr.String()))
	}
	return out.Bytes(), nil
}

func tail(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "; ")
}

// scratch is a folder that goes when the benchmark ends.
func scratch() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "sinter-bench-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}
