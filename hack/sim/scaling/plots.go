package main

import (
	"bytes"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// picture is the SVG of a trace: the cores of one chain over what all chains lose.
func picture(t trace, list []result) ([]byte, error) {
	canvas := vgsvg.New(16*vg.Centimeter, 13*vg.Centimeter)
	tiles := draw.Tiles{Rows: 2, Cols: 1, PadY: vg.Millimeter * 3, PadTop: vg.Millimeter, PadRight: 2 * vg.Millimeter, PadLeft: vg.Millimeter}
	panels := [][]*plot.Plot{{coresPlot(t, list)}, {lossPlot(list)}}
	for row, canvases := range plot.Align(panels, tiles, draw.New(canvas)) {
		panels[row][0].Draw(canvases[0])
	}
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return b.Bytes(), err
}

// coresPlot is the working cores of one chain, and those that it needs.
func coresPlot(t trace, list []result) *plot.Plot {
	p := newPlot("Load: "+t.Name, "cores, one chain")
	add(p, len(list), "needed", list[0].first, func(b bin) float64 { return b.needed })
	for i, r := range list {
		add(p, i, r.Policy, r.first, func(b bin) float64 { return b.working })
	}
	p.Y.Min = 0
	p.Y.Max = 1.6 * math.Ceil(p.Y.Max) // room for the legend
	return p
}

// lossPlot is the part of the work of all chains that is lost.
func lossPlot(list []result) *plot.Plot {
	p := newPlot("", "lost, all chains, %")
	p.X.Label.Text = "minutes"
	for i, r := range list {
		add(p, i, "", r.all, func(b bin) float64 { return 100 * b.lost / b.wanted })
	}
	p.Y.Min = 0
	p.Y.Max = max(p.Y.Max, 0.01)
	return p
}

func newPlot(title, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.Y.Label.Text = title, y
	p.Legend.Top, p.Legend.Left = true, true
	return p
}

// add draws a line in steps, from the end of the warm-up on, with a name in the legend if it has one.
func add(p *plot.Plot, i int, name string, bins []bin, value func(bin) float64) {
	var xy plotter.XYs
	for k := int(warmUp / unitPlots); k < len(bins); k++ {
		xy = append(xy, plotter.XY{X: float64(k) * unitPlots.Minutes(), Y: value(bins[k])})
	}
	line := &plotter.Line{XYs: xy, StepStyle: plotter.PostStep, LineStyle: plotter.DefaultLineStyle}
	line.Color, line.Dashes, line.Width = plotutil.Color(i), plotutil.Dashes(i), vg.Points(1.3)
	p.Add(line)
	if name != "" {
		p.Legend.Add(name, line)
	}
}
