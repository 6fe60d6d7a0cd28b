// Command bench measures synthesized chains on one core beside DPDK's testpmd and beside the same chains unmerged. One device replays frames from
// memory for all of them, and measures: TSC cycles per packet from one full burst to the next. A figure is the median of passes; in each pass all
// programs run, one after the other, so that what slows the machine slows all of them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sinter-nfv/sinter/test/bench/kernel"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == kernel.Argument {
		if err := kernel.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench: kernel:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// flags are what the command line says.
type flags struct {
	out, build, data, only, base, l3fwd, ovs, check string
	sets                                            string
	passes, core, control                           int
	workers, drawn                                  int
	apart, peers, latency, update, all, short       bool
	wires                                           bool
}

func parseFlags() flags {
	var f flags
	flag.StringVar(&f.out, "out", "docs/bench", "folder that the report is written to")
	flag.StringVar(&f.build, "build", "dataplane/engine/build", "folder of the built engine, with the replay device")
	flag.StringVar(&f.data, "data", "test/data", "folder with classbench/ and routes/")
	flag.IntVar(&f.passes, "passes", 5, "passes per row")
	flag.IntVar(&f.core, "core", 1, "core to measure on")
	flag.IntVar(&f.control, "control-core", 0, "core for main threads of programs that measure on another")
	flag.StringVar(&f.only, "only", "", "only rows whose names match, such as 'napts-*,isp-*-10k'; no report is written")
	flag.StringVar(&f.base, "base", "", "sinter-bench of another tree, measured in the same passes")
	flag.BoolVar(&f.apart, "apart", true, "also measure chains function by function")
	flag.BoolVar(&f.peers, "peers", true, "also measure peers")
	flag.StringVar(&f.l3fwd, "l3fwd", "", "l3fwd, as hack/l3fwd.sh builds it; empty: not measured")
	flag.StringVar(&f.ovs, "ovs", "", "folder of Open vSwitch, as hack/ovs.sh makes it; empty: not measured")
	flag.StringVar(&f.check, "check", "", "results.json of an earlier run: fail if a row costs more than then; no report is written")
	flag.BoolVar(&f.update, "update", false, "with -only: the report is written, with the rows measured now in place of theirs")
	flag.BoolVar(&f.latency, "latency", false, "only measure latency at parts of the highest rate, into latency.md")
	flag.BoolVar(&f.all, "all", false, "measure rows, then two cores, then latency: all of the report's folder")
	flag.BoolVar(&f.short, "short", false, "one pass of the first row of each group, whatever their bounds: to see that all of it works")
	flag.IntVar(&f.workers, "workers", 0, "2: only compare one worker with two on two cores, into cores.md")
	flag.IntVar(&f.drawn, "drawn", 0, "only measure so many rows of firewalls that are drawn from the sets of rules in classbench/, into drawn.md")
	flag.BoolVar(&f.wires, "wires", false, "only measure chains with functions on wires, into wires.md; with -only or -base: without a report")
	flag.StringVar(&f.sets, "sets", "", "with -drawn: folder of other sets of rules")
	flag.Parse()
	return f
}

func run(ctx context.Context) error {
	f := parseFlags()
	if f.short {
		f.passes = 1
	}
	data, err := filepath.Abs(f.data)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil { // not found out when all is measured
		return err
	}
	dir, remove, err := scratch()
	if err != nil {
		return err
	}
	defer remove()
	b, forget, err := newBench(f, dir)
	if err != nil {
		return err
	}
	defer forget()
	if f.wires {
		return f.wireRows(ctx, b, data)
	}
	list, err := chosen(rows(data), f.only, nameOf)
	if err != nil {
		return err
	}
	if f.short {
		list = firsts(list)
	}
	if f.all {
		return f.everything(ctx, b, list, rows(data))
	}
	switch {
	case f.drawn > 0:
		return drawnRows(ctx, b, data, f.sets, f.out, f.drawn, f.passes)
	case f.latency:
		return f.latencies(ctx, b, list)
	case f.workers == 2:
		return f.cores(ctx, b, list)
	case f.workers != 0:
		return fmt.Errorf("-workers %d: want 2", f.workers)
	case f.check != "":
		stored, err := readStored(f.check)
		if err != nil {
			return err
		}
		return check(ctx, list, stored, b.measure, f.passes)
	}
	return f.measured(ctx, b, list, rows(data))
}

// newBench measures with the programs that the flags name. Chains apart and peers are measured only for the report.
func newBench(f flags, dir string) (b *bench, remove func(), err error) {
	full := f.base == "" && f.check == "" && !f.latency && f.workers == 0
	b = &bench{
		engine: engine{filepath.Join(f.build, "sinter-bench"), f.core, dir}, baseline: testpmd{f.core, f.control, dir}, scratch: dir, passes: f.passes,
		l3fwd: l3fwd{f.l3fwd, f.core, dir}, ovs: f.ovs, apart: f.apart && full, withPeers: f.peers && full, captures: map[string]capture{}, quiet: quiet{baselines: map[string]float64{}},
	}
	if f.base != "" {
		b.base = &engine{f.base, f.core, dir}
	}
	if b.plugin, err = filepath.Abs(filepath.Join(f.build, "replay", "libsinter-replay.so")); err != nil {
		return nil, nil, err
	}
	b.plugin, remove, err = loadable(b.plugin)
	return b, remove, err
}

// chosen are the rows whose names match one of some patterns, with commas between them.
func chosen[R any](list []R, patterns string, name func(R) string) ([]R, error) {
	if patterns == "" {
		return list, nil
	}
	var out []R
	for _, r := range list {
		for _, pattern := range strings.Split(patterns, ",") {
			match, err := path.Match(pattern, name(r))
			if err != nil {
				return nil, fmt.Errorf("-only %s: %w", pattern, err)
			}
			if match {
				out = append(out, r)
				break
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("-only %s: no row has such a name", patterns)
	}
	return out, nil
}

// updated are the stored results of rows that there still are, with new ones in place of theirs.
func updated(list []row, path string, results []result) ([]result, error) {
	stored, err := readStored(path)
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		stored[r.Name] = r
	}
	var out []result
	for _, row := range list {
		if r, ok := stored[row.Name]; ok && r.Ratio > 0 {
			out = append(out, r)
		}
	}
	return out, nil
}
