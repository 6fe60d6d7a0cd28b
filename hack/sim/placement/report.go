package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/template"

	"gonum.org/v1/plot/vg"
)

//go:embed report.md.tmpl
var reportText string

var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"churn":   churnRow,
	"times":   timesRow,
	"fills":   fillRows,
	"percent": func(s spread) string { return fmt.Sprintf("%.0f (%.0f–%.0f)", 100*s.Median, 100*s.Low, 100*s.High) },
	"whole":   func(v float64) string { return fmt.Sprintf("%.0f", v) },
	"cores":   func() int { return cores },
	"devices": func() int { return devices },
	"fullest": func() int { return fullest },
}).Parse(reportText))

// write puts the report and its plots into a folder.
func write(dir string, r results) error {
	text, err := render(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "placement"), 0o755); err != nil {
		return err
	}
	for name, p := range plots(r) {
		if err := p.Save(16*vg.Centimeter, 9*vg.Centimeter, filepath.Join(dir, "placement", name+".svg")); err != nil {
			return fmt.Errorf("plot %s: %w", name, err)
		}
	}
	return os.WriteFile(filepath.Join(dir, "placement.md"), text, 0o644)
}

func render(r results) ([]byte, error) {
	var b bytes.Buffer
	err := reportTemplate.Execute(&b, r)
	return b.Bytes(), err
}

// churnRow: balance over time, nodes asked, refusals.
func churnRow(r churnResult) string {
	var peaks, deviations []float64
	for _, s := range r.Samples {
		peaks, deviations = append(peaks, s.Peak), append(deviations, s.Deviation)
	}
	asked := slices.Sorted(slices.Values(r.Asked))
	return fmt.Sprintf("| %s | %.2f | %.2f | %.3f | %.2f | %.0f | %.0f | %d |", r.Policy,
		mean(peaks), slices.Max(peaks), mean(deviations), mean(asked), quantile(asked, 0.99), quantile(asked, 1), r.Refused)
}

// timesRow: how long decisions took.
func timesRow(r churnResult) string {
	t := slices.Sorted(slices.Values(r.Times))
	return fmt.Sprintf("| %s | %.0f | %.0f | %.0f | %.0f |", r.Policy, quantile(t, 0.1), quantile(t, 0.5), quantile(t, 0.9), quantile(t, 0.99))
}

// fillRows: nodes asked by share of the cores given away.
func fillRows(list []fillResult) []string {
	var rows []string
	for _, percent := range []int{25, 50, 75, 90, 95, fullest - 1} {
		row := fmt.Sprintf("| %d %% |", percent)
		for _, r := range list {
			row += fmt.Sprintf(" %.1f |", r.Asked[percent])
		}
		rows = append(rows, row)
	}
	return rows
}
