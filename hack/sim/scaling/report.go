package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/dataplane/balance"
)

//go:embed report.md.tmpl
var reportText string

var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"row":     row,
	"total":   totalRow,
	"steps":   stepRow,
	"percent": func(share float64) string { return fmt.Sprintf("%.4g %%", 100*share) },
	"ms":      func(d time.Duration) string { return fmt.Sprintf("%.4g ms", d.Seconds()*1000) },
	"s":       func(d time.Duration) string { return fmt.Sprintf("%.4g s", d.Seconds()) },
}).Parse(reportText))

// page is what the template shows.
type page struct {
	Traces              []tracePage
	Chains, All         int
	Minutes             float64
	Shards, Cores, Pods int
	Target              float64
	PodStart            time.Duration
	Balancing           balance.Policy
	Policy              scaling.Policy
	CostCore, CostPod   time.Duration
	Queue               time.Duration
	Totals              []total
}

type tracePage struct {
	trace
	Results []result
}

// total is a policy over all traces, which count alike.
type total struct {
	Policy                              string
	Cores, Need, Owned, Lost            float64
	Within, Between, Changes, Regretted float64
}

func totals(list []result) []total {
	sums := make([]total, len(policies))
	n := float64(len(traces))
	for i, r := range list {
		t := &sums[i%len(policies)]
		t.Policy = r.Policy
		t.Cores += r.CoreHours / n
		t.Need += r.NeedHours / n
		t.Owned += r.OwnedHours / n
		t.Lost += r.Lost / n
		t.Within += r.Within / n
		t.Between += r.Between / n
		t.Changes += r.Changes / n
		t.Regretted += r.Regrets / n
	}
	return sums
}

// byTrace groups results.
func byTrace(list []result) []tracePage {
	var pages []tracePage
	for i, t := range traces {
		pages = append(pages, tracePage{t, list[i*len(policies) : (i+1)*len(policies)]})
	}
	return pages
}

// write puts the report, its figures and its plots into a folder.
func write(dir string, list []result) error {
	text, err := render(list)
	if err != nil {
		return err
	}
	into := filepath.Join(dir, "scaling")
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	for _, t := range byTrace(list) {
		svg, err := picture(t.trace, t.Results)
		if err != nil {
			return fmt.Errorf("plot %s: %w", t.Name, err)
		}
		if err := os.WriteFile(filepath.Join(into, t.Name+".svg"), svg, 0o644); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(into, "results.json"), append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "scaling.md"), text, 0o644)
}

func render(list []result) ([]byte, error) {
	first := list[0]
	var b bytes.Buffer
	err := reportTemplate.Execute(&b, page{
		Traces: byTrace(list), Chains: first.Chains, All: first.Chains * len(traces),
		Minutes: (time.Duration(first.Seconds)*time.Second + warmUp).Minutes(),
		Shards:  shards, Cores: podCores, Pods: maxPods, Target: target, PodStart: podStart,
		Balancing: balance.DefaultPolicy, Policy: scaling.DefaultPolicy,
		CostCore: seconds(costCore), CostPod: seconds(costPod), Queue: seconds(queue),
		Totals: totals(list),
	})
	return b.Bytes(), err
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func row(r result) string {
	return fmt.Sprintf("| %s | %.2f | %.0f %% | %.2f | %.3f | %.3f | %.1f | %.1f | %.2f | %.2f | %.2f |", r.Policy,
		r.CoreHours, 100*(r.CoreHours/r.NeedHours-1), r.OwnedHours, r.Lost, r.Lost95, r.Within, r.Between, r.Changes, r.Regrets, r.Copies)
}

func totalRow(t total) string {
	return fmt.Sprintf("| %s | %.2f | %.0f %% | %.2f | %.3f | %.1f | %.1f | %.2f | %.2f |", t.Policy,
		t.Cores, 100*(t.Cores/t.Need-1), t.Owned, t.Lost, t.Within, t.Between, t.Changes, t.Regretted)
}

func stepRow(r result) string {
	return fmt.Sprintf("| %s | %.1f | %.1f |", r.Policy, r.Reaction, r.Reaction95)
}
