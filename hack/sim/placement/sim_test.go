package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"
)

var small = sizes{
	Nodes: 64, Chains: 640, Turnover: 640, Period: 100, Seed: 1,
	Deals: 5, Networks: []network{{4, 40}, {16, 150}, {64, 600}},
}

// ticks is a clock on which every decision takes a microsecond.
func ticks() func() time.Duration {
	var now time.Duration
	return func() time.Duration { now += time.Microsecond; return now }
}

func TestTheSameSeedsWriteTheSameFiles(t *testing.T) {
	var dirs []string
	for range 2 {
		dir := t.TempDir()
		if err := write(dir, simulate(small, ticks())); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	for _, name := range []string{"placement.md", "placement/prompt.svg", "placement/late.svg", "placement/asked.svg"} {
		a, b := read(t, filepath.Join(dirs[0], name)), read(t, filepath.Join(dirs[1], name))
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs from run to run", name)
		}
	}
}

func TestTheDocumentIsThatOfThisSimulatorButForItsFigures(t *testing.T) {
	want, err := render(simulate(small, ticks()))
	if err != nil {
		t.Fatal(err)
	}
	figures := regexp.MustCompile(`[0-9][0-9.]*`)
	blank := func(text []byte) string { return figures.ReplaceAllString(string(text), "#") }
	got := read(t, "../../../docs/placement.md")
	if blank(got) != blank(want) {
		t.Error("docs/placement.md is not of this template: run `make simulate-placement`")
	}
}

func TestTwoRandomChoices(t *testing.T) {
	s := sizes{Nodes: 128, Chains: 1250, Turnover: 2500, Period: 250, Seed: 7}
	peak := func(p policy, period int) float64 {
		var peaks []float64
		for _, at := range churn(s, p, period, ticks()).Samples {
			peaks = append(peaks, at.Peak)
		}
		return mean(peaks)
	}
	two, late := peak(twoChoices, 1), peak(twoChoices, s.Period)
	for name, tc := range map[string]struct{ better, worse float64 }{
		"balance better than one random choice":                          {two, peak(oneChoice, 1)},
		"balance better than first fit":                                  {two, peak(firstFit, 1)},
		"balance worse than the least loaded of all if loads are prompt": {peak(leastLoaded, 1), two},
		"balance better than the least loaded of all if loads are late":  {late, peak(leastLoaded, s.Period)},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.better >= tc.worse {
				t.Errorf("max/mean load is %.2f, want less than %.2f", tc.better, tc.worse)
			}
		})
	}
	t.Run("ask two nodes as long as there is room", func(t *testing.T) {
		if asked := churn(s, twoChoices, 1, ticks()).Asked; mean(asked) != 2 {
			t.Errorf("%.2f nodes asked per placement, want 2", mean(asked))
		}
	})
}

func TestAClusterGetsBackWhatLeavingChainsHad(t *testing.T) {
	c, w := newCluster(1, true), newWorkload(1)
	empty := newCluster(1, true).nodes[0]
	chains := []chain{w.arrival(), w.arrival(), w.arrival()}
	for _, by := range []int{1, -1} {
		for _, ch := range chains {
			c.put(0, ch, by)
		}
	}
	n := c.nodes[0]
	if n.FreeCores != empty.FreeCores || n.FreeMemory != empty.FreeMemory || n.FreeHugepages[gib] != empty.FreeHugepages[gib] || n.FreeDevices[vf] != empty.FreeDevices[vf] || n.Load > 1e-9 {
		t.Errorf("the node is %+v, want %+v", n, empty)
	}
}

func TestQuantilesAreByNearestRank(t *testing.T) {
	values := []float64{1, 2, 3, 4}
	if got := []float64{quantile(values, 0), quantile(values, 0.5), quantile(values, 0.95), quantile(values, 1)}; !slices.Equal(got, []float64{1, 2, 4, 4}) {
		t.Errorf("quantiles %v, want 1, 2, 4, 4", got)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
