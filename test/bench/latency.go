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

// percentiles of one load, in microseconds, a value for each pass.
type percentiles struct {
	load, pps                          float64 // pps: the highest rate
	p50, p90, p99, p999, p9999, missed samples // missed: shares of the frames
}

func (l *percentiles) add(d *deviceReport) {
	q := d.Latency
	for _, v := range []struct {
		of    *samples
		value float64
	}{{&l.p50, q.P50 / 1e3}, {&l.p90, q.P90 / 1e3}, {&l.p99, q.P99 / 1e3}, {&l.p999, q.P999 / 1e3}, {&l.p9999, q.P9999 / 1e3}} {
		*v.of = append(*v.of, v.value)
	}
	l.missed = append(l.missed, float64(d.Missed)/float64(max(d.Received+d.Missed, 1)))
}

// line is a row of the table: each percentile with its interval.
func (l *percentiles) line(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | %.0f %% | %.2f |", name, 100*l.load, l.pps*l.load/1e6)
	for _, s := range []samples{l.p50, l.p90, l.p99, l.p999, l.p9999} {
		in := s.interval()
		fmt.Fprintf(&b, " %.1f (%.1f–%.1f) |", s.median(), in.Low, in.High)
	}
	fmt.Fprintf(&b, " %.3f %% |", 100*l.missed.median())
	return b.String()
}

// latencyOf measures the highest rates of forwarders, and then their latency at parts of them. In each pass all forwarders run, one after the other.
func latencyOf(ctx context.Context, runs []forwarder, r replay, passes int) ([][]percentiles, error) {
	highest := make([]samples, len(runs))
	flood := r
	flood.rate = maxRate // the times of frames are noted, as later
	for range passes {
		for i, run := range runs {
			d, err := run(ctx, flood)
			if err != nil {
				return nil, err
			}
			highest[i] = append(highest[i], d.pps())
		}
	}
	list := make([][]percentiles, len(runs))
	for _, load := range loads {
		for i := range runs {
			list[i] = append(list[i], percentiles{load: load, pps: highest[i].median()})
		}
		for range passes {
			for i, run := range runs {
				l := &list[i][len(list[i])-1]
				paced := r
				paced.rate = int(l.pps * load)
				paced.warmup, paced.measured = max(r.warmup/4, paced.rate/4), paced.rate // a second
				d, err := run(ctx, paced)
				if err != nil {
					return nil, err
				}
				l.add(d)
			}
		}
	}
	return list, nil
}

const latencyPreamble = `# Latency

Made by ` + "`hack/bench.sh -latency`" + `: the engine with one worker, and testpmd 5tswap, in turn in each pass. The replay device lets frames come at a part of the highest rate that the
program itself reaches, evenly spaced, into a ring of 4,096. Latency is from when a frame came to when it was sent, in microseconds, for a second: the median of %d passes, and the
interval that has it with a confidence of %.0f %%. Missed are frames that found the ring full. On a virtual machine the highest percentiles tell of the host, too, which
takes the core away for a while: compare with testpmd's. To see how well they repeat, look at the interval. Measured on %s.

`

// latencies measures rows and writes latency.md and a plot of each row. A row that cannot be measured does not stop the others.
func latencies(ctx context.Context, b *bench, list []row, engine, out string, control, passes int) error {
	var text strings.Builder
	fmt.Fprintf(&text, latencyPreamble, passes, 100*make(samples, passes).interval().Coverage, cpu())
	var bad []error
	for _, row := range list {
		if !slices.Contains(latencyRows, row.Name) {
			continue
		}
		if err := latencyRow(ctx, b, row, engine, out, control, passes, &text); err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", row.Name, err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.Join(append(bad, os.WriteFile(filepath.Join(out, "latency.md"), []byte(strings.TrimRight(text.String(), "\n")+"\n"), 0o644))...)
}

func latencyRow(ctx context.Context, b *bench, row row, engine, out string, control, passes int, text *strings.Builder) error {
	p, err := b.plan(row)
	if err != nil {
		return err
	}
	names := []string{"sinter", "testpmd 5tswap"}
	lists, err := latencyOf(ctx, []forwarder{
		daemon(engine, b.scratch, p.program, b.engine.core, control),
		func(ctx context.Context, r replay) (*deviceReport, error) { return b.baseline.run(ctx, r, "5tswap") },
	}, p.replay, passes)
	if err != nil {
		return err
	}
	fmt.Fprintf(text, "## %s\n\n| program | load | Mpps | p50 | p90 | p99 | p99.9 | p99.99 | missed |\n| --- | --: | --: | --: | --: | --: | --: | --: | --: |\n", row.Name)
	curves := map[string][]percentiles{}
	for i, list := range lists {
		curves[names[i]] = list
		for k := range list {
			line := list[k].line(names[i])
			fmt.Fprintln(os.Stderr, row.Name, line)
			fmt.Fprintln(text, line)
		}
	}
	plot := "latency-" + row.Name + ".svg"
	fmt.Fprintf(text, "\n![latency over load](%s)\n\n", plot)
	return latencyPlot(filepath.Join(out, plot), row.Name, names, curves)
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
			{"p50", func(l percentiles) float64 { return l.p50.median() }},
			{"p99", func(l percentiles) float64 { return l.p99.median() }},
			{"p99.99", func(l percentiles) float64 { return l.p9999.median() }},
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
