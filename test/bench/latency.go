package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// loads are parts of the highest rate, of which latency is measured.
var loads = []float64{0.10, 0.25, 0.50, 0.75, 0.90, 0.95}

// latencyRows are those whose latency is measured.
var latencyRows = []string{"routers-1", "napts-1-10k", "isp-acl1-8550-10k"}

// forwarder is a program that runs until its device has measured.
type forwarder func(ctx context.Context, r replay) (*deviceReport, error)

// daemon is the engine with one worker: frames come by one device and leave by another, which has their latency.
func daemon(binary, scratch, program string, core, control int) forwarder {
	return func(ctx context.Context, r replay) (*deviceReport, error) {
		in, out := filepath.Join(scratch, "in.json"), filepath.Join(scratch, "out.json")
		_ = os.Remove(out)
		args := []string{
			"--socket", filepath.Join(scratch, "engine.sock"), "--program", program, "--buffers", "65535",
			"--bind", "inside=" + r.device(in), "--bind", "outside=net_replay1,latency=1,report=" + out,
			"--eal", fmt.Sprintf("--lcores=0@%d,1@%d --no-pci --in-memory --no-telemetry --force-max-simd-bitwidth=512 -d %s", control, core, r.plugin),
		}
		received, err := untilReport(ctx, in, nil, binary, args...)
		if err != nil {
			return nil, err
		}
		sent, err := readReport(out)
		if err != nil {
			return nil, err
		}
		received.Latency, received.Sent = sent.Latency, sent.Sent
		return received, nil
	}
}

// maxRate is the highest that the device takes: more than any program forwards.
const maxRate = 1_000_000_000

// percentiles of one load, in microseconds: medians of passes.
type percentiles struct {
	load, missed               float64
	p50, p90, p99, p999, p9999 float64
}

// latencyOf measures a forwarder's highest rate, and then its latency at parts of it.
func latencyOf(ctx context.Context, run forwarder, r replay, passes int) (pps float64, list []percentiles, err error) {
	var highest samples
	flood := r
	flood.rate = maxRate // the times of frames are noted, as later
	for range passes {
		d, err := run(ctx, flood)
		if err != nil {
			return 0, nil, err
		}
		highest = append(highest, d.pps())
	}
	pps = highest.median()
	for _, load := range loads {
		paced := r
		paced.rate = int(pps * load)
		paced.warmup, paced.measured = max(r.warmup/4, paced.rate/4), paced.rate // a second
		var of [6]samples
		for range passes {
			d, err := run(ctx, paced)
			if err != nil {
				return 0, nil, err
			}
			l := d.Latency
			missed := float64(d.Missed) / float64(max(d.Received+d.Missed, 1))
			for i, v := range []float64{l.P50 / 1e3, l.P90 / 1e3, l.P99 / 1e3, l.P999 / 1e3, l.P9999 / 1e3, missed} {
				of[i] = append(of[i], v)
			}
		}
		list = append(list, percentiles{load, of[5].median(), of[0].median(), of[1].median(), of[2].median(), of[3].median(), of[4].median()})
	}
	return pps, list, nil
}

const latencyPreamble = `# Latency

Made by ` + "`hack/bench.sh -latency`" + `: the engine with one worker, and testpmd 5tswap. The replay device lets frames come at a part of the highest rate that the program
itself reaches, evenly spaced, into a ring of 4,096. Latency is from when a frame came to when it was sent, in microseconds, for a second (passes, of which it is the median: %d). Missed are
frames that found the ring full. On a virtual machine the highest percentiles tell of the host, too: compare with testpmd's.

`

// latencies measures rows and writes latency.md and a plot of each row.
func latencies(ctx context.Context, b *bench, list []row, engine, out string, control, passes int) error {
	var text strings.Builder
	fmt.Fprintf(&text, latencyPreamble, passes)
	for _, row := range list {
		if !slices.Contains(latencyRows, row.Name) {
			continue
		}
		p, err := b.plan(row)
		if err != nil {
			return err
		}
		curves := map[string][]percentiles{}
		names := []string{"sinter", "testpmd 5tswap"}
		fmt.Fprintf(&text, "## %s\n\n| program | load | Mpps | p50 | p90 | p99 | p99.9 | p99.99 | missed |\n| --- | --: | --: | --: | --: | --: | --: | --: | --: |\n", row.Name)
		for i, run := range []forwarder{
			daemon(engine, b.scratch, p.program, b.engine.core, control),
			func(ctx context.Context, r replay) (*deviceReport, error) { return b.baseline.run(ctx, r, "5tswap") },
		} {
			pps, list, err := latencyOf(ctx, run, p.replay, passes)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", row.Name, names[i], err)
			}
			curves[names[i]] = list
			for _, l := range list {
				line := fmt.Sprintf("| %s | %.0f %% | %.2f | %.1f | %.1f | %.1f | %.1f | %.1f | %.3f %% |",
					names[i], 100*l.load, pps*l.load/1e6, l.p50, l.p90, l.p99, l.p999, l.p9999, 100*l.missed)
				fmt.Fprintln(os.Stderr, row.Name, line)
				fmt.Fprintln(&text, line)
			}
		}
		plot := "latency-" + row.Name + ".svg"
		fmt.Fprintf(&text, "\n![latency over load](%s)\n\n", plot)
		if err := latencyPlot(filepath.Join(out, plot), row.Name, names, curves); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(out, "latency.md"), []byte(strings.TrimRight(text.String(), "\n")+"\n"), 0o644)
}

// latencyPlot is percentiles over the load.
func latencyPlot(path, title string, names []string, curves map[string][]percentiles) error {
	p := plot.New()
	p.Title.Text = title
	p.X.Label.Text, p.Y.Label.Text = "load, % of the highest rate", "latency, µs"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	var lines []any
	for _, name := range names {
		for _, q := range []struct {
			name string
			of   func(percentiles) float64
		}{
			{"p50", func(l percentiles) float64 { return l.p50 }},
			{"p99", func(l percentiles) float64 { return l.p99 }},
			{"p99.99", func(l percentiles) float64 { return l.p9999 }},
		} {
			var points plotter.XYs
			for _, l := range curves[name] {
				if v := q.of(l); v > 0 {
					points = append(points, plotter.XY{X: 100 * l.load, Y: v})
				}
			}
			if len(points) == 0 {
				return errors.New(name + ": no latency was measured")
			}
			lines = append(lines, name+" "+q.name, points)
		}
	}
	if err := plotutil.AddLinePoints(p, lines...); err != nil {
		return err
	}
	return p.Save(16*vg.Centimeter, 10*vg.Centimeter, path)
}
