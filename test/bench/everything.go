package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// everything measures all that the report's folder has. What fails does not stop the rest.
func (f *flags) everything(ctx context.Context, b *bench, list, known []row) error {
	begin := time.Now()
	var bad []error
	for _, part := range []func() error{
		func() error { return f.measured(ctx, b, list, known) },
		func() error { return f.cores(ctx, b, list) },
		func() error { return f.latencies(ctx, b, list) },
	} {
		if err := part(); err != nil {
			bad = append(bad, err)
		}
		fmt.Fprintf(os.Stderr, "%s after %s\n", f.out, time.Since(begin).Round(time.Second))
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(bad...)
}

// measured measures rows and writes the report. Those that could not be measured keep what the report has of them.
func (f *flags) measured(ctx context.Context, b *bench, list, known []row) error {
	results, err := b.all(ctx, list)
	if len(results) == 0 || f.base != "" || f.only != "" && !f.update {
		return err
	}
	all := results
	if stored := filepath.Join(f.out, "results.json"); f.update || err != nil && exists(stored) {
		var e error
		if all, e = updated(known, stored, results); e != nil {
			return errors.Join(err, e)
		}
	}
	err = errors.Join(err, report(f.out, all))
	if !f.short { // one pass tells that it works, not how well
		err = errors.Join(err, verdict(all))
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (f *flags) cores(ctx context.Context, b *bench, list []row) error {
	want := wantGain
	if f.short {
		want = 0
	}
	return twoCores(ctx, pair{filepath.Join(f.build, "sinter-engine"), b.scratch, min(f.passes, coresRounds), want}, b.bare(), list, f.out)
}

func (f *flags) latencies(ctx context.Context, b *bench, list []row) error {
	return latencies(ctx, b.bare(), list, filepath.Join(f.build, "sinter-engine"), f.out, f.control, f.passes)
}

// bare measures neither peers nor chains function by function.
func (b *bench) bare() *bench {
	c := *b
	c.apart, c.withPeers = false, false
	return &c
}

// firsts are the first row of each group, and those whose latency is measured.
func firsts(list []row) []row {
	seen := map[string]bool{}
	var out []row
	for _, r := range list {
		if !seen[r.Group] || slices.Contains(latencyRows, r.Name) {
			out = append(out, r)
		}
		seen[r.Group] = true
	}
	return out
}

// all measures rows, and tells of each when it is done. A row that cannot be measured does not stop the others.
func (b *bench) all(ctx context.Context, list []row) ([]result, error) {
	var results []result
	var bad []error
	for _, row := range list {
		r, err := b.measure(ctx, row, b.passes)
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", row.Name, err)
			fmt.Fprintln(os.Stderr, err)
			bad = append(bad, err)
			continue
		}
		r.tell()
		results = append(results, *r)
	}
	return results, errors.Join(bad...)
}

// tell prints a row.
func (r *result) tell() {
	fmt.Fprintf(os.Stderr, "%-26s %6.1f cycles, %5.2f × %s (%.1f), %v; %s\n", r.Name, r.Cycles, r.Ratio, r.Mode, r.Baseline, r.Interval, r.verdict())
	fmt.Fprintf(os.Stderr, "%26s mean %.1f, %.2f Mpps; %s\n", "", r.Mean, r.Mpps, stageText(r.Stages))
	if r.ToBaseIn != nil {
		fmt.Fprintf(os.Stderr, "%26s %.3f × base (%.1f), %.3f–%.3f\n", "", r.ToBase, r.Base, r.ToBaseIn.Low, r.ToBaseIn.High)
	}
	for _, p := range r.Peers {
		if p.Absent != "" {
			fmt.Fprintf(os.Stderr, "%26s %s: not measured: %s\n", "", p.Name, p.Absent)
			continue
		}
		fmt.Fprintf(os.Stderr, "%26s %s: %.1f cycles, %.2f × %s, %v, %.1f %% forwarded\n", "", p.Name, p.Cycles, p.Ratio, r.Mode, p.Interval, 100*p.Forwarded)
	}
}
