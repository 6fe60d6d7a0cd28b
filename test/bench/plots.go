package main

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// plots writes all plots of a report.
func plots(dir string, results []result) error {
	in := func(name string) string { return filepath.Join(dir, name+".svg") }
	return errors.Join(
		lengthPlot(in("routers"), "routers", results),
		lengthPlot(in("napts"), "napts", results),
		flowsPlot(in("flows"), "cycles per packet", results, func(r *result, cycles float64) float64 { return cycles }),
		flowsPlot(in("flows-mpps"), "Mpps", results, func(r *result, cycles float64) float64 { return r.Mpps * r.Cycles / cycles }),
		peersPlot(in("peers"), results),
		stagePlot(in("stages"), results),
	)
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
		names = append(names, strings.NewReplacer("isp-acl1-", "isp-", "-new-flows", ", new").Replace(r.Name))
	}
	var below *plotter.BarChart
	for i, s := range stages {
		var v plotter.Values
		for _, r := range results {
			v = append(v, r.Stages[s])
		}
		bars, err := plotter.NewBarChart(v, vg.Points(9))
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
	return p.Save(30*vg.Centimeter, 14*vg.Centimeter, path)
}

// flowsPlot is a figure of cycles over the number of flows: of one NAPT, of firewall, router and NAPT, and of the baseline beside the former.
func flowsPlot(path, label string, results []result, figure func(r *result, cycles float64) float64) error {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "flows", label
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Min = 0
	p.Legend.Top, p.Legend.Left = true, true
	var napt, isp, base plotter.XYs
	for i := range results {
		r := &results[i]
		x := float64(r.Flows)
		switch {
		case strings.HasSuffix(r.Name, "-zipf") || strings.HasSuffix(r.Name, "-bytes") || strings.HasSuffix(r.Name, "-new-flows"):
		case strings.HasPrefix(r.Name, "napts-1-"):
			napt = append(napt, plotter.XY{X: x, Y: figure(r, r.Cycles)})
			base = append(base, plotter.XY{X: x, Y: figure(r, r.Baseline)})
		case strings.HasPrefix(r.Name, "isp-acl1-8550-"):
			isp = append(isp, plotter.XY{X: x, Y: figure(r, r.Cycles)})
		}
	}
	if len(napt)+len(isp) == 0 {
		return nil // of a report that is not whole yet
	}
	for _, points := range []plotter.XYs{napt, isp, base} {
		slices.SortFunc(points, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
	}
	if err := plotutil.AddLinePoints(p, "NAPT", napt, "firewall (acl1_8550), router, NAPT", isp, "testpmd 5tswap", base); err != nil {
		return err
	}
	return p.Save(14*vg.Centimeter, 9*vg.Centimeter, path)
}

// families of programs; a row's best of each is plotted, but for what forwards without looking.
var families = []string{"Sinter", "testpmd 5tswap", "l3fwd", "OVS", "kernel"}

// peersPlot is Mpps of each family over the rows with peers.
func peersPlot(path string, results []result) error {
	p := plot.New()
	p.Title.Text, p.Y.Label.Text = "one core", "Mpps"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	points := make([]plotter.XYs, len(families))
	var names []string
	for _, r := range results {
		if len(r.Peers) == 0 {
			continue
		}
		for i, family := range families {
			if mpps := r.best(family); mpps > 0 {
				points[i] = append(points[i], plotter.XY{X: float64(len(names)), Y: mpps})
			}
		}
		names = append(names, r.Name)
	}
	if len(names) == 0 {
		return nil // of a report that is not whole yet
	}
	var series []any
	for i, family := range families {
		if len(points[i]) > 0 {
			series = append(series, family, points[i])
		}
	}
	if err := plotutil.AddScatters(p, series...); err != nil {
		return err
	}
	p.Legend.Top = true
	p.X.Max = float64(len(names)) + 3 // room for the legend
	p.Add(plotter.NewGrid())
	p.NominalX(names...)
	p.X.Tick.Label.Rotation = 0.8
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YTop
	return p.Save(24*vg.Centimeter, 12*vg.Centimeter, path)
}

// best is the Mpps of a family's fastest program in a row; 0 if none was measured.
func (r *result) best(family string) float64 {
	hz := r.Mpps * r.Cycles
	switch family {
	case "Sinter":
		return r.Mpps
	case "testpmd " + r.Mode:
		return hz / r.Baseline
	}
	most := 0.0
	for _, q := range r.Peers {
		if strings.HasPrefix(q.Name, family+" ") && q.Cycles > 0 && q.Name != kernelIn.name {
			most = max(most, hz/q.Cycles)
		}
	}
	return most
}
