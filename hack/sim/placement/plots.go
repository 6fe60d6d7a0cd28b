package main

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// plots by file name.
func plots(r results) map[string]*plot.Plot {
	return map[string]*plot.Plot{
		"prompt": balancePlot("Balance, loads known at once", r.Prompt),
		"late":   balancePlot("Balance, loads reported late", r.Late),
		"asked":  askedPlot(r.Fill),
	}
}

// balancePlot is max/mean load over arrivals.
func balancePlot(title string, list []churnResult) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.X.Label.Text, p.Y.Label.Text = "chains that arrived, each for one that left", "max/mean load"
	p.Y.Min, p.Y.Max = 1, 3.2
	for i, r := range list {
		var xy plotter.XYs
		for _, s := range r.Samples {
			xy = append(xy, plotter.XY{X: float64(s.Arrivals), Y: s.Peak})
		}
		addLine(p, i, r.Policy, xy)
	}
	return p
}

// askedPlot is nodes asked over the share of cores given away.
func askedPlot(list []fillResult) *plot.Plot {
	p := plot.New()
	p.Title.Text = "Nodes asked per placement"
	p.X.Label.Text, p.Y.Label.Text = "cores given away, %", "nodes"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Min, p.Y.Max = 1, 1e5
	for i, r := range list {
		var xy plotter.XYs
		for percent, asked := range r.Asked[:fullest] {
			if asked > 0 {
				xy = append(xy, plotter.XY{X: float64(percent), Y: asked})
			}
		}
		addLine(p, i, r.Policy, xy)
	}
	return p
}

func addLine(p *plot.Plot, i int, name string, xy plotter.XYs) {
	line := &plotter.Line{XYs: xy, LineStyle: plotter.DefaultLineStyle}
	line.Color, line.Dashes, line.Width = plotutil.Color(i), plotutil.Dashes(i), vg.Points(1.3)
	p.Add(line)
	p.Legend.Add(name, line)
	p.Legend.Top, p.Legend.Left = true, true
	p.X.Max = 1.04 * xy[len(xy)-1].X // room for the last label
}
