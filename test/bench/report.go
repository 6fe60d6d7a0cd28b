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

Made by ` + "`make bench`" + `: one core, frames replayed from memory by the device of ` + "`dataplane/engine/replay`" + `, half TCP and half UDP, of 60 bytes where nothing else
is said. The device measures TSC cycles per packet from one full burst to the next, so the cost of copying a frame into a buffer and of freeing it is in all
figures. A figure is the median burst, and of that the median pass. *5tswap* is DPDK's testpmd on the same device, core and packets in the same
pass; it swaps MAC addresses, IP addresses and ports and looks nothing up. *Unmerged* is the same chain in the same engine and process, each
function a program of its own, one after the other. Absolute cycles differ from machine to machine; the ratios are what to read. The interval has the median ratio
with a confidence of 90 % or more (order statistics of the passes).
What a second core brings is measured by ` + "`hack/bench.sh -workers 2`" + `, into [cores.md](cores.md).

`

func markdown(results []result) string {
	var b strings.Builder
	b.WriteString(preamble)
	b.WriteString("| chain | cycles | Mpps | × 5tswap | interval | at most | | unmerged | synthesis gains |\n| --- | --: | --: | --: | --: | --: | --- | --: | --: |\n")
	for _, r := range results {
		unmerged, gain, ratio := "", "", fmt.Sprintf("%.2f", r.Ratio)
		if r.Apart > 0 {
			unmerged, gain = fmt.Sprintf("%.0f", r.Apart), fmt.Sprintf("%.1f ×", r.Gain)
		}
		if r.Mode != "5tswap" {
			ratio += " (" + r.Mode + ")"
		}
		fmt.Fprintf(&b, "| %s | %.1f | %.2f | %s | %v | %.1f | %s | %s | %s |\n", r.Name, r.Cycles, r.Mpps, ratio, r.Interval, r.Bound, r.verdict(), unmerged, gain)
	}
	b.WriteString("\n![routers in a row](routers.svg) ![NAPTs in a row](napts.svg)\n\n")
	b.WriteString("## Where the cycles go\n\nMeasured in extra bursts with a clock around each stage (which itself costs a few cycles).\n\n| chain |")
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

// verdict tells whether a row's bound is met, or by how much not.
func (r *result) verdict() string {
	switch {
	case r.Bound == 0:
		return ""
	case r.Ratio <= r.Bound:
		return "met"
	default:
		return fmt.Sprintf("missed by %.0f %%", 100*(r.Ratio/r.Bound-1))
	}
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
		whole = append(whole, plotter.XY{X: x, Y: r.Cycles})
		apart = append(apart, plotter.XY{X: x, Y: r.Apart})
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

// verdict says which bounds are missed, and whether chains get dearer with their length.
func verdict(results []result) error {
	var bad []string
	for _, r := range results {
		if r.Bound > 0 && r.Ratio > r.Bound {
			bad = append(bad, fmt.Sprintf("%s costs %.2f × %s, at most %.1f are allowed", r.Name, r.Ratio, r.Mode, r.Bound))
		}
	}
	for _, group := range []string{"routers", "napts"} {
		g := of(group, results)
		if len(g) == 0 {
			continue
		}
		first, last := g[0], g[len(g)-1]
		if q := last.Cycles / first.Cycles; q > 1.10 {
			bad = append(bad, fmt.Sprintf("%s costs %.2f × %s, at most 1.10 are allowed", last.Name, q, first.Name))
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("bounds are missed: %s", strings.Join(bad, "; "))
	}
	fmt.Fprintln(os.Stderr, "all bounds hold")
	return nil
}
