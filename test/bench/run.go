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
	"regexp"
	"strconv"
	"strings"
	"time"
)

// measurement is what sinter-bench prints.
type measurement struct {
	Cycles struct {
		P10    float64 `json:"p10"`
		Median float64 `json:"median"`
	} `json:"cycles_per_packet"`
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

// device is the same for engine and baseline: a pcap file replayed from memory without end.
func device(pcap string) string { return "net_pcap0,rx_pcap=" + pcap + ",infinite_rx=1" }

// engine runs sinter-bench on one core.
type engine struct {
	binary string
	core   int
}

func (e engine) run(ctx context.Context, pcap string, programs []string, flags ...string) (*measurement, error) {
	args := append(flags, programs...)
	args = append(args, "--", "-l", strconv.Itoa(e.core), "--no-pci", "--in-memory", "--no-telemetry",
		"--force-max-simd-bitwidth=512", "--vdev", device(pcap))
	out, err := output(ctx, e.binary, args...)
	if err != nil {
		return nil, err
	}
	var m measurement
	if err := json.Unmarshal(out, &m); err != nil {
		return nil, fmt.Errorf("%s printed no measurement: %w", filepath.Base(e.binary), err)
	}
	return &m, nil
}

// testpmd is the baseline: DPDK's own forwarder, which swaps MAC addresses, IP
// addresses and ports of each packet.
type testpmd struct {
	core, control int
	seconds       time.Duration
}

var errNoCycles = errors.New("no line with CPU cycles/packet")

var testpmdCycles = regexp.MustCompile(`CPU cycles/packet=([0-9.]+)`)

func (t testpmd) run(ctx context.Context, pcap, mode string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, t.seconds+30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "dpdk-testpmd", "-l", fmt.Sprintf("%d,%d", t.control, t.core), "--main-lcore", strconv.Itoa(t.control),
		"--no-pci", "--in-memory", "--no-telemetry", "--vdev", device(pcap), "--",
		"--forward-mode="+mode, "--record-core-cycles", "--total-num-mbufs=65535", "--no-flush-rx", "--interactive")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	// The first second warms up, the statistics of the rest count.
	for _, step := range []struct {
		say  string
		wait time.Duration
	}{
		{"start\n", time.Second}, {"clear fwd stats all\n", t.seconds}, {"show fwd stats all\n", 0}, {"stop\nquit\n", 0},
	} {
		if _, err := io.WriteString(stdin, step.say); err != nil {
			break // what testpmd said tells why
		}
		time.Sleep(step.wait)
	}
	_ = stdin.Close()
	err = cmd.Wait() // it may complain on its way out; what counts is what it printed
	m := testpmdCycles.FindStringSubmatch(out.String())
	if m == nil {
		return 0, fmt.Errorf("dpdk-testpmd printed no cycles: %s: %w", tail(out.String()), errors.Join(err, errNoCycles))
	}
	return strconv.ParseFloat(m[1], 64)
}

func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, tail(stderr.String()))
	}
	return out, nil
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
