package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reported are results as a run has them, one of each kind.
func reported() []result {
	stages := map[string]float64{"receive": 10, "parse": 30, "rewrite": 20}
	in := interval{Low: 1.3, High: 1.5, Coverage: 0.9}
	var list []result
	for i, name := range []string{"routers-1", "routers-10", "napts-1-10k", "napts-10-10k", "napts-1-1k", "isp-acl1-8550-10k", "isp-acl1-8550-100k", "acl1-8550-64k"} {
		group := []string{"routers", "routers", "napts", "napts", "flows", "isp", "isp", "firewall"}[i]
		list = append(list, result{
			Group: group, Name: name, Functions: 1 + 9*(i%2), Flows: 1000 * (i + 1), Cycles: 50, Mpps: 52, Mode: "5tswap", Baseline: 35, Ratio: 1.43, Interval: in, Bound: 1.4,
			Apart: 100, Gain: 2, Stages: stages,
		})
	}
	list[0].Peers = []peerResult{
		{Name: "l3fwd lpm", Cycles: 25, Ratio: 0.71, Interval: in, Forwarded: 1},
		{Name: "OVS flows", Cycles: 250, Ratio: 7.14, Interval: in, Forwarded: 0.5},
		{Name: "kernel flowtable", Absent: "no such thing"},
	}
	list[1].Ratio = 1.2
	return list
}

func TestAReportTellsOfBoundsPeersAndStages(t *testing.T) {
	dir := t.TempDir()
	if err := report(dir, reported()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| routers-1 | 50.0 | 52.00 | 1.43 | 1.30–1.50 | 1.4 | missed by 2 % | 100 | 2.0 × |",
		"| routers-10 | 50.0 | 52.00 | 1.20 | 1.30–1.50 | 1.4 | met | 100 | 2.0 × |",
		"| routers-1 | 1.43 | 1.4 | 1.02 | 50.0 | 49.0 | 1.0 | 10.0 | 30.0 | 0.0 | 0.0 | 20.0 | 0.0 | " + limits["routers"] + " |",
		"| | l3fwd lpm | 25.0 | 104.00 | 0.71 | 1.30–1.50 |",
		"| | OVS flows (forwards 50 %) | 250.0 | 10.40 | 7.14 | 1.30–1.50 |",
		"| | kernel flowtable | not measured: no such thing | | | |",
		"| routers-1 | 10.0 | 30.0 | 0.0 | 0.0 | 20.0 | 0.0 | parse |",
	} {
		if !strings.Contains(string(text), want+"\n") {
			t.Errorf("no line %q in:\n%s", want, text)
		}
	}
	for _, line := range strings.Split(string(text), "](") {
		if name, _, ok := strings.Cut(line, ".svg)"); ok {
			if _, err := os.Stat(filepath.Join(dir, name+".svg")); err != nil {
				t.Errorf("a plot is missing: %v", err)
			}
		}
	}
	stored, err := readStored(filepath.Join(dir, "results.json"))
	if err != nil || len(stored) != len(reported()) || stored["routers-1"].Ratio != 1.43 || stored["routers-1"].Interval.High != 1.5 {
		t.Errorf("stored results %v: %v", stored, err)
	}
}

func TestEachRowThatMayMissKnowsWhatLimitsIt(t *testing.T) {
	known := map[string]bool{}
	for _, r := range rows(dataFolder) {
		known[r.Group], known[r.Name] = true, true
		if of := (&result{Group: r.Group, Name: r.Name}); r.Bound > 0 && of.limit() == "" {
			t.Errorf("%s: nothing is said of what limits it", r.Name)
		}
	}
	for name := range limits {
		if !known[name] {
			t.Errorf("%s is neither a row nor a group", name)
		}
	}
	var b strings.Builder
	if missesTable(&b, []result{{Name: "good", Ratio: 1, Bound: 2}}); !strings.Contains(b.String(), "None.") {
		t.Errorf("%q: want it to say that no row misses", b.String())
	}
}

func TestAnUpdateReplacesMeasuredRowsAndLeavesOutThoseThatAreGone(t *testing.T) {
	dir := t.TempDir()
	if err := report(dir, append(reported(), result{Name: "gone", Ratio: 1, Mode: "io"})); err != nil {
		t.Fatal(err)
	}
	got, err := updated(rows(dataFolder), filepath.Join(dir, "results.json"), []result{{Name: "napts-1-10k", Ratio: 2}, {Name: "napts-10-1m", Ratio: 4}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range got {
		names = append(names, r.Name)
		if r.Name == "napts-1-10k" && r.Ratio != 2 {
			t.Errorf("napts-1-10k has the ratio %v, want that measured now", r.Ratio)
		}
	}
	want := "routers-1 routers-10 napts-1-10k napts-10-10k napts-1-1k napts-10-1m acl1-8550-64k isp-acl1-8550-10k isp-acl1-8550-100k"
	if strings.Join(names, " ") != want {
		t.Errorf("rows %v, want %s", names, want)
	}
}

func TestAReportMayHaveAFewRowsOnly(t *testing.T) {
	for _, name := range []string{"routers-1", "acl1-8550-64k"} {
		for _, r := range reported() {
			if r.Name != name {
				continue
			}
			r.Peers = nil
			if err := report(t.TempDir(), []result{r}); err != nil {
				t.Errorf("%s alone: %v", name, err)
			}
		}
	}
}

func TestAVerdictNamesMissedBoundsAndChainsThatGetDearer(t *testing.T) {
	list := reported()
	list[3].Cycles = 56
	list[1].Gain = 0.95
	err := verdict(list)
	if err == nil {
		t.Fatal("no bound is missed")
	}
	for _, want := range []string{"routers-1 costs 1.43 × 5tswap", "napts-10-10k costs 1.12 × napts-1-10k", "routers-10 costs 1.05 × its functions one by one"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want it to say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "routers-10 costs 1.2") {
		t.Errorf("%v: routers-10 is within its bound", err)
	}
}
