package main

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func of3(name string, ratio, low, high float64) result {
	return result{Name: name, Ratio: ratio, Interval: interval{Low: low, High: high}}
}

func TestARowIsWorseBeyondTheToleranceAndBothIntervals(t *testing.T) {
	for name, c := range map[string]struct {
		stored, now result
		want        bool
	}{
		"the same":                          {of3("a", 2, 1.9, 2.1), of3("a", 2, 1.9, 2.1), false},
		"less":                              {of3("a", 2, 1.9, 2.1), of3("a", 1, 0.9, 1.1), false},
		"more by 2 % with narrow intervals": {of3("a", 2, 1.99, 2.01), of3("a", 2.04, 2.03, 2.05), false},
		"more by 10 % with overlapping intervals":   {of3("a", 2, 1.9, 2.15), of3("a", 2.2, 2.1, 2.3), false},
		"more by 10 % with intervals of their own":  {of3("a", 2, 1.9, 2.05), of3("a", 2.2, 2.1, 2.3), true},
		"more by 3.5 % with intervals of their own": {of3("a", 2, 1.99, 2.01), of3("a", 2.07, 2.06, 2.08), true},
	} {
		if got := worse(&c.stored, &c.now); got != c.want {
			t.Errorf("%s: worse is %v, want %v", name, got, c.want)
		}
	}
}

func TestACheckMeasuresARowAgainBeforeItFails(t *testing.T) {
	stored := map[string]result{"steady": of3("steady", 2, 1.9, 2.1), "noisy": of3("noisy", 2, 1.9, 2.1), "slower": of3("slower", 2, 1.9, 2.1)}
	list := []row{{Name: "steady"}, {Name: "noisy"}, {Name: "slower"}, {Name: "new"}}
	var asked []string
	measure := func(_ context.Context, r row, passes int) (*result, error) {
		asked = append(asked, strings.Repeat(r.Name+" ", passes))
		if r.Name == "slower" || r.Name == "noisy" && passes == 1 {
			return &result{Ratio: 3, Interval: interval{Low: 2.9, High: 3.1}}, nil
		}
		return &result{Ratio: 2, Interval: interval{Low: 1.9, High: 2.1}}, nil
	}
	err := check(t.Context(), list, stored, measure, 1)
	if err == nil || !strings.Contains(err.Error(), "slower: 3.00") || strings.Contains(err.Error(), "noisy") {
		t.Errorf("check says %v: want it to name the slower row alone", err)
	}
	if want := []string{"steady ", "noisy ", "noisy noisy ", "slower ", "slower slower "}; !slices.Equal(asked, want) {
		t.Errorf("measured %q, want %q", asked, want)
	}
}

func TestAnIntervalHasTheMedianWithItsConfidence(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 3, 5, 7, 8, 14, 21} {
		const trials = 20_000
		var within int
		var claimed float64
		for range trials {
			s := make(samples, n)
			for i := range s {
				s[i] = r.ExpFloat64() // whose median is ln 2
			}
			in := s.interval()
			claimed = in.Coverage
			if in.Low <= 0.693147 && 0.693147 <= in.High {
				within++
			}
		}
		if got := float64(within) / trials; got < claimed-0.015 || got > claimed+0.015 {
			t.Errorf("%d samples: the median is within in %.3f of the trials, the interval claims %.3f", n, got, claimed)
		}
		if n >= 5 && claimed < wantCoverage {
			t.Errorf("%d samples: a confidence of %.3f, want %.2f", n, claimed, wantCoverage)
		}
	}
}

func TestAMedianIsTheMiddleOfSortedSamples(t *testing.T) {
	if got := (samples{5, 1, 3}).median(); got != 3 {
		t.Errorf("of three: %v, want 3", got)
	}
	if got := (samples{4, 1, 3, 2}).median(); got != 2.5 {
		t.Errorf("of four: %v, want 2.5", got)
	}
}

func TestACheckOfAReportNamesTheRowThatGotSlowerByMoreThanThreePercent(t *testing.T) {
	dir := t.TempDir()
	var list []row
	for _, r := range reported() {
		list = append(list, row{Name: r.Name})
	}
	if err := report(dir, reported()); err != nil {
		t.Fatal(err)
	}
	stored, err := readStored(filepath.Join(dir, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	for factor, want := range map[float64]bool{1.025: false, 1.035: true} {
		measure := func(_ context.Context, r row, _ int) (*result, error) {
			now := stored[r.Name]
			if r.Name == "napts-1-10k" {
				now.Ratio *= factor
				now.Interval = interval{Low: 1.001 * now.Interval.High, High: 1.1 * now.Interval.High}
			}
			return &now, nil
		}
		err := check(t.Context(), list, stored, measure, 3)
		if (err != nil) != want || want && (!strings.Contains(err.Error(), "napts-1-10k: ") || strings.Contains(err.Error(), "routers-1")) {
			t.Errorf("a row %.1f %% slower: %v, want an error with its name: %v", 100*(factor-1), err, want)
		}
	}
}
