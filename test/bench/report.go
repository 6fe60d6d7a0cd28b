package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// report writes results.json, README.md and the plots.
func report(dir string, results []result) error {
	data, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "results.json"), append(data, '\n'), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte(markdown(results)), 0o644); err != nil {
		return err
	}
	for _, group := range []string{"routers", "napts"} {
		if err := lengthPlot(filepath.Join(dir, group+".svg"), group, results); err != nil {
			return err
		}
	}
	return stagePlot(filepath.Join(dir, "stages.svg"), results)
}

const preamble = `# Benchmarks

Made by ` + "`make bench`" + `: one core, 60-byte frames replayed from memory (` + "`net_pcap` with `infinite_rx=1`" + `), TSC cycles per packet from receive to
send, median over full bursts of 32, median of alternating runs. *5tswap* is DPDK's testpmd on the same device, core and packets in the same
alternation; it swaps MAC addresses, IP addresses and ports and looks nothing up. *Unmerged* is the same chain in the same engine and process, each
function a program of its own, one after the other. Absolute cycles differ from machine to machine; the ratios are what to read.
What a second core brings is measured by ` + "`hack/bench.sh -workers 2`" + `, into [cores.md](cores.md).

`

func markdown(results []result) string {
	var b strings.Builder
	b.WriteString(preamble)
	b.WriteString("| chain | cycles | × 5tswap | at most | unmerged | synthesis gains |\n| --- | --: | --: | --: | --: | --: |\n")
	for _, r := range results {
		unmerged, gain := "", ""
		if r.Unmerged > 0 {
			unmerged, gain = fmt.Sprintf("%.0f", r.Unmerged), fmt.Sprintf("%.1f ×", r.Gain)
		}
		limit := ""
		if r.Limit > 0 {
			limit = fmt.Sprintf("%.0f", r.Limit)
		}
		fmt.Fprintf(&b, "| %s | %.1f | %.2f | %s | %s | %s |\n", r.Name, r.Merged, r.Ratio, limit, unmerged, gain)
	}
	b.WriteString("\n![routers in a row](routers.svg) ![NAPTs in a row](napts.svg)\n\n")
	b.WriteString("## Where the cycles go\n\nMeasured in extra runs with a clock around each stage (which itself costs a few cycles).\n\n| chain |")
	for _, s := range stages {
		fmt.Fprintf(&b, " %s |", s)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --: |", len(stages)) + "\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| %s |", r.Name)
		for _, s := range stages {
			fmt.Fprintf(&b, " %.1f |", r.Stages[s])
		}
		b.WriteString("\n")
	}
	b.WriteString("\n![cycles per stage](stages.svg)\n")
	return b.String()
}

var stages = []string{"receive", "parse", "lookup", "classify", "rewrite", "send"}

func stageText(cycles map[string]float64) string {
	var parts []string
	for _, s := range stages {
		parts = append(parts, fmt.Sprintf("%s %.0f", s, cycles[s]))
	}
	return strings.Join(parts, ", ")
}

func of(group string, results []result) []result {
	return slices.DeleteFunc(slices.Clone(results), func(r result) bool { return r.Group != group })
}

// lengthPlot is cycles per packet over the length of the chain (SNF, Figure 7).
func lengthPlot(path, group string, results []result) error {
	p := plot.New()
	p.Title.Text = group + " in a row"
	p.X.Label.Text, p.Y.Label.Text = "functions in the chain", "cycles per packet"
	p.Y.Min = 0
	p.Legend.Top, p.Legend.Left = true, true
	var whole, apart, base plotter.XYs
	for _, r := range of(group, results) {
		x := float64(r.Functions)
		whole = append(whole, plotter.XY{X: x, Y: r.Merged})
		apart = append(apart, plotter.XY{X: x, Y: r.Unmerged})
		base = append(base, plotter.XY{X: x, Y: r.Baseline})
	}
	if err := plotutil.AddLinePoints(p, "synthesized", whole, "unmerged", apart, "testpmd 5tswap", base); err != nil {
		return err
	}
	return p.Save(14*vg.Centimeter, 9*vg.Centimeter, path)
}

// stagePlot stacks the stages of each chain.
func stagePlot(path string, results []result) error {
	p := plot.New()
	p.Title.Text = "cycles per packet and stage"
	p.Legend.Top, p.Legend.Left = true, true
	var names []string
	for _, r := range results {
		names = append(names, strings.NewReplacer("acl1-", "", "-new-flows", ", new").Replace(r.Name))
	}
	var below *plotter.BarChart
	for i, s := range stages {
		var v plotter.Values
		for _, r := range results {
			v = append(v, r.Stages[s])
		}
		bars, err := plotter.NewBarChart(v, vg.Points(14))
		if err != nil {
			return err
		}
		bars.Color = plotutil.Color(i)
		bars.LineStyle.Width = 0
		if below != nil {
			bars.StackOn(below)
		}
		below = bars
		p.Add(bars)
		p.Legend.Add(s, bars)
	}
	p.NominalX(names...)
	p.X.Tick.Label.Rotation = 0.8
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YTop
	return p.Save(24*vg.Centimeter, 12*vg.Centimeter, path)
}

// verdict says which limits do not hold.
func verdict(results []result) error {
	var bad []string
	for _, r := range results {
		if r.Limit > 0 && r.Ratio > r.Limit {
			bad = append(bad, fmt.Sprintf("%s costs %.2f × 5tswap, at most %.0f are allowed", r.Name, r.Ratio, r.Limit))
		}
	}
	for _, group := range []string{"routers", "napts"} {
		g := of(group, results)
		if len(g) == 0 {
			continue
		}
		first, last := g[0], g[len(g)-1]
		if q := last.Merged / first.Merged; q > 1.10 {
			bad = append(bad, fmt.Sprintf("%s costs %.2f × %s, at most 1.10 are allowed", last.Name, q, first.Name))
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("limits do not hold: %s", strings.Join(bad, "; "))
	}
	fmt.Fprintln(os.Stderr, "all limits hold")
	return nil
}
